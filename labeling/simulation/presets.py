"""Three ready policies for a new campaign, and the error of a simulated crowd under them."""

import functools
import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from labeling.kinds import policies
from labeling.kinds.base import CHAINS, Kind
from labeling.simulation import crowd, simulating

# The simulated crowd, and the number of simulated campaigns over which its error is averaged.
CROWD, REPEATS = "bluebirds", 20
MAJORITY = "majority"


@dataclass(frozen=True)
class PolicyPreset:
    """A ready policy, as its difference from a kind's defaults.

    The difference depends on the kind. votes: majority of words. tables: vote tables. drawn:
    drawings. chains: boxes.
    """

    title: str
    votes: Mapping[str, object]
    tables: Mapping[str, object]
    drawn: Mapping[str, object]
    chains: Mapping[str, object]

    def rules(self, kind: Kind) -> dict[str, object]:
        if kind.asks == CHAINS:
            return dict(self.chains)
        if kind.drawn:
            return dict(self.drawn)
        is_counted = kind.policy_defaults.get("method", MAJORITY) == MAJORITY
        return dict(self.votes if is_counted else self.tables)


TRAINED: Mapping[str, object] = {"training_questions": 5, "test_questions": 10}
PRESETS = {
    "cheap": PolicyPreset(
        "Cheap",
        {"votes": 3, "gold_share": 0.05},
        {"max_votes": 6, "gold_share": 0.05},
        {"review": "disputed"},
        {"checks": 1, "gold_share": 0.05},
    ),
    "standard": PolicyPreset("Standard", {}, {}, {}, {}),
    "careful": PolicyPreset(
        "Careful",
        {"votes": 9, **TRAINED},
        {"max_votes": 16, **TRAINED},
        {"votes": 2, "training_questions": 3},
        {"checks": 3, **TRAINED},
    ),
}


def error_of(policy: policies.WholePolicy, kind: Kind) -> float | None:
    """Return the mean share of wrong labels with the simulated crowd; None without a model.

    Only yes/no questions by majority have a model. Training and gold do not change the error, since
    the simulated crowd stays the same.
    """
    if not kind.is_binary or policy["method"] != MAJORITY:
        return None
    return _simulated(json.dumps({key: policy[key] for key in ("votes", "stop_early")}))


@functools.lru_cache(maxsize=64)
def _simulated(rules: str) -> float:
    policy = policies.clean_new({"max_votes": 25, **json.loads(rules), "gold_share": 0})
    people = crowd.PRESETS[CROWD]
    return statistics.fmean(
        float(simulating.simulate(policy, people, seed)["error"]) for seed in range(REPEATS)
    )
