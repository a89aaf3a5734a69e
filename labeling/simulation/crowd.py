"""A simulated crowd: honest people, guessers, sleepers and copiers, and their answers.

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
class Hard:
    """Images that most people get wrong: their share, and how often an answer to one is right."""

    share: float = 0.25
    right: float = 0.35


@dataclass(frozen=True)
class Crowd:
    """The composition of a crowd.

    right: mean accuracy on images that are not hard. person_sd: standard deviation between honest
    people. lookalike: with more than two classes, the share of wrong answers that name one class,
    drawn for each image. These defaults were fitted to real crowds. accuracy: replaces them by a
    range; each honest person's accuracy is uniform in it, and no image is hard. random, sleepers
    and copiers are shares of all people: sleepers answer honestly until `awake` answers, then
    always the first class; a copier repeats the question's last answer, or guesses. prevalence:
    share of yes; more than two classes are equally common. seconds: time of an honest answer;
    cheaters take `cheating_seconds`. audited: number of audited questions.
    """

    questions: int = 2_000
    people: int = 50
    prevalence: float = 0.3
    classes: int = 2
    right: float = 0.8
    hard: Hard = Hard()
    person_sd: float = 0.11
    lookalike: float = 0.8
    accuracy: tuple[float, float] | None = None
    random: float = 0.1
    sleepers: float = 0.0
    copiers: float = 0.0
    awake: int = 100
    seconds: float = 4.0
    cheating_seconds: float = 1.5
    audited: int = 300
    auditor_accuracy: float = 1.0

    @property
    def hard_share(self) -> float:
        return 0.0 if self.accuracy else self.hard.share


# Crowds that answer as real ones did.
PRESETS = {
    "bluebirds": Crowd(
        questions=108,
        people=39,
        prevalence=0.44,
        hard=Hard(0.3, 0.42),
        person_sd=0.2,
        random=0.0,
        audited=50,
    ),
    "dogs": Crowd(questions=807, people=52, classes=4, random=0.0, audited=200),
}
OF_HARD_IMAGES = ("classes", "right", "hard", "person_sd", "lookalike")
LIMITS: dict[str, tuple[float, float]] = {
    "questions": (1, 10_000_000),
    "people": (1, 100_000),
    "prevalence": (0, 1),
    "classes": (2, 1_000),
    "right": (0, 1),
    "person_sd": (0, 0.5),
    "lookalike": (0, 1),
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
    """Return the crowd of these keys, with defaults. Raises Refusal, which names the key."""
    defaults = Crowd()
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key == "accuracy":
            values[key] = _clean_accuracy(value)
        elif key == "hard":
            values[key] = _clean_hard(value)
        elif key in LIMITS:
            whole = isinstance(getattr(defaults, key), int)
            values[key] = checked_number(key, value, *LIMITS[key], whole=whole)
        else:
            known = ", ".join(item.name for item in fields(Crowd))
            raise Refusal(f"A crowd has no key {key!r}. It has: {known}.", field=str(key))
    if "accuracy" in values and (foreign := [key for key in OF_HARD_IMAGES if key in values]):
        raise Refusal(
            f"accuracy describes a crowd without hard images; leave {foreign[0]} or accuracy out.",
            field=foreign[0],
        )
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
            f"accuracy is {value!r}; expected one share or [low, high], each from 0 to 1.",
            field="accuracy",
        )
    return float(ends[0]), float(ends[1])


def _clean_hard(value: Any) -> Hard:
    if not isinstance(value, Mapping) or not set(value) <= {"share", "right"}:
        raise Refusal(f"hard is {value!r}; give {{share: …, right: …}}.", field="hard")
    return Hard(
        **{key: checked_number(f"hard.{key}", at, 0, 1, whole=False) for key, at in value.items()}
    )


@dataclass(frozen=True)
class SimulatedQuestions:
    """The right class of each question, whether it is hard, and the class it looks like, all (Q,).

    lookalike is -1 where there are two classes or no image is hard.
    """

    truth: Ints
    hard: Flags
    lookalike: Ints

    def __getitem__(self, rows: Ints) -> "SimulatedQuestions":
        return SimulatedQuestions(self.truth[rows], self.hard[rows], self.lookalike[rows])


def ask(
    crowd: Crowd, count: int, chance: np.random.Generator, balanced: bool = False
) -> SimulatedQuestions:
    """Return random questions. balanced: every class is equally common, as in gold."""
    if crowd.classes > 2 or balanced:
        truth = chance.integers(0, crowd.classes, count)
    else:
        truth = (chance.random(count) < crowd.prevalence).astype(np.int64)
    hard, lookalike = np.zeros(count, bool), np.full(count, -1)
    if crowd.accuracy is None:
        hard = chance.random(count) < crowd.hard.share
        if crowd.classes > 2:
            lookalike = (truth + chance.integers(1, crowd.classes, count)) % crowd.classes
    return SimulatedQuestions(truth, hard, lookalike)


@dataclass(frozen=True)
class SimulatedPeople:
    """The people of a crowd, one entry each: their kind, and their accuracy when they try.

    accuracy, hard_accuracy: on images that are not hard, and on hard ones.
    """

    kind: Ints
    accuracy: Floats
    hard_accuracy: Floats
    crowd: Crowd
    seconds: Floats

    @property
    def mean_accuracy(self) -> Floats:
        """Return (P,) how often each is right on a random image."""
        share = self.crowd.hard_share
        return (1 - share) * self.accuracy + share * self.hard_accuracy

    def answers(
        self,
        annotators: Ints,
        questions: SimulatedQuestions,
        answered: Ints,
        last: Ints,
        chance: np.random.Generator,
    ) -> Ints:
        """Return the answers of `annotators` to their questions, all (N,).

        answered: number of earlier answers of each. last: the question's newest answer, -1 for
        none.
        """
        accuracy = np.where(
            questions.hard, self.hard_accuracy[annotators], self.accuracy[annotators]
        )
        right = chance.random(len(annotators)) < accuracy
        kind = self.kind[annotators]
        guesses = (kind == RANDOM) | (kind == COPIER)
        replies = np.where(right, questions.truth, self._mistakes(questions, guesses, chance))
        copies = (kind == COPIER) & (last >= 0)
        replies[copies] = last[copies]
        replies[(kind == SLEEPER) & (answered >= self.crowd.awake)] = NO
        return replies

    def _mistakes(
        self, questions: SimulatedQuestions, guesses: Flags, chance: np.random.Generator
    ) -> Ints:
        """Return a wrong class for each question: often its lookalike, unless somebody guesses."""
        truth, n_classes = questions.truth, self.crowd.classes
        if n_classes == 2:
            return np.asarray(1 - truth)
        confused = (chance.random(len(truth)) < self.crowd.lookalike) & ~guesses
        lookalike = questions.lookalike
        # A class that is neither the right one nor the lookalike, if there is one.
        shift = chance.integers(1, max(n_classes - 1, 2), len(truth))
        shift += shift >= (lookalike - truth) % n_classes
        elsewhere = (truth + shift) % n_classes
        anywhere = (truth + chance.integers(1, n_classes, len(truth))) % n_classes
        return np.where(confused, lookalike, np.where(guesses, anywhere, elsewhere))


def gather(crowd: Crowd, chance: np.random.Generator) -> SimulatedPeople:
    """Return the people of the crowd in random order."""
    kind = np.full(crowd.people, HONEST)
    order = chance.permutation(crowd.people)
    start = 0
    for behaviour, share in (
        (RANDOM, crowd.random),
        (SLEEPER, crowd.sleepers),
        (COPIER, crowd.copiers),
    ):
        end = start + round(share * crowd.people)
        kind[order[start:end]] = behaviour
        start = end
    if crowd.accuracy is None:
        skill = chance.normal(0, crowd.person_sd, crowd.people)
        accuracy = np.clip(crowd.right + skill, 0.02, 0.98)
        hard_accuracy = np.clip(crowd.hard.right + skill, 0.02, 0.98)
    else:
        accuracy = chance.uniform(*crowd.accuracy, crowd.people)
        hard_accuracy = accuracy.copy()
    for skills in (accuracy, hard_accuracy):
        skills[(kind == RANDOM) | (kind == COPIER)] = 1 / crowd.classes
    seconds = np.where(kind == HONEST, crowd.seconds, crowd.cheating_seconds)
    return SimulatedPeople(kind, accuracy, hard_accuracy, crowd, seconds)
