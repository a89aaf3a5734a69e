"""`manage.py score wsol`: what it prints for folders of score maps, and what it refuses."""

from functools import partial

import numpy as np
import pytest

from evaluation.devices import versions
from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.mask_scores import MaskScore
from evaluation.readers import wsol_folders as wsol_files
from labeling.estimators.intervals import clopper_pearson
from labeling.geometry import mask_png
from tests.evaluation import commands
from tests.evaluation.wsol_folders import Folder

run = partial(commands.run, "score", "wsol")
result_of = partial(commands.result_of, "score", "wsol")
refused = partial(commands.refused, "score", "wsol")


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("protocol", box_scores.PROTOCOLS)
def test_the_promised_result(folder, protocol):
    result = result_of(*folder.named, "--protocol", protocol)

    score = box_scores.BoxScore(box_scores.Protocol(protocol, thresholds=20, size=16))
    for image in wsol_files.read_boxes(folder.metadata):
        score.add(np.load(folder.maps / f"{image.name}.npy"), image.boxes, 40, 20)
    assert result == {
        "split": None,
        "test_scorings": None,
        "protocol": protocol,
        "normalize": "min-max",
        "scoremaps": "files",
        "images": 3,
        "boxes": 4,
        **score.result(),
        "intervals": result["intervals"],
        "device": "cpu",
        "versions": versions(),
    }
    share = result["max_box_acc"]["accuracy"]
    assert result["intervals"]["max_box_acc"] == list(clopper_pearson(3 * share, 3))
    assert set(result["max_box_acc_v2"]) == {"0.3", "0.5", "0.7", "mean"}
    assert 0 < result["max_box_acc_v2"]["mean"] < 1


def test_the_baseline_needs_no_maps(folder):
    settings = ("--metadata", folder.metadata, "--baseline", "center-gaussian")

    result = result_of(*settings, "--protocol", "reference")

    assert result["scoremaps"] == "center-gaussian"
    # The box in the middle of one image.
    assert result["max_box_acc_v2"]["0.7"]["accuracy"] == pytest.approx(1 / 3)


def test_classes_give_top_1_localization(folder, tmp_path):
    classes_csv = tmp_path / "named.csv"
    classes_csv.write_text(f"{folder.names[0]},1\n{folder.names[1]},bird\n{folder.names[2]},0\n")

    result = result_of(*folder.named, "--predictions", classes_csv)

    assert result["top1_accuracy"] == pytest.approx(2 / 3)
    assert result["top1_localization"]["accuracy"] <= result["max_box_acc"]["accuracy"]


def test_classes_that_are_all_unknown_are_refused(folder, tmp_path):
    classes_csv = tmp_path / "named.csv"
    classes_csv.write_text("".join(f"{name},n0152{n}\n" for n, name in enumerate(folder.names)))

    refusal = refused(*folder.named, "--predictions", classes_csv)

    assert "'n01520' is an unknown class" in refusal["error"]
    assert (refusal["file"], refusal["line"]) == (str(classes_csv), 1)


def test_curves_have_every_threshold_and_their_best_is_the_result(folder):
    result = result_of(*folder.named, "--curves")

    curves = result["curves"]
    assert curves["thresholds"] == box_scores.Protocol(thresholds=20).taus.tolist()
    assert max(curves["box_acc"]) == result["max_box_acc"]["accuracy"]
    assert max(curves["box_acc_v2"]["0.3"]) == result["max_box_acc_v2"]["0.3"]["accuracy"]
    assert sum(curves["score_histogram"]) == 3 * 40 * 20
    assert sum(curves["inside_histogram"]) == 20 * 10 + 5 * 5 + 20 * 20 + 2 * 2
    both = np.add(curves["inside_histogram"], curves["outside_histogram"])
    assert both.tolist() == curves["score_histogram"]


@pytest.mark.parametrize(
    ("is_masked", "words"), [(False, "max box acc v2"), (True, "mpxap"), (True, "px prec")]
)
def test_a_person_reads_a_table(folder, is_masked, words):
    code, out, err = run(*(folder.mask() if is_masked else folder).named, "--curves")

    assert (code, err) == (0, "")
    assert words in out


