"""Four checks of an annotator from their answers, each a figure and a sentence.

Pure: no Django. A sequential test on gold questions; answer times compared with the pool; long runs
of one answer against the odds; agreement with others beyond chance. Figures do not depend on the
policy; `reasons` applies one to them. docs/explanation/quality.md explains all.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeling.estimators.intervals import wilson_interval

ACCEPTED, UNDECIDED, REJECTED = 1, 0, -1
# Probability below which a run of one answer, starting anywhere, counts against a person: one
# honest person in ten thousand.
RUN_ODDS = 1e-4
# A topic with fewer answers of others is compared with the whole pool.
POOL_OF_TOPIC = 20
# Weight of the whole pool, in answers, when a topic's rates are estimated.
PRIOR_ANSWERS = 5


@dataclass(frozen=True)
class SequentialTest:
    """Wald's sequential probability ratio test of "good" against "bad", decided at `cap` answers.

    good, bad: accuracy of a good and of a bad person. reject_good, accept_bad: permitted error
    rates for exactly such people. A right answer adds ln(good / bad), a wrong one ln((1 - good) /
    (1 - bad)); docs/explanation/quality.md, Standing. Hashable; derived values are computed once.
    """

    good: float
    bad: float
    reject_good: float
    accept_bad: float
    cap: int

    @classmethod
    def of(cls, policy: Mapping[str, Any]) -> "SequentialTest":
        return cls(
            policy["good_accuracy"],
            policy["bad_accuracy"],
            policy["reject_good"],
            policy["accept_bad"],
            policy["test_cap"],
        )

    @property
    def gains(self) -> tuple[float, float]:
        """Return what a right and a wrong answer add."""
        return math.log(self.good / self.bad), math.log((1 - self.good) / (1 - self.bad))

    @property
    def plan(self) -> "GoldTestPlan":
        return _plan(self)

    def decide(self, right: int, total: int) -> int:
        """Return ACCEPTED, REJECTED or UNDECIDED after `right` of `total` answers of one test."""
        plan = self.plan
        if total >= self.cap:
            return ACCEPTED if right >= plan.needed_at_cap else REJECTED
        if right >= plan.accept_from[total]:
            return ACCEPTED
        return REJECTED if right <= plan.reject_to[total] else UNDECIDED


@dataclass(frozen=True)
class GoldTestPlan:
    """The test's thresholds as counts of right answers, so that rounding of sums never decides.

    accept_from[n], reject_to[n]: after n answers, accept with at least and reject with at most this
    many right ones. Above n, or negative: not possible yet. needed_at_cap: right answers that
    accept at the cap. reject_good, accept_bad: the exact error rates.
    """

    accept_from: tuple[int, ...]
    reject_to: tuple[int, ...]
    needed_at_cap: int
    reject_good: float
    accept_bad: float

    def meets_rates(self, test: SequentialTest) -> bool:
        """Return whether both errors are within the test's rates; a cap that is too short for two
        close accuracies makes that impossible.
        """
        return self.reject_good <= test.reject_good and self.accept_bad <= test.accept_bad


@lru_cache(maxsize=64)
def _plan(test: SequentialTest) -> GoldTestPlan:
    """Return Wald's bounds if their errors are within the test's rates, else safe bounds.

    Wald's are approximate: they bound the sum of the errors, and one may exceed its rate by a
    factor 1 / (1 - the other). ln(1 / accept_bad) and -ln(1 / reject_good) bound each (Ville's
    inequality). If neither keeps the rates, the cap is the cause, and the smaller excess is taken.
    """
    wald = (
        math.log((1 - test.reject_good) / test.accept_bad),
        -math.log((1 - test.accept_bad) / test.reject_good),
    )
    strict = (math.log(1 / test.accept_bad), -math.log(1 / test.reject_good))
    first = _capped(test, *wald)
    if first.meets_rates(test):
        return first
    return min(first, _capped(test, *strict), key=lambda plan: _miss(test, plan))


def _miss(test: SequentialTest, plan: GoldTestPlan) -> float:
    return max(plan.reject_good / test.reject_good, plan.accept_bad / test.accept_bad)


def _capped(test: SequentialTest, accept_at: float, reject_at: float) -> GoldTestPlan:
    """Return the plan between these bounds with the best decision at the cap.

    Best is measured relative to each error's own rate. The usual decision by the sign of the sum
    may exceed one rate while the other has room.
    """
    up, down = test.gains
    # right * up + (n - right) * down reaches a bound at this many right ones. The slack makes sums
    # that equal the bound except for rounding reach it.
    accept_from = [math.ceil((accept_at - n * down) / (up - down) - 1e-9) for n in range(test.cap)]
    reject_to = [math.floor((reject_at - n * down) / (up - down) + 1e-9) for n in range(test.cap)]
    bounds = (tuple(accept_from), tuple(reject_to))
    rejected, _, good_left = _walk(test.cap, *bounds, test.good)
    _, accepted, bad_left = _walk(test.cap, *bounds, test.bad)
    # Index k: the errors if k right ones are needed at the cap.
    reject_good = rejected + np.concatenate([[0.0], np.cumsum(good_left)])
    accept_bad = accepted + np.concatenate([np.cumsum(bad_left[::-1])[::-1], [0.0]])
    miss = np.maximum(reject_good / test.reject_good, accept_bad / test.accept_bad)
    best = int(miss.argmin())
    return GoldTestPlan(*bounds, best, float(reject_good[best]), float(accept_bad[best]))


def _walk(
    cap: int, accept_from: Sequence[int], reject_to: Sequence[int], accuracy: float
) -> tuple[float, float, NDArray[np.float64]]:
    """Return the probabilities that the test rejects and accepts before the cap, and that it is
    undecided there with 0 … cap right answers.
    """
    counts = np.arange(cap + 1)
    alive = np.zeros(cap + 1)
    alive[0] = 1.0
    rejected = accepted = 0.0
    for n in range(1, cap + 1):
        alive[1:] = alive[1:] * (1 - accuracy) + alive[:-1] * accuracy
        alive[0] *= 1 - accuracy
        if n < cap:
            low, high = counts <= reject_to[n], counts >= accept_from[n]
            rejected += float(alive[low].sum())
            accepted += float(alive[high].sum())
            alive[low | high] = 0.0
    return rejected, accepted, alive


@dataclass(frozen=True)
class GoldTestResult:
    """A person's results on gold.

    right, total: of all answers. accepted, rejected: number of tests that ended so. verdict: of the
    last finished test, 0 before the first. last: (right, total) of that test. now: (right, total)
    of the current test.
    """

    right: int = 0
    total: int = 0
    accepted: int = 0
    rejected: int = 0
    verdict: int = UNDECIDED
    last: tuple[int, int] = (0, 0)
    now: tuple[int, int] = (0, 0)


def fold(test: SequentialTest, rights: Iterable[bool]) -> GoldTestResult:
    """Return the results after these answers, in the order given.

    A finished test starts again, so that drift is detected: old good work excuses nothing, and the
    verdict is that of the last finished test.

    >>> test = SequentialTest(good=0.9, bad=0.7, reject_good=0.05, accept_bad=0.05, cap=80)
    >>> fold(test, [True] * 12)
    GoldTestResult(right=12, total=12, accepted=1, rejected=0, verdict=1, last=(12, 12), now=(0, 0))
    >>> fold(test, [True] * 12 + [False] * 3).verdict
    -1
    """
    ended, last, verdict = Counter[int](), (0, 0), UNDECIDED
    right = total = all_right = everything = 0
    for is_right in rights:
        right, total = right + bool(is_right), total + 1
        all_right, everything = all_right + bool(is_right), everything + 1
        if decision := test.decide(right, total):
            ended[decision] += 1
            verdict, last = decision, (right, total)
            right = total = 0
    return GoldTestResult(
        all_right, everything, ended[ACCEPTED], ended[REJECTED], verdict, last, (right, total)
    )


@dataclass(frozen=True)
class TimedAnswer:
    """An answer with its topic, word and duration.

    word: the tally name, also of abstentions. others: words that others gave to the same question.
    """

    topic: str
    word: str
    ms: int | None = None
    others: tuple[str, ...] = ()


def speed(answers: Sequence[TimedAnswer], pool: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Return how long the answers take compared with those of others.

    Every answer time is divided by the median of others on its topic (of the whole pool for topics
    with few answers); `share` is the median of these ratios. pool: (topic, milliseconds) of others.
    share is None if either side is empty.

    >>> answers = [TimedAnswer("cat", "yes", 500), TimedAnswer("cat", "no", 700)]
    >>> speed(answers, [("cat", 2000)] * 20)
    {'share': 0.3, 'answers': 2, 'pool': 20, 'seconds': 0.6, 'pool_seconds': 2.0}
    """
    timed = [(answer.topic, answer.ms) for answer in answers if answer.ms is not None]
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, ms in pool:
        by_topic[topic].append(ms)
    figures: dict[str, Any] = {"share": None, "answers": len(timed), "pool": len(pool)}
    if not timed or not pool:
        return figures
    everything = median(ms for _, ms in pool)
    usual = {
        topic: median(times) for topic, times in by_topic.items() if len(times) >= POOL_OF_TOPIC
    }
    shares = [ms / max(usual.get(topic, everything), 1) for topic, ms in timed]
    return figures | {
        "share": round(median(shares), 3),
        "seconds": round(median(ms for _, ms in timed) / 1000, 2),
        "pool_seconds": round(everything / 1000, 2),
    }


