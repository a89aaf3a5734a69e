"""Boxes in files that are wrong: each is refused with its place and a cure."""

import json

import pytest

from tests.evaluation import box_world
from tests.evaluation.box_world import COOT, DRAKE, Files
from tests.evaluation.management.test_score_command import refused

pytestmark = pytest.mark.usefixtures("wordnet")

BOX = (0, 0, 50, 50)
GOOD = ("a", DRAKE, 0.5, *BOX)
WRONG_ROWS = {
    ("a", DRAKE, "nan", *BOX): "the confidence is not finite",
    ("a", DRAKE, "inf", *BOX): "the confidence is not finite",
    ("a", DRAKE, "", *BOX): "confidence is ''",
    ("a", DRAKE, "high", *BOX): "confidence is 'high'",
    ("a", DRAKE, 0.5, 0, 0, "wide", 50): "x1 is 'wide'",
    ("a", DRAKE, 0.5, 0, 0, "nan", 50): "a corner is not finite",
    ("a", DRAKE, 0.5, 50, 0, 0, 50): "the box is inverted or empty",
    ("a", DRAKE, 0.5, 0, 9, 50, 9): "the box is inverted or empty",
    ("a", DRAKE, 0.5, 0, 0, 250, 50): "the box leaves its image",
    ("a", DRAKE, 0.5, 0, -3, 50, 50): "the box leaves its image",
    ("a", "n99999999", 0.5, *BOX): "is not a noun synset",
    ("a", "crane", 0.5, *BOX): "crane",
    ("zebra", DRAKE, 0.5, *BOX): "unknown image 'zebra'",
    ("", DRAKE, 0.5, *BOX): "the image is empty",
    ("a", DRAKE, 0.5, *BOX, 7): "the row has 8 cells, the header 7",
}


@pytest.fixture
def files(tmp_path) -> Files:
    return Files(tmp_path, "detection", [("a", DRAKE, *BOX)], [GOOD])


def sized(files: Files) -> tuple:
    return files.arguments("--images", files.file("images.csv", "image,width,height\na,200,200\n"))


@pytest.mark.parametrize("row", WRONG_ROWS, ids=lambda row: WRONG_ROWS[row])
def test_a_wrong_row_of_predictions_is_named_by_its_line(files, row):
    files.found = [GOOD, row, GOOD]

    fault = refused(*sized(files))

    assert WRONG_ROWS[row] in fault["error"]
    assert fault["file"].endswith("found.csv")
    assert fault["line"] == 3
    assert fault["cure"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("a", DRAKE, 50, 0, 0, 50), "the box is inverted or empty"),
        (("a", DRAKE, 0, 0, 202, 50), "the box leaves its image"),
        (("a", DRAKE, 0, 0, "", 50), "has part of a box"),
        (("b", DRAKE, *BOX), "unknown image 'b'"),
        (("a", "no class", *BOX), "no class"),
    ],
)
def test_a_wrong_true_box_is_named_by_its_line(files, row, message):
    files.truth.append(row)

    fault = refused(*sized(files))

    assert message in fault["error"]
    assert (fault["file"].endswith("truth.csv"), fault["line"]) == (True, 3)


def test_a_box_may_leave_its_image_by_the_rounding_of_a_pixel(files):
    from tests.evaluation.management.test_score_command import result_of

    files.found = [("a", DRAKE, 0.5, -0.5, -1, 50, 200.9)]

    result_of(*sized(files))


def test_too_many_boxes_of_an_image_are_refused_at_the_first_too_many(files):
    files.found = [GOOD] * 10_001

    fault = refused(*files.arguments())

    assert fault["error"] == "its image has more than 10,000 boxes"
    assert fault["line"] == 10_002
    files.found, files.truth = [GOOD], [("a", DRAKE, *BOX)] * 1_001
    fault = refused(*files.arguments())
    assert (fault["error"], fault["line"]) == ("its image has more than 1,000 boxes", 1_002)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("image,wnid,confidence,x0,y0,x1\n", "the column 'y1' is missing"),
        ("image,wnid,confidence,x0,y0,x1,y1,z\n", "unknown column 'z'"),
        ('image,wnid,confidence,x0,y0,x1,y1\n"a', "is not CSV"),
        ("image,wnid,confidence,x0,y0,x1,y1\n", "there are no predictions"),
        ("[]", "there are no predictions"),
        ("{", "is not a JSON list"),
        ("[1, 2]", "result 1: is not an object"),
        ("[", "is not JSON"),
    ],
)
def test_a_wrong_file_of_predictions_is_refused(files, text, message):
    arguments = files.arguments()
    files.file("found.csv", text)

    assert message in refused(*arguments)["error"]


