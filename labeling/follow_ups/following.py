"""Opening and withdrawing questions after another question settles.

The campaign's graph plans the questions of an image; chaining.py those of an image and class.

`open_images` opens the first questions. Afterwards settling.py flags every question whose consensus
changed (`follow_up`), and the job "advance" replans the images of flagged questions (planning.py):
it opens new questions, withdraws those that the plan no longer has with their seats, and reopens
withdrawn ones with their answers. The number of queries grows with batches of images. See
docs/explanation/question-graphs.md.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection

from labeling.consensus import settling
from labeling.datasets.image_names import ImageNames
from labeling.db import question_counts
from labeling.db.sql import (
    Locked,
    batches,
    execute,
    fetch,
    lock_questions,
    marks,
    numbers,
    retried,
    take_tickets,
    writing,
)
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import chaining
from labeling.graphs import image_state, learned_order, store
from labeling.jobs import queue
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS, GRAPH
from labeling.models import Campaign, Image, Job, Policy, Question, Seat, Settlement
from labeling.question_graph import planning
from labeling.question_graph.inferring import Inference
from labeling.question_graph.planning import AskedNode, Choice, GraphPlan
from labeling.question_graph.replaying import QuestionGraph

State, Lane = Question.State, Question.Lane
# Images whose questions are planned in one transaction: it must stay short, since on SQLite
# everybody waits for it.
CHUNK_IMAGES = 200
# Class of PostgreSQL's advisory locks that serialize the follow-ups of a campaign.
ADVISORY_LOCK_CLASS = 1
# Flagged questions read at once.
MAX_READ_QUESTIONS = 20_000
# Run ANALYZE after this many new rows: with outdated statistics, PostgreSQL would read all of a
# campaign's questions for every chunk.
MIN_ROWS_TO_ANALYZE = 20_000
# Questions of one class opened in one transaction.
SLICE_QUESTIONS = 4_000
# Missing images that a refusal names.
MAX_LISTED_IMAGES = 5
Tick = Callable[[int, int], object]
# (item id, its plan): a GraphPlan, or a PairPlan of chaining.py.
Planned = list[tuple[int, Any]]


@dataclass
class FollowUpCounts:
    """Number of planned images, and of opened, reopened and withdrawn questions."""

    images: int = 0
    opened: int = 0
    returned: int = 0
    withdrawn: int = 0


class _NeedsLocks(Exception):
    """The plan changes questions that are not locked; start again with their locks."""

    def __init__(self, ids: set[int]) -> None:
        self.ids = ids


def open_images(
    campaign: Campaign, names: Sequence[str] | None = None, tick: Tick | None = None
) -> int:
    """Open the first questions of these images, by default of all, and return their number.

    These are the graph's roots; known labels and gold are not asked. Existing questions are
    unchanged, so repeat an interrupted call to complete it. Tickets are numbered topic by topic, so
    that a page with images of one question reads adjacent rows. Raises Refusal for missing images
    before anything is opened.
    """
    if campaign.state == Campaign.State.CLOSED:
        raise Conflict("The campaign is closed. Open a new one for more images.")
    graph = store.load_graph(campaign)
    items = _items(campaign, names)
    firsts = _first_nodes(campaign, graph, items)
    total = sum(len(node_items) for node_items in firsts.values())
    opened = done = 0
    for node, items_of_node in firsts.items():
        for part in batches(items_of_node, SLICE_QUESTIONS):
            opened += _open_slice(campaign, node, part)
            done += len(part)
            if tick:
                tick(done, total)
    if opened >= MIN_ROWS_TO_ANALYZE and connection.vendor == "postgresql":
        execute("ANALYZE labeling_question", [])
    return opened


def _items(campaign: Campaign, names: Sequence[str] | None) -> list[int]:
    """Return the ids of the whole-image items of these images, sorted; create missing items."""
    images = _image_ids(campaign, names)
    items: list[int] = []
    for chunk in batches(images, SLICE_QUESTIONS):
        part = numbers(chunk)
        with writing():
            execute(
                "INSERT INTO labeling_item (image_id) SELECT id FROM labeling_image "  # noqa: S608
                f"WHERE id IN ({part}) ORDER BY id ON CONFLICT DO NOTHING",
                [],
            )
        rows = fetch(
            "SELECT id FROM labeling_item "  # noqa: S608
            f"WHERE image_id IN ({part}) AND region IS NULL",
            [],
        )
        items += [pk for (pk,) in rows]
    return sorted(items)


def check_images(campaign: Campaign, names: Sequence[str]) -> None:
    """Raise Refusal, which names the images missing in the campaign's dataset."""
    _image_ids(campaign, names)


