"""Settling: answers become consensus under the question's lock, and can be recomputed on demand.

A question is complete when it has no free and no leased seat. Its verdict depends only on its
votes, except late ones and those of voided people (deciding.py), so every settlement can be
recomputed. `replay` does so when somebody is blocked or unblocked.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from labeling.consensus import calibration_store
from labeling.consensus.votes import (
    Judged,
    Rules,
    all_verdicts,
    history_of,
    matches_settlement,
    places_of,
    rules_by,
    rules_of,
    verdict_on,
    votes_on,
    votes_on_page,
)
from labeling.db import question_counts
from labeling.db.freeing import free
from labeling.db.sql import (
    FOLLOWED,
    Locked,
    execute,
    lock_questions,
    marks,
    numbers,
    retried,
    writing,
)
from labeling.estimators.intervals import share_interval
from labeling.jobs import queue
from labeling.kinds import KINDS
from labeling.kinds.deciding import Vote
from labeling.models import Answer, Campaign, Question, Seat, Settlement
from labeling.records import Record

State = Question.State
RETURNED = Question.Lane.RETURNED
DECIDED = (State.SETTLED, State.DROPPED, State.REVIEW)
CHUNK = 1_000


@dataclass(kw_only=True)
class QuestionVerdict(Record):
    """A question's state, with its verdict if a settlement gave it."""

    state: str


@dataclass(kw_only=True)
class SettledState(QuestionVerdict):
    value: object
    probability: float | None
    policy: int
    answers: list[str]


@dataclass(kw_only=True)
class Difference(Record):
    """A question whose current settlement differs from what its answers give."""

    question: int
    current: QuestionVerdict | None = field(metadata={"key": "stands"})
    rebuilt: QuestionVerdict | None


def settle(question_ids: Iterable[int]) -> int:
    """Settle these questions and return how many were decided; holds their locks until the
    transaction ends.

    A question that needs more votes gets free seats for them and moves to the RETURNED lane.
    """
    return settle_locked(lock_questions(question_ids))


def settle_locked(questions: Sequence[Locked]) -> int:
    """Settle open questions that this transaction has locked.

    The number of queries is constant, except for one job per dropped question.
    """
    full = [q for q in questions if q.state == State.OPEN and q.seats_free == 0]
    if not full:
        return 0
    # Hold the lock: a concurrent answer to this question commits either before we read or after we
    # commit.
    waiting = _under_lease(full)
    complete = [question for question in full if not waiting[question.id]]
    judged = all_verdicts(complete, votes_on([question.id for question in complete]))
    decided = [judgement for judgement in judged if not judgement.verdict.more]
    missing_seats = {row.question.id: row.verdict.more for row in judged if row.verdict.more}
    _record(decided)
    free([q for q in complete if q.id in missing_seats], missing_seats, RETURNED)
    _follow_up([judgement.question for judgement in decided])
    return len(decided)


def _record(decided: Sequence[Judged]) -> None:
    """Write settlements and states, and queue the follow-ups of dropped questions."""
    if not decided:
        return
    Settlement.objects.bulk_create(
        [
            Settlement(
                question_id=judgement.question.id,
                policy_id=judgement.question.policy_id,
                calibration_id=judgement.calibration_id,
                value=judgement.verdict.value,
                probability=judgement.verdict.probability,
                answers=judgement.answers,
            )
            for judgement in decided
        ]
    )
    rows = [
        part for judgement in decided for part in (judgement.question.id, judgement.verdict.state)
    ]
    execute(
        f"WITH decided (id, state) AS (VALUES {marks(rows, 2)}) "  # noqa: S608
        "UPDATE labeling_question SET state = decided.state, seats_free = 0, "
        f"follow_up = follow_up OR {FOLLOWED} "
        "FROM decided WHERE labeling_question.id = decided.id",
        rows,
    )
    question_counts.update_counts(
        [judgement.question for judgement in decided],
        [
            judgement.question._replace(state=str(judgement.verdict.state), seats_free=0)
            for judgement in decided
        ],
    )
    dropped = [
        judgement.question for judgement in decided if judgement.verdict.state == State.DROPPED
    ]
    campaigns = Campaign.objects.in_bulk({question.campaign_id for question in dropped})
    for question in dropped:
        queue.enqueue(
            "question dropped",
            str(question.id),
            {"question": question.id},
            campaigns[question.campaign_id],
        )


