"""Where sequences stand in the arrays, and what is counted of them."""

import random

import numpy as np

from evaluation.metrics.cds.arrays import ScoreArrays
from evaluation.readers.sequences import SequenceLine
from evaluation.scoring.cds import arrays


def line(image: str, category: str = "cat", name: str = "", **fields: object) -> SequenceLine:
    values = {"part_scheme": "E_U", "content_scheme": "low", "frames": ("a", "b", "c")} | fields
    return SequenceLine(image, category, object=name, **values)


LINES = [
    line("b.jpg", name="2"),
    line("a.jpg"),
    line("b.jpg", name="1"),
    line("b.jpg", "dog"),
    line("b.jpg", "dog", part_scheme="by hand"),
    line("b.jpg", "dog", content_scheme="fog"),
    line("a.jpg", part_scheme="random", content_scheme="intra-object"),
]
STARTS = np.arange(0, 3 * len(LINES) + 1, 3)


def scores(cds: list[float], right: list[bool] | None = None, people: tuple = ()) -> ScoreArrays:
    flags = None if right is None else {"net": np.array(right)}
    at, values = arrays.places(LINES), {"net": np.array(cds)}
    return arrays.scores(at, STARTS, values, None if right is None else values, flags, people)


def test_objects_stand_by_category_and_schemes_as_the_paper_has_them_then_by_name():
    at = arrays.places(LINES)

    assert at.objects == (
        ("cat", "a.jpg", ""),
        ("cat", "b.jpg", "1"),
        ("cat", "b.jpg", "2"),
        ("dog", "b.jpg", ""),
    )
    assert at.part_schemes == ("E_U", "random", "by hand")
    assert at.content_schemes == ("intra-object", "low", "fog")
    assert at.owner.tolist() == [2, 0, 1, 3, 3, 3, 0]
    assert (at.part[4], at.content[5], at.part[6], at.content[6]) == (2, 2, 1, 0)


def test_objects_of_an_image_in_one_category_are_one_unit():
    arranged = scores([0.5] * len(LINES))

    assert arranged.category.tolist() == [0, 0, 0, 1]
    assert arranged.cluster.tolist() == [0, 1, 1, 0]


def test_a_score_stands_where_its_line_says_and_nan_where_there_is_none():
    arranged = scores([n / 10 for n in range(len(LINES))])

    assert arranged.cds.shape == (4, 3, 3, 1)
    assert np.isnan(arranged.cds).sum() == 4 * 9 - len(LINES)
    assert (arranged.cds[3, 2, 1, 0], arranged.cds[0, 1, 0, 0]) == (0.4, 0.6)
    assert arranged.b_cds is arranged.wrong is None


def test_wrong_frames_are_counted_of_what_was_asked():
    right = [n % 3 == 1 for n in range(3 * len(LINES))]
    right[2] = True

    arranged = scores([0.5, np.nan, *[0.5] * 5], right)

    assert arranged.wrong[2, 0, 1, 0] == 1
    assert arranged.last_wrong[2, 0, 1, 0] == 0
    assert (arranged.wrong[3, 0, 1, 0], arranged.last_wrong[3, 0, 1, 0]) == (2, 1)
    # The second line was not asked.
    assert (
        arranged.frames[0, 0, 1, 0]
        == arranged.wrong[0, 0, 1, 0]
        == arranged.last_wrong[0, 0, 1, 0]
        == 0
    )
    assert arranged.frames.sum() == 3 * 6


def test_machines_are_those_that_saw_everything_and_are_no_people():
    at = arrays.places(LINES)
    whole, part = np.full(len(LINES), 0.5), np.array([np.nan, *[0.5] * 6])
    cds = {"a": whole, "b": part, "c": whole}

    def machines(*people: str) -> tuple[int, ...]:
        return arrays.scores(at, STARTS, cds, None, None, people).machines

    assert machines() == (0, 2)
    assert machines("a") == (2,)
    assert machines("a", "c") == (0, 1, 2)


def test_ratios_of_what_was_not_asked_are_not_counted_and_parts_once_an_object():
    rows = [line("a.jpg", present=1, parts=4), line("b.jpg", present=4, parts=4)]
    rows += [line("a.jpg", part_scheme="random", present=1, parts=4), line("c.jpg")]
    at, starts = arrays.places(rows), np.arange(0, 13, 3)
    right = {"net": np.array([0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0], bool)}

    ratios = arrays.histograms(at, rows, starts, right, {"net": np.array([0, 0, np.nan, 0])})

    assert ratios.owner.tolist() == [0, 1, 1]
    assert ratios.index.tolist() == [2, 1, 3]
    assert ratios.bin.tolist() == [9, 3, 9]
    assert ratios.presence.tolist() == [2, 9, -1]


def test_without_right_answers_there_are_no_ratios():
    rows = random.Random(0).sample(LINES, len(LINES))

    ratios = arrays.histograms(arrays.places(rows), rows, STARTS, None, {})

    assert len(ratios.owner) == len(ratios.bin) == 0
