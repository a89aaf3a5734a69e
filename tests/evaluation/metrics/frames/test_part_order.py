"""Part orders by eye fixations: worked on paper, against a plain loop, and what is refused."""

import random
from dataclasses import replace

import numpy as np
import pytest

from evaluation.metrics.frames.part_order import (
    FIXATION_SCHEMES,
    SeenObject,
    orders_by_fixations,
    random_order,
)
from evaluation.metrics.frames.sequences import PartsError

# Columns 0 and 1 are the head, 2 to 5 the body, 6 to 9 no part.
HEAD, BODY = np.zeros((1, 10), bool), np.zeros((1, 10), bool)
HEAD[:, :2], BODY[:, 2:6] = True, True
PARTS = {"head": HEAD, "body": BODY}


def gaze(*columns: int):
    return np.array([[0, column] for column in columns])


def shares(objects, scheme, parts=("head", "body"), **settings):
    return orders_by_fixations(objects, parts, **settings)[scheme].shares


def test_four_schemes_worked_on_paper():
    # head, body, none, body: counts 1 and 2; weights 4/4 and 3/4 + 1/4.
    seen = [SeenObject(PARTS, 8, [gaze(0, 2, 9, 3)])]

    orders = orders_by_fixations(seen, ["body", "head"])

    assert orders["E_U"].shares == pytest.approx({"body": 2 / 3, "head": 1 / 3})
    assert orders["E_US"].shares == pytest.approx({"body": 1 / 2, "head": 1 / 2})
    # Divided by 4/8 and 2/8: 4/3 and 4/3, then 1 and 2.
    assert orders["E_A"].shares == pytest.approx({"body": 1 / 2, "head": 1 / 2})
    assert orders["E_AS"].shares == pytest.approx({"head": 2 / 3, "body": 1 / 3})
    assert orders["E_AS"].parts == ("head", "body")


def test_ties_fall_by_e_u_then_by_name():
    tied = [SeenObject(PARTS, 8, [gaze(0, 2, 9, 3)])]
    even = [SeenObject(PARTS, 8, [gaze(0), gaze(2)])]

    # E_US is even; E_U puts the body first.
    assert orders_by_fixations(tied, ["head", "body"])["E_US"].parts == ("body", "head")
    assert orders_by_fixations(even, ["head", "body"])["E_U"].parts == ("body", "head")


def test_each_object_counts_alike_however_many_fixations_it_has():
    many = SeenObject(PARTS, 8, [gaze(*[2] * 20)])
    few = SeenObject(PARTS, 8, [gaze(0)])

    assert shares([many, few], "E_U") == pytest.approx({"head": 0.5, "body": 0.5})


def test_a_fixation_on_no_part_counts_in_n_only():
    without = SeenObject(PARTS, 8, [gaze(0, 2)])
    late = SeenObject(PARTS, 8, [gaze(9, 0, 2)])

    assert shares([late], "E_U") == shares([without], "E_U")
    # 2/3 and 1/3 instead of 1 and 1/2 come to the same; between them it matters.
    apart = SeenObject(PARTS, 8, [gaze(0, 9, 2)])
    assert shares([apart], "E_US")["head"] == pytest.approx(3 / 4)


def test_the_central_first_fixation_may_be_dropped():
    seen = [SeenObject(PARTS, 8, [gaze(2, 0, 0, 2)])]

    # Weights of head, head, body are 1, 2/3, 1/3.
    assert shares(seen, "E_US", drop_first=True)["head"] == pytest.approx(5 / 6)
    assert shares([SeenObject(PARTS, 8, [gaze(0), gaze(0, 2)])], "E_U", drop_first=True) == {
        "head": 0,
        "body": 1,
    }


def test_parts_nobody_looked_at_come_last_by_name():
    seen = [SeenObject({"head": HEAD}, 8, [gaze(1)])]

    order = orders_by_fixations(seen, ["wing", "tail", "head"])["E_AS"]

    assert order.parts == ("head", "tail", "wing")
    assert order.shares == {"head": 1, "tail": 0, "wing": 0}


def test_a_part_without_area_counts_nothing():
    seen = [SeenObject(PARTS | {"tail": np.zeros((1, 10), bool)}, 8, [gaze(0)])]

    assert shares(seen, "E_A", ["head", "body", "tail"])["tail"] == 0


