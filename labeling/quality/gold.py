"""Gold: questions with known answers, given to people unmarked.

Researchers add gold as rows or from settled questions. A person never gets the same gold twice (by
subject). Gold is retired when too many trusted people disagree with its answer, which is then
usually wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Min, Q, QuerySet
from django.utils import timezone

from labeling.assistance import unassisted
from labeling.campaigns import subjects
from labeling.datasets import objects
from labeling.db import question_counts
from labeling.db.sql import lock_questions
from labeling.errors import Conflict, Refusal
from labeling.estimators.intervals import wilson_interval
from labeling.follow_ups import asking, following
from labeling.graphs import store
from labeling.jobs import queue
from labeling.kinds import KINDS, DrawingContext, policies
from labeling.kinds.base import CHAINS
from labeling.models import (
    Answer,
    Audit,
    Campaign,
    Decision,
    Gold,
    Membership,
    Question,
    Seat,
    Settlement,
    User,
)
from labeling.plurals import count_of
from labeling.quality import box_gold
from labeling.question_graph import replaying

BATCH = 500
# Maximum number of contradictions that a refusal lists.
NAMED = 5
# The page of failing gold reads the LATEST answers to gold, then grades the SUSPECTS questions with
# the most wrong answers among them.
LATEST, SUSPECTS = 5_000, 50


def add_gold(
    campaign: Campaign, actor: User, rows: Sequence[Mapping[str, object]], *, replace: bool = False
) -> int:
    """Add or change gold questions; return how many.

    rows: {"image": name, "topic": key, "answer": value, "explanation": text, "source": text}, the
    last two optional. With a question graph, the topic may also be a class's key. For drawings,
    "object" names the object in its image, and the topic is its category. An existing question
    becomes gold only with `replace`, if it is open or withdrawn and has no answers or seats. The
    image's gold, old and new, must not contradict the question graph. For boxes, `answer` lists the
    boxes of all instances; box_gold.py creates several questions from it and replaces none. Raises
    Refusal with the row (1-based); then nothing is added.
    """
    if KINDS[campaign.kind].asks == CHAINS:
        if replace:
            raise Refusal("Gold boxes replace no question. Leave replace out.", field="replace")
        return box_gold.add(campaign, actor, rows)
    cleaned = (_drawn if KINDS[campaign.kind].drawn else _plain)(campaign, rows)
    with transaction.atomic():
        asking.check_topics(campaign, {row.topic for row in cleaned})
        _check_graph(campaign, [(row.image, row.item, row.topic, row.answer) for row in cleaned])
        corrected = False
        for number, row in enumerate(cleaned, 1):
            question = _gold_question(campaign, row.item, row.topic, number, replace=replace)
            corrected |= Gold.objects.filter(question=question).exclude(answer=row.answer).exists()
            Gold.objects.update_or_create(
                question=question,
                defaults={
                    "answer": row.answer,
                    "explanation": str(row.source_row.get("explanation", "")),
                    "source": str(row.source_row.get("source", "")),
                    "draw": None,
                    "retired_at": None,
                },
            )
        Decision.objects.record(campaign, Decision.Kind.GOLD, actor, {"added": len(cleaned)})
        if corrected:
            _enqueue_recount(campaign)
    return len(cleaned)


class _GoldRow(NamedTuple):
    """A validated row of gold. source_row: the row as submitted."""

    image: str
    item: int
    topic: str
    answer: Any
    source_row: Mapping[str, object]


def _plain(campaign: Campaign, rows: Sequence[Mapping[str, object]]) -> list[_GoldRow]:
    answers = [_answer(campaign, row, number) for number, row in enumerate(rows, 1)]
    nodes = _topics_of(campaign, {str(row.get("topic", "")) for row in rows})
    items = _gold_items(campaign, [str(row.get("image", "")) for row in rows])
    return [
        _GoldRow(image, items[image], nodes[str(row.get("topic", ""))], answer, row)
        for row, answer in zip(rows, answers, strict=True)
        for image in [str(row.get("image", ""))]
    ]


def _drawn(campaign: Campaign, rows: Sequence[Mapping[str, object]]) -> list[_GoldRow]:
    drawn_rows = []
    for number, row in enumerate(rows, 1):
        image, name = str(row.get("image", "")), str(row.get("object", ""))
        item = objects.in_dataset(campaign.dataset).filter(image__name=image, name=name).first()
        if item is None:
            raise Refusal(
                f"Row {number}: {campaign.dataset.name} has no object {name!r} in {image!r}. "
                "Import it first, or correct the name.",
                field="object",
            )
        unassisted.check(row.get("answer"), f"Row {number}")
        context = DrawingContext(objects.category_of(item), item.image.width, item.image.height)
        answer = _answer(campaign, row, number, context)
        drawn_rows.append(_GoldRow(image, item.pk, context.topic, answer, row))
    return drawn_rows


def _answer(
    campaign: Campaign,
    row: Mapping[str, object],
    number: int,
    context: DrawingContext | None = None,
) -> object:
    try:
        return KINDS[campaign.kind].clean(row.get("answer"), campaign.settings, context)
    except Refusal as refusal:
        raise Refusal(f"Row {number}: {refusal.message}", field="answer") from refusal


def _gold_items(campaign: Campaign, names: list[str]) -> dict[str, int]:
    items, missing = asking.whole_items(campaign, sorted(set(names)))
    if missing:
        raise Refusal(
            count_of(len(missing), "image of the gold is", "images of the gold are")
            + " not in the dataset, the first is "
            f"{missing[0]!r}. Add them to {campaign.dataset.name!r} first.",
            field="image",
        )
    return items


def _check_graph(campaign: Campaign, rows: Sequence[tuple[str, int, str, Any]]) -> None:
    """Raise Refusal if these answers and the existing gold contradict the campaign's graph.

    rows: (image, item id, topic, answer); they replace existing gold with the same topic.
    """
    if campaign.graph_id is None:
        return
    new_answers = [(image, topic, answer) for image, _, topic, answer in rows]
    replaced = {(image, topic) for image, topic, _ in new_answers}
    kept = [
        row
        for row in _current_gold(campaign, {item for _, item, *_ in rows})
        if row[:2] not in replaced
    ]
    if faults := _faults(campaign, [*kept, *new_answers]):
        more = len(faults) - NAMED
        raise Refusal(
            " ".join(faults[:NAMED]) + (f" And {more} more." if more > 0 else ""),
            field="answer",
            code="gold_contradicts_graph",
        )


def conflicts(campaign: Campaign) -> list[str]:
    """Return a sentence for each active gold that the campaign's graph contradicts.

    There are none unless the graph changed after the gold was added.
    """
    return _faults(campaign, _current_gold(campaign)) if campaign.graph_id else []


def _current_gold(
    campaign: Campaign, items: Iterable[int] | None = None
) -> list[tuple[str, str, Any]]:
    """Return (image, topic, answer) of active gold, of these items or all."""
    rows = Gold.objects.filter(question__campaign=campaign, retired_at=None)
    columns = ("question__item__image__name", "question__topic", "answer")
    if items is None:
        return list(rows.values_list(*columns))
    pks = sorted(items)
    return [
        row
        for start in range(0, len(pks), BATCH)
        for row in rows.filter(question__item__in=pks[start : start + BATCH]).values_list(*columns)
    ]


def _faults(campaign: Campaign, rows: Iterable[tuple[str, str, Any]]) -> list[str]:
    # "too hard" as a known answer has no effect in the graph.
    decided = [row for row in rows if row[2] in (replaying.YES, replaying.NO)]
    mode = campaign.settings.get("mode", "safe")
    return replaying.gold_conflicts(store.load_graph(campaign), decided, mode)


def _topics_of(campaign: Campaign, keys: Iterable[str]) -> dict[str, str]:
    """Return each key's topic: for a class of a graph, the question that asks for it."""
    if campaign.graph_id is None:
        return {key: key for key in keys}
    graph = store.load_graph(campaign)
    return {key: graph.find(key) or key for key in keys}


