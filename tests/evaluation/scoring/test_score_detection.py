"""`manage.py score detection`: its result, its options and its formats."""

import numpy as np
import pytest

from evaluation.metrics import significance
from evaluation.readers.box_files import BoxReading
from evaluation.scoring import detection
from tests.evaluation import box_world
from tests.evaluation.box_world import COOT, DOG, DRAKE, Files
from tests.evaluation.management.test_score_command import refused, result_of, run

pytestmark = pytest.mark.usefixtures("wordnet")

BOX, OTHER, FAR = (0, 0, 50, 50), (60, 60, 120, 120), (150, 150, 190, 190)
# Rounds enough to be an interval, and no more: tests look at what it stands on.
FEW = ("--most-rounds", 20_000)


@pytest.fixture
def files(tmp_path) -> Files:
    """Drakes: a hit, its double, a box on nothing, a second hit. Coots: never found."""
    truth = [("a", DRAKE, *BOX), ("a", DRAKE, *OTHER), ("b", COOT, *BOX), ("c", DRAKE, *BOX)]
    predictions = [
        ("a", DRAKE, 0.9, *BOX),
        ("a", DRAKE, 0.8, *BOX),
        ("b", DRAKE, 0.7, *BOX),
        ("c", DRAKE, 0.6, *BOX),
        ("c", DOG, 0.5, *FAR),
    ]
    return Files(tmp_path, "detection", truth, predictions)


def test_the_promised_result(files):
    result = result_of(*files.arguments(*FEW))

    drake, coot, dog = (result["per_class"][wnid] for wnid in (DRAKE, COOT, DOG))
    assert drake["ap"] == pytest.approx((1 + 2 / 4) / 3)
    assert (drake["positives"], drake["detections"]) == (3, 4)
    assert (coot["ap"], coot["positives"], coot["detections"]) == (0, 1, 0)
    assert (dog["ap"], dog["positives"], dog["detections"]) == (None, 0, 1)
    assert dog["interval"] is None
    assert result["mean_ap"]["value"] == drake["ap"] / 2
    low, high = result["mean_ap"]["interval"]
    assert low <= result["mean_ap"]["value"] <= high
    assert result["mean_ap"]["rounds"] == 20_000
    assert (result["images"], result["boxes"], result["detections"]) == (3, 4, 5)
    assert "1 class has detections and no objects: no AP, not in the mean" in result["notes"]
    assert "classes_won" not in result


def test_the_small_object_of_the_paper_is_hit(files):
    files.truth, files.found = [("a", DRAKE, 5, 5, 15, 15)], [("a", DRAKE, 1, 0, 0, 20, 20)]

    assert result_of(*files.arguments(*FEW))["mean_ap"]["value"] == 1
    files.found = [("a", DRAKE, 1, 0, 0, 20, 20.5)]
    assert result_of(*files.arguments(*FEW))["mean_ap"]["value"] == 0


def test_inclusive_pixels_hold_their_last(files):
    files.truth, files.found = [("a", DRAKE, 0, 0, 99, 99)], [("a", DRAKE, 1, 0, 0, 99, 49)]

    assert result_of(*files.arguments("--inclusive", *FEW))["mean_ap"]["value"] == 1
    assert result_of(*files.arguments(*FEW))["mean_ap"]["value"] == 0


def test_without_rounds_there_are_no_intervals(files):
    result = result_of(*files.arguments("--most-rounds", 0))

    assert result["mean_ap"]["interval"] is None
    assert result["per_class"][DRAKE]["interval"] is None


def test_a_mean_whose_interval_has_not_settled_says_after_how_many_rounds(files, monkeypatch):
    # No interval settles within less than nothing.
    monkeypatch.setattr(significance, "TOLERANCE", -1)

    notes = result_of(*files.arguments(*FEW))["notes"]

    assert "the interval of the mean AP had not settled after 20000 rounds" in notes


def test_images_of_the_predictions_alone_are_without_objects_unless_images_are_listed(files):
    files.found.append(("d", DRAKE, 0.95, *BOX))

    result = result_of(*files.arguments(*FEW))

    assert result["per_class"][DRAKE]["ap"] == pytest.approx(
        2 * (2 / 5) / 3 + 1 / 3 * (1 / 2 - 2 / 5)
    )
    assert result["images"] == 4
    assert any("1 image of the predictions is not in the truth" in n for n in result["notes"])
    images = files.file("images.csv", "image\na\nb\nc\n")
    fault = refused(*files.arguments("--images", images))
    assert (fault["error"], fault["line"]) == ("unknown image 'd'", 7)