def runs(answers: Sequence[TimedAnswer], pool: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the longest run of one answer that is improbable, else the longest of all.

    answers: in the order given. pool: (topic, word) of others. The odds of a run are the product of
    the pool's rates of that word on the run's topics, times the number of possible starts: forty
    times "no" means nothing if nearly all answers are "no". odds is None without a pool.

    >>> pool = [("cat", "no")] * 80 + [("cat", "yes")] * 20
    >>> answers = [TimedAnswer("cat", "no")] * 60
    >>> run = runs(answers, pool)
    >>> run["word"], run["length"], run["odds"] < RUN_ODDS
    ('no', 60, True)
    >>> runs(answers, [("cat", "no")] * 990 + [("cat", "yes")] * 10)["odds"] > 0.1
    True
    """
    rate = _rates_of(pool)
    runs_with_odds = []
    for word, run in groupby(answers, key=lambda answer: answer.word):
        topics = [answer.topic for answer in run]
        logs = math.fsum(math.log(rate(topic, word)) for topic in topics) if pool else 0.0
        runs_with_odds.append((len(topics), word, min(1.0, math.exp(logs) * len(answers))))
    figures = {"word": None, "length": 0, "odds": None, "answers": len(answers), "pool": len(pool)}
    if not runs_with_odds:
        return figures
    odd = [run for run in runs_with_odds if run[2] < RUN_ODDS] if pool else []
    length, word, odds = max(odd or runs_with_odds, key=lambda run: run[0])
    return figures | {"word": word, "length": length, "odds": odds if pool else None}


def _rates_of(pool: Sequence[tuple[str, str]]):
    """Return a function for the rate of a word on a topic: the topic's own share shrunk to the
    whole pool's, so that unseen words are rare, not impossible.
    """
    words = Counter(word for _, word in pool)
    topics = Counter(topic for topic, _ in pool)
    pairs = Counter(pool)

    def rate(topic: str, word: str) -> float:
        overall = (words[word] + 1) / (len(pool) + 2)
        return (pairs[topic, word] + PRIOR_ANSWERS * overall) / (topics[topic] + PRIOR_ANSWERS)

    return rate


def agreement(
    answers: Sequence[TimedAnswer], abstentions: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return Cohen's kappa with the majority of the others: 1 for full agreement, 0 for chance.

    The person's own votes are left out of the majority. Abstentions, questions that nobody else
    answered, and ties are ignored. `upper` is kappa at the upper end of the agreement's 95 %
    interval: kappa is unstable for rare answers, and nobody should be accused because of that.
    kappa is None if chance alone would always agree.

    >>> agreement([TimedAnswer("cat", "no", others=("no", "no"))] * 50)["kappa"] is None
    True
    >>> words = ("yes", "no")
    >>> half = [TimedAnswer("cat", a, others=(b,)) for a in words for b in words]
    >>> agreement(half * 50)
    {'kappa': 0.0, 'upper': 0.137, 'answers': 200, 'agreed': 100}
    """
    pairs = []
    for answer in answers:
        if answer.word in abstentions:
            continue
        ranked = Counter(word for word in answer.others if word not in abstentions).most_common(2)
        if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]):
            pairs.append((answer.word, ranked[0][0]))
    agreed = sum(word == majority for word, majority in pairs)
    figures: dict[str, Any] = {
        "kappa": None,
        "upper": None,
        "answers": len(pairs),
        "agreed": agreed,
    }
    if not pairs:
        return figures
    own_counts, majority_counts = (
        Counter(word for word, _ in pairs),
        Counter(majority for _, majority in pairs),
    )
    chance = sum(own_counts[word] * majority_counts[word] for word in own_counts) / len(pairs) ** 2
    if chance == 1:
        return figures
    upper = wilson_interval(agreed, len(pairs))[1]
    return figures | {
        "kappa": round((agreed / len(pairs) - chance) / (1 - chance), 3),
        "upper": round((upper - chance) / (1 - chance), 3),
    }