def _gold_question(
    campaign: Campaign, item_id: int, topic: str, number: int, *, replace: bool
) -> Question:
    questions = Question.objects.filter(campaign=campaign, item_id=item_id, topic=topic)
    question = questions.filter(round=0).first()
    if question is None:
        # If this gold was retired, keep its subject: people who had it must not get it again.
        retired = questions.order_by("pk").values_list("subject", "pk").first()
        question = Question.objects.create(
            campaign=campaign,
            item_id=item_id,
            topic=topic,
            subject=(retired[0] or retired[1]) if retired else subjects.of_item(item_id),
            lane=Question.Lane.GOLD,
            ticket=asking.take_tickets(campaign, 1),
            seats_free=1,
            state=Question.State.GOLD,
            policy=campaign.policies.latest("version"),
            graph_id=campaign.graph_id,
            by_topic=KINDS[campaign.kind].topic_pages,
        )
        question_counts.add(campaign.pk, {"gold": 1})
        return question
    if question.state != Question.State.GOLD and not (replace and _replace(question)):
        raise Conflict(
            f"Row {number}: this question already exists. If it has no answers and nobody is "
            "working on it, confirm that gold may replace it. Otherwise promote it once it is "
            "settled.",
            field="image",
        )
    return question


def _replace(question: Question) -> bool:
    """Turn a question into gold. Return False if it has answers or seats."""
    [before] = lock_questions([question.pk])
    used = Seat.objects.filter(
        question=question, state__in=[Seat.State.LEASED, Seat.State.ANSWERED]
    )
    if before.state not in (Question.State.OPEN, Question.State.WITHDRAWN) or used.exists():
        return False
    Question.objects.filter(pk=question.pk).update(
        state=Question.State.GOLD,
        lane=Question.Lane.GOLD,
        ticket=asking.take_tickets(question.campaign, 1),
        seats_free=1,
        # Its answer is known now, so other questions of the image may open or close.
        follow_up=before.is_followed,
    )
    question_counts.update_counts([before], [before._replace(state=Question.State.GOLD.value)])
    if before.is_followed:
        queue.enqueue("advance", str(question.campaign_id), campaign=question.campaign)
    return True