def _follow_up(changed: Sequence[Locked]) -> None:
    """Queue the job that opens and closes further questions (following.py).

    Call it last: its locks come last in the order of locks (sql.py).
    """
    campaign_ids = {question.campaign_id for question in changed if question.is_followed}
    for campaign in (
        Campaign.objects.filter(pk__in=campaign_ids).order_by("pk") if campaign_ids else ()
    ):
        queue.enqueue("advance", str(campaign.pk), campaign=campaign)


def _under_lease(questions: Sequence[Locked]) -> Counter[int]:
    """Return the number of leased seats by question."""
    return Counter(
        Seat.objects.filter(
            question_id__in=[question.id for question in questions], state=Seat.State.LEASED
        ).values_list("question_id", flat=True)
    )


@dataclass
class ReplayedQuestions:
    """The result of judging questions again.

    decided: number of questions with a new verdict. reopened: number of decided questions that are
    open again. missing_seats: seats that an open question lacks, by id. changed: questions whose
    state or seats changed.
    """

    decided: int = 0
    reopened: int = 0
    missing_seats: dict[int, int] = field(default_factory=dict)
    changed: list[Locked] = field(default_factory=list)

    def add(self, more: "ReplayedQuestions") -> None:
        self.decided += more.decided
        self.reopened += more.reopened
        self.missing_seats |= more.missing_seats
        self.changed += more.changed

    def free_missing_seats(self) -> None:
        """Free the seats that open questions lack, in the RETURNED lane.

        It locks the campaign's row, so call it after locking all questions.
        """
        short = [question for question in self.changed if question.id in self.missing_seats]
        for start in range(0, len(short), CHUNK):
            free(short[start : start + CHUNK], self.missing_seats, RETURNED)
        _follow_up(self.changed)


def replay(question_ids: Iterable[int]) -> ReplayedQuestions:
    """Judge these questions again and give them the seats they need; see replay_locked."""
    outcome = replay_locked(lock_questions(question_ids))
    outcome.free_missing_seats()
    return outcome


def replay_locked(
    questions: Sequence[Locked], calibration: tuple[int | None, Any] | None = None
) -> ReplayedQuestions:
    """Judge locked questions again, whatever their state. Used after a change of voided people, and
    for reopened questions without seats. The caller must then call `free_missing_seats`.

    calibration: id and date of the calibration about to be activated. If a question's votes are the
    same as at an earlier settlement, that settlement becomes current again, with its own
    calibration. Reviewers' decisions stay. Gold and withdrawn questions are skipped. The number of
    queries is constant, except for one job per dropped question; pass a thousand at a time.
    """
    outcome = ReplayedQuestions()
    questions = [q for q in questions if q.state == State.OPEN or q.state in DECIDED]
    if not questions:
        return outcome
    ids = [question.id for question in questions]
    votes, held, history = votes_on(ids), _under_lease(questions), history_of(ids)
    rules = rules_by({question.policy_id for question in questions}, calibration)
    places = places_of(questions, rules)
    decided: list[Judged] = []
    reopening: list[Locked] = []
    open_now: list[Locked] = []
    for question in questions:
        earlier = history.get(question.id, [])
        current = earlier[-1] if earlier and question.state in DECIDED else None
        if current is not None and current.reviewed:
            continue
        judged = _restored(question, votes[question.id], earlier, rules[question.policy_id], places)
        seats_needed = max(0, judged.verdict.more - held[question.id])
        if not judged.verdict.more:
            if current is None or not matches_settlement(judged, current):
                decided.append(judged)
        elif question.state != State.OPEN or seats_needed != question.seats_free:
            outcome.reopened += question.state != State.OPEN
            # Remove surplus seats now; `free_missing_seats` adds missing ones, with a ticket.
            seats = min(seats_needed, question.seats_free)
            reopening.append(question)
            open_now.append(question._replace(state=State.OPEN.value, seats_free=seats))
            if seats_needed > question.seats_free:
                outcome.missing_seats[question.id] = seats_needed - question.seats_free
    outcome.decided = len(decided)
    outcome.changed = open_now + [judged.question for judged in decided]
    _open_again(reopening, open_now)
    _close_seats(
        [judgement.question.id for judgement in decided if judgement.question.state == State.OPEN]
    )
    _record(decided)
    return outcome