def _image_ids(campaign: Campaign, names: Sequence[str] | None) -> list[int]:
    if names is None:
        pool = Image.objects.filter(dataset_id=campaign.dataset_id)
        return list(pool.order_by("pk").values_list("pk", flat=True))
    unique_names = list(dict.fromkeys(names))
    images = ImageNames(campaign.dataset).exact(unique_names)
    missing = [name for name in unique_names if name not in images]
    if missing:
        more = " …" if len(missing) > MAX_LISTED_IMAGES else ""
        raise Refusal(
            f"{len(missing)} of the images are not in {campaign.dataset.name}: "
            f"{', '.join(missing[:MAX_LISTED_IMAGES])}{more}. Add them to the "
            "dataset, or remove them from the list.",
            field="images",
        )
    return sorted(image.pk for image in images.values())


def _first_nodes(
    campaign: Campaign, graph: QuestionGraph, items: list[int]
) -> dict[str, list[int]]:
    """Return node → items whose first questions include it, in the order of the graph."""
    planner = _Planner.of(campaign, graph)
    plain = planner.plan((), {}).open
    firsts: dict[str, list[int]] = {node: [] for node in graph.index}
    for part in batches(items, SLICE_QUESTIONS):
        labels_by_item = image_state.labels(campaign.pk, graph, part)
        for item in part:
            nodes = planner.plan((), labels_by_item[item]).open if item in labels_by_item else plain
            for node in nodes:
                firsts[node].append(item)
    return {node: node_items for node, node_items in firsts.items() if node_items}


NEW_IMAGES = """
SELECT COUNT(*) FROM labeling_item i WHERE id IN ({}) AND NOT EXISTS (SELECT 1
    FROM labeling_question q WHERE q.campaign_id = %s AND q.item_id = i.id AND q.state <> 'gold')
"""


@retried
def _open_slice(campaign: Campaign, node: str, items: Sequence[int]) -> int:
    with writing():
        policy, content = _policy(campaign.pk)
        first = take_tickets(campaign.pk, len(items))
        seats = policies.first_votes(content)
        # Follow-ups belong to images that are counted already; these images may be new.
        [(new,)] = fetch(NEW_IMAGES.format(numbers(items)), [campaign.pk])
        opened = execute(
            "INSERT INTO labeling_question (campaign_id, item_id, topic, round, lane, ticket, "  # noqa: S608
            "seats_free, state, policy_id, graph_id, by_topic, follow_up) "
            "SELECT %s, id, %s, 0, 1, %s + ROW_NUMBER() OVER (ORDER BY id), %s, 'open', %s, %s, "
            f"true, false FROM labeling_item WHERE id IN ({numbers(items)}) ON CONFLICT DO NOTHING",
            [campaign.pk, node, first - 1, seats, policy, campaign.graph_id],
        )
        question_counts.opened(campaign.pk, opened, seats)
        question_counts.add(campaign.pk, {"images": new})
        return opened


def _policy(campaign_id: int) -> tuple[int, policies.WholePolicy]:
    """Return the id of the policy in force and its content with every key."""
    pk = Campaign.objects.values_list("policy", flat=True).get(pk=campaign_id)
    content = Policy.objects.values_list("content", flat=True).get(pk=pk)
    return pk, policies.whole(content)