def test_listed_images_without_objects_or_detections_are_drawn_too(files):
    images = files.file(
        "images.csv", "image,width,height\n" + "".join(f"{c},200,200\n" for c in "abcdefgh")
    )

    result = result_of(*files.arguments("--images", images, *FEW))

    assert result["images"] == 8
    assert result["mean_ap"]["value"] == result_of(*files.arguments(*FEW))["mean_ap"]["value"]


def test_excluded_classes_of_images_do_not_count(files):
    out = files.file("out.csv", f"image,wnid\na,{DRAKE}\nb,{COOT}\n")

    result = result_of(*files.arguments("--exclude", out, *FEW))

    assert result["excluded"] == 2
    assert result["per_class"][DRAKE] == {
        **result["per_class"][DRAKE],
        "ap": 0.5,
        "positives": 1,
        "detections": 2,
    }
    assert COOT not in result["per_class"]


def test_where_everything_is_excluded_nothing_is_known(files):
    out = files.file("out.csv", "image,wnid\na,\nb,\nc,\n")

    result = result_of(*files.arguments("--exclude", out, "--per-class", *FEW))

    assert result["mean_ap"]["value"] is None
    assert result["mean_ap"]["interval"] == [None, None]
    assert (result["per_class"], result["boxes"], result["excluded"]) == ({}, 0, 3)


def test_several_submissions_say_who_won_which_class(files):
    path = box_world.write(
        files.folder / "better.csv", box_world.FOUND_HEAD, [*files.found, ("b", COOT, 0.1, *BOX)]
    )

    result = result_of(*files.arguments("--predictions", f"ours={path}", *FEW))

    assert result["classes_won"] == {"found": 1, "ours": 2}
    assert [submission["name"] for submission in result["submissions"]] == ["found", "ours"]
    assert result["mean_ap"] == result["submissions"][0]["mean_ap"]
    out = run(*files.arguments("--predictions", f"ours={path}", *FEW))[1]
    assert "comparison pairs\n" in out
    assert result["submissions"][1]["per_class"][COOT]["ap"] == 1
    [pair] = result["comparison"]["pairs"]
    assert (pair["first"], pair["second"], pair["difference"]["value"]) == ("found", "ours", -0.5)
    low, high = pair["difference"]["interval"]
    # Of two images nothing is sure.
    assert low <= -0.5 <= 0 < high
    assert result["comparison"]["sure"]["apart"] == []
    assert (
        "No order is confirmed" in run(*files.arguments("--predictions", f"ours={path}", *FEW))[1]
    )
    assert result["comparison"]["optimistic"]["by_class"]["mean_ap"] == 0.75


def test_the_analysis_of_the_mean(files):
    images = files.file("images.csv", "image,width,height\na,200,200\nb,200,200\nc,200,200\n")

    result = result_of(*files.arguments("--per-class", "--images", images, *FEW))

    rows = result["analysis"]["per_class"]["rows"]
    assert [(row["wnid"], row["value"], row["images"]) for row in rows] == [
        (DRAKE, result["per_class"][DRAKE]["ap"], 2),
        (COOT, 0, 1),
    ]
    assert result["objects"]["instances_per_image"] == 1.25
    status, out, _ = run(*files.arguments("--per-class", "--images", images, *FEW))
    assert (status, "easiest" in out, "(w + 10)(h + 10)" in out) == (0, True, True)


def test_coco_says_the_same(files):
    plain = result_of(*files.arguments(*FEW))
    truth = box_world.coco_truth(files.truth)
    truth["categories"].append({"id": 1, "name": "dog", "wnid": DOG})
    known = box_world.write_json(files.folder / "truth.json", truth)
    predictions = box_world.write_json(
        files.folder / "found.json", box_world.coco_results(truth, files.found)
    )

    result = result_of("detection", "--truth", known, "--predictions", predictions, *FEW)
    mixed = result_of("detection", "--truth", known, "--predictions", files.arguments()[4], *FEW)

    assert result == mixed == plain


