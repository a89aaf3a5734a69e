"""Which images contribute to a number."""

import json
import random

import numpy as np
import pytest

from evaluation.benchmarks.kinds.labeled.images import box_overlays, heatmap, image_index
from evaluation.benchmarks.kinds.labeled.images import outcomes as cases
from labeling.files import BadInput

CAT, COW = "n02121620", "n01887787"


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def line(image, outcome, classes=(CAT,), truth=()):
    return {
        "image": image,
        "classes": list(classes),
        "truth": list(truth),
        "outcomes": {"alpha": outcome},
    }


DETECTED = {
    "found": [
        [CAT, 0.9, 0, 0, 10, 10, True, 0.8],
        [CAT, 0.7, 5, 5, 12, 12, False, 0.3],
        [COW, 0.6, 0, 0, 4, 4, False, 0.0],
    ],
    "missed": [[CAT, 30, 30, 40, 40]],
}
OUTCOMES = {
    "classification": [
        {"labels": [CAT], "top1": True, "top5": True, "height": 0, "rank": 1},
        {"labels": [COW, CAT], "top1": False, "top5": True, "height": 0, "rank": 2},
        {"labels": [COW], "top1": False, "top5": False, "height": 5, "rank": None},
        {"labels": [], "top1": False, "top5": False, "height": None, "rank": None},
    ],
    "localization": [
        {"labels": [CAT], "boxes": [[0, 0, 9, 9]], "iou": 1.0, "class_right": True, "right": True},
        {"labels": [CAT], "boxes": [[5, 5, 9, 9]], "iou": 0.2, "class_right": True, "right": False},
        {"labels": [COW], "boxes": [[0, 0, 9, 9]], "iou": 0, "class_right": False, "right": False},
    ],
    "detection": [DETECTED, {"found": [], "missed": []}],
    "wsol": [
        {
            "max_box_acc": {"iou": 0.6, "box": [0, 0, 5, 5], "right": True},
            "0.7": {"iou": 0.6, "box": [0, 0, 5, 5], "right": False},
            "px_acc": 0.9,
            "px_prec": None,
        },
        {"max_box_acc": {"iou": 0.0, "box": None, "right": False}, "px_acc": 0.5, "px_prec": 0.1},
    ],
}


def made(tmp_path, kind):
    outcomes = OUTCOMES[kind]
    lines = [line(f"{at}.png", outcome) for at, outcome in enumerate(outcomes)]
    return image_index.index(write(tmp_path / "images.jsonl", lines), kind)


def test_errors_of_a_classification_lead_to_the_images_that_are_wrong(tmp_path):
    index = made(tmp_path, "classification")

    assert index.images("alpha", "top5_error", "wrong").tolist() == [2, 3]
    assert index.images("alpha", "top1_error", "wrong").tolist() == [1, 2, 3]
    assert index.counts("alpha", "hit_at_2") == {"": 4, "right": 2, "wrong": 2}
    assert index.counts("alpha", "hierarchical_error") == {
        "": 4,
        "none": 2,
        "from-1": 0,
        "from-4": 1,
        "from-8": 0,
    }


def test_a_wrong_localization_misses_its_class_or_its_place(tmp_path):
    counts = made(tmp_path, "localization").counts("alpha", "error")

    assert counts == {"": 3, "right": 1, "wrong": 2, "place": 1, "class": 1}


def test_detections_are_counted_class_by_class(tmp_path):
    index = made(tmp_path, "detection")

    assert index.counts("alpha", "ap") == {
        "": 2,
        "hit": 1,
        "missed": 1,
        "false": 1,
        "near": 1,
        "far": 1,
    }
    assert index.counts("alpha", "ap", COW) == {
        "": 1,
        "hit": 0,
        "missed": 0,
        "false": 1,
        "near": 0,
        "far": 1,
    }
    assert index.class_counts("alpha") == [(COW, 1), (CAT, 1)]