def _restored(
    question: Locked,
    votes: Sequence[Vote],
    earlier: Sequence[Settlement],
    rules: Rules,
    places: dict[int, tuple[str, bool]],
) -> Judged:
    """Return the verdict of the earliest settlement that these votes still reproduce under its own
    calibration, else the verdict under the current one.
    """
    for settlement in earlier:
        if settlement.reviewed or settlement.policy_id != question.policy_id:
            continue
        judged = verdict_on(question, votes, rules_of(settlement, rules), places)
        if not judged.verdict.more and matches_settlement(judged, settlement):
            return replace(judged, calibration_id=settlement.calibration_id)
    return verdict_on(question, votes, rules, places)


def _open_again(before: Sequence[Locked], after: Sequence[Locked]) -> None:
    if not after:
        return
    rows = [part for question in after for part in (question.id, question.seats_free)]
    execute(
        f"WITH again (id, seats) AS (VALUES {marks(rows, 2)}) "  # noqa: S608
        "UPDATE labeling_question SET state = 'open', seats_free = again.seats, "
        f"follow_up = follow_up OR ({FOLLOWED} AND state <> 'open') "
        "FROM again WHERE labeling_question.id = again.id",
        rows,
    )
    question_counts.update_counts(before, after)


def _close_seats(question_ids: Sequence[int]) -> None:
    """Close the leased seats of questions that need no more votes."""
    if question_ids:
        execute(
            "UPDATE labeling_assignment SET state = 'closed' "  # noqa: S608
            f"WHERE question_id IN ({numbers(question_ids)}) AND state = 'leased'",
            [],
        )


def settle_complete(campaign: Campaign) -> int:
    """Settle open questions that have all their votes; return how many.

    Submitting settles inline, so there are none unless rows were written in another way.
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
    """Yield the campaign's questions in these states by id, a thousand at a time."""
    last = 0
    while True:
        rows = (
            Question.objects.filter(campaign=campaign, state__in=list(states), pk__gt=last, **more)
            .order_by("pk")
            .values_list("pk", *Locked._fields[1:])[:CHUNK]
        )
        chunk = [Locked(*row) for row in rows]
        if not chunk:
            return
        yield chunk
        last = chunk[-1].id


def rebuild(campaign: Campaign) -> Iterator[Difference]:
    """Yield every question whose recomputed settlement differs from the current one.

    Each is judged by its own policy and the calibration of its time. Reviewers' decisions are left
    out: they do not follow from the answers. Writes nothing and reads a thousand questions at a
    time. Answers that come in meanwhile may show as differences, so rebuild paused or closed
    campaigns.
    """
    for chunk in _chunks(campaign, [State.OPEN, *DECIDED]):
        ids = [question.id for question in chunk]
        votes, held, history = votes_on(ids), _under_lease(chunk), history_of(ids)
        current = {pk: earlier[-1] for pk, earlier in history.items()}
        as_settled = [_as_settled(question, current.get(question.id)) for question in chunk]
        rules = rules_by({question.policy_id for question in as_settled})
        places = places_of(as_settled, rules)
        for question in as_settled:
            settlement = current.get(question.id) if question.state in DECIDED else None
            if settlement is not None and settlement.reviewed:
                continue
            rule = rules[question.policy_id]
            if settlement is not None:
                rule = rules_of(settlement, rule)
            judged = verdict_on(question, votes[question.id], rule, places)
            if settlement is None and _awaits_reviewer(question, judged):
                continue
            complete = question.seats_free == 0 and not held[question.id]
            difference = Difference(
                question=question.id,
                current=_question_verdict(question, settlement),
                rebuilt=_rebuilt(judged) if complete and not judged.verdict.more else None,
            )
            if difference.current != difference.rebuilt:
                yield difference