def execute_advance(job: Job) -> None:
    """Run the job "advance": follow up the campaign's flagged questions."""
    assert job.campaign is not None, "an advance job names its campaign"
    advance(job.campaign, lambda done, total: queue.renew(job, done, total))


def advance(campaign: Campaign, tick: Tick | None = None) -> FollowUpCounts:
    """Replan the images of all flagged questions.

    Concurrent calls take turns. Each batch of images is a short transaction that clears its flags,
    so an interrupted run loses nothing and another repeats nothing. A closed campaign is unchanged.
    """
    totals = FollowUpCounts()
    while flagged := _flagged(campaign.pk):
        for part in _chunks(flagged):
            more = _advance_chunk(campaign.pk, part)
            if more is None:
                return totals
            for name, count in vars(more).items():
                setattr(totals, name, getattr(totals, name) + count)
            if tick:
                tick(totals.images, totals.images + len(flagged))
    return totals


def _flagged(campaign_id: int) -> dict[int, set[int]]:
    """Return item → its flagged questions, at most MAX_READ_QUESTIONS questions in total."""
    rows = Question.objects.filter(campaign=campaign_id, follow_up=True).order_by()
    questions_by_item: dict[int, set[int]] = defaultdict(set)
    for pk, item in rows.values_list("pk", "item_id")[:MAX_READ_QUESTIONS]:
        questions_by_item[item].add(pk)
    return questions_by_item


def _chunks(flagged: dict[int, set[int]]) -> Iterator[set[int]]:
    """Yield the questions of CHUNK_IMAGES items at a time, by item, the order on disk."""
    items = sorted(flagged)
    for part in batches(items, CHUNK_IMAGES):
        yield {pk for item in part for pk in flagged[item]}


def _advance_chunk(campaign_id: int, flagged: set[int]) -> FollowUpCounts | None:
    """Replan the images of these questions; return None if the campaign is closed."""
    extra_ids: set[int] = set()
    while True:
        try:
            return _advance(campaign_id, flagged, extra_ids)
        except _NeedsLocks as needs:
            extra_ids |= needs.ids


@retried
def _advance(campaign_id: int, flagged: set[int], extra_ids: set[int]) -> FollowUpCounts | None:
    with writing():
        _take_turns(campaign_id)
        campaign = Campaign.objects.get(pk=campaign_id)
        procedure = PROCEDURES.get(KINDS[campaign.kind].asks)
        if campaign.state == Campaign.State.CLOSED or procedure is None:
            return None
        # Changes after this lock set the flag again, so clearing it below loses none.
        locked = {row.id: row for row in lock_questions(flagged | extra_ids)}
        rows = fetch(
            "SELECT id, item_id FROM labeling_question "  # noqa: S608
            f"WHERE id IN ({numbers(flagged)}) AND follow_up",
            [],
        )
        if not rows:
            return FollowUpCounts()
        items = sorted({item for _, item in rows})
        planned = procedure.plans(campaign, items)
        changing = {pk for _, plan in planned for pk in (*plan.reopen, *plan.withdraw)}
        if changing - locked.keys():
            raise _NeedsLocks(changing)
        done = FollowUpCounts(images=len(planned), withdrawn=_withdraw(planned, locked))
        done.opened = procedure.open(campaign, planned)
        execute(
            "UPDATE labeling_question SET follow_up = false "  # noqa: S608
            f"WHERE id IN ({numbers(pk for pk, _ in rows)})",
            [],
        )
        # Last, because a question that settles as it reopens sets its flag again.
        done.returned = _reopen([locked[pk] for _, plan in planned for pk in plan.reopen])
        return done


def _take_turns(campaign_id: int) -> None:
    """Lock the follow-ups of this campaign until the transaction ends.

    SQLite needs no lock: it has a single writer.
    """
    if connection.vendor == "postgresql":
        fetch("SELECT pg_advisory_xact_lock(%s, %s)", [ADVISORY_LOCK_CLASS, campaign_id])


