"""Weighed answers cost less than a majority of five and err less; the audit estimates the error."""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks import Row, row, sized
from labeling.kinds import policies
from labeling.simulation.crowd import clean_crowd
from labeling.simulation.simulating import simulate

POLICIES = Path(__file__).parent / "policies"
COMPARED, STATED = sized(20, 2), sized(40, 2)


def main() -> list[Row]:
    with ProcessPoolExecutor(2) as workers:
        weighed = list(workers.map(partial(run, "weighed"), range(STATED)))
        plain = list(workers.map(partial(run, "majority-of-five"), range(COMPARED)))
    ours = [mean(weighed[:COMPARED], key) for key in ("error", "answers_per_question")]
    theirs = [mean(plain, key) for key in ("error", "answers_per_question")]
    # A majority of five needs no audits, so their answers are not counted.
    theirs[1] = 5.0
    inside = sum(
        low <= simulated["error"] <= high
        for simulated in weighed
        for low, high in [simulated["stated_error"]["interval"]]
    )
    blocked = {
        key: np.mean([row["blocked"][key] for row in weighed]) for key in weighed[0]["blocked"]
    }
    return [
        row(
            f"answers of a majority of five, mean of {COMPARED} seeds",
            f"{ours[1] / theirs[1]:.3f} ({ours[1]:.3f} a question, gold and audits in)",
            "<= 0.85",
            ours[1] <= 0.85 * theirs[1],
        ),
        row(
            f"error, mean of {COMPARED} seeds",
            f"{ours[0]:.4f}",
            f"<= {theirs[0]:.4f} (majority of five)",
            ours[0] <= theirs[0],
        ),
        row(
            "stated error inside its own 95 % interval",
            f"{inside} of {STATED}",
            f">= {0.9 * STATED:.0f} of {STATED} seeds",
            inside >= 0.9 * STATED,
        ),
        row(
            f"people blocked rightly, and wrongly, mean of {STATED} seeds",
            f"{blocked['rightly']:.1f}, {blocked['wrongly']:.1f} of 45",
            "at most 3 of 45 wrongly",
            blocked["wrongly"] <= 3,
        ),
    ]


def run(name: str, seed: int) -> dict[str, Any]:
    policy = policies.clean(yaml.safe_load((POLICIES / f"{name}.yaml").read_text()))
    crowd = clean_crowd(yaml.safe_load((POLICIES / "crowd.yaml").read_text()))
    return simulate(policy, crowd, seed)


def mean(rows: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))