def _awaits_reviewer(question: Locked, judged: Judged) -> bool:
    """Return whether the question was opened for a reviewer, so that answers cannot decide it."""
    return question.state == State.REVIEW == judged.verdict.state and not judged.answers


def _as_settled(question: Locked, settlement: Settlement | None) -> Locked:
    """Return the question with the policy of its settlement, if any."""
    if settlement is None or question.state not in DECIDED:
        return question
    return question._replace(policy_id=settlement.policy_id)


def _rebuilt(judged: Judged) -> SettledState:
    return SettledState(
        state=str(judged.verdict.state),
        value=judged.verdict.value,
        probability=judged.verdict.probability,
        policy=judged.question.policy_id,
        answers=judged.answers,
    )


def _question_verdict(question: Locked, settlement: Settlement | None) -> QuestionVerdict | None:
    if question.state == State.OPEN:
        return None
    if settlement is None:
        return QuestionVerdict(state=question.state)
    return SettledState(
        state=question.state,
        value=settlement.value,
        probability=settlement.probability,
        policy=settlement.policy_id,
        answers=settlement.answers,
    )


Tallies = dict[int, Counter[str]]


def tallies(campaign: Campaign, question_ids: Sequence[int]) -> Tallies:
    """Return how many people gave each answer, abstentions included, for each question with votes.

    Counts each person's last answer that was not late, without voided people; sorted by answer.
    """
    return tally_votes(campaign, votes_on_page(question_ids))


def tally_votes(campaign: Campaign, votes_by_question: Mapping[int, Sequence[Vote]]) -> Tallies:
    """Return tallies of votes that were read already."""
    kind = KINDS[campaign.kind]
    voided = calibration_store.in_force(campaign).voided
    tallies_by_question = {}
    for question, votes in votes_by_question.items():
        last = [vote.revisions[-1][2] for vote in votes if vote.annotator not in voided]
        if last:
            tallies_by_question[question] = Counter(
                sorted(kind.tally_name(value) for value in last)
            )
    return tallies_by_question


class Support(NamedTuple):
    """The votes behind a settlement: votes other than abstentions, how many of them agree with it,
    and the 95 % interval (Wilson) of that share. The interval is None if the settlement has no
    probability, or one that differs from that share.
    """

    votes: int
    agreed: int
    interval: tuple[float, float] | None


def support(
    campaign: Campaign,
    settlements: Iterable[Settlement],
    votes_by_question: Mapping[int, Sequence[Vote]] | None = None,
) -> dict[int, Support]:
    """Return the support of these settlements by question, from the answers they list.

    One query, or none if all of them were read already.
    """
    kind, rows = KINDS[campaign.kind], list(settlements)
    votes = itertools.chain.from_iterable((votes_by_question or {}).values())
    words_by_answer = {pk: kind.vote(value) for vote in votes for _, pk, value in vote.revisions}
    if missing_answers := {pk for row in rows for pk in row.answers if pk not in words_by_answer}:
        answers = Answer.objects.filter(pk__in=missing_answers).values_list("pk", "value")
        words_by_answer |= {str(pk): kind.vote(value) for pk, value in answers}
    supports = {}
    for row in rows:
        words = [word for pk in row.answers if (word := words_by_answer.get(str(pk))) is not None]
        settled_word = None if row.value is None else kind.vote(row.value)
        agreed = sum(word == settled_word for word in words)
        interval = share_interval(agreed, len(words), row.probability)
        supports[row.question_id] = Support(len(words), agreed, interval)
    return supports
