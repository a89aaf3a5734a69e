"""The readable result of `manage.py score cds`."""

import pytest

from evaluation.management import cds_printing
from tests.evaluation.cds import results

COLUMNS = 100


def bare() -> dict:
    """A result none of whose tables has rows."""
    result = results.result()
    empty = {name: [] for name, rows in result["tables"].items() if isinstance(rows, list)}
    sure = {"level": 0.95, "bands": [["net"]], "apart": [], "words": ""}
    return result | {"tables": result["tables"] | empty, "sure": sure}


def by_part_scheme(schemes: list[str], interval: float | None) -> dict:
    """A result with one classifier whose value at scheme i is 0.i."""
    result = bare()
    row = {
        "classifier": "net",
        "measure": "cds",
        "averaging": "text",
        "low": interval,
        "high": interval and interval + 0.1,
    }
    result["tables"]["by_part_scheme"] = [
        row | {"part_scheme": scheme, "value": number / 10} for number, scheme in enumerate(schemes)
    ]
    return result


@pytest.mark.parametrize("interval", [None, 0.5])
def test_schemes_that_do_not_fit_beside_the_others_stand_below(interval):
    schemes = [f"scheme-{number}" for number in range(9)]

    shown = cds_printing.show(by_part_scheme(schemes, interval))

    assert max(map(len, shown.splitlines())) <= COLUMNS
    for number, scheme in enumerate(schemes):
        assert shown.count(scheme) == 1
        assert f"0.{number}000" in shown


def test_an_interval_stands_below_its_value():
    lines = cds_printing.show(by_part_scheme(["random", "by-eye"], 0.5)).splitlines()

    at = lines.index("CDS by part scheme")
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["classifier", "random", "by-eye"],
        ["net", "0.0000", "0.1000"],
        ["[0.5000,", "0.6000]", "[0.5000,", "0.6000]"],
    ]
    assert lines[at + 3].index("[") == lines[at + 2].index("0.0000")


def test_a_long_note_goes_on_in_further_lines():
    result = bare() | {"notes": ["word " * 50]}

    shown = cds_printing.show(result)

    assert max(map(len, shown[shown.index("note:") :].splitlines())) <= COLUMNS
