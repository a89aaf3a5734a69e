"""Which proposed boxes to show, based on how often checks accepted those of their class.

An accepted proposal saves a drawing, a rejected one costs its checks (verify or draw).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labeling.boxes.chain import CHECK, DRAW, hash_share

# Grid of the Beta distribution of acceptance rates: mean and strength.
MEANS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.98)
STRENGTHS = (0.5, 1.0, 3.0, 10.0, 100.0)
# Until so many proposals were shown in total, classes without data show theirs.
TRIALS = 30
# Median seconds of a drawing by four clicks and of a check, until enough are measured.
SECONDS = {DRAW: 7.0, CHECK: 1.8}
# Share of pairs, chosen by hash, that never show proposals.
UNASSISTED_SHARE = 0.1


def is_unassisted(pair: str) -> bool:
    """Return whether this pair is drawn without proposals, as a control group."""
    return hash_share(f"unassisted {pair}") < UNASSISTED_SHARE


def least_chance(draw_seconds: float, check_seconds: float, checks: int) -> float:
    """Return the acceptance rate from which showing a proposal saves time.

    Drawn boxes are checked too, so an accepted proposal saves a drawing and a rejected one costs
    its checks.

    >>> round(least_chance(7.0, 1.8, 2), 2)
    0.34
    """
    check = checks * check_seconds
    return check / (draw_seconds + check)


class Acceptance:
    """Online estimate of how often checks accept proposals of each class.

    The rates of classes have a Beta distribution, whose parameters are learned over a grid of means
    and strengths. A proposal is shown if that is expected to save time, either in this pair or,
    through what it teaches, in later pairs of its class. least: the rate from which a proposal
    saves time.
    """

    def __init__(self, topics: Sequence[int], classes: int, least: float) -> None:
        self.shown, self.good = np.zeros(classes), np.zeros(classes)
        self.to_come = np.bincount(topics, minlength=classes).astype(float)
        self.least = least
        means, strengths = (grid.ravel() for grid in np.meshgrid(MEANS, STRENGTHS))
        self.a, self.b = means * strengths, (1 - means) * strengths
        self.weights = np.full(len(self.a), 1 / len(self.a))

    def should_show_next(self, topic: int) -> bool:
        """Return whether to show the proposals of the next pair of this class, and count that pair
        as done.
        """
        self.to_come[topic] -= 1
        return self.saves_time(topic)

    def saves_time(self, topic: int) -> bool:
        """Return whether showing proposals of this class is expected to save time, now or in later
        pairs.
        """
        chance = self._chances(topic)
        now = self._mean(chance) - self.least
        after = self.weights @ (chance * (self.a + self.good[topic] + 1) / self._counts(topic, 1))
        # The chance of acceptance times what each later pair then saves.
        later = max(0.0, after - self._mean(chance) * self.least)
        trial_over = self.shown[topic] or self.shown.sum() >= TRIALS
        return bool(not trial_over or now > 0 or now + self.to_come[topic] * later > 0)

    def learn(self, topic: int, good: bool) -> None:
        chance = self._chances(topic)
        self.weights *= chance if good else 1 - chance
        self.weights /= self.weights.sum()
        self.shown[topic] += 1
        self.good[topic] += good

    def learn_all(self, topic: int, good: int, total: int) -> None:
        """Learn from so many proposals of this class at once; the order does not matter."""
        for number in range(total):
            self.learn(topic, number < good)

    def _counts(self, topic: int, more: int = 0) -> NDArray[np.float64]:
        return self.a + self.b + self.shown[topic] + more

    def _chances(self, topic: int) -> NDArray[np.float64]:
        """Return the acceptance rate of the class at each point of the grid."""
        return (self.a + self.good[topic]) / self._counts(topic)

    def _mean(self, chance: NDArray[np.float64]) -> float:
        return float(self.weights @ chance)
