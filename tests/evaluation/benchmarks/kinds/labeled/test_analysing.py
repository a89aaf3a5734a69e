"""What lies behind the numbers of one classifier."""

from pathlib import Path

from evaluation.benchmarks.kinds.labeled.analysing import Analyst
from evaluation.benchmarks.kinds.labeled.scoring import Scored
from tests.evaluation.benchmarks.kinds.labeled.world import CAT, COW


def test_a_class_without_objects_is_in_no_analysis(monkeypatch):
    monkeypatch.setattr(Analyst, "objects", None)
    per_class = {CAT: {"ap": 0.5}, COW: {"ap": None}}

    scored = Scored({"per_class": per_class}, iter, having={CAT: 7})

    found = Analyst("detection", Path("truth"), {}).of(scored)

    assert found is not None
    assert [(row["wnid"], row["images"]) for row in found["per_class"]["rows"]] == [(CAT, 7)]
