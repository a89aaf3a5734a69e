"""labeling/records.py: dataclasses as JSON objects and back."""

import json
from dataclasses import dataclass, field

import pytest

from labeling.records import Record


@dataclass(kw_only=True)
class Metric(Record):
    value: float | None
    interval: list[float] | None = None


@dataclass(kw_only=True)
class Scored(Record):
    name: str
    is_best: bool = field(metadata={"key": "class"})
    error: Metric
    by_class: dict[str, Metric | None]
    rounds: list[Metric]
    size: tuple[int, int]
    mask: Metric | None = None


KEPT = {
    "name": "one",
    "class": True,
    "error": {"value": 0.5, "interval": [0.1, 0.9]},
    "by_class": {"n01": {"value": None}, "n02": None},
    "rounds": [{"value": 1}, {"value": 2, "later": "kept"}],
    "size": [3, 4],
    "of a later version": {"a": [1]},
}


def test_a_record_is_written_as_it_was_read_with_what_it_does_not_know():
    record = Scored.from_json(KEPT)

    assert json.dumps(record.to_json()) == json.dumps(KEPT)
    assert record.error.interval == [0.1, 0.9]
    assert record.by_class["n02"] is None
    assert record.rounds[1].unknown == {"later": "kept"}
    assert record.size == (3, 4)
    assert record.mask is None


def test_keys_come_in_the_order_of_the_fields_whatever_the_database_made_of_them():
    shuffled = dict(sorted(KEPT.items()))

    assert list(Scored.from_json(shuffled).to_json()) == list(KEPT)


def test_a_null_that_may_be_left_out_is_written_where_it_was():
    kept = {"value": 1.0, "interval": None}

    metric = Metric.from_json(kept)

    assert metric.to_json() == kept
    metric.interval = [0.0, 1.0]
    assert metric.to_json() == {"value": 1.0, "interval": [0.0, 1.0]}


def test_a_key_that_is_missing_is_named():
    with pytest.raises(ValueError, match="Scored lacks class, size"):
        Scored.from_json({key: KEPT[key] for key in KEPT if key not in ("class", "size")})
