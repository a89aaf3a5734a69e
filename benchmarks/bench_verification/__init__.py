"""Classes of candidates, verified by a made-up crowd: the truth lies in the stated intervals.

Twenty classes of unlike difficulty, the same in every run: prevalence, misses and false alarms
differ, and some of what a class is not looks like it to most people (lookalikes), which no table
can know. People differ in skill. A pilot of ten votes on thirty images of each class gives the
tables; the rest is voted on until its table is sure, at most ten times. Then settled questions of
all classes are audited at random. Tables are learned, verdicts reached and precision stated by the
functions that a campaign uses.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from benchmarks import sized
from labeling.estimators.dawid_skene import dawid_skene
from labeling.estimators.intervals import clopper_pearson
from labeling.estimators.precision import Verified, pooled, precisions
from labeling.estimators.vote_tables import CALIBRATION_VOTES, VoteTable, learn_vote_tables
from labeling.kinds import deciding, policies
from labeling.kinds.candidates import Candidates
from labeling.kinds.deciding import Skills, Vote
from labeling.simulation.simulating import CONFUSION_PRIOR

RUNS, CLASSES, IMAGES = sized(100, 1), sized(20, 4), sized(300, 40)
PEOPLE, PILOT = sized(40, 20), sized(30, 15)
# Of the images that a class is not, those that most people take for it: mean of each class's share.
LOOKALIKES = (0.0, 0.005, 0.01, 0.04)
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
    known of each class after each audit, by its size; votes: a question's, without the pilot."""

    yes: Ints
    wrong: Ints
    verified: dict[int, list[Verified]]
    votes: float
    reviewed: float


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
    for place in np.flatnonzero(yes):
        doubt[place] = 1 - tables[_key(topic[place])].expected(*pattern[place])
    wrong = yes & ~truth
    verified = {}
    decided = np.flatnonzero(settled >= 0)
    for size in audited:
        drawn = np.zeros(len(yes), bool)
        drawn[chance.choice(decided, min(size, len(decided)), replace=False)] = True
        verified[size] = [
            Verified(
                int((yes & own).sum()),
                float(doubt[own].sum()),
                int((yes & own & drawn).sum()),
                int((wrong & own & drawn).sum()),
            )
            for own in (topic == s for s in range(CLASSES))
        ]
    rest = np.setdiff1d(np.arange(len(yes)), pilot)
    return Run(
        np.bincount(topic[yes], minlength=CLASSES),
        np.bincount(topic[wrong], minlength=CLASSES),
        verified,
        float(pattern[rest].sum(axis=1).mean()),
        float((settled[rest] < 0).mean()),
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
    found = dawid_skene(
        who[pilot, :CALIBRATION_VOTES].ravel(),
        np.repeat(np.arange(len(pilot)), CALIBRATION_VOTES),
        first.ravel().astype(np.int64),
        n_annotators=PEOPLE,
        n_items=len(pilot),
        n_classes=2,
        class_prior=1.0,
        confusion_prior=CONFUSION_PRIOR,
        tolerance=1e-4,
    )
    yes = first.sum(axis=1)
    return learn_vote_tables(
        yes,
        CALIBRATION_VOTES - yes,
        good=found.posteriors[:, 1],
        topic=[_key(one) for one in topic[pilot]],
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
            given = [
                Vote(number, [(NEVER, f"{number:02}", "yes" if said else "no")])
                for number, said in enumerate(cast)
            ]
            judged, _ = deciding.judge(KIND, given, POLICY, skills, topic=key)
            known[key, cast] = str(judged.value or judged.state)
        return known[key, cast]

    state = np.full(len(votes), -1)
    pattern = np.zeros((len(votes), 2), np.int64)
    in_pilot = np.zeros(len(votes), bool)
    in_pilot[pilot] = True
    for place, cast in enumerate(votes.tolist()):
        if in_pilot[place]:
            yes = sum(cast[:CALIBRATION_VOTES])
            said = "yes" if 2 * yes > CALIBRATION_VOTES else "no"
            word = said if 2 * yes != CALIBRATION_VOTES else "review"
            count = CALIBRATION_VOTES
        else:
            count = POLICY["min_votes"]
            while (word := verdict(_key(topic[place]), tuple(cast[:count]))) == "open":
                count += 1
        state[place] = {"yes": 1, "no": 0}.get(word, -1)
        yes = sum(cast[:count])
        pattern[place] = yes, count - yes
    return state, pattern


def covers(interval: tuple[float, float] | None, share: float) -> bool:
    """Whether the share lies in the interval, but for rounding."""
    assert interval is not None, "something was audited"
    return interval[0] - 1e-12 <= share <= interval[1] + 1e-12


def by_tables_alone(one: Verified) -> tuple[float, float]:
    """The interval that a class would have if its table knew all: of independent doubts."""
    low, high = poisson.ppf((0.025, 0.975), one.doubt)
    return 1 - high / one.yes, 1 - low / one.yes


def by_own_audit(one: Verified) -> tuple[float, float]:
    """The interval that a class's own audited images give it."""
    return clopper_pearson(one.audited - one.wrong, one.audited)


@dataclass(frozen=True)
class Measured:
    """Of one run and one size of the audit. holds: (S,) whether each class's interval has its
    truth. The rest are means over classes: of what the tables state and of the intervals of
    by_tables_alone and by_own_audit the same; pooled: of all classes together."""

    holds: list[bool]
    table_inside: float
    tables_alone: float
    own_audit: float
    pooled: bool
    true: float
    by_table: float
    stated: float
    width: float
    own_width: float
    votes: float
    reviewed: float


def measure(job: tuple[float, int]) -> dict[int, Measured]:
    """By the size of the audit. job: the mean share of lookalikes, and the seed."""
    lookalikes, seed = job
    run = simulate(seed, lookalikes)
    return {size: _measured(run, verified) for size, verified in run.verified.items()}


def _measured(run: Run, verified: Sequence[Verified]) -> Measured:
    true = (1 - run.wrong / run.yes).tolist()
    found = precisions(verified)
    pairs = list(zip(found, verified, true, strict=True))
    whole = pooled(verified)
    return Measured(
        holds=[covers(one.interval, share) for one, _, share in pairs],
        table_inside=_mean(covers(one.interval, one.by_table or 0) for one in found),
        tables_alone=_mean(covers(by_tables_alone(own), share) for _, own, share in pairs),
        own_audit=_mean(covers(by_own_audit(own), share) for _, own, share in pairs),
        pooled=covers(whole.interval, 1 - float(run.wrong.sum() / run.yes.sum())),
        true=_mean(true),
        by_table=_mean(one.by_table or 0 for one in found),
        stated=_mean(one.stated or 0 for one in found),
        width=_mean(_width(one.interval) for one in found),
        own_width=_mean(_width(by_own_audit(own)) for own in verified),
        votes=run.votes,
        reviewed=run.reviewed,
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _width(interval: tuple[float, float] | None) -> float:
    return interval[1] - interval[0] if interval else 1.0


def main(runs: int = RUNS) -> list[dict[str, Any]]:
    jobs = list(product(LOOKALIKES, range(runs)))
    with ProcessPoolExecutor(2) as workers:
        found = dict(zip(jobs, workers.map(measure, jobs, chunksize=10), strict=True))
    rows = []
    for lookalikes, size in product(LOOKALIKES, AUDITED):
        measured = [found[lookalikes, seed][size] for seed in range(runs)]
        rows += _rows(f"{lookalikes:.1%} lookalikes, {size:,} audited", measured)
    return rows


def _rows(name: str, found: Sequence[Measured]) -> list[dict[str, Any]]:
    holds = np.array([one.holds for one in found]).mean(axis=0) * 100

    def mean(field: str) -> float:
        return _mean(getattr(one, field) for one in found)

    def of_100(field: str) -> str:
        return f"{mean(field) * 100:.1f}"

    return [
        {
            "name": f"{name}: truth in a class's interval",
            "target": ">= 90 of 100 runs",
            "measured": f"{holds.mean():.1f}, least of the classes {holds.min():.0f}",
            "ok": bool(holds.mean() >= 90),
        },
        {
            "name": "… pooled; by tables alone; by its own audit alone",
            "target": "none",
            "measured": "; ".join(map(of_100, ("pooled", "tables_alone", "own_audit"))),
            "ok": None,
        },
        {
            "name": "… what the table states in the interval; its width; by its own audit",
            "target": "none",
            "measured": f"{of_100('table_inside')}; {mean('width'):.1%}; {mean('own_width'):.0%}",
            "ok": None,
        },
        {
            "name": "… precision: true, stated, by table; votes, share reviewed",
            "target": "none",
            "measured": f"{mean('true'):.2%}, {mean('stated'):.2%}, {mean('by_table'):.2%}; "
            f"{mean('votes'):.2f}, {mean('reviewed'):.1%}",
            "ok": None,
        },
    ]