def test_maps_come_from_a_folder_or_a_baseline(folder):
    code, _, err = run("--metadata", folder.metadata)
    assert code == 2
    assert "--baseline" in err

    assert run(*folder.named, "--baseline", "center-gaussian")[0] == 2


@pytest.mark.parametrize(
    ("scores", "extra", "error"),
    [
        (np.full((16, 16), np.nan), (), "row 0, column 0"),
        (np.full((16, 16), -np.inf), (), "-inf"),
        (np.zeros((16, 16), complex), (), "2-D array of floats"),
        (np.full((16, 16), -2.0), ("--normalize", "max"), "only negative scores"),
        (np.zeros((1, 16, 16)), (), "2-D array of floats"),
        (np.zeros((0, 16)), (), "0 pixels"),
        (np.array([[{}]]), (), "2-D array of floats"),
        (np.zeros((15, 16)), ("--protocol", "reference"), "16 × 15, expected 16 × 16"),
        (np.full((16, 16), 1.5), ("--normalize", "none"), "expected 0 to 1"),
        (np.pad([[1.5e308, -1.5e308]], ((0, 15), (0, 14))), (), "too far apart"),
    ],
)
def test_a_map_that_cannot_be_scored_is_named(folder, scores, extra, error):
    path = folder.save(folder.names[1], scores)

    refusal = refused(*folder.named, *extra)

    assert error in refusal["error"]
    assert refusal["file"] == str(path)


@pytest.mark.parametrize("kind", ["uint8", "int64", ">i2"])
def test_maps_of_integers_are_read(folder, kind):
    path = folder.maps / f"{folder.names[1]}.npy"
    scores = (np.arange(256) % 97).reshape(16, 16)
    np.save(path, scores.astype(float))
    expected = run(*folder.named, "--json")[1]

    np.save(path, scores.astype(kind))

    assert run(*folder.named, "--json")[1] == expected


def test_missing_and_extra_maps_are_named(folder):
    extra = folder.save("val/z.jpeg", np.zeros((16, 16)))
    assert refused(*folder.named)["file"] == str(extra)

    extra.unlink()
    missing = folder.maps / "d.jpeg.npy"
    missing.unlink()
    assert refused(*folder.named)["file"] == str(missing)


BAD_LINES = [
    ("localization.txt", "d.jpeg,3,1,1,3", "is inverted"),
    ("localization.txt", "d.jpeg,nan,1,1,3", "is inverted"),
    ("localization.txt", "d.jpeg,1,1,41,3", "reaches out"),
    ("localization.txt", "d.jpeg,-1,1,3,3", "reaches out"),
    ("localization.txt", "d.jpeg,one,1,3,3", "not a number"),
    ("localization.txt", "e.jpeg,1,1,3,3", "not in image_ids.txt"),
    ("localization.txt", "d.jpeg,1", "2 cells"),
    ("image_sizes.txt", "d.jpeg,40,20", "already in line 3"),
    ("class_labels.txt", "e.jpeg,0", "not in image_ids.txt"),
    ("image_ids.txt", "../e.jpeg", "not a relative path"),
    ("image_ids.txt", "/e.jpeg", "not a relative path"),
    ("image_ids.txt", "d.jpeg", "already in line 3"),
]


@pytest.mark.parametrize(("file", "line", "error"), BAD_LINES)
def test_a_bad_line_is_named(folder, file, line, error):
    path = folder.metadata / file
    lines = path.read_text() + f"{line}\n"
    path.write_text(lines)

    refusal = refused(*folder.named)

    assert error in refusal["error"]
    assert (refusal["file"], refusal["line"]) == (str(path), lines.count("\n"))


def test_boxes_and_masks_that_are_taken_for_each_other_are_told(folder):
    boxes = refused(*folder.named, "--masks", folder.maps)
    unmasked = folder.named
    folder.mask()
    masks = refused(*unmasked)

    assert boxes["cure"].endswith("lines are id,mask path,ignore path with --masks")
    assert "give --masks where localization.txt names masks" in masks["cure"]


@pytest.mark.parametrize("size", ["0,20", "40,-1", "40,2.5", "1000000,1000000"])
def test_a_size_that_is_none_is_refused(folder, size):
    a, b, d = folder.names
    folder.write("image_sizes.txt", f"{a},40,20", f"{b},{size}", f"{d},40,20")

    assert refused(*folder.named)["line"] == 2


