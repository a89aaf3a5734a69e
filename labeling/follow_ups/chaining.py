"""Pairs of image and class whose questions follow one another.

The next question of a pair is replayed from its settlements (kinds/box_pairs.py); following.py
calls `plans` and `open_steps` for pairs whose consensus changed. People who must not answer a
question get a barred seat on it when it opens.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Exists, Max, OuterRef
from django.utils import timezone

from labeling.boxes.rules import BoxRules
from labeling.db import question_counts
from labeling.db.sql import batches, execute, marks, numbers, retried, take_tickets, writing
from labeling.errors import Conflict
from labeling.geometry.boxes import Box
from labeling.kinds import box_pairs, policies
from labeling.kinds.box_pairs import ASIDE, PairContent, PairQuestion, ReplayedPair, Wanted
from labeling.kinds.boxes import STEPS
from labeling.models import Answer, Campaign, Item, Policy, Question, Seat, Settlement

State, Lane = Question.State, Question.Lane
# First questions opened in one transaction.
SLICE_QUESTIONS = 4_000
# From this many new rows on, PostgreSQL analyzes the table.
MIN_ROWS_TO_ANALYZE = 20_000
Tick = Callable[[int, int], object]
Proposals = Mapping[tuple[int, str], Sequence[Box]]


@dataclass
class PairPlan:
    """Changes to the pairs of one item: (topic, question) to open, question ids to reopen and to
    withdraw.
    """

    open: list[tuple[str, Wanted]] = field(default_factory=list)
    reopen: list[int] = field(default_factory=list)
    withdraw: list[int] = field(default_factory=list)


def open_pairs(
    campaign: Campaign,
    pairs: Sequence[tuple[int, str]],
    proposals: Proposals | None = None,
    tick: Tick | None = None,
) -> int:
    """Open the first question of each pair (id of the whole image's item, topic); return their
    number.

    Existing pairs are unchanged, so repeat an interrupted call to complete it. proposals: boxes by
    (item, topic) that are checked before anything is drawn. A pair that is gold refuses all: its
    image would come twice and reveal the gold.
    """
    if campaign.state == Campaign.State.CLOSED:
        raise Conflict("The campaign is closed. Open a new one for more images.")
    if golden := _golden(campaign) & set(pairs):
        item, topic = min(golden)
        image = Item.objects.values_list("image__name", flat=True).get(pk=item)
        raise Conflict(
            f"{topic!r} of {image!r} is gold, so it cannot also be an ordinary question. Remove it "
            "from the list."
        )
    opened = 0
    for done, part in enumerate(batches(pairs, SLICE_QUESTIONS), 1):
        opened += _open_slice(campaign, part, proposals or {})
        if tick:
            tick(min(done * SLICE_QUESTIONS, len(pairs)), len(pairs))
    if opened >= MIN_ROWS_TO_ANALYZE and connection.vendor == "postgresql":
        execute("ANALYZE labeling_question", [])
    return opened


def _golden(campaign: Campaign) -> set[tuple[int, str]]:
    """Return the pairs (item, topic) that are only gold."""
    rows = campaign.questions.filter(state=State.GOLD, gold__retired_at=None)
    first = campaign.questions.filter(round=0, item=OuterRef("item"), topic=OuterRef("topic"))
    return set(rows.filter(~Exists(first)).order_by().values_list("item_id", "topic"))


@retried
def _open_slice(campaign: Campaign, pairs: Sequence[tuple[int, str]], proposals: Proposals) -> int:
    items = Item.objects.filter(pk__in={item for item, _ in pairs})
    names = dict(items.values_list("pk", "image__name"))
    with writing():
        policy, content = _policy(campaign.pk)
        rules = BoxRules.of(content)
        first_steps = []
        for item, topic in pairs:
            boxes = proposals.get((item, topic), ())
            first_step = box_pairs.first_question(f"{names[item]} {topic}", rules, boxes)
            first_steps.append((item, topic, first_step))
        first = take_tickets(campaign.pk, len(first_steps))
        topics = list(dict.fromkeys(topic for _, topic, _ in first_steps))
        index_of_topic = {topic: number for number, topic in enumerate(topics)}
        opened = 0
        # A statement per step: most questions have no content and consist of numbers.
        for step in dict.fromkeys(first_step.step for *_, first_step in first_steps):
            seats = STEPS[step].seats(content)
            rows = [
                (item, index_of_topic[topic], first + number, first_step.content)
                for number, (item, topic, first_step) in enumerate(first_steps)
                if first_step.step == step
            ]
            topic_cells = [part for topic, at in index_of_topic.items() for part in (at, topic)]
            contents = [json.dumps(content) for *_, content in rows if content]
            cast = "::jsonb" if connection.vendor == "postgresql" else ""
            values = ",".join(
                f"({numbers(row)},{f'%s{cast}' if content else f'NULL{cast}'})"
                for *row, content in rows
            )
            count = execute(
                # WITH follows INSERT: sqlite3 counts no rows of a statement that begins with WITH.
                "INSERT INTO labeling_question (campaign_id, item_id, topic, round, lane, ticket, "  # noqa: S608
                "seats_free, state, policy_id, follow_up, step, content) "
                f"WITH topics (place, topic) AS (VALUES {marks(topic_cells, 2)}), "
                f"wanted (item_id, place, ticket, content) AS (VALUES {values}) "
                "SELECT %s, item_id, topic, 0, 1, ticket, %s, 'open', %s, false, %s, content "
                "FROM wanted JOIN topics ON topics.place = wanted.place WHERE true "
                "ON CONFLICT DO NOTHING",
                [*topic_cells, *contents, campaign.pk, seats, policy, step],
            )
            question_counts.opened(campaign.pk, count, seats)
            opened += count
        question_counts.add(campaign.pk, {"images": opened})
        return opened


def withdrawn(campaign: Campaign, pairs: Iterable[tuple[int, str]]) -> list[int]:
    """Return the ids of these pairs' questions that a researcher withdrew."""
    chosen_pairs = set(pairs)
    gone = Question.objects.filter(campaign=campaign, state=State.WITHDRAWN)
    question_ids = []
    for items in batches(sorted({item for item, _ in chosen_pairs}), SLICE_QUESTIONS):
        rows = gone.filter(item__in=items).values_list("pk", "item_id", "topic", "content")
        question_ids += [
            pk
            for pk, item, topic, content in rows
            if (item, topic) in chosen_pairs and not (content or {}).get(ASIDE)
        ]
    return question_ids


def _policy(campaign_id: int) -> tuple[int, policies.WholePolicy]:
    """Return the id of the policy in force and its content with every key."""
    pk, content = Campaign.objects.values_list("policy", "policy__content").get(pk=campaign_id)
    return pk, policies.whole(content)


def plans(campaign: Campaign, items: Sequence[int]) -> list[tuple[int, PairPlan]]:
    """Return the plan for each item, in a fixed number of queries."""
    item_plans = []
    pairs_by_item = replay_pairs(campaign, items)
    for item in items:
        plan = PairPlan()
        for topic, pair in pairs_by_item.get(item, {}).items():
            if pair.open is not None:
                plan.open.append((topic, pair.open))
            plan.reopen += pair.reopen
            plan.withdraw += pair.withdraw
        item_plans.append((item, plan))
    return item_plans


def replay_pairs(campaign: Campaign, items: Collection[int]) -> dict[int, dict[str, ReplayedPair]]:
    """Return item → topic → state of the pair, in a fixed number of queries."""
    rows = list(
        Question.objects.filter(campaign=campaign, item__in=list(items), round__gte=0)
        .exclude(state=State.GOLD)
        .order_by("item_id", "topic", "round")
        .values_list("pk", "item_id", "topic", "item__image__name", "step", "state", "content")
        .annotate(at=Max("policy_id"))
    )
    pks = [row[0] for row in rows]
    settled = Settlement.objects.latest_of(pks, "value", "answers")
    barred = _barred(pks)
    settled_ids = {row[0] for row in rows if row[5] == State.SETTLED}
    people = _people(pks, {pk: settled[pk][1] for pk in settled_ids if pk in settled})
    rules = {
        pk: BoxRules.of(policies.whole(content))
        for pk, content in Policy.objects.filter(pk__in={row[-1] for row in rows}).values_list(
            "pk", "content"
        )
    }
    questions_by_pair: dict[tuple[int, str, str], list[PairQuestion]] = defaultdict(list)
    for pk, item, topic, image, step, state, content, policy in rows:
        shown_content: PairContent = content or {}  # type: ignore[assignment]
        by, without = people.get(pk, frozenset()), barred.get(pk, frozenset())
        value, _ = settled.get(pk, (None, []))
        asked_question = PairQuestion(
            pk, step, state, shown_content, rules[policy], value, by, without
        )
        questions_by_pair[item, topic, image].append(asked_question)
    replayed_by_item: dict[int, dict[str, ReplayedPair]] = defaultdict(dict)
    for (item, topic, image), steps in questions_by_pair.items():
        replayed_by_item[item][topic] = box_pairs.replay(f"{image} {topic}", steps)
    return replayed_by_item


def _people(pks: Sequence[int], counting: Mapping[int, Sequence[str]]) -> dict[int, frozenset[int]]:
    """Return the people who answered each question. counting: counted answers by settled
    question.
    """
    counted = {answer for answers in counting.values() for answer in answers}
    rows = Answer.objects.filter(assignment__question__in=pks, late=False).values_list(
        "pk", "assignment__question_id", "assignment__annotator_id"
    )
    return _by_question(
        (question, person)
        for answer, question, person in rows
        if question not in counting or str(answer) in counted
    )


def _barred(pks: Sequence[int]) -> dict[int, frozenset[int]]:
    """Return the people who must not answer each question."""
    rows = Seat.objects.filter(question__in=pks, state=Seat.State.BARRED)
    return _by_question(rows.values_list("question_id", "annotator_id"))


def _by_question(rows: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    people_by_question: dict[int, set[int]] = defaultdict(set)
    for pk, person in rows:
        people_by_question[pk].add(person)
    return {pk: frozenset(people) for pk, people in people_by_question.items()}


def open_steps(campaign: Campaign, planned: Iterable[tuple[int, PairPlan]]) -> int:
    """Open questions in the order of the items and return their number; also record which questions
    were withdrawn or reopened.
    """
    planned = list(planned)
    _save_aside([pk for _, plan in planned for pk in plan.withdraw], True)
    _save_aside([pk for _, plan in planned for pk in plan.reopen], False)
    new_steps = [(item, topic, new_step) for item, plan in planned for topic, new_step in plan.open]
    if not new_steps:
        return 0
    policy, content = _policy(campaign.pk)
    rounds = _next_rounds(campaign, {item for item, *_ in new_steps})
    first = take_tickets(campaign.pk, len(new_steps))
    made = Question.objects.bulk_create(
        Question(
            campaign=campaign,
            item_id=item,
            topic=topic,
            round=rounds[item, topic],
            lane=Lane.RETURNED,
            ticket=first + index,
            seats_free=STEPS[new_step.step].seats(content),
            state=State.REVIEW if new_step.step == box_pairs.REVIEW else State.OPEN,
            policy_id=policy,
            step=new_step.step,
            content=new_step.content,
        )
        for index, (item, topic, new_step) in enumerate(new_steps)
    )
    seats = [question.seats_free for question in made if question.state == State.OPEN]
    question_counts.add(
        campaign.pk,
        {
            "open": len(seats),
            "free": len(seats),
            "seats_free": sum(seats),
            "review": len(made) - len(seats),
        },
    )
    bar(
        (question.pk, new_step.barred)
        for question, (*_, new_step) in zip(made, new_steps, strict=True)
    )
    return len(made)


def _next_rounds(campaign: Campaign, items: Collection[int]) -> dict[tuple[int, str], int]:
    rows = (
        Question.objects.filter(campaign=campaign, item__in=list(items), round__gte=0)
        .order_by()
        .values_list("item_id", "topic")
        .annotate(last=Max("round"))
    )
    return {(item, topic): last + 1 for item, topic, last in rows}


def bar(rows: Iterable[tuple[int, Iterable[int]]]) -> None:
    """Bar these people (ids) from each question (id)."""
    now = timezone.now()
    Seat.objects.bulk_create(
        Seat(
            question_id=question,
            annotator_id=person,
            subject=question,
            state=Seat.State.BARRED,
            leased_until=now,
        )
        for question, people in rows
        for person in sorted(people)
    )


def _save_aside(pks: Sequence[int], aside: bool) -> None:
    rows = list(Question.objects.filter(pk__in=pks).only("pk", "content"))
    for row in rows:
        row.content = {key: value for key, value in (row.content or {}).items() if key != ASIDE}
        if aside:
            row.content[ASIDE] = True
    Question.objects.bulk_update(rows, ["content"])
