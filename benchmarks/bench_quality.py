"""The sequential test over 10,000 simulated people, and how long watching one person takes.

`python -m benchmarks.bench_quality`. Good people are right exactly as often as the policy's
good_accuracy, bad ones as its bad_accuracy; a test of each is run to its end, the cap included.
"""

import json
import sys
import time
from typing import Any

import numpy as np

from benchmarks import sized
from labeling.estimators import annotator_checks
from labeling.estimators.annotator_checks import ACCEPTED, REJECTED, Given, SequentialTest

PEOPLE = sized(10_000, 100)
SEEDS = sized(20, 2)
# The defaults of labeling/kinds/policies.py, which needs Django; a stricter and a short one.
TESTS = {
    "defaults": SequentialTest(0.9, 0.7, 0.05, 0.05, 80),
    "strict": SequentialTest(0.95, 0.85, 0.01, 0.01, 300),
    "short": SequentialTest(0.9, 0.5, 0.1, 0.1, 12),
}
# After an accepted test the next begins: what becomes of people in a long campaign.
GOLD = sized(200, 40)


def main() -> list[dict[str, Any]]:
    rows = [row for name, test in TESTS.items() for row in errors(name, test)]
    rows += long_run(TESTS["defaults"])
    rows.append(speed())
    return [dict(zip(("name", "target", "measured", "ok"), row, strict=True)) for row in rows]


def errors(name: str, test: SequentialTest) -> list[tuple[str, str, str, bool | None]]:
    """Wrong rejections and acceptances in one test, over SEEDS times PEOPLE, beside the exact rate.

    One run of PEOPLE alone may lie above a rate that is kept: the worst run is reported too.
    """
    rejected, accepted, lengths = [], [], []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        good, answers = annotator_checks.first_decisions(
            test, rng.random((PEOPLE, test.cap)) < test.good
        )
        bad, _ = annotator_checks.first_decisions(test, rng.random((PEOPLE, test.cap)) < test.bad)
        rejected.append(float((good == REJECTED).mean()))
        accepted.append(float((bad == ACCEPTED).mean()))
        lengths.append(float(answers.mean()))
    return [
        _rate(f"{name}: good rejected", rejected, test.plan.reject_good, test.reject_good),
        _rate(f"{name}: bad accepted", accepted, test.plan.accept_bad, test.accept_bad),
        (f"{name}: gold answers somebody good needs", "none", f"{np.mean(lengths):.1f}", None),
    ]


def _rate(
    name: str, measured: list[float], exact: float, target: float
) -> tuple[str, str, str, bool | None]:
    mean = float(np.mean(measured))
    rates = f"{mean:.2%} (exactly {exact:.2%}; worst of {SEEDS} runs {max(measured):.2%})"
    ok = max(mean, exact) <= target
    return f"sequential test, {name}", f"≤ {target:.0%} of {PEOPLE:,} people", rates, ok


def long_run(test: SequentialTest) -> list[tuple[str, str, str, bool | None]]:
    """Who is ever rejected within GOLD gold answers, since tests follow one another."""
    rows: list[tuple[str, str, str, bool | None]] = []
    rng = np.random.default_rng(0)
    for accuracy in (0.95, 0.9, 0.8, 0.7, 0.5):
        ever = sum(
            annotator_checks.fold(test, rights).rejected > 0
            for rights in rng.random((1000, GOLD)) < accuracy
        )
        name = f"… right {accuracy:.0%} of the time, rejected within {GOLD} gold answers"
        rows.append((name, "none", f"{ever / 1000:.1%}", None))
    return rows


def speed() -> tuple[str, str, str, bool | None]:
    """Seconds for the four signals of one person: 500 answers against a pool of 2,500."""
    rng = np.random.default_rng(0)
    words = np.array(["no", "yes"])[(rng.random((500, 6)) < 0.3).astype(int)].tolist()
    topics = [f"n{k}" for k in rng.integers(0, 20, 500)]
    given = [
        Given(topic, own, 2000, tuple(others))
        for topic, (own, *others) in zip(topics, words, strict=True)
    ]
    pool = [(topic, word) for topic, row in zip(topics, words, strict=True) for word in row[1:]]
    start = time.perf_counter()
    for _ in range(20):
        annotator_checks.fold(TESTS["defaults"], [True] * 100)
        annotator_checks.speed(given, [(topic, 2000) for topic, _ in pool])
        annotator_checks.runs(given, pool)
        annotator_checks.agreement(given)
    took = (time.perf_counter() - start) / 20
    return "four signals of one person", "none", f"{took * 1000:.1f} ms", None


if __name__ == "__main__":
    print(json.dumps(main(), indent=1, ensure_ascii=False))
    sys.exit()