def retire_gold(campaign: Campaign, actor: User | None, question_id: int, reason: str = "") -> Gold:
    """Retire the gold and return it: it is given to nobody and affects no reputation.

    Past consequences, such as a block, stay until somebody undoes them; recounting.py lists them.
    """
    with transaction.atomic():
        gold = (
            Gold.objects.select_for_update()
            # question__pk, not question_id: an id too large for the column then matches nothing
            # instead of overflowing.
            .filter(question__pk=question_id, question__campaign=campaign)
            .first()
        )
        if gold is None:
            raise Refusal("There is no such gold in this campaign.", field="question")
        if gold.retired_at is None:
            gold.retired_at = timezone.now()
            if actor is not None:
                # A person retired it because its answer is wrong, so it must not measure the error.
                # Gold that is retired because people failed it still counts in that measure.
                gold.draw = None
            gold.save(update_fields=["retired_at", "draw"])
            _move_to_own_round(Question.objects.get(pk=question_id))
            Decision.objects.record(
                campaign, Decision.Kind.GOLD, actor, {"retired": question_id}, reason
            )
            _enqueue_recount(campaign)
    return gold


def _move_to_own_round(question: Question) -> None:
    """Move retired gold to its own round, so that its image may become an ordinary question."""
    rounds = Question.objects.filter(
        campaign_id=question.campaign_id, item_id=question.item_id, topic=question.topic
    )
    lowest = rounds.aggregate(Min("round"))["round__min"]
    # Round -1 is for gold made from settled questions.
    Question.objects.filter(pk=question.pk).update(seats_free=0, round=min(lowest - 1, -2))
    if question.graph_id is not None:
        # While it was active, its answer counted as known. Now the image may get an ordinary
        # question.
        for _ in following.flag_for_replanning(question.campaign, [question.item_id]):
            pass