def test_numbers_are_those_that_the_run_has(tmp_path):
    index = made(tmp_path, "wsol")

    keys = [number.key for number in index.numbers("alpha")]
    assert keys == ["max_box_acc", "0.7", "px_acc", "px_prec"]
    assert index.counts("alpha", "px_acc") == {"": 2, "low": 0, "middle": 1, "high": 1, "none": 0}
    assert index.counts("alpha", "px_prec")["none"] == 1


@pytest.mark.parametrize("kind", sorted(OUTCOMES))
def test_counts_are_those_of_a_plain_loop(kind, tmp_path):
    chance = random.Random(7)
    lines = [
        line(f"{at}.png", chance.choice(OUTCOMES[kind]), [chance.choice([CAT, COW])])
        for at in range(60)
    ]
    index = image_index.index(write(tmp_path / "images.jsonl", lines), kind)

    for number in cases.NUMBERS[kind]:
        for name in ("", CAT, COW):
            counts = index.counts("alpha", number.key, name)
            for case in number.cases:
                expected = [
                    at
                    for at, entry in enumerate(lines)
                    if any(
                        key == case.key and name in ("", who)
                        for who, key in number.classify(entry, entry["outcomes"]["alpha"])
                    )
                ]
                assert index.images("alpha", number.key, case.key, name).tolist() == expected
                assert counts[case.key] == len(expected)


def test_cases_of_every_kind_fit_into_their_bits():
    for kind in cases.NUMBERS:
        case_bits = cases.bits_of(kind)
        bits = [bit for number in cases.NUMBERS[kind] for bit in case_bits[number.key].values()]
        assert sum(bits) == 2 ** len(bits) - 1
        assert len(bits) == sum(len(number.cases) for number in cases.NUMBERS[kind])


def test_the_index_is_kept_beside_the_file_and_read_by_the_next_process(tmp_path, monkeypatch):
    made(tmp_path, "detection")
    image_index._kept.cache_clear()
    monkeypatch.setattr(image_index, "_read_lines", None)

    again = image_index.index(tmp_path / "images.jsonl", "detection")

    assert again.images("alpha", "ap", "false").tolist() == [0]
    assert again.lines[1]["image"] == "1.png"


@pytest.mark.parametrize("damage", [b"", b"no index", b"PK\x03\x04 cut short", None])
def test_a_damaged_or_old_index_is_made_again(damage, tmp_path):
    made(tmp_path, "detection")
    image_index._kept.cache_clear()
    if damage is None:
        write(tmp_path / "images.jsonl", [line("9.png", DETECTED)] * 3)
    else:
        (tmp_path / "images.index.npz").write_bytes(damage)

    index = image_index.index(tmp_path / "images.jsonl", "detection")

    assert len(index) == (3 if damage is None else 2)
    assert index.images("alpha", "ap", "hit").tolist() == ([0, 1, 2] if damage is None else [0])


def test_a_file_that_is_gone_says_so(tmp_path):
    with pytest.raises(BadInput, match="score the benchmark again"):
        image_index.index(tmp_path / "images.jsonl", "wsol")


def test_a_run_of_no_image_has_no_number(tmp_path):
    index = image_index.index(write(tmp_path / "images.jsonl", []), "wsol")

    assert len(index) == 0
    assert index.classifiers == []


def test_an_image_outside_the_case_still_has_neighbours():
    images = np.array([3, 8, 9], np.uint32)

    assert image_index.around(images, 5) == {"at": None, "of": 3, "previous": 3, "next": 8}
    assert image_index.around(images, 9)["next"] is None
    assert image_index.around(images[:0], 4) == {
        "at": None,
        "of": 0,
        "previous": None,
        "next": None,
    }


def tones(kind, entry, number=""):
    outcome = entry["outcomes"]["alpha"]
    shapes = box_overlays.shapes(kind, entry, outcome, number, lambda key: key, 2)
    return [(shape.tone, shape.label) for shape in shapes]


