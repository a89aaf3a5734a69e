"""Turns votes into a verdict: by majority, by skills of the voters, or by a learned table.

Pure. The verdict is that of the shortest prefix of the votes on which the method decides; later
votes change nothing. So every verdict can be recomputed, and lifting a block restores the previous
one. See docs/explanation/quality.md.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from labeling.estimators.aggregation import posterior_binary, vote_gains
from labeling.estimators.stated_error import ErrorModel, settled_margins
from labeling.estimators.vote_tables import VoteTable
from labeling.kinds import policies
from labeling.kinds.base import BINARY, DrawnKind, Kind
from labeling.kinds.policy_keys import WholePolicy
from labeling.kinds.votes import UNDECIDED_PREFIX, Verdict

# A skill or prior of 0 or 1 would let one vote outweigh all others forever.
MIN_PROBABILITY = 1e-6


@dataclass
class Vote:
    """One person's answer to a question with its revisions in order, none of them late.

    Each revision is (time, id of the answer, value).
    """

    annotator: int
    revisions: list[tuple[datetime, str, Any]]

    @property
    def at(self) -> datetime:
        """Return the time of the first revision."""
        return self.revisions[0][0]

    def as_of(self, moment: datetime) -> tuple[str, Any]:
        """Return answer id and value at that time, inclusive."""
        if len(self.revisions) == 1:
            return self.revisions[0][1:]
        last = bisect_right(self.revisions, moment, key=lambda revision: revision[0])
        return self.revisions[max(last, 1) - 1][1:]


@dataclass(frozen=True)
class Skills:
    """What a calibration states about people and topics; NONE before the first one.

    classes: two for yes and no, else as many as there are. gains: for two classes, by annotator,
    what their no and their yes add to the log odds of yes. accuracy: by annotator, for many
    classes. prior: P(yes) by topic, "*" for all others. error: measured on known answers. voided:
    people whose votes do not count. since: time of the calibration; no verdict can be older.
    """

    classes: tuple[str, ...] = BINARY
    gains: dict[int, tuple[float, float]] = field(default_factory=dict)
    accuracy: dict[int, float] = field(default_factory=dict)
    prior: dict[str, float] = field(default_factory=dict)
    tables: dict[str, VoteTable] = field(default_factory=dict)
    error: ErrorModel | None = None
    voided: frozenset[int] = frozenset()
    since: datetime | None = None


NONE = Skills()


def judge(
    kind: Kind,
    votes: Sequence[Vote],
    policy: WholePolicy,
    skills: Skills,
    *,
    topic: str = "",
    inner: bool = False,
) -> tuple[Verdict, list[tuple[str, Any]]]:
    """Return the verdict, and its answers (answer id, value) in the order of their votes.

    If the policy reviews everything, a settled value goes to a reviewer. votes: in any order; those
    of skills.voided are dropped. policy["method"]: "majority" uses the kind's settle; "posterior"
    and "vote-table" request votes until the error is at most target_error (inner_no_error for a no
    to an inner node of a question graph). While more votes are needed, all existing ones are
    counted.
    """
    ordered_votes = sorted(
        (vote for vote in votes if vote.annotator not in skills.voided),
        key=lambda vote: (vote.at, vote.revisions[0][1]),
    )
    majority = policy["method"] == "majority"
    size = _first_look(ordered_votes, policy, None if majority else skills.since)
    while True:
        counted = _as_they_stood(ordered_votes[:size])
        values = [value for _, value in counted]
        if majority:
            verdict = kind.settle(values, policy)
        else:
            people = [vote.annotator for vote in ordered_votes[:size]]
            verdict = _weigh(kind, people, values, policy, skills, topic, inner)
        if not verdict.more or size >= len(ordered_votes):
            return _for_review(kind, verdict, policy), counted
        size = min(len(ordered_votes), size + verdict.more)


def _for_review(kind: Kind, verdict: Verdict, policy: WholePolicy) -> Verdict:
    if verdict.state == "settled" and policy["review"] == "all":
        return replace(verdict, state="review")
    if verdict.state != "review":
        return verdict
    # Older policies lack this rule.
    undecided = policy.get("undecided", "review")
    if undecided == "review":
        # The most probable answer must not sway the reviewer; a drawing is a proposal.
        return verdict if kind.drawn else Verdict("review")
    if undecided == "keep" and verdict.value is not None:
        return replace(
            verdict, state="dropped", value=UNDECIDED_PREFIX + kind.tally_name(verdict.value)
        )
    return Verdict("dropped", value="dropped")


def _first_look(ordered_votes: Sequence[Vote], policy: WholePolicy, since: datetime | None) -> int:
    """Return the number of votes when this policy was first applied with these skills."""
    first = policies.first_votes(policy)
    if since is not None:
        # Skills that were learned while the question was open were first applied at the next vote.
        first = max(first, bisect_right(ordered_votes, since, key=lambda vote: vote.at) + 1)
    return min(len(ordered_votes), first)


def _as_they_stood(ordered_votes: Sequence[Vote]) -> list[tuple[str, Any]]:
    """Return the answers at the time of the last of these votes; later revisions do not count."""
    return [vote.as_of(ordered_votes[-1].at) for vote in ordered_votes]


def _weigh(
    kind: Kind,
    people: Sequence[int],
    values: Sequence[Any],
    policy: WholePolicy,
    skills: Skills,
    topic: str,
    inner: bool,
) -> Verdict:
    if isinstance(kind, DrawnKind):
        unknown = policy["assumed_accuracy"]
        weights = [clip(skills.accuracy.get(annotator, unknown)) for annotator in people]
        return kind.settle_weighted(values, weights, policy)
    words = [kind.vote(value) for value in values]
    valid_votes = [
        (annotator, word) for annotator, word in zip(people, words, strict=True) if word is not None
    ]
    # As by majority: two abstentions of two must not be enough to drop it.
    expected_votes = max(len(values), min(policy["votes"], policy["max_votes"]))
    if len(values) - len(valid_votes) > Fraction(str(policy["drop_share"])) * expected_votes:
        return Verdict("dropped", value="dropped")
    if len(valid_votes) >= policy["min_votes"]:
        word, probability = best(valid_votes, policy, skills, topic)
        target, is_measured = policy["target_error"], policy["target_rule"] == "measured"
        is_sure = target is not None or len(values) >= policy["votes"]
        if inner and word == "no":
            is_sure = is_sure and 1 - probability <= policy["inner_no_error"]
        elif target is not None and is_measured:
            is_sure = measured_error(probability, len(valid_votes), skills) <= target
        elif target is not None:
            is_sure = 1 - probability <= target
        if is_sure:
            return Verdict("settled", kind.answer_of(word), probability)
    if len(values) >= policy["max_votes"]:
        if not valid_votes:
            return Verdict("review")
        word, probability = best(valid_votes, policy, skills, topic)
        return Verdict("review", kind.answer_of(word), probability)
    return Verdict("open", more=max(1, policies.first_votes(policy) - len(values)))


def measured_error(probability: float, votes: int, skills: Skills) -> float:
    """Return the upper bound of the label's error; 1 before it was measured."""
    if skills.error is None:
        return 1.0
    margins = settled_margins([probability], [votes], by_majority=False)
    return float(skills.error.upper_error(margins, [votes])[0])