def test_missing_files_and_folders_are_refused(files, tmp_path):
    arguments = [*files.arguments()]

    assert refused(*arguments[:-1], tmp_path)["error"] == "is a folder"
    assert refused(*arguments[:-1], tmp_path / "none.csv")["error"] == "the file is missing"
    arguments[2] = tmp_path
    assert refused(*arguments)["error"] == "has no XML files"
    arguments[2] = files.file("list.txt", "1 2\n")
    assert refused(*arguments)["error"] == "is not a list of true boxes"
    arguments[2] = files.file("empty.csv", "image,wnid,x0,y0,x1,y1\n")
    assert refused(*arguments)["error"] == "there are no true boxes"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("image,width,height\na,0,5\n", "the size is '0' by '5'", 2),
        ("image,width,height\na,,\na,,\n", "image 'a' is repeated", 3),
        ("image\n", "there are no images", None),
        ("a b c\n", "is not an image and its number", 1),
        ("a 1\nb 1\n", "the number 1 is repeated", 2),
        ("a 1.5\n", "1.5 is not an id", 1),
    ],
)
def test_a_wrong_list_of_images_is_refused(files, text, message, line):
    fault = refused(*files.arguments("--images", files.file("images.csv", text)))

    assert (fault["error"], fault["line"]) == (message, line)


def test_a_wrong_exclusion_is_refused(files):
    fault = refused(
        *files.arguments("--exclude", files.file("out.csv", "image,wnid\na,no class\n"))
    )
    assert (fault["file"][-7:], fault["line"]) == ("out.csv", 2)
    fault = refused(*files.arguments("--exclude", files.file("out.txt", "1 7\n")))
    assert fault["error"] == "the id 7 has no class"


def test_localization_refuses_what_detection_does(tmp_path):
    files = Files(tmp_path, "localization", [("a", DRAKE, *BOX)], [GOOD])
    truth, results_json = coco()

    for row, message in WRONG_ROWS.items():
        files.found = [GOOD, row, GOOD]
        fault = refused(*sized(files))
        assert (message in fault["error"], fault["line"]) == (True, 3), message
    files.truth.append(("a", "no class", *BOX))
    assert refused(*sized(files))["line"] == 3
    results_json[0]["bbox"] = [1, 2, 3]
    assert refused_coco(files, truth, results_json) == "result 1: bbox is [1, 2, 3]"
    truth["images"].append({"id": 3})
    assert refused_coco(files, truth, results_json) == "image 3's name is None"


def test_an_image_of_two_classes_is_no_localization(tmp_path):
    files = Files(tmp_path, "localization", [("a", DRAKE, *BOX), ("a", COOT, *BOX)], [GOOD])

    fault = refused(*files.arguments())

    assert fault["error"] == f"its image has the class {DRAKE}, here {COOT}"
    assert fault["line"] == 3


def coco() -> tuple[dict, list]:
    truth = box_world.coco_truth([("a", DRAKE, *BOX), ("b", COOT, *BOX)])
    return truth, box_world.coco_results(truth, [GOOD])