def test_an_object_that_nobody_looked_at_adds_nothing():
    seen = [SeenObject(PARTS, 8, [gaze(0)]), SeenObject(PARTS, 8, [gaze(9)])]

    order = orders_by_fixations([*seen, SeenObject(PARTS, 8, [])], ["head", "body"])["E_U"]

    assert order.shares == {"head": 1, "body": 0}


def plain(objects, names, drop_first):
    """The four schemes by loops over every fixation, in floats."""
    sums = {scheme: dict.fromkeys(names, 0.0) for scheme in FIXATION_SCHEMES}
    for seen_object in objects:
        for scheme in FIXATION_SCHEMES:
            weights = dict.fromkeys(seen_object.parts, 0.0)
            for gaze_ in seen_object.gazes:
                places = [tuple(p) for p in gaze_][1 if drop_first else 0 :]
                for j, (row, column) in enumerate(places, start=1):
                    for name, held in seen_object.parts.items():
                        if held[row, column]:
                            weight = (len(places) - j + 1) / len(places)
                            weights[name] += weight if scheme.endswith("S") else 1
            whole = sum(weights.values())
            for name, value in weights.items():
                area = seen_object.parts[name].sum() / seen_object.area if "A" in scheme else 1
                sums[scheme][name] += value / whole / area if whole and area else 0
    return {
        scheme: {name: value / sum(held.values()) for name, value in held.items()}
        for scheme, held in sums.items()
    }


@pytest.mark.parametrize("drop_first", [False, True])
def test_a_plain_loop_finds_the_same_shares(drop_first):
    rng = np.random.default_rng(0)
    names = ["a", "b", "c", "d"]
    objects = [
        SeenObject(
            {name: rng.random((12, 9)) < 0.3 for name in names if rng.random() < 0.8},
            float(rng.integers(50, 108)),
            [rng.integers(0, (12, 9), (n, 2)) for n in rng.integers(0, 9, 6)],
        )
        for _ in range(20)
    ]

    orders = orders_by_fixations(objects, names, drop_first)

    for scheme, held in plain(objects, names, drop_first).items():
        assert orders[scheme].shares == pytest.approx(held)
        assert sum(orders[scheme].shares.values()) == pytest.approx(1)
        assert list(orders[scheme].parts) == sorted(names, key=lambda n: -orders[scheme].shares[n])
    random.Random(0).shuffle(objects)
    assert orders_by_fixations(iter(objects), names[::-1], drop_first) == orders


def test_a_random_order_depends_on_the_seed_the_category_and_the_set_of_parts():
    names = [f"part {n}" for n in range(12)]

    order = random_order(names, 7, "cat")

    assert sorted(order.parts) == sorted(names)
    assert random_order(names[::-1], 7, "cat") == order
    assert random_order(names, 8, "cat").parts != order.parts
    assert random_order(names, 7, "dog").parts != order.parts


GOOD = SeenObject(PARTS, 8, [gaze(0)], name="cat-1")


@pytest.mark.parametrize(
    ("seen_object", "message"),
    [
        (replace(GOOD, parts={"wing": HEAD}), "cat-1 has parts that the category does not: wing"),
        (replace(GOOD, parts={"head": HEAD, "body": BODY.T}), "masks of cat-1 differ in size"),
        (replace(GOOD, area=0), "cat-1 has an area of 0; give the object's own area"),
        (replace(GOOD, area=float("nan")), "area of nan"),
        (replace(GOOD, gazes=[gaze(10)]), "row 0, column 10, outside 1 rows and 10 columns"),
        (replace(GOOD, gazes=[gaze(-1)]), "column -1, outside"),
        (replace(GOOD, gazes=[np.array([[0.5, 1]])]), "fixations of cat-1 are float64"),
        (replace(GOOD, gazes=[]), "no fixation lies on a part"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(seen_object, message):
    with pytest.raises(PartsError, match=message):
        orders_by_fixations([seen_object], ["head", "body"])


def test_an_order_of_no_parts_or_of_one_twice_is_refused():
    for names in ([], ["head", "head"]):
        with pytest.raises(PartsError, match="name each part once"):
            random_order(names, 0)
