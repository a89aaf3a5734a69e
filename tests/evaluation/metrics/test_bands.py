"""Bands of an order: cut only where everything above is told apart from everything below."""

import math

import pytest

from evaluation.metrics.bands import ConfirmedOrder, apart_by_intervals, order


def made(names: str, *pairs: str) -> ConfirmedOrder:
    return order(list(names), lambda a, b: a + b in pairs, 0.95)


@pytest.mark.parametrize(
    ("pairs", "bands", "places"),
    [
        ((), [["A", "B", "C"]], [(1, 3)] * 3),
        (("AB", "AC", "BC"), [["A"], ["B"], ["C"]], [(1, 1), (2, 2), (3, 3)]),
        (("AC", "BC"), [["A", "B"], ["C"]], [(1, 2), (1, 2), (3, 3)]),
        (("AB", "AC"), [["A"], ["B", "C"]], [(1, 1), (2, 3), (2, 3)]),
        # B lies between both and is told apart from neither.
        (("AC",), [["A", "B", "C"]], [(1, 2), (1, 3), (2, 3)]),
    ],
)
def test_a_band_ends_where_all_above_are_told_apart_from_all_below(pairs, bands, places):
    band_order = made("ABC", *pairs)

    assert (band_order.bands, band_order.places) == (bands, places)
    assert band_order.leaders == (bands[0] if len(bands) > 1 else [])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ((), "No order is confirmed at 95 %."),
        (("AB", "AC", "BC"), "The order is confirmed at 95 %: A, then B, then C."),
        (("AC", "BC"), "Confirmed at 95 %: A and B, then C. Within a band, no order is confirmed."),
        (("AC",), "Only this is confirmed at 95 %: A before C."),
    ],
)
def test_a_sentence_says_what_is_sure(pairs, words):
    assert made("ABC", *pairs).words == words


def test_within_a_band_a_pair_may_be_sure():
    band_order = made("ABCD", "AC", "AD", "BD", "CD")

    assert band_order.bands == [["A", "B", "C"], ["D"]]
    assert (
        band_order.words == "Confirmed at 95 %: A, B and C, then D. "
        "Within a band, only this is confirmed: A before C."
    )


def test_one_or_nobody_has_no_order():
    assert (made("A").words, made("A").leaders, made("A").first) == ("", [], "")
    assert (made("").words, made("").bands, made("").places) == ("", [], [])


def test_intervals_that_overlap_or_touch_or_are_points_or_none_tell_nothing_apart():
    bounds = {
        "A": (0.1, 0.2),
        "B": (0.2, 0.3),
        "C": (0.35, 0.5),
        "D": (0.6, 0.6),
        "E": (None, None),
        "F": (math.nan, math.nan),
    }

    band_order = apart_by_intervals("ABCDEFG", bounds, 0.95)

    assert band_order.apart == (("A", "C"), ("B", "C"))
