"""What lies behind the numbers of one classifier."""

from pathlib import Path

from evaluation.released.analysing import Analyst
from evaluation.released.scoring import Scored
from tests.evaluation.released.world import CAT, COW


def test_a_class_without_objects_is_in_no_analysis(monkeypatch):
    monkeypatch.setattr(Analyst, "objects", None)
    per_class = {CAT: {"ap": 0.5}, COW: {"ap": None}}

    found = Analyst("detection", Path("truth"), {}).of(Scored({"per_class": per_class}, iter))

    assert found is not None
    assert [row["wnid"] for row in found["per_class"]["rows"]] == [CAT]
