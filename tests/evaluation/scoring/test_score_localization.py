"""`manage.py score localization`: its result, its options and its formats."""

import random
from pathlib import Path

import numpy as np
import pytest

from evaluation.readers.box_files import BoxReading
from evaluation.scoring import localization
from tests.evaluation import box_world
from tests.evaluation.box_world import COOT, DOG, DRAKE, Files
from tests.evaluation.management.test_score_command import refused, result_of, run

pytestmark = pytest.mark.usefixtures("wordnet")

BOX, HALF, OFF = (0, 0, 100, 100), (0, 0, 100, 50), (0, 0, 100, 49)


@pytest.fixture
def files(tmp_path) -> Files:
    """Right at once; right box of a wrong class; at rank 2; just half; no prediction."""
    truth = [(name, DRAKE, *BOX) for name in "abcde"] + [("a", DRAKE, 150, 150, 160, 160)]
    predictions = [
        ("a", DRAKE, 0.9, 150, 150, 160, 160),
        ("b", COOT, 0.9, *BOX),
        ("c", COOT, 0.9, *BOX),
        ("c", DRAKE, 0.2, *BOX),
        ("d", DRAKE, 0.5, *HALF),
    ]
    return Files(tmp_path, "localization", truth, predictions)


def test_the_promised_result(files):
    result = result_of(*files.arguments())

    assert result["error"]["value"] == 0.4
    low, high = result["error"]["interval"]
    assert low <= 0.4 <= high
    assert result["class_error"] == 0.4
    assert result["convention"] == "IoU of 0.5 or more"
    assert (result["images"], result["classes"], result["boxes"]) == (5, 1, 6)
    assert result["notes"] == ["1 image has no prediction: wrong"]
    assert "submissions" not in result


def test_the_text_asks_for_more_than_half(files):
    result = result_of(*files.arguments("--strict"))

    assert result["error"]["value"] == 0.6
    assert result["convention"] == "IoU above 0.5"


def test_only_the_five_surest_count_and_equal_ones_go_by_their_order(files):
    five = [("e", COOT, 0.5, *BOX)] * 5
    files.found += [*five, ("e", DRAKE, 0.5, *BOX)]

    late = result_of(*files.arguments())
    files.found[-1] = ("e", DRAKE, 0.6, *BOX)
    sure = result_of(*files.arguments())

    assert (late["error"]["value"], sure["error"]["value"]) == (0.4, 0.2)
    assert "1 prediction beyond the five surest of their image do not count" in late["notes"]


def test_excluded_images_do_not_count(files):
    out = files.file("out.csv", f"image,wnid\nb,{DRAKE}\nzebra,\n")

    result = result_of(*files.arguments("--exclude", out))

    assert (result["error"]["value"], result["images"], result["excluded"]) == (0.25, 4, 1)
    assert "1 excluded rows name images that are not there" in result["notes"]
    everything = files.file("all.csv", "image\n" + "".join(f"{name}\n" for name in "abcde"))
    assert "every image is excluded" in refused(*files.arguments("--exclude", everything))["error"]


def test_several_submissions_are_compared_on_the_same_images(files):
    better = [*files.found, ("e", DRAKE, 0.5, *BOX)]
    path = box_world.write(files.folder / "better.csv", box_world.FOUND_HEAD, better)

    result = result_of(*files.arguments("--predictions", f"ours={path}"))

    assert result["error"]["value"] == 0.4
    errors = {
        submission["name"]: submission["error"]["value"] for submission in result["submissions"]
    }
    assert errors == {"found": 0.4, "ours": 0.2}
    [pair] = result["comparison"]["pairs"]
    assert (pair["first"], pair["second"]) == ("found", "ours")
    assert pair["only_first_wrong"] == 1
    status, _, err = run(*files.arguments("--predictions", f"found={path}"))
    assert (status, "two files are called" in err) == (2, True)


def test_the_analysis_of_the_error(files):
    files.truth.append(("f", COOT, *BOX))
    files.found.append(("f", COOT, 1, *BOX))
    path = box_world.write(files.folder / "other.csv", box_world.FOUND_HEAD, files.found[1:])

    result = result_of(*files.arguments("--per-class", "--predictions", path))

    rows = result["analysis"]["per_class"]["rows"]
    assert [(row["wnid"], row["value"], row["images"]) for row in rows] == [
        (DRAKE, 0.6, 5),
        (COOT, 1, 1),
    ]
    best = result["comparison"]["optimistic"]["by_class"]["analysis"]
    assert best["per_class"]["mean"] == 0.8
    status, out, _ = run(*files.arguments("--per-class", "--predictions", path))
    assert status == 0
    expected = ("found", "other", "easiest", "IoU of 0.5 or more", "1 image has no prediction")
    assert [words for words in expected if words not in out] == []


def kit(folder: Path) -> tuple:
    """Three images of the kit: right by the second group, by the first, and no answer."""
    for number, wnid in enumerate((DRAKE, COOT, DRAKE), 1):
        box_world.write_xml(folder / "xml", f"val_{number}", [(wnid, 1, 1, 100, 100)])
    (folder / "meta.txt").write_text(f"{COOT} coot\n{DRAKE} drake\n{DOG} dog\n")
    (folder / "found.txt").write_text(
        "1 1 1 100 100 2 1 1 100 50\n1 1 1 100 100\n0 0 0 0 0\n", encoding="utf-8"
    )
    arguments = ("--truth", folder / "xml", "--predictions", folder / "found.txt")
    return ("localization", *arguments, "--devkit", folder / "meta.txt")