def gold_from_settled(campaign: Campaign, actor: User, question_ids: Iterable[int]) -> int:
    """Copy settled questions as gold; return how many.

    The settled question and its answers stay: the copy is in round -1 with the same subject, so
    that nobody who answered the original gets it. Raises Refusal if one contradicts the question
    graph together with the image's other gold.
    """
    if KINDS[campaign.kind].asks == CHAINS:
        return box_gold.promote(campaign, actor, list(question_ids))
    policy = campaign.policies.latest("version")
    with transaction.atomic():
        rows = campaign.questions.filter(pk__in=list(question_ids), state=Question.State.SETTLED)
        settled = list(rows.select_related("item__image").order_by("pk"))
        current = {
            row.question_id: row
            for row in Settlement.objects.filter(question__in=settled).order_by("pk")
        }
        promoted = [question for question in settled if question.pk in current]
        _check_graph(
            campaign,
            [(q.item.image.name, q.item_id, q.topic, current[q.pk].value) for q in promoted],
        )
        made = sum(_promote(campaign, row, current[row.pk], policy) for row in promoted)
        if made:
            Decision.objects.record(campaign, Decision.Kind.GOLD, actor, {"promoted": made})
    return made


def _promote(campaign: Campaign, question: Question, settlement: Settlement, policy: Any) -> bool:
    """Copy the question as gold. Return False if there is a copy."""
    copy, created = _copy(question, policy)
    if created:
        source = "decided by a reviewer" if settlement.reviewed else "settled by the campaign"
        answer: Any = settlement.value
        if KINDS[campaign.kind].drawn:
            unassisted.check(answer, f"Question {question.pk}")
            # Agreement between people is not part of a known answer.
            answer = {key: field_value for key, field_value in answer.items() if key != "agreement"}
        Gold.objects.create(question=copy, answer=answer, source=source)
    return created


def _copy(question: Question, policy: Any) -> tuple[Question, bool]:
    """Return the question's copy for gold, and whether it is new."""
    campaign = question.campaign
    copy, created = Question.objects.get_or_create(
        campaign=campaign,
        item_id=question.item_id,
        topic=question.topic,
        round=-1,
        defaults={
            "subject": question.subject or question.pk,
            "lane": Question.Lane.GOLD,
            "ticket": asking.take_tickets(campaign, 1),
            "seats_free": 1,
            "state": Question.State.GOLD,
            "policy": policy,
            "graph_id": question.graph_id,
            "by_topic": question.by_topic,
        },
    )
    if created:
        question_counts.add(campaign.pk, {"gold": 1})
    return copy, created


def gold_from_draw(audit: Audit, answer: object, person: User) -> None:
    """Make the drawn question gold, or a copy of it if people have answered it before.

    Must run in a transaction. Raises Conflict if the question is gold already, or open with answers
    or seats: people who got its copy as gold could no longer answer it.
    """
    campaign, question = audit.campaign, audit.question
    _check_graph(campaign, [(question.item.image.name, question.item_id, question.topic, answer)])
    golden = question
    if not _replace(question):
        question.refresh_from_db()
        if question.state in (Question.State.OPEN, Question.State.GOLD):
            raise Conflict("This question is in use. Continue with the next one.")
        golden, _ = _copy(question, campaign.policies.latest("version"))
        if question.state == Question.State.SETTLED:
            audit.settlement = question.settlements.latest("pk")
            audit.save(update_fields=["settlement"])
    corrected = Gold.objects.filter(question=golden).exclude(answer=answer).exists()
    Gold.objects.update_or_create(
        question=golden, defaults={"answer": answer, "source": "drawn at random", "draw": audit}
    )
    if corrected:
        _enqueue_recount(campaign)
    # This person knows the answer, so bar them from the question.
    Seat.objects.get_or_create(
        annotator=person,
        subject=golden.subject or golden.pk,
        defaults={"question": golden, "state": Seat.State.BARRED, "leased_until": timezone.now()},
    )


