"""Judging questions from the database: whose votes, which policy and which calibration.

Read-only, with a constant number of queries. settling.py acts on the result.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from labeling.consensus import calibration_store
from labeling.db.sql import Locked, in_runs
from labeling.graphs import store
from labeling.kinds import KINDS, Kind, Verdict, deciding, policies
from labeling.kinds.deciding import Skills, Vote
from labeling.models import Answer, Policy, Question, Seat, SentBack, Settlement


@dataclass(frozen=True)
class Judged:
    """A question's verdict, the ids of the answers it counts, sorted, and the calibration that
    weighted them; None if votes had equal weight and nobody was voided.
    """

    question: Locked
    verdict: Verdict
    answers: list[str]
    calibration_id: int | None


@dataclass(frozen=True)
class Rules:
    """The kind, policy, skills and calibration that a question is judged by."""

    kind: Kind
    policy: policies.WholePolicy
    skills: Skills
    calibration_id: int | None


def sent_back_since() -> Exists:
    """Return the condition that an answer, or a later one of the same seat, was sent back and so no
    longer counts.
    """
    return Exists(
        SentBack.objects.filter(
            assignment=OuterRef("assignment"), answer__revision__gte=OuterRef("revision")
        )
    )


def votes_on(question_ids: Sequence[int]) -> dict[int, list[Vote]]:
    """Return all counting revisions by question: not late, nor sent back or older than one sent
    back.
    """
    answers = Answer.objects.filter(assignment__question_id__in=question_ids)
    return _by_question(
        _counting(answers).values_list(
            "assignment__question_id", "assignment__annotator_id", *REVISION
        )
    )


def votes_on_page(question_ids: Collection[int]) -> dict[int, list[Vote]]:
    """Return votes_on for the questions on a page, in two queries that read neighbouring rows
    together.
    """
    rows = Seat.objects.filter(in_runs("question_id", question_ids))
    seats = {pk: (question, person) for pk, question, person in rows.values_list(*SEAT)}
    answers = _counting(Answer.objects.filter(in_runs("assignment_id", seats)))
    return _by_question((*seats[row[0]], *row) for row in answers.values_list(*REVISION))


SEAT = ("pk", "question_id", "annotator_id")
REVISION = ("assignment_id", "created_at", "id", "value")


def _counting(answers: QuerySet[Answer]) -> QuerySet[Answer]:
    counting = answers.filter(late=False).exclude(sent_back_since())
    return counting.order_by("assignment_id", "revision")


def _by_question(rows: Iterable[tuple[Any, ...]]) -> dict[int, list[Vote]]:
    votes: dict[int, list[Vote]] = defaultdict(list)
    last = None
    for question, annotator, seat, created_at, pk, value in rows:
        if seat != last:
            votes[question].append(Vote(annotator, []))
        votes[question][-1].revisions.append((created_at, str(pk), value))
        last = seat
    return votes


def all_verdicts(questions: Sequence[Locked], votes: dict[int, list[Vote]]) -> list[Judged]:
    """Return the verdict on each question by the current rules."""
    if not questions:
        return []
    rules = rules_by({question.policy_id for question in questions})
    places = places_of(questions, rules)
    return [
        verdict_on(question, votes.get(question.id, []), rules[question.policy_id], places)
        for question in questions
    ]


def verdict_on(
    question: Locked, votes: Sequence[Vote], rules: Rules, places: dict[int, tuple[str, bool]]
) -> Judged:
    """Return the verdict that these votes give by these rules."""
    topic, inner = places.get(question.id, ("", False))
    verdict, counted = deciding.judge(
        rules.kind.at(question.step), votes, rules.policy, rules.skills, topic=topic, inner=inner
    )
    # Sort, so that a settlement has the same bytes in any order of rows.
    answers = sorted(pk for pk, _ in counted)
    weighed = rules.policy["method"] != "majority" or rules.skills.voided
    return Judged(question, verdict, answers, rules.calibration_id if weighed else None)


def rules_by(
    policy_ids: Iterable[int], calibration: tuple[int | None, Any] | None = None
) -> dict[int, Rules]:
    """Return the rules by policy. calibration: id and date of the one about to be activated."""
    rows = Policy.objects.filter(pk__in=set(policy_ids)).values_list(
        "pk",
        "content",
        "campaign_id",
        "campaign__kind",
        "campaign__calibration_id",
        "campaign__calibration__created_at",
    )
    rules = {}
    for pk, content, campaign_id, kind, current, current_at in rows:
        policy = policies.whole(content)
        calibration_id, made_at = calibration or (current, current_at)
        known = calibration_store.skills(calibration_id, made_at)
        if policy["method"] != "majority" and not KINDS[kind].is_binary:
            known = calibration_store.among_classes(known, campaign_id)
        rules[pk] = Rules(KINDS[kind], policy, known, calibration_id)
    return rules


def places_of(questions: Sequence[Locked], rules: dict[int, Rules]) -> dict[int, tuple[str, bool]]:
    """Return the topic of each question and whether others depend on it in the question graph.

    Questions settled by majority are left out, since it needs neither.
    """
    weighed = [q for q in questions if rules[q.policy_id].policy["method"] != "majority"]
    if not weighed:
        return {}
    ids = [question.id for question in weighed]
    topics = dict(Question.objects.filter(pk__in=ids).values_list("pk", "topic"))
    known = {pk: store.load_graph(pk) for pk in {q.graph_id for q in weighed} if pk is not None}
    places = {}
    for question in weighed:
        topic, graph = topics[question.id], known.get(question.graph_id or 0)
        at = graph.index.get(topic) if graph else None
        inner = graph is not None and at is not None and bool(graph.nodes[at].children)
        places[question.id] = (topic, inner)
    return places


def rules_of(settlement: Settlement, rules: Rules) -> Rules:
    """Return the rules of this settlement's time, with the people who are voided now."""
    made_at = settlement.calibration.created_at if settlement.calibration else None
    known = calibration_store.skills(settlement.calibration_id, made_at)
    now = rules.skills
    known = replace(known, voided=now.voided, classes=now.classes)
    return replace(rules, skills=known, calibration_id=settlement.calibration_id)


def matches_settlement(judged: Judged, settlement: Settlement) -> bool:
    """Return whether the settlement says exactly this, by the same answers and policy."""
    return (
        judged.verdict.value == settlement.value
        and judged.verdict.probability == settlement.probability
        and judged.answers == settlement.answers
        and judged.question.policy_id == settlement.policy_id
    )


def history_of(question_ids: Sequence[int]) -> dict[int, list[Settlement]]:
    """Return the settlements of each question.

    The last one is current as long as the question is decided.
    """
    history: dict[int, list[Settlement]] = defaultdict(list)
    rows = Settlement.objects.filter(question_id__in=question_ids).select_related("calibration")
    for settlement in rows.defer("calibration__content").order_by("pk"):
        history[settlement.question_id].append(settlement)
    return history