LEFT_OUT = [
    # A detection that lies on the object is neither right nor wrong; one elsewhere is wrong.
    ("difficult", (50, 50, 70, 70), [(50, 50, 70, 70)], 1.0),
    ("difficult", (50, 50, 70, 70), [(50, 50, 70, 70)] * 3, 1.0),
    ("difficult", (50, 50, 70, 70), [(80, 80, 99, 99)], 0.5),
    ("iscrowd", (40, 40, 199, 199), [(50, 50, 70, 70), (80, 80, 99, 99)], 1.0),
    # Of a crowd's detections half their own area has to lie in it.
    ("iscrowd", (40, 40, 199, 199), [(35, 50, 50, 70)], 1.0),
    ("iscrowd", (40, 40, 199, 199), [(20, 50, 45, 70)], 0.5),
]


@pytest.mark.parametrize(("flag", "object_", "detections", "ap"), LEFT_OUT)
def test_difficult_objects_and_crowds_are_left_out_one_by_one(
    flag, object_, detections, ap, tmp_path
):
    truth = box_world.coco_truth([("a", DRAKE, *BOX), ("a", DRAKE, *object_)])
    truth["annotations"][1][flag] = 1
    rows = [("a", DRAKE, 0.9, *box) for box in detections]
    results = box_world.coco_results(truth, [*rows, ("a", DRAKE, 0.1, *BOX)])
    known = box_world.write_json(tmp_path / "truth.json", truth)
    predictions = box_world.write_json(tmp_path / "found.json", results)

    for more in ((), ("--iou", "0.5")):
        result = result_of(
            "detection", "--truth", known, "--predictions", predictions, *more, "--most-rounds", 0
        )

        drake = result["per_class"][DRAKE]
        assert (drake["ap"], drake["positives"]) == (ap, 1)
        assert "1 object marked difficult or crowd left out" in result["notes"][0]


def random_coco(seed):
    """A truth of COCO with crowds, and results near its objects, many of equal scores."""
    chance = np.random.default_rng(seed)
    truth = {"images": [], "categories": [{"id": c, "name": f"c{c}"} for c in (3, 1)]}
    truth["annotations"], results = [], []
    for image in chance.permutation(8).tolist():
        truth["images"].append(
            {"id": image, "file_name": f"{image}.jpg", "width": 200, "height": 200}
        )
        for _ in range(chance.integers(0, 9)):
            x, y, w, h = chance.integers([0, 0, 5, 5], [120, 120, 80, 80]).tolist()
            row = {"image_id": image, "category_id": int(chance.choice([1, 3]))}
            crowd = int(chance.random() < 0.15)
            truth["annotations"].append(
                {"id": len(truth["annotations"]) + 1, **row, "bbox": [x, y, w, h], "iscrowd": crowd}
                | {"area": w * h}
            )
            for _ in range(chance.integers(0, 4)):
                dx, dy, dw, dh = chance.integers(-12, 13, 4).tolist()
                box = [max(0, x + dx), max(0, y + dy), max(1, w + dw), max(1, h + dh)]
                box = [*box[:2], min(box[2], 200 - box[0]), min(box[3], 200 - box[1])]
                results.append({**row, "bbox": box, "score": round(float(chance.random()), 1)})
    return truth, results


