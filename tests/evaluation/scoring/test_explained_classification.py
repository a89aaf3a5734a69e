"""`score classification` with several submissions, and with the analysis of its figures."""

import functools
from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics import significance
from evaluation.scoring import classification, comparing
from evaluation.scoring.comparing import compare
from tests.evaluation.box_world import write
from tests.evaluation.management.test_score_command import refused, result_of, run

pytestmark = pytest.mark.usefixtures("wordnet")

DRAKE, COOT, DOG, POODLE = "n01847000", "n02018207", "n02084071", "n02113335"
CLASSES = [DRAKE, COOT, DOG]


class Files:
    """Nine images of three classes, two submissions, boxes and properties, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.truth = [(f"{i}.jpg", CLASSES[i % 3]) for i in range(9)]
        self.rows = {
            "one": [(image, 1, DRAKE) for image, _ in self.truth],
            "two": [(image, 1, wnid) for image, wnid in self.truth[:6]],
        }
        self.boxes = [(image, wnid, 0, 0, 10 + i, 10) for i, (image, wnid) in enumerate(self.truth)]
        self.sizes = [(image, 20, 20) for image, _ in self.truth]
        self.properties = [(wnid, "S", "rigid", "low", "natural") for wnid in CLASSES]

    def arguments(self, *names: str) -> list:
        words = [
            "classification",
            "--truth",
            write(self.folder / "t.csv", ["image", "wnid"], self.truth),
        ]
        for name in names or ("one", "two"):
            path = write(self.folder / f"{name}.csv", ["image", "rank", "wnid"], self.rows[name])
            words += ["--predictions", path]
        return words

    def boxed(self, *names: str) -> list:
        boxes = write(
            self.folder / "boxes.csv", ["image", "wnid", "x0", "y0", "x1", "y1"], self.boxes
        )
        sizes = write(self.folder / "sizes.csv", ["image", "width", "height"], self.sizes)
        return [*self.arguments(*names), "--boxes", boxes, "--images", sizes]

    def kinds(self) -> list:
        head = "wnid,size,deformability,texture,natural"
        path = write(self.folder / "properties.csv", head.split(","), self.properties)
        return [*self.boxed(), "--properties", path]


@pytest.fixture
def files(tmp_path, monkeypatch) -> Files:
    # Nine images have few different means: rounds would double to the end each time.
    quick = functools.partial(significance.mean_interval, most_rounds=significance.ROUNDS)
    for module in (classification, comparing):
        monkeypatch.setattr(module, "mean_interval", quick)
    return Files(tmp_path)


def test_the_top_level_is_the_first_submission(files):
    alone, both = result_of(*files.arguments("one")), result_of(*files.arguments())
    for key in ("device", "versions"):
        assert alone.pop(key) == both.pop(key)

    assert {name: both[name] for name in alone} == alone
    assert set(both) - set(alone) == {"submissions", "comparison"}
    assert [submission["name"] for submission in both["submissions"]] == ["one", "two"]
    two = result_of(*files.arguments("two"))
    assert {name: both["submissions"][1][name] for name in alone} == {k: two[k] for k in alone}


def test_submissions_are_compared_by_their_top_5_errors(files):
    result = result_of(*files.arguments())

    first_wrong = np.array([i % 3 != 0 for i in range(9)])
    two = np.array([i >= 6 for i in range(9)])
    classes = [wnid for _, wnid in files.truth]
    assert result["comparison"] == compare({"one": first_wrong, "two": two}, classes).to_json()
    assert result["comparison"]["optimistic"]["by_image"]["error"]["value"] == 2 / 9


def test_a_file_with_an_equals_sign_goes_by_its_stem(files):
    arguments = files.arguments("one")
    path = files.folder / "k=5.csv"
    path.write_bytes(arguments[-1].read_bytes())

    result = result_of(*arguments, "--predictions", path)

    assert [submission["name"] for submission in result["submissions"]] == ["one", "k=5"]


def test_names_must_differ(files):
    arguments = files.arguments("one")

    status, _, error = run(*arguments, "--predictions", arguments[-1])
    assert status == 2
    assert "two files are called 'one'" in error
    renamed = result_of(*arguments, "--predictions", f"other={arguments[-1]}")
    assert [submission["name"] for submission in renamed["submissions"]] == ["one", "other"]


def test_each_class_is_told_on_demand(files):
    result = result_of(*files.arguments(), "--per-class")

    rows = result["analysis"]["per_class"]["rows"]
    assert {row["wnid"]: row["value"] for row in rows} == {DRAKE: 1, COOT: 0, DOG: 0}
    assert all(row["images"] == 3 for row in rows)
    assert result["analysis"]["by_scale"] is None
    second = result["submissions"][1]["analysis"]["per_class"]
    assert second["mean"] == pytest.approx(2 / 3)
    best = result["comparison"]["optimistic"]["by_class"]
    assert best["analysis"]["per_class"]["mean"] == pytest.approx(1 - best["error"])
    assert "analysis" not in result_of(*files.arguments())


def test_the_scale_of_objects_comes_from_their_boxes(files):
    result = result_of(*files.boxed())

    rows = {row["wnid"]: row for row in result["objects"]["rows"]}
    assert rows[DRAKE]["scale"] == pytest.approx((10 + 13 + 16) * 10 / 400 / 3)
    assert rows[DRAKE]["instances"] == 3
    assert [row["scale"] for row in result["analysis"]["by_scale"]["rows"]] == pytest.approx(
        [rows[wnid]["scale"] for wnid in sorted(CLASSES)]
    )
    inclusive = result_of(*files.boxed(), "--inclusive")
    assert inclusive["objects"]["scale"] > result["objects"]["scale"]


def test_properties_give_every_figure_with_its_rules(files):
    result = result_of(*files.kinds())

    told_of = result["analysis"]["properties"]
    assert (told_of["classes"], told_of["left_out"]) == (3, 0)
    [small] = [row for row in told_of["figures"]["size"]["bins"] if row["classes"]]
    assert (small["bin"], small["value"], small["left_out"]) == ("S", pytest.approx(1 / 3), True)
    assert "least mean of a bin of five classes or more" in told_of["matching"]


def test_a_class_takes_the_mean_properties_of_those_below_it(files):
    files.properties[2] = (POODLE, "XL", "deformable", "none", "natural")

    result = result_of(*files.kinds())

    bins = result["analysis"]["properties"]["figures"]["size"]["bins"]
    sizes = {row["bin"]: row["classes"] for row in bins}
    assert sizes == {"XS": 0, "S": 2, "M": 0, "L": 0, "XL": 1}
    assert any("1 class has the mean properties" in note for note in result["notes"])


def test_a_person_reads_tables(files):
    status, out, error = run(*files.kinds())

    assert (status, error) == (0, "")
    names = ("mcnemar p", "optimistic", "hardest", "cpl", "texture", "top5 error", "hp at k")
    names += ("notes\n- ",)
    assert [words for words in names if words not in out] == []
    assert "nan" not in out


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("n99999999", "S", "rigid", "low", "natural"), "'n99999999' is not a noun"),
        ((DOG, "S", "rigid", "low", ""), "the natural is empty"),
        ((DOG, "huge", "rigid", "low", "natural"), "the size is 'huge'"),
        ((DRAKE, "S", "rigid", "low", "natural"), "is repeated"),
        ((DOG, "S", "rigid", "low"), "4 cells, the header 5"),
    ],
)
def test_bad_properties_are_refused_with_their_line(files, row, words):
    files.properties[2] = row

    refusal = refused(*files.kinds())

    assert (refusal["line"], refusal["cure"] != "") == (4, True)
    assert words in refusal["error"]
    assert refusal["file"].endswith("properties.csv")


def test_properties_of_other_classes_are_refused(files):
    files.properties = [("n02876657", "S", "rigid", "low", "man-made")]

    assert "none of its classes is in the truth" in refused(*files.kinds())["error"]


def test_boxes_of_other_classes_are_refused(files):
    files.boxes = [(image, "n02876657", *box) for image, _, *box in files.boxes]

    refusal = refused(*files.boxed())

    assert "none of its classes is in the truth" in refusal["error"]
    assert refusal["file"].endswith("boxes.csv")


def test_classes_without_boxes_are_counted(files):
    files.boxes = [row for row in files.boxes if row[1] != DOG]

    result = result_of(*files.kinds())

    assert result["analysis"]["by_scale"]["without_scale"] == 1
    assert result["analysis"]["properties"]["left_out"] == 1


def test_an_image_without_a_size_is_refused(files):
    arguments = files.boxed()
    arguments = arguments[: arguments.index("--images")]

    refusal = refused(*arguments)

    assert "the size of image '0.jpg' is not known" in refusal["error"]
    assert refusal["line"] == 2
    assert "--images" in refusal["cure"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--properties", "p.csv"), "--properties needs --boxes"),
        (("--images", "s.csv"), "--images and --inclusive require --boxes"),
        (("--inclusive",), "--images and --inclusive require --boxes"),
    ],
)
def test_options_that_lack_their_other_half_are_wrong_usage(files, more, words):
    status, _, error = run(*files.arguments(), *more)

    assert status == 2
    assert words in error


def test_another_encoding_is_refused_with_its_line(files):
    arguments = files.arguments("one")
    path = files.folder / "one.csv"
    path.write_bytes(path.read_bytes() + "9.jpg,1,café\n".encode("latin-1"))

    refusal = refused(*arguments)

    assert (refusal["error"], refusal["line"]) == ("is not UTF-8", 11)


def test_predictions_of_other_images_are_refused(files):
    files.rows["two"] = [("another.jpg", 1, DRAKE)]

    refusal = refused(*files.arguments())

    assert "the truth lacks the image 'another.jpg'" in refusal["error"]
    assert refusal["file"].endswith("two.csv")
