"""Plurality voting for plain choices, one vote per person. Shared by kinds."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from labeling.errors import Refusal
from labeling.kinds.policy_keys import WholePolicy
from labeling.sentences import gettext

# (value, label, key), in the order of the page.
Choices = Sequence[tuple[str, str, str]]
# A question that is finished without a label has this value and its most probable answer.
UNDECIDED_PREFIX = "undecided:"


@dataclass(frozen=True)
class Verdict:
    """The current result of a question's answers.

    state: "settled", "dropped", "review", or "open" while `more` further votes are needed.
    probability: by majority the winner's share of those who could answer, which is no calibrated
    probability; by other methods (deciding.py) the probability that the value is right. None
    without a winner. With "review" both are those of the most probable answer, if any.
    """

    state: str
    value: Any = None
    probability: float | None = None
    more: int = 0


def plurality(votes: Sequence[str | None], policy: WholePolicy) -> Verdict:
    """Return the choice with the most votes; a tie requests one more.

    votes: one per person; None is an abstention. Below policy["votes"] more are needed: all missing
    ones, or as few as could decide if the policy stops early (votes_needed). More abstentions than
    policy["drop_share"] drop the question. A tie, also of no votes, requests one more up to
    policy["max_votes"], then a reviewer. The order of the votes does not matter.
    """
    valid_votes = Counter(vote for vote in votes if vote is not None)
    abstained = len(votes) - valid_votes.total()
    if missing_votes := votes_needed(valid_votes, abstained, policy):
        return Verdict("open", more=missing_votes)
    expected_votes = max(len(votes), policy["votes"])
    if abstained > exact_share(policy["drop_share"]) * expected_votes:
        return Verdict("dropped", value="dropped")
    ranked = valid_votes.most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        if len(votes) < policy["max_votes"]:
            return Verdict("open", more=1)
        if not ranked:
            return Verdict("review")
        # Of tied words take the smallest, so that the order of votes does not matter.
        word = min(word for word, count in valid_votes.items() if count == ranked[0][1])
        return Verdict("review", word, ranked[0][1] / valid_votes.total())
    winner, count = ranked[0]
    return Verdict("settled", value=winner, probability=count / valid_votes.total())


def most_probable(settled: object) -> str | None:
    """Return the most probable answer of a question that was kept undecided; None for others.

    >>> most_probable("undecided:yes"), most_probable("yes"), most_probable({"key": "n01"})
    ('yes', None, None)
    """
    is_kept = isinstance(settled, str) and settled.startswith(UNDECIDED_PREFIX)
    return str(settled).removeprefix(UNDECIDED_PREFIX) if is_kept else None


def votes_needed(valid_votes: Counter[str], abstained: int, policy: WholePolicy) -> int:
    """Return the fewest further votes that could decide a majority of policy["votes"]; 0 if
    decided.

    able: votes by choice. Without policy["stop_early"] all votes are needed; with it those after
    which, in the best case, no missing vote could change the winner or whether the question is
    dropped.

    >>> five = {"votes": 5, "drop_share": 0.6, "stop_early": "decided"}
    >>> votes_needed(Counter(), 0, five), votes_needed(Counter(yes=2, no=1), 0, five)
    (3, 1)
    >>> votes_needed(Counter(yes=3), 0, five), votes_needed(Counter(), 4, five)
    (0, 0)
    """
    missing = policy["votes"] - valid_votes.total() - abstained
    if missing <= 0 or policy.get("stop_early") != "decided":
        return max(missing, 0)
    first, second, *_ = *sorted(valid_votes.values(), reverse=True), 0, 0
    # The largest number of abstentions that does not drop the question.
    allowed = math.floor(exact_share(policy["drop_share"]) * policy["votes"])
    to_drop = allowed + 1 - abstained
    # The leader must stay ahead if all that are missing go to the second, and the question must
    # stay if they all abstain.
    to_win = max((second + missing - first) // 2 + 1, abstained + missing - allowed)
    return max(0, min(missing, to_drop, to_win))


def exact_share(share: float) -> Fraction:
    """Return the share as an exact fraction of its decimal text."""
    # 0.6, not the binary number just below it: three of five must not be more than 0.6.
    return Fraction(str(share))


def choice_rows(choices: Choices) -> list[dict[str, str]]:
    """Return value, label and key of each choice on the page."""
    return [{"value": value, "label": gettext(label), "key": key} for value, label, key in choices]


def clean_choice(value: object, choices: Choices) -> str:
    """Return the answer if it is one of these. Raises Refusal, which lists them."""
    words = [word for word, _, _ in choices]
    # A list or dict could be compared too, but is no word.
    if not isinstance(value, str) or value not in words:
        raise Refusal(
            f"This is not an answer to the question; use {', '.join(words[:-1])} or {words[-1]}.",
            field="value",
            code="bad_value",
        )
    return value
