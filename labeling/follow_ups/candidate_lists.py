"""Candidates of classes: images found by queries, and the questions about them.

Only this module writes Candidate. quality/verifying.py stops and resumes classes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction

from labeling.campaigns import lifecycle
from labeling.campaigns.lifecycle import TopicFields
from labeling.db.sql import batches
from labeling.errors import Refusal
from labeling.follow_ups import asking, opening
from labeling.follow_ups.asking import AddedQuestions
from labeling.jobs import queue
from labeling.models import Campaign, Candidate, Question, User, Verification

BATCH = 2_000


class CandidateRow(NamedTuple):
    """An image that a query found for a class. prefix: its position in the list, in words."""

    image: str
    topic: str
    query: str = ""
    prefix: str = ""


@transaction.atomic
def draft(
    owner: User,
    rows: Sequence[CandidateRow] = (),
    topics: Iterable[TopicFields] = (),
    **fields: Any,
) -> Campaign:
    """Create a draft campaign about these candidates; fields as in lifecycle.create.

    All or nothing. Raises what `ask` raises, and Refusal for an invalid field.
    """
    campaign = lifecycle.create(owner, **fields)
    if rows:
        ask(campaign, rows, topics)
    return campaign


@transaction.atomic
def ask(
    campaign: Campaign, rows: Sequence[CandidateRow], topics: Iterable[TopicFields] = ()
) -> AddedQuestions:
    """Add one question per (image, class) that any query found, and record its queries.

    Classes are described by `topics` or the site's glossary, which also lists similar classes. All
    or nothing: raises Refusal, which names the position, for a missing image or an undescribed
    class.
    """
    items = _items(campaign, rows)
    _define(campaign, rows, topics)
    pairs = [(items[row.image], row.topic) for row in rows]
    added = asking.add_item_questions(campaign, pairs)
    _keep_queries(campaign, rows, items)
    keys = {row.topic for row in rows}
    classes = campaign.topics.filter(key__in=keys)
    Verification.objects.bulk_create(
        [Verification(topic=topic) for topic in classes], batch_size=BATCH, ignore_conflicts=True
    )
    # The page of the classes has no figures until this job has run once.
    queue.enqueue("verify", str(campaign.pk), campaign=campaign)
    return added


def queries_of(question_ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the queries that found the image of each question, sorted."""
    queries_by_question: dict[int, list[str]] = {}
    for part in batches(question_ids, BATCH):
        rows = Candidate.objects.filter(question__in=part)
        for pk, query in rows.values_list("question_id", "query"):
            queries_by_question.setdefault(pk, []).append(query)
    return {pk: sorted(queries) for pk, queries in queries_by_question.items()}


def _items(campaign: Campaign, rows: Sequence[CandidateRow]) -> dict[str, int]:
    """Return image name → item id. Raises Refusal for a missing image."""
    items, missing = asking.whole_items(campaign, sorted({row.image for row in rows}))
    if missing:
        gone = set(missing)
        row = next(row for row in rows if row.image in gone)
        more = f" ({len(missing):,} such images)" if len(missing) > 1 else ""
        raise Refusal(
            f"{_prefix(row)}{row.image!r} is not in {campaign.dataset.name}{more}. Add it to the "
            "dataset, or remove it from the list.",
            field="candidates",
            code="missing_images",
        )
    return items


def _prefix(row: CandidateRow) -> str:
    return f"{row.prefix}: " if row.prefix else ""


def _define(
    campaign: Campaign, rows: Sequence[CandidateRow], topics: Iterable[TopicFields]
) -> None:
    """Define the classes that the campaign lacks. Raises Refusal."""
    known = set(campaign.topics.values_list("key", flat=True))
    topics_by_key = {topic["key"]: topic for topic in topics}
    class_keys = dict.fromkeys([*topics_by_key, *(row.topic for row in rows)])
    from_glossary = opening.glossary([key for key in class_keys if key not in known], siblings=True)
    described = known | topics_by_key.keys() | from_glossary.keys()
    if undescribed := next((row for row in rows if row.topic not in described), None):
        raise Refusal(
            f"{_prefix(undescribed)}the class {undescribed.topic!r} has no description: it is "
            "neither in the list of classes nor a noun of WordNet 3.0. Correct it, or add it to "
            "the list of classes.",
            field="candidates",
            code="unknown_class",
        )
    lifecycle.define_topics(
        campaign,
        [
            *(_with_siblings(topic, from_glossary) for topic in topics_by_key.values()),
            *(topic for key, topic in from_glossary.items() if key not in topics_by_key),
        ],
    )


def _with_siblings(topic: TopicFields, glossary_topics: Mapping[str, TopicFields]) -> TopicFields:
    glossary_topic = glossary_topics.get(topic["key"])
    if "siblings" in topic or glossary_topic is None:
        return topic
    return {**topic, "siblings": glossary_topic.get("siblings", [])}


def _keep_queries(
    campaign: Campaign, rows: Sequence[CandidateRow], items: Mapping[str, int]
) -> None:
    for part in batches([row for row in rows if row.query], BATCH):
        rows_of_questions = Question.objects.filter(
            campaign=campaign, round=0, item__in={items[row.image] for row in part}
        ).values_list("item_id", "topic", "pk")
        questions = {(item, topic): pk for item, topic, pk in rows_of_questions}
        Candidate.objects.bulk_create(
            [
                Candidate(question_id=questions[items[row.image], row.topic], query=row.query)
                for row in part
            ],
            ignore_conflicts=True,
        )
