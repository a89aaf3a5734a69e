"""The rules of a chain of box questions: draw, check, look for more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GOOD = "good"
# Lowest and highest value of each rule.
LIMITS: dict[str, tuple[float, float]] = {
    "checks": (1, 9),
    "second_looks": (0, 1),
    "most_draws": (1, 50),
    "most_in_vain": (1, 50),
}


@dataclass(frozen=True)
class BoxRules:
    """The part of a policy that the chain follows.

    checks: how many must agree on a box, for or against it. second_looks: share of (image, class)
    pairs in which a second person looks for more after the first found nothing missing. This
    applies to pairs with one box, where people overlook most. most_draws: attempts at one object
    before a reviewer takes over. most_in_vain: how often something is reported missing that nobody
    can draw, before a reviewer takes over.
    """

    checks: int = 2
    second_looks: float = 0.7
    most_draws: int = 5
    most_in_vain: int = 3

    @classmethod
    def of(cls, policy: Mapping[str, Any]) -> "BoxRules":
        return cls(**{key: policy[key] for key in LIMITS})

    def verdict(self, votes: Sequence[str]) -> str | None:
        """Return GOOD, a reason against the box, or None while too few checks agree.

        votes: in the order given. Votes against count together; the reason is the one given most
        often, the first of equals.
        """
        if votes.count(GOOD) >= self.checks:
            return GOOD
        against = [vote for vote in votes if vote != GOOD]
        return max(against, key=against.count) if len(against) >= self.checks else None

    def missing_checks(self, votes: Sequence[str]) -> int:
        """Return the smallest number of further checks that can settle the box."""
        good = votes.count(GOOD)
        return self.checks - max(good, len(votes) - good)

    def looks(self, has_second_look: bool, boxes: int) -> int:
        """Return how many people in a row must find nothing missing."""
        return 2 if has_second_look and boxes == 1 else 1


def answers_per_question(policy: Mapping[str, Any]) -> float:
    """Return the mean number of answers of a drawing, a check and a look for more."""
    return float(policy["draws"] + policy["checks"] + 1) / 3
