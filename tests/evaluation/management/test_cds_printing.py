"""The readable result of `manage.py score cds`."""

from dataclasses import replace

import pytest

from evaluation.management import cds_printing
from evaluation.metrics.bands import Sure
from evaluation.metrics.cds.tables import PartSchemeRow
from evaluation.scoring.cds.result import CdsResult, CdsTables
from tests.evaluation.cds import results

COLUMNS = 100


def bare(**tables: list) -> CdsResult:
    """A result of which only these tables have rows."""
    sure = Sure(level=0.95, bands=[["net"]], apart=[], words="")
    return replace(results.result(), tables=CdsTables(**tables), sure=sure)


def by_part_scheme(schemes: list[str], interval: float | None) -> CdsResult:
    """A result with one classifier whose value at scheme i is 0.i."""
    return bare(
        by_part_scheme=[
            PartSchemeRow(
                classifier="net",
                part_scheme=scheme,
                measure="cds",
                averaging="text",
                value=number / 10,
                low=interval,
                high=interval and interval + 0.1,
            )
            for number, scheme in enumerate(schemes)
        ]
    )


@pytest.mark.parametrize("interval", [None, 0.5])
def test_schemes_that_do_not_fit_beside_the_others_stand_below(interval):
    schemes = [f"scheme-{number}" for number in range(9)]

    text = cds_printing.show(by_part_scheme(schemes, interval))

    assert max(map(len, text.splitlines())) <= COLUMNS
    for number, scheme in enumerate(schemes):
        assert text.count(scheme) == 1
        assert f"0.{number}000" in text


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
    text = cds_printing.show(replace(bare(), notes=["word " * 50]))

    assert max(map(len, text[text.index("note:") :].splitlines())) <= COLUMNS
