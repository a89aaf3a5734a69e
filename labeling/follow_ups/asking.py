"""Adds, withdraws and reopens questions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from labeling.campaigns import subjects
from labeling.consensus import settling
from labeling.datasets.image_names import ImageNames
from labeling.db import question_counts, sql
from labeling.db.sql import Locked, batches
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import chaining
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS, GRAPH, OBJECTS
from labeling.models import Campaign, Decision, Item, Policy, Question, Seat, User
from labeling.models.questions import QuestionState

BATCH = 2_000
# Why no pairs of image and class are added, by what a kind asks about.
UNLISTED = {
    GRAPH: "The questions of this campaign come from its graph. Open images instead.",
    OBJECTS: "This campaign asks about objects, not about whole images. Ask about objects of the "
    "dataset instead.",
}


@dataclass
class AddedQuestions:
    """Result of adding questions; none are added if any image is missing.

    reopened: questions that had been withdrawn. existing: unchanged questions.
    """

    created: int = 0
    existing: int = 0
    reopened: int = 0
    missing_images: list[str] = field(default_factory=list)


def add_questions(
    campaign: Campaign, pairs: Sequence[tuple[str, str]], *, lane: int = Question.Lane.FRESH
) -> AddedQuestions:
    """Add one question per (image name, topic key), however often the pair is listed.

    Existing questions are unchanged, but withdrawn ones reopen with their answers. A missing image
    or topic, or a pair that is gold, refuses all before anything is written. Writes in batches, so
    that other writers wait only milliseconds; repeat an interrupted call to complete it. The number
    of queries grows with the batches, not with the questions.
    """
    if reason := UNLISTED.get(KINDS[campaign.kind].asks):
        raise Refusal(reason, field="questions")
    unique_pairs = list(dict.fromkeys(pairs))
    check_topics(campaign, {topic for _, topic in unique_pairs})
    items, missing = whole_items(campaign, sorted({image for image, _ in unique_pairs}))
    if missing:
        return AddedQuestions(missing_images=missing)
    return add_item_questions(
        campaign, [(items[image], topic) for image, topic in unique_pairs], lane
    )


def add_item_questions(
    campaign: Campaign, keys: Sequence[tuple[int, str]], lane: int = Question.Lane.FRESH
) -> AddedQuestions:
    """Add questions like add_questions, by item id: (item, topic key)."""
    if campaign.state == Campaign.State.CLOSED:
        raise Conflict("The campaign is closed. Open a new one for more questions.")
    keys = list(dict.fromkeys(keys))
    check_topics(campaign, {topic for _, topic in keys})
    if KINDS[campaign.kind].asks == CHAINS:
        return add_pairs(campaign, keys)
    existing = _existing_questions(campaign, sorted({item for item, _ in keys}))
    new = [key for key in keys if key not in existing]
    withdrawn = [
        existing[key][0]
        for key in keys
        if key in existing and existing[key][1] == Question.State.WITHDRAWN
    ]
    reopened = sum(reopen(campaign, ids) for ids in batches(withdrawn, BATCH))
    created = sum(_create_questions(campaign, part, lane) for part in batches(new, BATCH))
    return AddedQuestions(created, len(keys) - created - reopened, reopened)


def add_pairs(
    campaign: Campaign,
    keys: Sequence[tuple[int, str]],
    proposals: chaining.Proposals | None = None,
    tick: chaining.Tick | None = None,
) -> AddedQuestions:
    """Add pairs whose questions follow one another, like add_item_questions.

    proposals, tick: see chaining.open_pairs. A pair that was withdrawn midway continues.
    """
    back = chaining.withdrawn(campaign, keys)
    reopened = sum(reopen(campaign, ids) for ids in batches(back, BATCH))
    created = chaining.open_pairs(campaign, keys, proposals, tick)
    return AddedQuestions(created, len(keys) - created - reopened, reopened)


def check_topics(campaign: Campaign, keys: set[str]) -> None:
    known = set(campaign.topics.values_list("key", flat=True))
    if unknown := sorted(keys - known):
        raise Refusal(
            f"The campaign lacks {len(unknown)} of the classes, such as {unknown[0]!r}. Define "
            "them first.",
            field="topic",
        )


def whole_items(campaign: Campaign, names: list[str]) -> tuple[dict[str, int], list[str]]:
    """Return image name → whole-image item, creating missing items, and the missing images."""
    named_images = ImageNames(campaign.dataset).exact(names)
    images = {name: image.pk for name, image in named_images.items()}
    missing = [name for name in names if name not in images]
    if missing:
        return {}, missing
    items: dict[int, int] = {}
    pks = list(images.values())
    for batch in batches(pks, BATCH):
        Item.objects.bulk_create([Item(image_id=pk) for pk in batch], ignore_conflicts=True)
        whole = Item.objects.filter(image_id__in=batch, region__isnull=True)
        items.update(whole.values_list("image_id", "pk"))
    return {name: items[pk] for name, pk in images.items()}, []


def _existing_questions(
    campaign: Campaign, items: list[int]
) -> dict[tuple[int, str], tuple[int, str]]:
    existing = {}
    for part in batches(items, BATCH):
        rows = Question.objects.filter(campaign=campaign, round=0, item_id__in=part).values_list(
            "item_id", "topic", "pk", "state"
        )
        for item, topic, pk, state in rows:
            if state == Question.State.GOLD:
                raise Conflict(
                    f"Question {pk} is gold, so it cannot also be an ordinary question. Retire the "
                    "gold first, or choose another image."
                )
            existing[item, topic] = (pk, state)
    return existing


@transaction.atomic
def _create_questions(campaign: Campaign, keys: Sequence[tuple[int, str]], lane: int) -> int:
    policy = Policy.objects.get(pk=Campaign.objects.values_list("policy").get(pk=campaign.pk)[0])
    first = take_tickets(campaign, len(keys))
    subject_of_item = subjects.of_items({item for item, _ in keys})
    seats = policies.first_votes(policies.whole(policy.content))
    with question_counts.counting_repeats(campaign.pk, subject_of_item.values()):
        Question.objects.bulk_create(
            [
                Question(
                    campaign=campaign,
                    item_id=item,
                    topic=topic,
                    subject=subject_of_item.get(item),
                    lane=lane,
                    ticket=first + index,
                    seats_free=seats,
                    policy=policy,
                    by_topic=KINDS[campaign.kind].topic_pages,
                )
                for index, (item, topic) in enumerate(keys)
            ],
            # A concurrent call may add the same question; an unused ticket does no harm.
            ignore_conflicts=True,
        )
    # Tickets from the first on are ours alone until this transaction ends.
    questions = Question.objects.filter(campaign=campaign, item__in={item for item, _ in keys})
    created = questions.filter(ticket__gte=first).count()
    question_counts.opened(campaign.pk, created, seats)
    return created


def take_tickets(campaign: Campaign, count: int) -> int:
    """Reserve `count` consecutive tickets and return the first; locks the campaign's row
    (sql.py).
    """
    return sql.take_tickets(campaign.pk, count)


@transaction.atomic
def reopen(campaign: Campaign, question_ids: Sequence[int]) -> int:
    """Reopen withdrawn questions with their answers and return their number.

    Only the missing votes are requested.
    """
    # A concurrent call may have reopened some of them already, and people may hold seats on those.
    locked = sql.lock_questions(question_ids)
    back = [row for row in locked if row.state == Question.State.WITHDRAWN]
    again = [row._replace(state=Question.State.OPEN.value) for row in back]
    rows = Question.objects.filter(pk__in=[row.id for row in back])
    subject_ids = {subject for subject in rows.values_list("subject", flat=True) if subject}
    with question_counts.counting_repeats(campaign.pk, subject_ids):
        rows.update(state=Question.State.OPEN, lane=Question.Lane.RETURNED)
    question_counts.update_counts(back, again)
    outcome = settling.replay_locked(again)
    outcome.free_missing_seats()
    return len(back)


@transaction.atomic
def withdraw_in_states(
    campaign: Campaign, question_ids: Iterable[int], states: Sequence[str]
) -> list[int]:
    """Withdraw the questions that are in one of the states, and return their ids.

    Their answers are kept; leased seats are closed.
    """
    rows = list(
        Question.objects.select_for_update()
        .filter(campaign=campaign, pk__in=list(question_ids), state__in=states)
        .order_by("pk")
        .values_list("pk", *Locked._fields[1:], "subject")
    )
    before = [Locked(*row[:-1]) for row in rows]
    pks = [question.id for question in before]
    after = [
        question._replace(state=Question.State.WITHDRAWN.value, seats_free=0) for question in before
    ]
    with question_counts.counting_repeats(campaign.pk, [row[-1] for row in rows if row[-1]]):
        Question.objects.filter(pk__in=pks).update(state=Question.State.WITHDRAWN, seats_free=0)
    question_counts.update_counts(before, after)
    Seat.objects.filter(question_id__in=pks, state=Seat.State.LEASED).update(
        state=Seat.State.CLOSED
    )
    return pks


# Why a withdrawal leaves questions alone, by their state.
UNAFFECTED_REASONS = {
    Question.State.SETTLED: "It is settled: it keeps its label and gets no more votes. Ask more "
    "people instead.",
    Question.State.DROPPED: "It was dropped and gets no more votes.",
    Question.State.WITHDRAWN: "It was withdrawn before.",
    Question.State.GOLD: "It is gold. Retire the gold instead.",
}


def count_unaffected(campaign: Campaign, question_ids: Iterable[int]) -> Counter[QuestionState]:
    """Count the questions that a withdrawal would leave unchanged, by state."""
    rows = campaign.questions.filter(pk__in=set(question_ids), state__in=list(UNAFFECTED_REASONS))
    return Counter(Question.State(state) for state in rows.values_list("state", flat=True))


def withdraw_questions(
    campaign: Campaign, question_ids: Iterable[int], actor: User | None, reason: str
) -> int:
    """Withdraw questions and return their number. Answers are kept; leased seats are closed."""
    if KINDS[campaign.kind].asks == GRAPH:
        raise Refusal(
            "The questions of this campaign come from its graph, which would reopen them. Remove "
            "the question from the graph instead.",
            field="questions",
        )
    with transaction.atomic():
        pks = withdraw_in_states(
            campaign, question_ids, (Question.State.OPEN, Question.State.REVIEW)
        )
        if pks:
            Decision.objects.record(campaign, Decision.Kind.DROP, actor, {"withdrawn": pks}, reason)
    return len(pks)
