"""The analysis of one classifier's numbers."""

from pathlib import Path

from evaluation.benchmarks.kinds.labeled.analysing import Analyst
from evaluation.benchmarks.kinds.labeled.scoring import Scored
from tests.evaluation.benchmarks.kinds.labeled import results


def test_a_class_without_objects_is_in_no_analysis(monkeypatch):
    monkeypatch.setattr(Analyst, "objects", None)
    scored = Scored(results.detection(0.5), iter, having={results.CAT: 7})

    found = Analyst("detection", Path("truth"), results.SETTINGS["detection"]).of(scored)

    assert found is not None
    assert [(row.wnid, row.images) for row in found.per_class.rows] == [(results.CAT, 7)]