def best(
    valid_votes: Sequence[tuple[int, str]], policy: WholePolicy, skills: Skills, topic: str
) -> tuple[str, float]:
    """Return the most probable answer and its probability."""
    if len(skills.classes) > 2:
        return _best_of_many(valid_votes, policy, skills)
    yes = probability_of_yes(valid_votes, policy, skills, topic)
    return ("yes", yes) if yes >= 0.5 else ("no", 1 - yes)


def probability_of_yes(
    valid_votes: Sequence[tuple[int, str]], policy: WholePolicy, skills: Skills, topic: str
) -> float:
    """Return P(yes | votes): by the topic's vote table, if that is the method and it exists, else
    by Bayes' rule with everyone's skills.

    able: (annotator, "yes" or "no").
    """
    table = skills.tables.get(topic) if policy["method"] == "vote-table" else None
    # A table learned on fewer votes does not apply to more.
    if table is not None and len(valid_votes) <= table.size:
        yes = sum(word == "yes" for _, word in valid_votes)
        return table.probability(yes, len(valid_votes) - yes)
    prior = skills.prior.get(topic, skills.prior.get("*", policy["prior_yes"]))
    unknown = gains_of_accuracy(policy["assumed_accuracy"])
    gains = [skills.gains.get(annotator, unknown)[word == "yes"] for annotator, word in valid_votes]
    return posterior_binary(clip(prior), gains)


def _best_of_many(
    valid_votes: Sequence[tuple[int, str]], policy: WholePolicy, skills: Skills
) -> tuple[str, float]:
    """Return the most probable of many classes and its probability, with a uniform prior.

    An error is equally likely to be any other class (one-coin model), since a matrix for each
    person could not be learned.
    """
    others = len(skills.classes) - 1
    scores: dict[str, list[float]] = {}
    for annotator, word in valid_votes:
        right = clip(skills.accuracy.get(annotator, policy["assumed_accuracy"]))
        scores.setdefault(word, []).append(math.log(right / ((1 - right) / others)))
    logs = {word: math.fsum(gains) for word, gains in scores.items()}
    # Ties go to the smaller word, so that the order of votes does not matter.
    best = min(logs, key=lambda word: (-logs[word], word))
    weights = [math.exp(log - logs[best]) for log in logs.values()]
    # Classes that nobody named have log odds 0.
    unnamed = (len(skills.classes) - len(logs)) * math.exp(-logs[best])
    return best, 1 / math.fsum([*weights, unnamed])


def gains_of_accuracy(accuracy: float) -> tuple[float, float]:
    """Return what a no and a yes add to the log odds of yes at this accuracy on both."""
    yes, no = vote_gains(clip(accuracy), clip(1 - accuracy))
    return no, yes


def gains_of_confusion(confusion: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the gains from rows [P(no | no), P(yes | no)] and [P(no | yes), P(yes | yes)]."""
    yes, no = vote_gains(clip(confusion[1][1]), clip(confusion[0][1]))
    return no, yes


def clip(probability: float) -> float:
    return min(max(probability, MIN_PROBABILITY), 1 - MIN_PROBABILITY)