def refused_coco(files: Files, truth: object, results_json: object) -> str:
    known = box_world.write_json(files.folder / "truth.json", truth)
    results = box_world.write_json(files.folder / "found.json", results_json)
    fault = refused(files.verb, "--truth", known, "--predictions", results)
    assert fault["cure"]
    return str(fault["error"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_id": 5}, "result 1: unknown image_id '5'"),
        ({"image_id": [5]}, "result 1: unknown image_id '[5]'"),
        ({"image_id": "zebra"}, "result 1: unknown image 'zebra'"),
        ({"category_id": 5}, "result 1: unknown category_id '5'"),
        ({"category_id": "dog"}, "result 1: unknown class 'dog'"),
        ({"score": None}, "result 1: score is 'None'"),
        ({"score": float("nan")}, "result 1: the confidence is not finite"),
        ({"score": 10**400}, "result 1: score is '1000"),
        ({"bbox": [1, 2, 3]}, "result 1: bbox is [1, 2, 3]"),
        ({"bbox": [1, 2, 3, "x"]}, "result 1: height is 'x'"),
        ({"bbox": [1, 2, -3, 4]}, "result 1: the box is inverted or empty"),
        ({"bbox": [1, 2, 300, 4]}, "result 1: the box leaves its image"),
        ({"bbox": [-1e308, 0, 1.5e308, 4]}, "result 1: a corner is over 1,000,000,000 pixels away"),
        ({"category_id": "\ud800"}, "contains a lone surrogate"),
    ],
)
def test_a_wrong_result_of_coco_is_named_by_its_number(files, change, message):
    truth, results_json = coco()

    assert message in refused_coco(files, truth, [{**results_json[0], **change}])


@pytest.mark.parametrize(
    ("key", "row", "message"),
    [
        ("images", {"id": 3}, "image 3's name is None"),
        ("images", {"id": 3, "file_name": "a"}, "image 3: 'a' occurs twice"),
        ("images", {"id": 10, "file_name": "c"}, "image 3: the id 10 occurs twice"),
        ("images", {"id": None, "file_name": "c"}, "image 3 has the id None"),
        ("images", {"id": 3, "file_name": "c", "width": -1, "height": 5}, "image 3 is -1 × 5"),
        ("images", {"id": 3, "file_name": "c", "width": 10**400, "height": 5}, "× 5 pixels"),
        ("images", {"id": 3, "file_name": "\udfff"}, "contains a lone surrogate"),
        ("images", 5, "image 3 is not an object"),
        ("categories", {"id": 3}, "category 3's name is None"),
        ("categories", {"id": 3, "name": DRAKE}, f"category 3: '{DRAKE}' occurs twice"),
        ("annotations", {"image_id": 99}, "annotation 3: unknown image_id 99"),
        ("annotations", {"image_id": 10, "category_id": {}}, "annotation 3's category has the id"),
    ],
)
def test_a_wrong_truth_of_coco_is_named_by_its_number(files, key, row, message):
    truth, results_json = coco()
    truth[key].append(row)

    assert message in refused_coco(files, truth, results_json)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("images", "is not a COCO file"),
        ("annotations", "there are no true boxes"),
        ("categories", "is not a COCO file"),
    ],
)
def test_a_truth_of_coco_needs_its_lists(files, missing, message):
    truth, results_json = coco()
    del truth[missing]

    assert refused_coco(files, truth, results_json) == message


def test_ids_of_the_kit_mean_nothing_beside_a_coco_truth(files):
    arguments = [*files.arguments("--devkit", files.file("meta.txt", f"{DRAKE}\n"))]
    arguments[2] = box_world.write_json(files.folder / "truth.json", coco()[0])

    assert "a COCO file has ids of its own" in refused(*arguments)["error"]


def test_json_that_is_cut_off_is_named_by_its_line(files):
    arguments = [*files.arguments()]
    truth, _ = coco()
    arguments[2] = files.file("truth.json", json.dumps(truth, indent=1)[:-40])

    fault = refused(*arguments)

    assert fault["error"] == "is not JSON"
    assert fault["line"] > 10