def _plans(campaign: Campaign, items: list[int]) -> list[tuple[int, GraphPlan]]:
    graph = store.load_graph(campaign)
    planner = _Planner.of(campaign, graph)
    labels_by_item = image_state.labels(campaign.pk, graph, items)
    questions_by_item = image_state.questions_of(campaign.pk, items)
    return [
        (item, planner.plan(questions_by_item.get(item, ()), labels_by_item.get(item, {})))
        for item in items
    ]


@dataclass
class _Planner:
    """Plans images of one campaign; images in equal states share the work."""

    graph: QuestionGraph
    mode: str
    choose: Choice
    # Only for campaigns with a price, whose next question may be any node.
    inference: Inference | None = None
    plans: dict[Any, tuple[list[str], list[int], list[int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, campaign: Campaign, graph: QuestionGraph) -> "_Planner":
        settings = campaign.settings
        inference = learned_order.inference(campaign) if "price" in settings else None
        order = None if "price" in settings else settings.get("order")
        return cls(graph, settings.get("mode", "safe"), _choice(campaign, order), inference)

    def plan(self, questions: Sequence[AskedNode], known: dict[str, str]) -> GraphPlan:
        # Two images with equal keys get equal plans: only the order of settling matters.
        by_time = sorted(questions, key=lambda node: (node.first, node.id))
        order = {question: index for index, question in enumerate(by_time)}
        key = (
            tuple(
                (question.node, question.state, question.value, order[question])
                for question in questions
            ),
            tuple(sorted(known.items())),
        )
        if key not in self.plans:
            numbered = [
                AskedNode(index, question.node, question.state, question.value, order[question])
                for index, question in enumerate(questions)
            ]
            if self.inference is None:
                made = planning.plan(self.graph, numbered, self.mode, known, self.choose)
            else:
                made = planning.plan_any(self.graph, numbered, known, self.inference.next)
            self.plans[key] = (made.open, made.reopen, made.withdraw)
        opened, returning, leaving = self.plans[key]
        return GraphPlan(
            opened,
            [questions[index].id for index in returning],
            [questions[index].id for index in leaving],
        )


def _choice(campaign: Campaign, order: str | None) -> Choice:
    if order == "depth":
        return planning.depth
    if order == "learned":
        return learned_order.choice(campaign)
    return planning.breadth


def _withdraw(planned: Planned, locked: dict[int, Locked]) -> int:
    leaving = [pk for _, plan in planned for pk in plan.withdraw]
    if leaving:
        execute(
            "UPDATE labeling_question SET state = 'withdrawn', seats_free = 0 "  # noqa: S608
            f"WHERE id IN ({numbers(leaving)})",
            [],
        )
        before = [locked[pk] for pk in leaving]
        gone = [q._replace(state=State.WITHDRAWN.value, seats_free=0) for q in before]
        question_counts.update_counts(before, gone)
        Seat.objects.filter(question_id__in=leaving, state=Seat.State.LEASED).update(
            state=Seat.State.CLOSED
        )
    return len(leaving)


def _open_nodes(campaign: Campaign, planned: Planned) -> int:
    index_of_node = store.load_graph(campaign).index
    new_questions = [
        (index_of_node[node], node, item) for item, plan in planned for node in plan.open
    ]
    return _open_pairs(campaign, [(item, node) for _, node, item in sorted(new_questions)])


def _open_pairs(campaign: Campaign, pairs: Sequence[tuple[int, str]]) -> int:
    """Open these follow-up questions in this order and return their number."""
    if not pairs:
        return 0
    policy, content = _policy(campaign.pk)
    first = take_tickets(campaign.pk, len(pairs))
    seats = policies.first_votes(content)
    topics = {node: index for index, node in enumerate(dict.fromkeys(node for _, node in pairs))}
    rows = ",".join(
        f"({numbers((item, topics[node], first + index))})"
        for index, (item, node) in enumerate(pairs)
    )
    topic_cells = [part for node, index in topics.items() for part in (index, node)]
    opened = execute(
        # WITH follows INSERT: sqlite3 gives no row count for a statement that begins with WITH.
        "INSERT INTO labeling_question (campaign_id, item_id, topic, round, lane, ticket, "  # noqa: S608
        "seats_free, state, policy_id, graph_id, by_topic, follow_up) "
        f"WITH topics (number, node) AS (VALUES {marks(topic_cells, 2)}), "
        f"pairs (item_id, number, ticket) AS (VALUES {rows}) "
        "SELECT %s, item_id, node, 0, 0, ticket, %s, 'open', %s, %s, true, false "
        "FROM pairs JOIN topics ON topics.number = pairs.number WHERE true "
        "ON CONFLICT DO NOTHING",
        [*topic_cells, campaign.pk, seats, policy, campaign.graph_id],
    )
    question_counts.opened(campaign.pk, opened, seats)
    return opened


def _reopen(questions: list[Locked]) -> int:
    """Reopen these withdrawn, locked questions and return their number.

    A reviewer's verdict is restored. Other questions are settled by their answers or get the
    missing seats.
    """
    if not questions:
        return 0
    question_ids = [question.id for question in questions]
    latest = Settlement.objects.latest_of(question_ids, "value", "reviewed")
    verdicts = {pk: value for pk, (value, reviewed) in latest.items() if reviewed}
    dropped = [pk for pk, value in verdicts.items() if value == "dropped"]
    back = Question.objects.filter(pk__in=question_ids)
    back.filter(pk__in=verdicts).update(state=State.SETTLED, follow_up=True)
    back.filter(pk__in=dropped).update(state=State.DROPPED)
    open_again = [pk for pk in question_ids if pk not in verdicts]
    back.filter(pk__in=open_again).update(state=State.OPEN, lane=Lane.RETURNED)
    states = dict.fromkeys(verdicts, State.SETTLED.value)
    states |= dict.fromkeys(dropped, State.DROPPED.value)
    after = [q._replace(state=states.get(q.id, State.OPEN.value)) for q in questions]
    question_counts.update_counts(questions, after)
    settling.replay(open_again)
    return len(question_ids)


class _Procedure(NamedTuple):
    """How a campaign's items are planned and their questions opened."""

    plans: Callable[[Campaign, list[int]], Planned]
    open: Callable[[Campaign, Planned], int]


# By the kind's `asks`.
PROCEDURES = {
    GRAPH: _Procedure(_plans, _open_nodes),
    CHAINS: _Procedure(chaining.plans, chaining.open_steps),
}


def execute_look_again(job: Job) -> None:
    """Run the job "look again": replan every image of the campaign after its graph changed."""
    assert job.campaign is not None, "a look-again job names its campaign"
    for _ in flag_for_replanning(job.campaign):
        queue.renew(job)


def flag_for_replanning(campaign: Campaign, items: Sequence[int] | None = None) -> Iterator[int]:
    """Flag these items of the campaign, by default all, in slices; yield the number flagged.

    The job "advance" then replans them. Images without any question cannot be flagged.
    """
    if items is None:
        items = _all_items(campaign.pk)
    for part in batches(items, SLICE_QUESTIONS):
        yield _flag(campaign, part)


def _all_items(campaign_id: int) -> list[int]:
    rows = Question.objects.filter(
        campaign=campaign_id, round=0, item__image__removed_at=None
    ).exclude(state=State.GOLD)
    return list(rows.order_by("item_id").values_list("item_id", flat=True).distinct())


@retried
def _flag(campaign: Campaign, items: Sequence[int]) -> int:
    with writing():
        count = execute(
            "UPDATE labeling_question SET follow_up = true WHERE id IN ("  # noqa: S608
            "SELECT MIN(id) FROM labeling_question WHERE campaign_id = %s AND round = 0 "
            f"AND state <> 'gold' AND item_id IN ({numbers(items)}) GROUP BY item_id)",
            [campaign.pk],
        )
        if count:
            queue.enqueue("advance", str(campaign.pk), campaign=campaign)
    return count
