"""Classes of candidates, verified by a made-up crowd: the truth lies in the stated intervals.

Twenty classes of unlike difficulty, the same in every run: prevalence, misses and false alarms
differ, and some of what a class is not looks like it to most people (lookalikes), which no table
can know. People differ in skill. A pilot of ten votes on thirty images of each class gives the
tables; the rest is voted on until its table is sure, at most ten times. Then settled questions of
all classes are audited at random. Tables are learned, verdicts reached and precision stated by the
functions that a campaign uses.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from labeling.estimators.dawid_skene import dawid_skene
from labeling.estimators.intervals import clopper_pearson
from labeling.estimators.precision import VerifiedClass, precisions
from labeling.estimators.vote_tables import CALIBRATION_VOTES, VoteTable, learn_vote_tables
from labeling.kinds import deciding, policies
from labeling.kinds.candidates import Candidates
from labeling.kinds.deciding import Skills, Vote
from labeling.simulation.simulating import RIGHT, WRONG

CLASSES, IMAGES, PEOPLE, PILOT = 20, 300, 40, 30
AUDITED = (50, 100, 300, 1_000)
NEVER = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = policies.clean(Candidates.policy_defaults)
KIND = Candidates()

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Difficulty:
    """Of each class (S,): how common it is, how often people miss it, take another image for it,
    and which share of the others looks like it."""

    prevalence: Floats
    miss: Floats
    alarm: Floats
    lookalikes: Floats


def difficulty(lookalikes: float) -> Difficulty:
    """The classes, the same for every run. lookalikes: mean share; each class's own is skewed, so
    that most have few and a few have many."""
    chance = np.random.default_rng(14)
    shape = 0.4
    spread = chance.gamma(shape, 1 / shape, CLASSES)
    return Difficulty(
        prevalence=np.clip(chance.beta(3, 3, CLASSES), 0.1, 0.9),
        miss=chance.uniform(0.02, 0.2, CLASSES),
        alarm=chance.uniform(0.01, 0.1, CLASSES),
        lookalikes=np.minimum(lookalikes * spread / spread.mean(), 0.5),
    )


@dataclass(frozen=True)
class Run:
    """What came of one campaign. wrong: (S,) of the images settled yes, truly; verified: what is
    known of each class after each audit, by its size."""

    yes: Ints
    wrong: Ints
    verified: dict[int, list[VerifiedClass]]


def simulate(seed: int, lookalikes: float, audited: Sequence[int] = AUDITED) -> Run:
    chance = np.random.default_rng(seed)
    truth, votes, who = _votes(difficulty(lookalikes), chance)
    topic = np.repeat(np.arange(CLASSES), IMAGES)
    pilot = np.concatenate(
        [IMAGES * s + chance.choice(IMAGES, PILOT, replace=False) for s in range(CLASSES)]
    )
    tables = _learn(votes, who, topic, pilot)
    settled, pattern = _settle(votes, topic, pilot, tables)
    yes = settled == 1
    doubt = np.zeros(len(yes))
    for index in np.flatnonzero(yes):
        doubt[index] = 1 - tables[_key(topic[index])].expected(*pattern[index])
    wrong = yes & ~truth
    verified = {}
    decided = np.flatnonzero(settled >= 0)
    for size in audited:
        drawn = np.zeros(len(yes), bool)
        drawn[chance.choice(decided, min(size, len(decided)), replace=False)] = True
        verified[size] = [
            VerifiedClass(
                int((yes & members).sum()),
                float(doubt[members].sum()),
                int((yes & members & drawn).sum()),
                int((wrong & members & drawn).sum()),
            )
            for members in (topic == s for s in range(CLASSES))
        ]
    return Run(
        np.bincount(topic[yes], minlength=CLASSES),
        np.bincount(topic[wrong], minlength=CLASSES),
        verified,
    )


def _key(topic: int) -> str:
    return f"{topic:03}"


def _votes(of: Difficulty, chance: np.random.Generator) -> tuple[Flags, Flags, Ints]:
    """(N,) truth; (N, V) votes in their order, and who gave them, each person once an image."""
    truth = (chance.random((CLASSES, IMAGES)) < of.prevalence[:, None]).ravel()
    at = np.repeat(np.arange(CLASSES), IMAGES)
    error = np.where(truth, of.miss[at], of.alarm[at])
    alike = ~truth & (chance.random(len(at)) < of.lookalikes[at])
    error = np.where(alike, chance.beta(4, 3, len(at)), error)
    # Some images of a class are hard to see as it.
    hidden = truth & (chance.random(len(at)) < 0.05)
    error = np.where(hidden, chance.beta(4, 3, len(at)), error)
    skill = chance.normal(0, 0.4, PEOPLE)
    who = np.argsort(chance.random((len(at), PEOPLE)), axis=1)[:, : POLICY["max_votes"]]
    odds = np.log(error / (1 - error))[:, None] + skill[who]
    wrong = chance.random(who.shape) < 1 / (1 + np.exp(-odds))
    return truth, truth[:, None] ^ wrong, who


def _learn(votes: Flags, who: Ints, topic: Ints, pilot: Ints) -> dict[str, VoteTable]:
    """As consensus/learned_skills.py learns them, of the pilot alone."""
    first = votes[pilot, :CALIBRATION_VOTES]
    learned = dawid_skene(
        who[pilot, :CALIBRATION_VOTES].ravel(),
        np.repeat(np.arange(len(pilot)), CALIBRATION_VOTES),
        first.ravel().astype(np.int64),
        n_annotators=PEOPLE,
        n_items=len(pilot),
        n_classes=2,
        class_prior=1.0,
        confusion_prior=[[RIGHT, WRONG], [WRONG, RIGHT]],
        tolerance=1e-4,
    )
    yes = first.sum(axis=1)
    return learn_vote_tables(
        yes,
        CALIBRATION_VOTES - yes,
        good=learned.posteriors[:, 1],
        topic=[_key(key) for key in topic[pilot]],
        size=POLICY["max_votes"],
    )


def _settle(
    votes: Flags, topic: Ints, pilot: Ints, tables: dict[str, VoteTable]
) -> tuple[Ints, Ints]:
    """(N,) 1 for yes, 0 for no, −1 for a reviewer; (N, 2) the yes and no that it was settled on."""
    skills = Skills(tables=tables)
    known: dict[tuple[str, tuple[bool, ...]], str] = {}

    def verdict(key: str, cast: tuple[bool, ...]) -> str:
        if (key, cast) not in known:
            rows = [
                Vote(number, [(NEVER, f"{number:02}", "yes" if vote else "no")])
                for number, vote in enumerate(cast)
            ]
            judged, _ = deciding.judge(KIND, rows, POLICY, skills, topic=key)
            known[key, cast] = str(judged.value or judged.state)
        return known[key, cast]

    state = np.full(len(votes), -1)
    pattern = np.zeros((len(votes), 2), np.int64)
    in_pilot = np.zeros(len(votes), bool)
    in_pilot[pilot] = True
    for index, cast in enumerate(votes.tolist()):
        if in_pilot[index]:
            yes = sum(cast[:CALIBRATION_VOTES])
            majority = "yes" if 2 * yes > CALIBRATION_VOTES else "no"
            word = majority if 2 * yes != CALIBRATION_VOTES else "review"
            count = CALIBRATION_VOTES
        else:
            count = POLICY["min_votes"]
            while (word := verdict(_key(topic[index]), tuple(cast[:count]))) == "open":
                count += 1
        state[index] = {"yes": 1, "no": 0}.get(word, -1)
        yes = sum(cast[:count])
        pattern[index] = yes, count - yes
    return state, pattern


def covers(interval: tuple[float, float] | None, share: float) -> bool:
    """Whether the share lies in the interval, but for rounding."""
    assert interval is not None, "something was audited"
    return interval[0] - 1e-12 <= share <= interval[1] + 1e-12


def by_tables_alone(row: VerifiedClass) -> tuple[float, float]:
    """The interval that a class would have if its table knew all: of independent doubts."""
    low, high = poisson.ppf((0.025, 0.975), row.doubt)
    return 1 - high / row.yes, 1 - low / row.yes


def by_own_audit(row: VerifiedClass) -> tuple[float, float]:
    """The interval that a class's own audited images give it."""
    return clopper_pearson(row.audited - row.wrong, row.audited)


@dataclass(frozen=True)
class Measured:
    """Of one run and one size of the audit.

    holds: (S,) whether each class's interval has its truth. The rest are means over classes: of
    the intervals of by_tables_alone the same, and the widths of ours and of those of by_own_audit.
    """

    holds: list[bool]
    tables_alone: float
    width: float
    own_width: float


def measure(lookalikes: float, seed: int) -> dict[int, Measured]:
    """Return what came of a run, by the size of the audit. lookalikes: their mean share."""
    run = simulate(seed, lookalikes)
    true = (1 - run.wrong / run.yes).tolist()
    return {size: _measured(true, verified) for size, verified in run.verified.items()}


def _measured(true: Sequence[float], verified: Sequence[VerifiedClass]) -> Measured:
    intervals = [row.interval for row in precisions(verified)]
    return Measured(
        holds=[covers(*pair) for pair in zip(intervals, true, strict=True)],
        tables_alone=_mean(
            covers(by_tables_alone(row), share) for row, share in zip(verified, true, strict=True)
        ),
        width=_mean(map(_width, intervals)),
        own_width=_mean(_width(by_own_audit(row)) for row in verified),
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _width(interval: tuple[float, float] | None) -> float:
    return interval[1] - interval[0] if interval else 1.0