def reasons(figures: Mapping[str, Any], policy: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return {"signal", "action", "words"} of each signal beyond the policy's threshold, including
    those that are only shown.

    figures: {"test": GoldTestResult, "speed", "runs", "chance"} from the functions above.
    """
    signals = [
        ("test", policy["gold_action"], _test_words(figures["test"], policy)),
        ("speed", policy["speed_action"], _speed_words(figures["speed"], policy)),
        ("runs", policy["run_action"], _runs_words(figures["runs"], policy)),
        ("chance", policy["chance_action"], _chance_words(figures["chance"], policy)),
    ]
    return [
        {"signal": signal, "action": action, "words": words}
        for signal, action, words in signals
        if words
    ]


def _test_words(tested: GoldTestResult, policy: Mapping[str, Any]) -> str:
    if tested.verdict != REJECTED:
        return ""
    right, total = tested.last
    return (
        f"Right on {right} of {total} known questions; "
        f"the campaign expects {policy['good_accuracy']:.0%}."
    )


def _speed_words(speed: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    enough = min(speed.get("answers", 0), speed.get("pool", 0)) >= policy["signal_answers"]
    if not enough or speed["share"] is None or speed["share"] >= policy["speed_share"]:
        return ""
    return (
        f"The median time of {speed['answers']} answers is {speed['share']:.0%} of that of others; "
        f"the campaign expects at least {policy['speed_share']:.0%}."
    )


def _runs_words(runs: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    enough = min(runs.get("answers", 0), runs.get("pool", 0)) >= policy["signal_answers"]
    if not enough or runs["length"] < policy["run_length"] or not runs["odds"] < RUN_ODDS:
        return ""
    return (
        f"Answered “{runs['word']}” {runs['length']} times in a row; going by the answers of "
        f"others, fewer than 1 in {1 / RUN_ODDS:,.0f} people would."
    )


def _chance_words(chance: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    enough = chance.get("answers", 0) >= policy["signal_answers"]
    if not enough or chance["upper"] is None or chance["upper"] >= policy["chance_agreement"]:
        return ""
    return (
        f"Agrees with others on {chance['agreed']} of {chance['answers']} questions, which is "
        f"{chance['kappa']:.2f} beyond chance (1 is always); "
        f"the campaign expects {policy['chance_agreement']:g}."
    )


def advice(policy: Mapping[str, Any]) -> str:
    """Return what to change if the policy's sequential test cannot keep its error rates; else "".

    >>> advice({"good_accuracy": 0.9, "bad_accuracy": 0.7, "reject_good": 0.05, "accept_bad": 0.05,
    ...     "test_cap": 80})
    ''
    """
    test = SequentialTest.of(policy)
    if test.plan.meets_rates(test):
        return ""
    return (
        f"With at most {test.cap} gold questions, a test rejects {test.plan.reject_good:.2%} of "
        f"good annotators and accepts {test.plan.accept_bad:.2%} of bad ones; you set "
        f"{test.reject_good:.2%} and {test.accept_bad:.2%}. Raise this maximum (test_cap), or set "
        "the two accuracies further apart."
    )


def gold_share(accepted: int, policy: Mapping[str, Any]) -> float | None:
    """Return the share of gold after so many accepted tests; None for the policy's own share.

    It halves with each test, down to gold_share_firm.

    >>> [gold_share(n, {"gold_share": 0.1, "gold_share_firm": 0.03}) for n in range(4)]
    [None, 0.05, 0.03, 0.03]
    """
    share, firm = policy["gold_share"], policy["gold_share_firm"]
    if not accepted or firm >= share:
        return None
    return float(max(firm, share / 2**accepted))
