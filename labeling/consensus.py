"""Answers become consensus: settled inline under the question's lock, and recomputed on demand.

A question is complete when it has no free seat and none under lease. Its verdict follows from the
latest revision of every vote that was not late, so what stands can always be computed again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from labeling import jobs, policies
from labeling.kinds import KINDS, Verdict
from labeling.models import Answer, Assignment, Campaign, Policy, Question, Settlement
from labeling.seats import Locked, execute, free, lock_questions, marks, retried, writing

State = Question.State
DECIDED = (State.SETTLED, State.DROPPED, State.REVIEW)
CHUNK = 1_000


@dataclass
class Votes:
    """The votes that count for a question: per person the latest revision that was not late."""

    answers: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Difference:
    """A question whose standing settlement is not what its answers give."""

    question: int
    stands: dict[str, Any] | None
    rebuilt: dict[str, Any] | None


def settle(question_ids: Iterable[int]) -> int:
    """How many of these questions were decided now; locks them until the transaction ends.

    A question that wants more votes gets the seats for them, in the lane of returned ones.
    """
    return settle_locked(lock_questions(question_ids))


def settle_locked(questions: Sequence[Locked]) -> int:
    """As settle, for open questions that this transaction has locked, with their seats as they are
    now. Queries do not grow with the questions, but for one job for each that was dropped."""
    full = [q for q in questions if q.state == State.OPEN and q.seats_free == 0]
    if not full:
        return 0
    # Under the lock: whoever answers the same question commits before we look, or after we go.
    waiting = _under_lease(full)
    complete = [question for question in full if question.id not in waiting]
    verdicts = _verdicts(complete, _votes([question.id for question in complete]))
    decided = [entry for entry in verdicts if not entry[2].more]
    wanting = {question.id: verdict.more for question, _, verdict in verdicts if verdict.more}
    _record(decided)
    free([q for q in complete if q.id in wanting], wanting, Question.Lane.RETURNED)
    return len(decided)


def _record(decided: Sequence[tuple[Locked, Votes, Verdict]]) -> None:
    if not decided:
        return
    Settlement.objects.bulk_create(
        [
            Settlement(
                question_id=question.id,
                policy_id=question.policy_id,
                value=verdict.value,
                probability=verdict.probability,
                answers=votes.answers,
            )
            for question, votes, verdict in decided
        ]
    )
    rows = [part for question, _, verdict in decided for part in (question.id, verdict.state)]
    execute(
        f"WITH decided (id, state) AS (VALUES {marks(rows, 2)}) "  # noqa: S608
        "UPDATE labeling_question SET state = decided.state "
        "FROM decided WHERE labeling_question.id = decided.id",
        rows,
    )
    dropped = [question for question, _, verdict in decided if verdict.state == State.DROPPED]
    campaigns = Campaign.objects.in_bulk({question.campaign_id for question in dropped})
    for question in dropped:
        jobs.enqueue(
            "question dropped",
            str(question.id),
            {"question": question.id},
            campaigns[question.campaign_id],
        )


def _under_lease(questions: Sequence[Locked]) -> set[int]:
    return set(
        Assignment.objects.filter(
            question_id__in=[question.id for question in questions],
            state=Assignment.State.LEASED,
        ).values_list("question_id", flat=True)
    )


def _votes(question_ids: Sequence[int]) -> dict[int, Votes]:
    rows = (
        Answer.objects.filter(assignment__question_id__in=question_ids, late=False)
        .order_by("assignment_id", "revision")
        .values_list("assignment__question_id", "assignment_id", "id", "value")
    )
    latest = {(question, seat): (str(pk), value) for question, seat, pk, value in rows}
    votes: dict[int, Votes] = defaultdict(Votes)
    # By answer id, so that a settlement is the same bytes however the rows were read.
    for (question, _), (pk, value) in sorted(latest.items(), key=lambda entry: entry[1][0]):
        votes[question].answers.append(pk)
        votes[question].values.append(value)
    return votes


def _verdicts(
    questions: Sequence[Locked], votes: dict[int, Votes]
) -> list[tuple[Locked, Votes, Verdict]]:
    if not questions:
        return []
    policy_rows = Policy.objects.filter(pk__in={question.policy_id for question in questions})
    rules = {
        pk: (policies.DEFAULTS | content, KINDS[kind])
        for pk, content, kind in policy_rows.values_list("pk", "content", "campaign__kind")
    }
    found = []
    for question in questions:
        policy, kind = rules[question.policy_id]
        given = votes.get(question.id) or Votes()
        found.append((question, given, kind.settle(given.values, policy)))
    return found


def settle_complete(campaign: Campaign) -> int:
    """How many questions were decided that had all their votes and were still open.

    Submitting settles inline, so there are none unless rows came in another way.
    """
    count = 0
    for chunk in _chunks(campaign, [State.OPEN], seats_free=0):
        count += _settle_chunk([question.id for question in chunk])
    return count


@retried
def _settle_chunk(question_ids: Sequence[int]) -> int:
    with writing():
        return settle(question_ids)


def _chunks(campaign: Campaign, states: Iterable[str], **more: Any) -> Iterator[list[Locked]]:
    """The campaign's questions in these states by id, a thousand at a time."""
    last = 0
    while True:
        rows = (
            Question.objects.filter(campaign=campaign, state__in=list(states), pk__gt=last, **more)
            .order_by("pk")
            .values_list("pk", "campaign_id", "state", "seats_free", "policy_id")[:CHUNK]
        )
        chunk = [Locked(*row) for row in rows]
        if not chunk:
            return
        yield chunk
        last = chunk[-1].id


