"""A made-up crowd: who is honest, who guesses, sleeps or copies, and what each of them answers.

Pure; for simulating.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeling.errors import Refusal
from labeling.kinds.policies import checked_number

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

HONEST, RANDOM, SLEEPER, COPIER = range(4)
NO, YES = 0, 1


@dataclass(frozen=True)
class Crowd:
    """Who answers, and what is asked.

    accuracy: the two ends between which honest people are right, uniformly. random, sleepers and
    copiers are shares of all people: sleepers answer honestly until `awake` answers, then always
    no; a copier repeats the last answer somebody gave to the question, and guesses where none was.
    seconds: of an honest answer; those who cheat take `cheating_seconds`.
    """

    questions: int = 2_000
    people: int = 50
    prevalence: float = 0.3
    accuracy: tuple[float, float] = (0.75, 0.95)
    random: float = 0.1
    sleepers: float = 0.0
    copiers: float = 0.0
    awake: int = 100
    seconds: float = 4.0
    cheating_seconds: float = 1.5
    audited: int = 300
    auditor_accuracy: float = 1.0


LIMITS: dict[str, tuple[float, float]] = {
    "questions": (1, 10_000_000),
    "people": (1, 100_000),
    "prevalence": (0, 1),
    "random": (0, 1),
    "sleepers": (0, 1),
    "copiers": (0, 1),
    "awake": (0, 1_000_000),
    "seconds": (0.01, 3600),
    "cheating_seconds": (0.01, 3600),
    "audited": (0, 1_000_000),
    "auditor_accuracy": (0.5, 1),
}


def clean_crowd(content: Mapping[str, object]) -> Crowd:
    """Return the crowd that these keys describe, the rest by default. Raises Refusal naming the
    key.
    """
    defaults = Crowd()
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key == "accuracy":
            values[key] = _clean_accuracy(value)
        elif key in LIMITS:
            whole = isinstance(getattr(defaults, key), int)
            values[key] = checked_number(key, value, *LIMITS[key], whole=whole)
        else:
            known = ", ".join(item.name for item in fields(Crowd))
            raise Refusal(f"A crowd has no key {key!r}. It has: {known}.", field=str(key))
    crowd = Crowd(**values)
    if crowd.random + crowd.sleepers + crowd.copiers > 1:
        raise Refusal(
            "random, sleepers and copiers are shares of all people: together at most 1.",
            field="random",
        )
    return crowd


def _clean_accuracy(value: Any) -> tuple[float, float]:
    ends = [value, value] if isinstance(value, int | float) else value
    if (
        not isinstance(ends, list | tuple)
        or len(ends) != 2
        or not all(isinstance(end, int | float) and 0 <= end <= 1 for end in ends)
        or ends[0] > ends[1]
    ):
        raise Refusal(
            f"accuracy is {value!r}; give one share or [low, high], each from 0 to 1.",
            field="accuracy",
        )
    return float(ends[0]), float(ends[1])


@dataclass(frozen=True)
class SimulatedPeople:
    """The crowd, one entry a person: what kind they are, and how often right when they try."""

    kind: Ints
    accuracy: Floats

    awake: int
    seconds: Floats

    def answers(
        self, who: Ints, truth: Ints, answered: Ints, last: Ints, chance: np.random.Generator
    ) -> Ints:
        """What each of `who` says of a question with that truth, all (N,).

        answered: how many each has answered before. last: the newest answer that the question has
        already, -1 where there is none.
        """
        right = chance.random(len(who)) < self.accuracy[who]
        replies = np.where(right, truth, 1 - truth)
        kind = self.kind[who]
        copies = (kind == COPIER) & (last >= 0)
        replies[copies] = last[copies]
        replies[(kind == SLEEPER) & (answered >= self.awake)] = NO
        return replies


def gather(crowd: Crowd, chance: np.random.Generator) -> SimulatedPeople:
    """Return the people of the crowd, in an order that says nothing of them."""
    kind = np.full(crowd.people, HONEST)
    order = chance.permutation(crowd.people)
    start = 0
    for which, share in (
        (RANDOM, crowd.random),
        (SLEEPER, crowd.sleepers),
        (COPIER, crowd.copiers),
    ):
        end = start + round(share * crowd.people)
        kind[order[start:end]] = which
        start = end
    accuracy = chance.uniform(*crowd.accuracy, crowd.people)
    accuracy[(kind == RANDOM) | (kind == COPIER)] = 0.5
    seconds = np.where(kind == HONEST, crowd.seconds, crowd.cheating_seconds)
    return SimulatedPeople(kind, accuracy, crowd.awake, seconds)