def missing_gold(campaign: Campaign) -> list[str]:
    """Return titles of the graph's questions without active gold.

    With a graph each page shows one question, so each question needs its own gold. Campaigns
    without a graph mix gold of all classes, so the result is empty.
    """
    if campaign.graph_id is None:
        return []
    rows = Gold.objects.filter(question__campaign=campaign, retired_at=None)
    known = set(rows.values_list("question__topic", flat=True).distinct())
    return [node.title for node in store.load_graph(campaign).nodes if node.id not in known]


@dataclass(frozen=True)
class Balance:
    """Active gold by answer. one_sided: topics whose gold all has the same answer."""

    total: int
    by_answer: dict[str, int]
    one_sided: list[str]


def balance(campaign: Campaign) -> Balance:
    """Return how active gold is spread over answers and topics. One query."""
    by_answer: Counter[str] = Counter()
    by_topic: dict[str, set[str]] = defaultdict(set)
    rows = Gold.objects.filter(question__campaign=campaign, retired_at=None)
    for topic, answer in rows.values_list("question__topic", "answer"):
        word = KINDS[campaign.kind].tally_name(answer)
        by_answer[word] += 1
        by_topic[topic].add(word)
    return Balance(
        total=by_answer.total(),
        by_answer=dict(sorted(by_answer.items())),
        one_sided=sorted(topic for topic, words in by_topic.items() if len(words) == 1),
    )


@dataclass(frozen=True)
class GoldTally:
    """People who answered one gold question.

    answered: all of them. failed: those who were wrong. trusted, trusted_failed: the same counts of
    trusted people.
    """

    question_id: int
    answered: int
    failed: int
    trusted: int
    trusted_failed: int

    def fails(self, policy: policies.WholePolicy) -> bool:
        """Return whether it should be retired: enough trusted people answered, and too many were
        wrong.
        """
        share = policy["gold_fail_share"]
        return (
            self.trusted >= policy["gold_fail_people"]
            and self.trusted_failed > share * self.trusted
        )


def failing(campaign: Campaign, question_ids: Iterable[int] | None = None) -> list[GoldTally]:
    """Return active gold (or these ids) that anybody failed, most failures by trusted people first.

    Trusted people are researchers, reviewers and some annotators at work: those whom the sequential
    test accepted, and those whose accuracy without this question has a lower 95 % bound above
    bad_accuracy. Answers during training do not count. Two queries.
    """
    kind, policy = KINDS[campaign.kind], policies.for_campaign(campaign)
    members = {row.user_id: row for row in campaign.memberships.active()}
    results_by_question: dict[int, list[tuple[bool, bool]]] = defaultdict(list)
    for question_id, annotator, first_at, value, answer in _answered(campaign, question_ids):
        member = members.get(annotator)
        if member is not None and first_at >= member.working_since:
            failed = not kind.is_right(value, answer, policy)
            results_by_question[question_id].append(
                (failed, _is_trusted(member, failed, first_at, policy))
            )
    rows = []
    for pk, results in results_by_question.items():
        trusted = [failed for failed, is_trusted in results if is_trusted]
        failures = sum(failed for failed, _ in results)
        if failures:
            rows.append(GoldTally(pk, len(results), failures, len(trusted), sum(trusted)))
    return sorted(rows, key=lambda row: (-row.trusted_failed, -row.failed, row.question_id))


def failing_lately(campaign: Campaign, limit: int) -> list[GoldTally]:
    """Return `failing` for the gold that was failed most often in the latest answers.

    Four bounded queries.
    """
    kind, policy = KINDS[campaign.kind], policies.for_campaign(campaign)
    failed = Counter(
        question_id
        for question_id, _, _, value, answer in _answered(campaign, None, LATEST)
        if not kind.is_right(value, answer, policy)
    )
    return failing(campaign, [pk for pk, _ in failed.most_common(SUSPECTS)])[:limit]


