"""Hardness in both forms, galleries of 3, 4 and 3, and CAPTCHA candidates."""

import numpy as np
import pytest

from evaluation.metrics.cds import captchas, hardness
from evaluation.metrics.cds.captchas import Sequence
from tests.evaluation.metrics.cds import world


@pytest.mark.parametrize("with_gaps", [False, True])
def test_hardness_of_both_forms_by_a_plain_loop(with_gaps):
    scores = world.gaps(world.scores()) if with_gaps else world.scores()
    by_form = {(h.form, h.of): h for h in hardness.hardness(scores, 0, 0, 0.95)}

    assert len(by_form) == 4 + 4
    for o in range(len(scores.images)):
        for k, scheme in enumerate(scores.content_schemes):
            values = [scores.cds[o, p, k, c] for p in range(2) for c in range(4)]
            actual = by_form["content_scheme", scheme].values[o]
            assert actual == pytest.approx(world.loop_median(values), nan_ok=True)
        for c, name in enumerate(scores.classifiers):
            values = [scores.cds[o, p, k, c] for p in range(2) for k in range(4)]
            actual = by_form["classifier", name].values[o]
            assert actual == pytest.approx(world.loop_median(values), nan_ok=True)


def test_intervals_of_hardness_are_those_of_medians_of_drawn_sequences():
    scores = world.gaps(world.scores())
    hard_form = hardness.hardness(scores, 20_000, 0, 0.9)[0]
    rng = np.random.default_rng(9)

    for o in range(len(scores.images)):
        values = scores.cds[o, :, 0].ravel()
        values = values[~np.isnan(values)]
        if not len(values):
            assert np.isnan(hard_form.low[o])
            continue
        drawn = np.median(rng.choice(values, (20_000, len(values))), axis=1)
        # The bounds of a step function fall on one step or on its neighbour.
        steps = np.unique(np.append(drawn, [hard_form.low[o], hard_form.high[o]]))
        ends = [hard_form.low[o], hard_form.high[o]]
        for end, exact in zip(ends, np.quantile(drawn, [0.05, 0.95]), strict=True):
            assert abs(np.searchsorted(steps, end) - np.searchsorted(steps, exact)) <= 1


def test_intervals_are_the_same_again_and_in_small_batches(monkeypatch):
    scores = world.scores()
    first = hardness.hardness(scores, 50, 3, 0.95)[0]
    monkeypatch.setattr(hardness, "_MAX_IN_MEMORY", 120)

    again = hardness.hardness(scores, 50, 3, 0.95)[0]

    assert (first.low == again.low).all()
    assert (first.high == again.high).all()


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (0, (0, 0, 0)),
        (2, (2, 0, 0)),
        (5, (3, 0, 2)),
        (7, (3, 1, 3)),
        (10, (3, 4, 3)),
        (40, (3, 4, 3)),
    ],
)
def test_galleries_never_share_an_image(count, sizes):
    names = hardness.galleries(count)

    assert tuple(names.count(name) for name in ("easiest", "median", "hardest")) == sizes
    assert len(names) == count


def test_the_median_four_stand_in_the_middle():
    places = [i for i, name in enumerate(hardness.galleries(20)) if name == "median"]

    assert places == [8, 9, 10, 11]


def test_rows_go_from_the_easiest_to_the_hardest_and_equal_ones_by_name():
    scores = world.scores()
    scores.cds[:] = 0.7
    scores.cds[5] = 0.1

    rows = list(hardness.rows(scores, hardness.hardness(scores, 0, 0, 0.95)))

    first = rows[:12]
    assert {(row.form, row.of) for row in first} == {("content_scheme", "intra-object")}
    assert [row.rank for row in first] == list(range(1, 13))
    order = [row.image for row in first]
    assert order == ["005.jpg", *(f"{i:03}.jpg" for i in range(12) if i != 5)]
    assert [row.gallery for row in first].count("easiest") == 3
    assert (first[0].category, first[0].hardness, first[0].low) == ("cat", 0.1, None)


def hard(values: list[float], by_classifier: list[float]) -> list[hardness.FormHardness]:
    none = np.full(len(values), np.nan)
    return [
        hardness.FormHardness("content_scheme", "low", np.array(values), none, none),
        hardness.FormHardness("classifier", "A", np.array(by_classifier), none, none),
    ]


def sequence(owner: int, frames: int) -> Sequence:
    ids = tuple(f"{owner}/{i}" for i in range(1, frames + 1))
    return Sequence(owner, "E_U", "low", ids)


def test_candidates_lie_strictly_between_1_and_the_threshold_times_the_frames():
    scores = world.scores(sizes=(2, 2))
    forms = hard([0.55, 0.9, 0.1, 0.2], [0.9, 0.5, 0.3, np.nan])

    rows = captchas.candidates(scores, forms, [sequence(0, 10), sequence(1, 11), sequence(2, 9)])

    # ⌊0.55 · 10⌋ = 5, so i is 2, 3 or 4; ⌊0.5 · 11⌋ = 5 likewise; ⌊0.1 · 9⌋ = 0.
    assert [(r.image, r.first, r.last, r.of) for r in rows] == [
        ("000.jpg", 2, 4, "low"),
        ("001.jpg", 2, 4, "A"),
    ]
    assert rows[0].frame_ids == ["0/2", "0/3", "0/4"]
    assert (rows[0].threshold, rows[0].frames) == (0.55, 10)


def test_the_threshold_is_the_smaller_of_both_forms_minima():
    forms = hard([0.4, np.nan, np.nan], [0.3, 0.2, np.nan])

    values, of = captchas.thresholds(forms)

    assert values.tolist() == pytest.approx([0.3, 0.2, np.nan], nan_ok=True)
    assert of[:2] == ["A", "A"]


def test_a_product_that_should_be_whole_is():
    scores = world.scores(sizes=(1,))
    # 0.29 · 100 is 28.999999999999996.
    rows = captchas.candidates(scores, hard([0.29], [0.29]), [sequence(0, 100)])

    assert rows[0].last == 28


def test_every_candidate_is_paired_with_an_easy_image_of_another_category():
    scores = world.scores()
    values = np.random.default_rng(0).random(12) / 2 + 0.5
    forms = hard(values.tolist(), values.tolist())

    rows = captchas.candidates(scores, forms, [sequence(o, 10) for o in range(12)])

    categories = dict(zip(scores.images, scores.category, strict=True))
    assert len(rows) == 12
    for row in rows:
        assert categories[row.pair_image] != categories[row.image]
    assert len({row.pair_image for row in rows}) > 3
    assert [row.threshold for row in rows] == sorted(values, reverse=True)


def test_a_single_category_has_nothing_to_pair_with():
    scores = world.scores(sizes=(3,))

    rows = captchas.candidates(scores, hard([0.9] * 3, [0.9] * 3), [sequence(0, 10)])

    assert (rows[0].pair_image, rows[0].pair_object) == (None, None)