def test_detections_are_drawn_as_found_missed_and_false():
    truth = [[0, 0, 10, 10, CAT], [30, 30, 40, 40, CAT]]

    assert tones("detection", line("a", DETECTED, truth=truth)) == [
        ("truth", CAT),
        ("missed", f"missed: {CAT}"),
        ("right", f"✓ {CAT} 0.90"),
        ("wrong", f"✗ {CAT} 0.70"),
        ("wrong", f"✗ {COW} 0.60"),
    ]


def test_of_five_boxes_the_one_that_was_right_is_told():
    outcome = {
        "labels": [COW, CAT, CAT],
        "boxes": [[0, 0, 10, 10], [4, 4, 9, 9], [0, 0, 10, 9]],
        "class_right": True,
        "right": True,
    }
    entry = line("a", outcome, truth=[[0, 0, 10, 10, CAT]])

    assert [tone for tone, _ in tones("localization", entry)] == [
        "truth",
        "wrong",
        "wrong",
        "right",
    ]


def test_a_rank_without_a_class_is_listed():
    """Predictions may begin at rank 2."""
    entry = line("a", {"labels": [None, CAT]})

    verdicts = box_overlays.verdicts(
        "classification", entry, entry["outcomes"]["alpha"], "", lambda key: key.upper()
    )

    assert [(row.tone, row.name) for row in verdicts] == [
        ("plain", "no class at this rank"),
        ("right", CAT.upper()),
    ]


def test_a_map_without_a_box_draws_the_truth_alone():
    outcome = OUTCOMES["wsol"][1]

    entry = line("a", outcome, truth=[[0, 0, 4, 4]])
    assert tones("wsol", entry, "max_box_acc") == [("truth", CAT)]


def test_of_one_class_only_its_detections_are_shown():
    entry = line("a", DETECTED, truth=[[0, 0, 10, 10, CAT]])

    kept, outcome = box_overlays.only(entry, DETECTED, COW)

    assert kept["truth"] == []
    assert [row[0] for row in outcome["found"]] == [COW]
    assert outcome["missed"] == []


def picture(tmp_path, array):
    from io import BytesIO

    from PIL import Image

    np.save(tmp_path / "map.npy", array)
    return np.asarray(Image.open(BytesIO(heatmap.layer(tmp_path / "map.npy"))).convert("RGBA"))


def test_a_layer_is_more_opaque_where_the_score_is_higher(tmp_path):
    ramp = np.tile(np.linspace(-3, 9, 60, dtype=np.float32), (40, 1))

    alpha = picture(tmp_path, ramp)[..., 3].astype(int)

    assert alpha.shape == (40, 60)
    assert alpha[20, 0] == heatmap.FAINTEST
    assert alpha[20, 59] == heatmap.STRONGEST
    assert (np.diff(alpha[20]) >= 0).all()


@pytest.mark.parametrize("value", [0.0, 7.0, np.nan, np.inf])
def test_a_map_of_one_value_is_faint_throughout(value, tmp_path):
    assert set(picture(tmp_path, np.full((4, 6), value, np.float32))[..., 3].flat) == {
        heatmap.FAINTEST
    }


def test_extreme_scores_do_not_overflow(tmp_path):
    alpha = picture(tmp_path, np.array([[-1.7e308, 1.7e308]]))[..., 3]

    assert alpha.tolist() == [[heatmap.FAINTEST, heatmap.STRONGEST]]


def test_a_large_map_is_brought_to_a_bounded_size(tmp_path):
    assert max(picture(tmp_path, np.zeros((9, 3000), np.float32)).shape) <= heatmap.MAX_PX


@pytest.mark.parametrize("array", [np.zeros(5), np.zeros((0, 3)), np.array([["a"]])])
def test_what_is_no_map_is_refused(array, tmp_path):
    np.save(tmp_path / "map.npy", array)

    with pytest.raises(BadInput, match="not a map of scores"):
        heatmap.layer(tmp_path / "map.npy")