@pytest.mark.parametrize("file", ["class_labels.txt", "image_sizes.txt", "localization.txt"])
def test_an_image_without_a_line_is_named(folder, file):
    path = folder.metadata / file
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))

    assert "d.jpeg is missing" in refused(*folder.named)["error"]


def test_boxes_without_end_are_refused(folder, monkeypatch):
    monkeypatch.setattr(wsol_files, "MAX_BOXES", 50)
    with (folder.metadata / "localization.txt").open("a") as file:
        file.writelines("d.jpeg,1,1,3,3\n" for _ in range(60))

    refusal = refused(*folder.named)

    assert (refusal["line"], "more than 50" in refusal["error"]) == (4 + 50, True)


@pytest.fixture
def masked(folder) -> Folder:
    return folder.mask()


@pytest.mark.parametrize("protocol", box_scores.PROTOCOLS)
def test_masks_give_the_promised_result(masked, protocol):
    result = result_of(*masked.named, "--protocol", protocol)

    score = MaskScore(box_scores.Protocol(protocol, thresholds=20, size=16))
    drawn = (("0", 0, 9), ("bird", 10, 30), ("0", 0, 0))
    for name, (label, x0, x1) in zip(masked.names, drawn, strict=True):
        truth = np.zeros((20, 40), np.uint8)
        truth[4:16] = 255 * (name == "val/a.jpeg")
        truth[4:16, x0:x1] = 1
        if protocol == "reference":
            truth = truth[np.arange(16)[:, None] * 20 // 16, np.arange(16) * 40 // 16]
        score.add(np.load(masked.maps / f"{name}.npy"), truth, label)
    expected = score.result()
    assert (result["images"], result["masks"], result["protocol"]) == (3, 4, protocol)
    assert {key: result[key] for key in expected} == expected
    assert list(result["per_class"]) == ["0", "bird"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("d.jpeg,gone.png,", "is not in"),
        ("d.jpeg,../masks/d.png,", "not a relative path"),
        ("d.jpeg,,", "not a relative path"),
        ("d.jpeg,small.png,", "is 3 × 2"),
        ("d.jpeg,d.png", "2 cells"),
    ],
)
def test_a_bad_mask_is_named_with_its_line(masked, line, error):
    mask_png.write(masked.masks / "small.png", np.ones((2, 3), bool))
    path = masked.metadata / "localization.txt"
    path.write_text(f"{path.read_text()}{line}\n")

    refusal = refused(*masked.named)

    assert error in refusal["error"]
    assert (refusal["file"], refusal["line"]) == (str(path), 5)


def test_a_file_that_is_no_mask_is_named(masked):
    (masked.masks / "b.png").write_bytes(b"no picture")

    assert refused(*masked.named)["file"] == str(masked.masks / "b.png")


def test_masks_want_no_classifier(masked, tmp_path):
    assert run(*masked.named, "--predictions", tmp_path / "named.csv")[0] == 2


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda whole: whole[:-8], "ends too early"),
        (lambda whole: whole[:40], "not a NumPy array"),
        (lambda whole: b"", "not a NumPy array"),
        (lambda whole: whole.replace(b"NUMPY\x01", b"NUMPY\x09"), "not a NumPy array"),
        (lambda whole: whole.replace(b"'shape'", b"'shade'"), "not a NumPy array"),
        (lambda whole: whole.replace(b"(16, 16)", b"(-1, 16)"), "not a NumPy array"),
    ],
)
def test_a_broken_map_is_named(folder, change, error):
    path = folder.save(folder.names[1], np.zeros((16, 16)))
    path.write_bytes(change(path.read_bytes()))

    refusal = refused(*folder.named)

    assert error in refusal["error"]
    assert refusal["file"] == str(path)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f4", np.longdouble])
def test_maps_are_read_as_numpy_reads_them(folder, kind):
    scores = np.random.default_rng(5).random((16, 16)).astype(kind)
    for name in folder.names:
        folder.save(name, np.asfortranarray(scores))
    maps = wsol_files.ScoreMaps(folder.maps, list(folder.names))

    assert np.array_equal(maps.read(folder.names[0], "min-max"), scores)
    assert result_of(*folder.named, "--protocol", "reference")["images"] == 3