BNDBOX = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
KIT = {
    "localization": [
        ("1 1 1 9\n\n", "the line has 4 numbers", 1),
        ("1 1 1 9 9\n", "has 1 line for 2 numbered images", None),
        ("1 1 1 9 9\n\n1 1 1 9 9\n", "there is no image 3", 3),
        ("1 1 1 9 9\n7 1 1 9 9\n", "the id 7 has no class", 2),
        ("\n1 9 9 1 1\n", "the box is inverted or empty", 2),
        ("1.5 1 1 9 9\n\n", "1.5 is not an id", 1),
        ("x 1 1 9 9\n\n", "number 1 is 'x'", 1),
        ("1 1 1 9 900\n\n", "the box leaves its image", 1),
    ],
    "detection": [
        ("1 1 0.5 1 1 9\n", "the line has 6 numbers", 1),
        ("1 1 .5 1 1 9 9\n3 1 .5 1 1 9 9\n", "there is no image 3", 2),
        ("1 7 .5 1 1 9 9\n", "the id 7 has no class", 1),
        ("1 1 nan 1 1 9 9\n", "the confidence is not finite", 1),
        ("1 nan 1 1 1 9 9\n", "nan is not an id", 1),
        ("1 1 .5 1 1 9 9\n1 1 .5 9 1 1 9\n", "the box is inverted or empty", 2),
    ],
}


@pytest.mark.parametrize(
    ("verb", "text", "message", "line"),
    [(verb, *case) for verb, cases in KIT.items() for case in cases],
)
def test_a_wrong_line_of_the_kits_texts_is_named(tmp_path, verb, text, message, line):
    for image in ("val_1", "val_2"):
        box_world.write_xml(tmp_path / "xml", image, [(DRAKE, 1, 1, 9, 9)])
    (tmp_path / "meta.txt").write_text(f"{DRAKE}\n")
    (tmp_path / "found.txt").write_text(text)
    arguments = (verb, "--truth", tmp_path / "xml", "--predictions", tmp_path / "found.txt")

    fault = refused(*arguments, "--devkit", tmp_path / "meta.txt")

    assert (fault["error"], fault["line"]) == (message, line)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ("<object><bndbox/></object>", "object 1's name is"),
        (f"<object><name>{COOT}</name>{BNDBOX}</object>", "object 1: unknown class"),
        (f"<object><name>{DRAKE}</name></object>", "object 1 has no bndbox"),
        (f"<object><name>{DRAKE}</name><bndbox/></object>", "object 1: xmin is ''"),
        ("<object>", "is not XML"),
    ],
)
def test_a_wrong_xml_is_named_by_its_file(tmp_path, objects, message):
    box_world.write_xml(tmp_path / "xml", "val_1", [(DRAKE, 1, 1, 9, 9)])
    (tmp_path / "xml" / "val_2.xml").write_text(f"<annotation>{objects}</annotation>")
    (tmp_path / "meta.txt").write_text(f"{DRAKE}\n")
    (tmp_path / "found.txt").write_text("1 1 .5 1 1 9 9\n")
    arguments = ("--truth", tmp_path / "xml", "--predictions", tmp_path / "found.txt")

    fault = refused("detection", *arguments, "--devkit", tmp_path / "meta.txt")

    assert message in fault["error"]
    assert fault["file"].endswith("val_2.xml")


def test_entities_are_not_read(tmp_path):
    box_world.write_xml(tmp_path / "xml", "val_1", [(DRAKE, 1, 1, 9, 9)])
    bomb = '<!DOCTYPE a [<!ENTITY b "c">]><annotation>&b;</annotation>'
    (tmp_path / "xml" / "val_2.xml").write_text(bomb)
    (tmp_path / "found.txt").write_text("1 1 .5 1 1 9 9\n")

    arguments = ("--truth", tmp_path / "xml", "--predictions", tmp_path / "found.txt")

    assert "declares entities" in refused("detection", *arguments)["error"]


def test_the_box_of_a_true_xml_is_checked_in_its_own_file(tmp_path):
    box_world.write_xml(tmp_path / "xml", "val_1", [(DRAKE, 1, 1, 9, 9)])
    box_world.write_xml(tmp_path / "xml", "val_2", [(DRAKE, 1, 1, 9, 9), (DRAKE, 9, 9, 1, 1)])
    (tmp_path / "found.txt").write_text("1 1 .5 1 1 9 9\n")
    arguments = ("--truth", tmp_path / "xml", "--predictions", tmp_path / "found.txt")

    fault = refused("detection", *arguments)

    assert fault["error"] == "object 2: the box is inverted or empty"
    assert fault["file"].endswith("val_2.xml")