@pytest.mark.parametrize("seed", range(4))
def test_a_range_of_ious_is_coco_s_mean_ap(seed, tmp_path):
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, results = random_coco(seed)
    known = box_world.write_json(tmp_path / "truth.json", truth)
    predictions = box_world.write_json(tmp_path / "found.json", results)
    peer = COCO(str(known))
    evaluation = COCOeval(peer, peer.loadRes(str(predictions)), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()

    result = result_of(
        "detection", "--truth", known, "--predictions", predictions, "--iou", "0.5:0.95"
    )

    assert abs(result["mean_ap"]["value"] - evaluation.stats[0]) < 1e-9
    assert abs(result["by_iou"]["0.5"] - evaluation.stats[1]) < 1e-9
    assert abs(result["by_iou"]["0.75"] - evaluation.stats[2]) < 1e-9
    assert result["mean_ap"]["interval"] is None


def test_an_explicit_iou_switches_the_lower_one_of_small_objects_off(tmp_path):
    # An IoU of 0.25: enough for an object of 10 × 10 pixels by ILSVRC.
    files = Files(
        tmp_path, "detection", [("a", DRAKE, 5, 5, 15, 15)], [("a", DRAKE, 1, 0, 0, 20, 20)]
    )

    by_size, fixed = (
        result_of(*files.arguments(*more), *FEW)["mean_ap"]["value"]
        for more in ((), ("--iou", "0.5"))
    )

    assert (by_size, fixed) == (1, 0)


def test_an_odd_iou_is_wrong_usage(shell):
    for iou in ["0", "1.5", "0.95:0.5", "0.5:0.93", "half", "0.5:"]:
        assert (
            shell("score", "detection", "--truth", "x", "--predictions", "x", "--iou", iou)[0] == 2
        ), iou


def test_xml_files_and_rows_of_csv_have_one_frame(tmp_path):
    box_world.write_xml(tmp_path / "xml", "a", [(DRAKE, 1, 1, 10, 10)])
    rows = [("a", DRAKE, 1, 0, 0, 10, 10)]
    predictions = box_world.write(tmp_path / "found.csv", box_world.FOUND_HEAD, rows)

    result = result_of(
        "detection", "--truth", tmp_path / "xml", "--predictions", predictions, "--iou", 1
    )

    assert result["mean_ap"]["value"] == 1


@pytest.mark.parametrize("name", ["a", "a.jpg", "x/a.jpg"])
def test_images_of_xml_files_go_by_their_name_without_folder_or_extension(name, tmp_path):
    box_world.write_xml(tmp_path / "xml", "a", [(DRAKE, 1, 1, 10, 10)])
    rows = [(name, DRAKE, 1, 0, 0, 10, 10)]
    predictions = box_world.write(tmp_path / "found.csv", box_world.FOUND_HEAD, rows)

    result = result_of("detection", "--truth", tmp_path / "xml", "--predictions", predictions)

    assert result["mean_ap"]["value"] == 1


def test_xml_files_of_one_name_in_several_folders_are_several_images(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / "xml" / folder).mkdir(parents=True)
        box_world.write_xml(tmp_path / "xml" / folder, "img", [(DRAKE, 1, 1, 10, 10)])
    box_world.write(tmp_path / "list.csv", ["image", "width", "height"], [["img", "", ""]])
    predictions = box_world.write(
        tmp_path / "found.csv", box_world.FOUND_HEAD, [("img", DRAKE, 1, 0, 0, 10, 10)]
    )
    arguments = ("detection", "--truth", tmp_path / "xml", "--predictions", predictions)

    assert "may be x/img, y/img" in refused(*arguments)["error"]
    assert "both mean 'img'" in refused(*arguments, "--images", tmp_path / "list.csv")["error"]


@pytest.mark.parametrize("name", ["a", "photographs/a.jpg"])
def test_predictions_of_other_images_alone_are_refused(name, tmp_path):
    files = Files(tmp_path, "detection", [("a.jpg", DRAKE, *BOX)], [(name, DRAKE, 1, *BOX)])

    fault = refused(*files.arguments())

    assert fault["error"].startswith(f"no image of the predictions, such as {name!r}, is in the")


def test_images_are_compared_in_one_normal_form(tmp_path):
    truth = [("cafe\u0301.jpg", DRAKE, *BOX)]
    files = Files(tmp_path, "detection", truth, [("caf\u00e9.jpg", DRAKE, 1, *BOX)])

    assert result_of(*files.arguments(), *FEW)["mean_ap"]["value"] == 1


@pytest.mark.parametrize("form", ["jsonl", "label-studio"])
def test_every_format_of_labels_is_a_truth(form, tmp_path):
    box = {"x": 0, "y": 0, "width": 25, "height": 25, "rectanglelabels": [DRAKE]}
    sizes = {"original_width": 200, "original_height": 200}
    result = {"id": "r", "type": "rectanglelabels", "value": box, **sizes}
    task = {"data": {"image": "a"}, "annotations": [{"result": [result]}]}
    label = {"image": "a", "class": DRAKE, "geometry": {"boxes": [BOX]}}
    known = box_world.write_json(tmp_path / "t", label if form == "jsonl" else [task])
    predictions = box_world.write(
        tmp_path / "found.csv", box_world.FOUND_HEAD, [("a", DRAKE, 1, *BOX)]
    )

    result = result_of("detection", "--truth", known, "--predictions", predictions)

    assert result["mean_ap"]["value"] == 1


def test_a_class_of_which_some_object_has_no_box_is_left_out_of_its_image(tmp_path):
    rows = [("a", DRAKE, *BOX), ("a", DRAKE, "", "", "", ""), ("b", DRAKE, *BOX)]
    files = Files(tmp_path, "detection", rows, [("a", DRAKE, 1, *BOX), ("b", DRAKE, 0.5, *BOX)])

    result = result_of(*files.arguments())

    assert result["per_class"][DRAKE]["positives"] == 1
    assert result["notes"][0].startswith("1 image and class left out")


def test_a_coco_truth_of_other_names_needs_no_wordnet(tmp_path, monkeypatch):
    monkeypatch.setattr("evaluation.readers.class_files.load_wordnet", None)
    truth = box_world.coco_truth([("1.jpg", "traffic light", *BOX)])
    truth["categories"] = [{"id": 70, "name": "traffic light"}]
    known = box_world.write_json(tmp_path / "truth.json", truth)
    rows = [
        {"image_id": "1.jpg", "category_id": "traffic light", "score": 1, "bbox": [0, 0, 50, 50]}
    ]
    predictions = box_world.write_json(tmp_path / "found.json", rows)

    result = result_of("detection", "--truth", known, "--predictions", predictions, *FEW)

    assert result["per_class"]["traffic light"]["ap"] == 1


def test_the_kits_files_count_inclusive_pixels(tmp_path):
    box_world.write_xml(tmp_path / "xml", "val_1", [(DRAKE, 6, 6, 15, 15), (COOT, 30, 30, 90, 90)])
    box_world.write_xml(tmp_path / "xml", "val_2", [])
    (tmp_path / "meta.txt").write_text(f"{COOT}\n{DRAKE}\n{DOG}\n")
    (tmp_path / "found.txt").write_text("1 2 .9 1 1 20 20\n2 1 0.8 1 1 9 9\n1 1 -3 30 30 90 90\n")
    (tmp_path / "list.txt").write_text("val_1 1\nval_2 2\n")
    arguments = ("detection", "--truth", tmp_path / "xml", "--predictions", tmp_path / "found.txt")
    arguments = (*arguments, "--devkit", tmp_path / "meta.txt", *FEW)

    result = result_of(*arguments)

    assert {c: precision["ap"] for c, precision in result["per_class"].items()} == {
        COOT: 0.5,
        DRAKE: 1,
    }
    assert result["images"] == 2
    assert result_of(*arguments, "--images", tmp_path / "list.txt") == result
    (tmp_path / "out.txt").write_text("2 1\n")
    out = result_of(*arguments, "--exclude", tmp_path / "out.txt")
    assert out["per_class"][COOT]["ap"] == 1


def test_outcomes_have_hits_and_misses(files):
    arguments = files.arguments()
    matched = detection.read(arguments[2], arguments[4], BoxReading())

    rows = list(detection.outcomes(matched))

    assert [row["image"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["classes"] == [DRAKE]
    assert rows[0]["truth"] == [[*BOX, DRAKE], [*OTHER, DRAKE]]
    assert rows[0]["outcome"]["found"] == [
        [DRAKE, 0.9, *BOX, True, 1],
        [DRAKE, 0.8, *BOX, False, 1],
    ]
    assert rows[0]["outcome"]["missed"] == [[DRAKE, *OTHER]]
    assert rows[1]["outcome"] == {"found": [[DRAKE, 0.7, *BOX, False, 0]], "missed": [[COOT, *BOX]]}
    assert [row[6] for row in rows[2]["outcome"]["found"]] == [True, False]


def test_hits_of_all_images_are_the_hits_of_the_score(files):
    files.found = [(f"{i % 7}", DRAKE, i / 300, *BOX) for i in range(300)]
    files.truth += [(f"{i}", DRAKE, *BOX) for i in range(3)]
    arguments = files.arguments()
    matched = detection.read(arguments[2], arguments[4], BoxReading())

    rows = list(detection.outcomes(matched))

    hits = sum(row[6] for outcome in rows for row in outcome["outcome"]["found"])
    missed = sum(len(outcome["outcome"]["missed"]) for outcome in rows)
    assert hits == matched.measured.hits.sum() == 3
    assert hits + missed == len(files.truth)
    assert all(
        outcome["outcome"]["found"] == sorted(outcome["outcome"]["found"], key=lambda row: -row[1])
        for outcome in rows
    )
