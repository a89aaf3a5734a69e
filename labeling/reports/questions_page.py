"""A campaign's questions with keyset pagination.

No page counts or skips rows, so the last page costs as much as the first. A filter by class or name
reads on until a page is full.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from labeling.db import question_counts
from labeling.db.sql import in_runs
from labeling.models import Campaign, Image, Item, Question

State = Question.State
LISTED_STATES = tuple(state.value for state in State if state != State.GOLD)
# Larger than every id.
END = 2**63 - 1


@dataclass(frozen=True)
class QuestionPage:
    """A page of the list.

    before, after: the question that bounds the previous and the next page; None if there is no
    such page. total: None if not counted.
    """

    questions: list[Question]
    before: int | None
    after: int | None
    total: int | None


@dataclass(frozen=True)
class Filter:
    """The filter values; "" matches all."""

    state: str = ""
    topic: str = ""
    search: str = ""


def page(
    campaign: Campaign,
    chosen: Filter,
    size: int,
    *,
    after: int | None = None,
    before: int | None = None,
) -> QuestionPage:
    """Return a page of the questions without gold in their order.

    It starts after or ends before the given question id, by default at the start; if it would be
    empty, returns the nearest page. One query per listed state, and four more.
    """
    if before is not None:
        ids = _ids(campaign, chosen, size + 1, before=before)
        if len(ids) > size:
            return _page(campaign, chosen, ids[:size][::-1], is_first=False, is_last=False)
        # Too few questions are left: return a full first page.
        after = None
    ids = _ids(campaign, chosen, size + 1, after=after or 0)
    if ids or not after:
        is_last = len(ids) <= size
        return _page(campaign, chosen, ids[:size], is_first=not after, is_last=is_last)
    ids = _ids(campaign, chosen, size + 1, before=END)
    is_first = len(ids) <= size
    return _page(campaign, chosen, ids[:size][::-1], is_first=is_first, is_last=True)


def _ids(
    campaign: Campaign, chosen: Filter, most: int, *, after: int = 0, before: int | None = None
) -> list[int]:
    """Return the next ids after a question, or the previous ones before it, nearest first."""
    # A set: a question may change its state between two of these queries.
    ids: set[int] = set()
    # State by state, since the index has them in this order (question_by_state_and_id).
    for state in [chosen.state] if chosen.state else LISTED_STATES:
        rows = campaign.questions.filter(state=state)
        if chosen.topic:
            rows = rows.filter(topic=chosen.topic)
        if chosen.search:
            rows = rows.filter(item__image__name__icontains=chosen.search)
        if before is None:
            rows = rows.filter(pk__gt=after).order_by("state", "pk")
        else:
            rows = rows.filter(pk__lt=before).order_by("-state", "-pk")
        ids.update(rows.values_list("pk", flat=True)[:most])
    return sorted(ids, reverse=before is not None)[:most]


def _page(
    campaign: Campaign, chosen: Filter, ids: list[int], *, is_first: bool, is_last: bool
) -> QuestionPage:
    return QuestionPage(
        questions=_with_images(ids),
        before=None if is_first else ids[0],
        after=None if is_last else ids[-1],
        total=len(ids) if is_first and is_last else _total(campaign, chosen),
    )


def _with_images(ids: Sequence[int]) -> list[Question]:
    """Load the questions with item and image in three queries.

    With a join, PostgreSQL would look each row up separately.
    """
    questions = {row.pk: row for row in Question.objects.filter(in_runs("pk", ids))}
    row_ids = {row.item_id for row in questions.values()}
    items = {row.pk: row for row in Item.objects.filter(in_runs("pk", row_ids))}
    row_ids = {row.image_id for row in items.values()}
    # With those removed for privacy, which Image.objects leaves out.
    images = {row.pk: row for row in Image._base_manager.filter(in_runs("pk", row_ids))}
    for item in items.values():
        item.image = images[item.image_id]
    for question in questions.values():
        question.item = items[question.item_id]
    return [questions[pk] for pk in ids]


def _total(campaign: Campaign, chosen: Filter) -> int | None:
    if chosen.topic or chosen.search:
        return None
    by_state = question_counts.of_campaign(campaign.pk).by_state
    return sum(by_state[state] for state in ([chosen.state] if chosen.state else LISTED_STATES))