def rebuild(campaign: Campaign) -> Iterator[Difference]:
    """Every question whose settlement, computed again from its answers, differs from what stands.

    Writes nothing, and reads a thousand questions at a time. Answers that come in meanwhile may
    show as differences: rebuild a campaign that is paused or closed.
    """
    for chunk in _chunks(campaign, [State.OPEN, *DECIDED]):
        standing = _standing([question.id for question in chunk])
        waiting = _under_lease(chunk)
        votes = _votes([question.id for question in chunk])
        for question, given, verdict in _verdicts(chunk, votes):
            if verdict.state == State.REVIEW and question.state in (State.SETTLED, State.DROPPED):
                # A reviewer's verdict, kept as a Decision, does not follow from the answers.
                continue
            complete = question.seats_free == 0 and question.id not in waiting
            rebuilt = None
            if complete and not verdict.more:
                rebuilt = _content(
                    verdict.state, verdict.value, verdict.probability, question, given.answers
                )
            settlement = standing.get(question.id)
            stands = None
            if question.state != State.OPEN:
                stands = {"state": question.state}
                if settlement is not None:
                    stands = _content(
                        question.state,
                        settlement.value,
                        settlement.probability,
                        question,
                        settlement.answers,
                        settlement.policy_id,
                    )
            if stands != rebuilt:
                yield Difference(question.id, stands, rebuilt)


def _content(
    state: str,
    value: Any,
    probability: float | None,
    question: Locked,
    answers: list[str],
    policy_id: int | None = None,
) -> dict[str, Any]:
    return {
        "state": str(state),
        "value": value,
        "probability": probability,
        "policy": policy_id or question.policy_id,
        "answers": answers,
    }


def _standing(question_ids: Sequence[int]) -> dict[int, Settlement]:
    """The latest settlement of each."""
    rows = Settlement.objects.filter(question_id__in=question_ids).order_by("pk")
    return {settlement.question_id: settlement for settlement in rows}


def tallies(campaign: Campaign, question_ids: Sequence[int]) -> dict[int, Counter[str]]:
    """How many people gave which answer to each question that has votes, abstentions too.

    The votes that settling counts; answers in the order of their names.
    """
    kind = KINDS[campaign.kind]
    return {
        question: Counter(sorted(kind.tally_name(value) for value in votes.values))
        for question, votes in _votes(question_ids).items()
    }