def note_failing(campaign: Campaign) -> None:
    """Save the number of active gold questions that most people failed, for the home page.

    All people count here; for `retire_failed` only trusted ones do.
    """
    policy = policies.for_campaign(campaign)
    people, share = policy["gold_fail_people"], policy["gold_fail_share"]
    rows = failing_lately(campaign, SUSPECTS)
    count = sum(row.answered >= people and row.failed > share * row.answered for row in rows)
    Campaign.objects.filter(pk=campaign.pk).update(gold_failing=count)


def latest_answered(campaign: Campaign, count: int) -> QuerySet[Seat, Any]:
    """Return the ids of the latest answered seats on active gold."""
    seats = Seat.objects.filter(
        question__campaign=campaign,
        question__state=Question.State.GOLD,
        question__gold__retired_at=None,
        state=Seat.State.ANSWERED,
    )
    return seats.order_by("-pk").values("pk")[:count]


def _answered(
    campaign: Campaign, question_ids: Iterable[int] | None, latest_seats: int | None = None
) -> list[tuple[Any, ...]]:
    """Return (question, annotator, first answered at, last value, known answer) of active gold."""
    known = Q(
        assignment__question__campaign=campaign,
        assignment__question__state=Question.State.GOLD,
        assignment__question__gold__retired_at=None,
        assignment__state=Seat.State.ANSWERED,
    )
    if question_ids is not None:
        known &= Q(assignment__question__in=list(question_ids))
    if latest_seats is not None:
        known = Q(assignment__in=latest_answered(campaign, latest_seats)) & known
    rows = (
        Answer.objects.filter(known)
        .order_by("assignment_id", "revision")
        .values_list(
            "assignment_id",
            "assignment__question",
            "assignment__annotator",
            "created_at",
            "value",
            "assignment__question__gold__answer",
        )
    )
    latest: dict[int, tuple[Any, ...]] = {}
    for seat, question_id, annotator, at, value, answer in rows:
        first_at = latest[seat][2] if seat in latest else at
        latest[seat] = (question_id, annotator, first_at, value, answer)
    return list(latest.values())


def _is_trusted(
    member: Membership, failed_here: bool, first_at: datetime, policy: policies.WholePolicy
) -> bool:
    """Return whether the member is trusted to retire the gold that they first answered at first_at.

    failed_here: whether that answer was wrong.
    """
    if member.role != Membership.Role.ANNOTATOR:
        return True
    tested = member.standing.get("test", {})
    if member.stage != Membership.Stage.WORKING or tested.get("verdict") == "rejected":
        return False
    if tested.get("accepted"):
        return True
    right, total = tested.get("right", 0), tested.get("total", 0)
    counted_at = member.standing.get("at")
    # The figures include this answer if it came before the last count: subtract it.
    if counted_at is None or first_at <= datetime.fromisoformat(counted_at):
        right, total = right - (not failed_here), total - 1
    if total <= 0:
        return False
    # An answer revised since then may have counted as right and be wrong now.
    right = min(max(right, 0), total)
    return wilson_interval(right, total)[0] > policy["bad_accuracy"]


def retire_failed(campaign: Campaign, question_ids: Iterable[int] | None = None) -> list[int]:
    """Retire gold that too many trusted people failed; return the ids.

    question_ids: check only this gold.
    """
    policy = policies.for_campaign(campaign)
    retired = []
    for tally in failing(campaign, question_ids):
        if tally.fails(policy):
            reason = (
                f"{tally.trusted_failed} of {tally.trusted} trusted people answered otherwise; "
                "usually then the known answer is wrong."
            )
            retire_gold(campaign, None, tally.question_id, reason)
            retired.append(tally.question_id)
    return retired


def _enqueue_recount(campaign: Campaign) -> None:
    queue.enqueue("recount", f"campaign {campaign.pk}", {"campaign": campaign.pk}, campaign)
