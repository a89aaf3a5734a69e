"""Counters of questions by state, so that pages need not count a campaign's questions.

Code that changes the state or the free seats of questions updates the counters in the same
transaction, so the sum over a campaign's rows is exact in every snapshot. Rows locked by others are
skipped, and a new row is added if all are locked, so nobody waits for a counter and it has no place
in the lock order (sql.py). SQLite has one writer, so it has one row.
"""

import contextlib
import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from django.db.models import Sum

from labeling.db.sql import Locked, execute, fetch, locking, numbers, writing
from labeling.models import Question, QuestionCount

logger = logging.getLogger(__name__)

State = Question.State


class StateCounts(NamedTuple):
    """A campaign's questions by state.

    free: open ones with a free seat; seats_free: number of these seats; repeated: questions beyond
    the first about the same subject; images: images of a question graph, or for boxes pairs of
    image and class.
    """

    open: int = 0
    settled: int = 0
    dropped: int = 0
    review: int = 0
    withdrawn: int = 0
    gold: int = 0
    free: int = 0
    seats_free: int = 0
    repeated: int = 0
    images: int = 0

    @property
    def by_state(self) -> dict[str, int]:
        return {state: getattr(self, state) for state in State.values}

    @property
    def decided(self) -> int:
        return self.settled + self.dropped + self.review

    @property
    def questions(self) -> int:
        """Return the number without gold and withdrawn ones."""
        return self.open + self.decided


def update_counts(before: Iterable[Locked], after: Iterable[Locked]) -> None:
    """Update the counters for questions that went from `before` to `after`."""
    by_campaign: dict[int, Counter[str]] = defaultdict(Counter)
    for sign, questions in ((-1, before), (1, after)):
        for question in questions:
            more = by_campaign[question.campaign_id]
            more[question.state] += sign
            if question.state == State.OPEN and question.seats_free:
                more["free"] += sign
                more["seats_free"] += sign * question.seats_free
    for campaign_id, more in sorted(by_campaign.items()):
        add(campaign_id, more)


def opened(campaign_id: int, questions: int, seats: int) -> None:
    """Count new open questions with so many free seats each."""
    add(campaign_id, {"open": questions, "free": questions, "seats_free": questions * seats})


def add(campaign_id: int, more: Mapping[str, int]) -> None:
    """Add to the campaign's counters; keys are fields of StateCounts."""
    changes = {name: more[name] for name in StateCounts._fields if more.get(name)}
    if not changes:
        return
    changing = ", ".join(f"{name} = {name} + %s" for name in changes)
    changed_rows = execute(
        f"UPDATE labeling_questioncount SET {changing} WHERE id = (SELECT id "  # noqa: S608
        f"FROM labeling_questioncount WHERE campaign_id = %s ORDER BY id LIMIT 1"
        f"{locking(skip=True)})",
        [*changes.values(), campaign_id],
    )
    if not changed_rows:
        QuestionCount.objects.create(campaign_id=campaign_id, **changes)


def of_campaigns(campaign_ids: Collection[int]) -> dict[int, StateCounts]:
    """Return the counts of each campaign in one query; zeros for one without questions."""
    rows = (
        QuestionCount.objects.filter(campaign__in=campaign_ids)
        .order_by()
        .values_list("campaign")
        .annotate(*(Sum(name) for name in StateCounts._fields))
    )
    counts_by_campaign = {pk: StateCounts(*map(int, counted)) for pk, *counted in rows}
    return {pk: counts_by_campaign.get(pk, StateCounts()) for pk in campaign_ids}


def of_campaign(campaign_id: int) -> StateCounts:
    return of_campaigns([campaign_id])[campaign_id]


@contextlib.contextmanager
def counting_repeats(campaign_id: int, subjects: Collection[int]) -> Iterator[None]:
    """Update the `repeated` counter for questions about these subjects that the block adds or
    removes. Two concurrent changes of one subject may leave it off by one until the nightly
    reconcile.
    """
    before = _repeated(campaign_id, subjects)
    yield
    add(campaign_id, {"repeated": _repeated(campaign_id, subjects) - before})


def _repeated(campaign_id: int, subjects: Collection[int]) -> int:
    if not subjects:
        return 0
    [(repeated,)] = fetch(
        "SELECT COUNT(*) - COUNT(DISTINCT subject) FROM labeling_question "  # noqa: S608
        f"WHERE campaign_id = %s AND subject IN ({numbers(subjects)}) "
        "AND state IN ('open', 'settled', 'dropped', 'review')",
        [campaign_id],
    )
    return int(repeated)


# One statement sees one snapshot: first the correct counters, then the stored ones.
RECOUNT = """
SELECT COUNT(CASE WHEN state = 'open' THEN 1 END),
    COUNT(CASE WHEN state = 'settled' THEN 1 END), COUNT(CASE WHEN state = 'dropped' THEN 1 END),
    COUNT(CASE WHEN state = 'review' THEN 1 END), COUNT(CASE WHEN state = 'withdrawn' THEN 1 END),
    COUNT(CASE WHEN state = 'gold' THEN 1 END),
    COUNT(CASE WHEN state = 'open' AND seats_free > 0 THEN 1 END),
    COALESCE(SUM(CASE WHEN state = 'open' THEN seats_free END), 0),
    COUNT(CASE WHEN state IN ('open', 'settled', 'dropped', 'review') THEN subject END)
    - COUNT(DISTINCT CASE WHEN state IN ('open', 'settled', 'dropped', 'review') THEN subject END),
    COUNT(DISTINCT CASE WHEN graph_id IS NOT NULL AND state <> 'gold' THEN item_id END)
    + COUNT(CASE WHEN step <> '' AND round = 0 AND state <> 'gold' THEN 1 END), 0 AS place
FROM labeling_question WHERE campaign_id = %s
UNION ALL
SELECT COALESCE(SUM(open), 0), COALESCE(SUM(settled), 0), COALESCE(SUM(dropped), 0),
    COALESCE(SUM(review), 0), COALESCE(SUM(withdrawn), 0), COALESCE(SUM(gold), 0),
    COALESCE(SUM(free), 0), COALESCE(SUM(seats_free), 0), COALESCE(SUM(repeated), 0),
    COALESCE(SUM(images), 0), 1
FROM labeling_questioncount WHERE campaign_id = %s
ORDER BY place
"""


def differences(campaign_id: int) -> dict[str, int]:
    """Return by how much each wrong counter is too small. Reads every question of the campaign."""
    [rows, kept] = fetch(RECOUNT, [campaign_id] * 2)
    pairs = zip(StateCounts._fields, rows, kept, strict=False)
    return {name: int(true - known) for name, true, known in pairs if true != known}


def reconcile(campaign_id: int) -> dict[str, int]:
    """Correct wrong counters and return what was added: nothing, unless rows were changed without
    this module. The site may be in use; concurrent calls take turns.
    """
    if not differences(campaign_id):
        return {}
    if not QuestionCount.objects.filter(campaign=campaign_id).exists():
        # Create a row to lock.
        QuestionCount.objects.create(campaign_id=campaign_id)
    with writing():
        _wait_for_lock(campaign_id)
        mended = differences(campaign_id)
        add(campaign_id, mended)
    if mended:
        logger.warning(
            "counters of campaign %s were wrong, and are mended: %s", campaign_id, mended
        )
    return mended


def _wait_for_lock(campaign_id: int) -> None:
    """Wait until nobody else reconciles these counters. Normal updates skip locked rows."""
    rows = QuestionCount.objects.filter(campaign=campaign_id).order_by("pk")
    list(rows.select_for_update(no_key=True).values_list("pk"))
