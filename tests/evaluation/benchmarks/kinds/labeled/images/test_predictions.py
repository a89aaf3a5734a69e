"""Which images have a class predicted, right or wrong."""

import random

import pytest

from evaluation import hooks
from evaluation.benchmarks.kinds.labeled.images import predictions
from evaluation.benchmarks.kinds.labeled.images.predictions import NEITHER, RIGHT, WRONG
from labeling.files import BadInput
from labeling.reports.image_browser import PredictionFilter
from tests.cases import for_each
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.images.test_image_index import (
    CAT,
    COW,
    OUTCOMES,
    line,
    write,
)


@for_each(
    ("kind", "expected"),
    [
        ("classification", [{CAT: RIGHT}, {COW: WRONG}, {COW: WRONG}, {}]),
        ("localization", [{CAT: RIGHT}, {CAT: WRONG}, {COW: WRONG}]),
        ("detection", [{CAT: RIGHT, COW: WRONG}, {}]),
        ("wsol", [{CAT: RIGHT}, {CAT: WRONG}]),
    ],
)
def test_each_kind_says_what_it_predicts(kind, expected):
    rows = [line("a", outcome, truth=[[0, 0, 9, 9, CAT]]) for outcome in OUTCOMES[kind]]
    assert [
        predictions.predictions(kind, row, row["outcomes"]["alpha"]) for row in rows
    ] == expected


def test_a_mask_is_neither_right_nor_wrong():
    assert predictions.predictions("wsol", line("a", {}), {"px_acc": 0.9}) == {CAT: NEITHER}


@for_each("kind", sorted(OUTCOMES))
def test_matching_images_are_those_of_a_plain_loop(kind, tmp_path):
    chance = random.Random(7)
    lines = [
        line(f"{number}.png", chance.choice([*OUTCOMES[kind], None]), [chance.choice([CAT, COW])])
        for number in range(60)
    ]
    for row in lines:
        row["outcomes"]["beta"] = chance.choice(OUTCOMES[kind])
    index = predictions.index(write(tmp_path / "images.jsonl", lines), kind)
    images = ["missing.png", *(row["image"] for row in chance.sample(lines, 40))]

    for classifier in ("alpha", "beta", "gamma"):
        for name in (None, CAT, COW):
            for right in (None, RIGHT, WRONG):
                expected = {
                    row["image"]
                    for row in lines
                    if row["image"] in images
                    and any(
                        name in (None, key) and right in (None, outcome)
                        for key, outcome in predictions.predictions(
                            kind, row, row["outcomes"].get(classifier)
                        ).items()
                    )
                }
                numbers = None if name is None else [index.names.index(name)]
                assert index.matching(images, classifier, numbers, right) == expected


def test_the_index_is_kept_beside_the_file_and_mapped_by_the_next_process(tmp_path, monkeypatch):
    path = write(tmp_path / "images.jsonl", [line("a", OUTCOMES["detection"][0])] * 3)
    first = predictions.index(path, "detection")
    predictions._kept.cache_clear()
    monkeypatch.setattr(predictions, "_read_lines", None)
    again = predictions.index(path, "detection")

    assert again.image.tolist() == first.image.tolist()
    assert again.matching(["a", "b"], "alpha", None, RIGHT) == {"a"}


@for_each("damage", [b"", b"no index", b"[[1]]\n", None])
def test_a_damaged_or_old_index_is_made_again(damage, tmp_path):
    path = write(tmp_path / "images.jsonl", [line("a", OUTCOMES["detection"][0])])
    predictions.index(path, "detection")
    predictions._kept.cache_clear()
    if damage is None:
        write(path, [line("b", OUTCOMES["detection"][0])])
    else:
        (tmp_path / "images.predictions.bin").write_bytes(damage)

    index = predictions.index(path, "detection")
    assert index.matching(["a", "b"], "alpha", None, None) == {"a" if damage is not None else "b"}


def test_a_missing_file_or_an_empty_run_has_no_predictions(tmp_path):
    with pytest.raises(BadInput, match="score the benchmark again"):
        predictions.index(tmp_path / "images.jsonl", "wsol")
    index = predictions.index(write(tmp_path / "images.jsonl", []), "wsol")
    assert index.matching(["a"], "alpha", None, None) == set()


@pytest.mark.parametrize("kind", sorted(OUTCOMES))
def test_images_of_every_kind_are_filtered_by_prediction(kind, wordnet, alice, bob, cats, tmp_path):
    row = world.make(alice, cats, kind, **({"thresholds": 50} if kind == "wsol" else {}))
    world.run_of(row, alice)
    known = hooks.Predictions(alice, cats.dataset)
    names = sorted(cats.dataset.images.values_list("name", flat=True))
    predicted_class = world.DOG if kind == "classification" else CAT

    def matching(**chosen) -> set[str]:
        return known.matching(names, PredictionFilter(**chosen))

    assert known.submissions() == [(f"{kind}/alpha", f"alpha in {row.title}")]
    assert "cats/1.png" in matching(text=predicted_class, submission=f"{kind}/alpha")
    assert matching(text="whale") == set()
    assert matching(submission=f"{kind}/beta") == set()
    outcome = "wrong" if kind == "classification" else "right"
    assert "cats/1.png" in matching(text=predicted_class, outcome=outcome)
    assert hooks.Predictions(bob, cats.dataset).matching(names, PredictionFilter()) == set()