def test_the_kits_files_count_inclusive_pixels(tmp_path):
    arguments = kit(tmp_path)

    result = result_of(*arguments)

    assert result["error"]["value"] == 1 / 3
    assert result["classes"] == 2
    (tmp_path / "out.txt").write_text("3\n")
    assert result_of(*arguments, "--exclude", tmp_path / "out.txt")["error"]["value"] == 0


def test_the_kits_images_may_be_listed_in_another_order(tmp_path):
    arguments = kit(tmp_path)
    (tmp_path / "list.txt").write_text("val_3 1\nval_2 2\nval_1 3\n")

    assert result_of(*arguments, "--images", tmp_path / "list.txt")["error"]["value"] == 1 / 3
    (tmp_path / "list.txt").write_text("val_2 1\nval_1 2\nval_3 3\n")
    assert result_of(*arguments, "--images", tmp_path / "list.txt")["error"]["value"] == 2 / 3


def test_the_kits_lines_count_the_images_of_any_truth_in_their_order(files):
    predictions = files.file("found.txt", "1 0 0 99 99\n1 0 0 99 99\n\n1 0 0 99 99\n\n\n")
    arguments = [*files.arguments("--devkit", files.file("meta.txt", f"{DRAKE}\n"))]
    arguments[4] = predictions

    assert result_of(*arguments)["error"]["value"] == 0.4
    images = files.file("images.csv", "image\n" + "".join(f"{name}\n" for name in "cabde"))
    result = result_of(*arguments, "--images", images)
    assert result["error"]["value"] == 0.4
    files.file("images.csv", "image\n" + "".join(f"{name}\n" for name in "fabcde"))
    assert (
        result_of(*arguments[:-2], "--devkit", arguments[-1], "--images", images)["error"]["value"]
        == 0.6
    )


def test_listed_images_without_a_box_are_left_out(files):
    images = files.file(
        "images.csv", "image,width,height\n" + "".join(f"{c},200,200\n" for c in "abcdef")
    )

    result = result_of(*files.arguments("--images", images))

    assert (result["images"], result["error"]["value"]) == (5, 0.4)
    assert "1 image has no true box: left out" in result["notes"]


def test_outcomes_are_the_errors(files):
    arguments = files.arguments()
    matched = localization.read(arguments[2], arguments[4], BoxReading())

    rows = list(localization.outcomes(matched))

    assert [row["image"] for row in rows] == matched.names == list("abcde")
    assert [row["outcome"]["right"] for row in rows] == [True, False, True, True, False]
    assert (~localization.wrong(matched)).tolist() == [row["outcome"]["right"] for row in rows]
    assert rows[0]["truth"] == [[0, 0, 100, 100, DRAKE], [150, 150, 160, 160, DRAKE]]
    assert rows[2]["outcome"] == {
        "labels": [COOT, DRAKE],
        "boxes": [[0, 0, 100, 100], [0, 0, 100, 100]],
        "iou": 1,
        "class_right": True,
        "right": True,
    }
    assert rows[4]["outcome"]["labels"] == []
    assert (rows[1]["outcome"]["iou"], rows[1]["outcome"]["class_right"]) == (0, False)


@pytest.mark.parametrize("seed", range(4))
def test_the_error_equals_a_plain_loop(tmp_path, seed):
    rng = random.Random(seed)

    def box() -> tuple:
        x, y = rng.randrange(5), rng.randrange(5)
        return (x, y, x + rng.randrange(8, 20), y + rng.randrange(8, 20))

    classes = {str(i): rng.choice([DRAKE, COOT, DOG]) for i in range(30)}
    truth = [
        (image, classes[image], *box()) for image in classes for _ in range(rng.randrange(1, 4))
    ]
    truth = [(rng.choice(truth) if rng.random() < 0.2 else row) for row in truth]
    truth += [(image, classes[image], 0, 0, 9, 9) for image in classes]
    predictions = [
        (rng.choice(list(classes)), rng.choice([DRAKE, COOT, DOG]), rng.randrange(4) / 4, *box())
        for _ in range(250)
    ]
    strict = bool(seed % 2)

    result = result_of(
        *Files(tmp_path, "localization", truth, predictions).arguments(*["--strict"][:strict])
    )

    wrong = 0
    for image, wnid in classes.items():
        ranked = sorted((row for row in predictions if row[0] == image), key=lambda row: -row[2])
        true_boxes = [np.array(row[2:], float) for row in truth if row[0] == image]
        wrong += not any(
            row[1] == wnid and reaches(np.array(row[3:], float), box, strict)
            for row in ranked[:5]
            for box in true_boxes
        )
    assert 0 < wrong < len(classes)
    assert result["error"]["value"] == wrong / len(classes)


def reaches(a: np.ndarray, b: np.ndarray, strict: bool) -> bool:
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    shared = sides.clip(0).prod()
    union = (a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared
    return 2 * shared > union if strict else 2 * shared >= union
