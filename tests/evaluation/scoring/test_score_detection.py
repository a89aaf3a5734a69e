"""`manage.py score detection`: its result, its options and its formats."""

import pytest

from evaluation.metrics import significance
from evaluation.readers.box_files import Options
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
    found = [
        ("a", DRAKE, 0.9, *BOX),
        ("a", DRAKE, 0.8, *BOX),
        ("b", DRAKE, 0.7, *BOX),
        ("c", DRAKE, 0.6, *BOX),
        ("c", DOG, 0.5, *FAR),
    ]
    return Files(tmp_path, "detection", truth, found)


def test_the_promised_result(files):
    result = result_of(*files.named(*FEW))

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
    assert "1 class has detections and no objects: no AP, and in no mean" in result["notes"]
    assert "classes_won" not in result


def test_the_small_object_of_the_paper_is_hit(files):
    files.truth, files.found = [("a", DRAKE, 5, 5, 15, 15)], [("a", DRAKE, 1, 0, 0, 20, 20)]

    assert result_of(*files.named(*FEW))["mean_ap"]["value"] == 1
    files.found = [("a", DRAKE, 1, 0, 0, 20, 20.5)]
    assert result_of(*files.named(*FEW))["mean_ap"]["value"] == 0


def test_inclusive_pixels_hold_their_last(files):
    files.truth, files.found = [("a", DRAKE, 0, 0, 99, 99)], [("a", DRAKE, 1, 0, 0, 99, 49)]

    assert result_of(*files.named("--inclusive", *FEW))["mean_ap"]["value"] == 1
    assert result_of(*files.named(*FEW))["mean_ap"]["value"] == 0


def test_without_rounds_there_are_no_intervals(files):
    result = result_of(*files.named("--most-rounds", 0))

    assert result["mean_ap"]["interval"] is None
    assert result["per_class"][DRAKE]["interval"] is None


def test_a_mean_whose_interval_has_not_settled_says_after_how_many_rounds(files, monkeypatch):
    # No interval settles within less than nothing.
    monkeypatch.setattr(significance, "TOLERANCE", -1)

    notes = result_of(*files.named(*FEW))["notes"]

    assert "the interval of the mean AP had not settled after 20000 rounds" in notes


def test_images_of_the_predictions_alone_are_without_objects_unless_images_are_listed(files):
    files.found.append(("d", DRAKE, 0.95, *BOX))

    result = result_of(*files.named(*FEW))

    assert result["per_class"][DRAKE]["ap"] == pytest.approx(
        2 * (2 / 5) / 3 + 1 / 3 * (1 / 2 - 2 / 5)
    )
    assert result["images"] == 4
    assert any("1 image of the predictions is not in the truth" in n for n in result["notes"])
    listed = files.file("images.csv", "image\na\nb\nc\n")
    fault = refused(*files.named("--images", listed))
    assert (fault["error"], fault["line"]) == ("unknown image 'd'", 7)


def test_listed_images_without_objects_or_detections_are_drawn_too(files):
    listed = files.file(
        "images.csv", "image,width,height\n" + "".join(f"{c},200,200\n" for c in "abcdefgh")
    )

    result = result_of(*files.named("--images", listed, *FEW))

    assert result["images"] == 8
    assert result["mean_ap"]["value"] == result_of(*files.named(*FEW))["mean_ap"]["value"]


def test_excluded_classes_of_images_do_not_count(files):
    out = files.file("out.csv", f"image,wnid\na,{DRAKE}\nb,{COOT}\n")

    result = result_of(*files.named("--exclude", out, *FEW))

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

    result = result_of(*files.named("--exclude", out, "--per-class", *FEW))

    assert result["mean_ap"]["value"] is None
    assert result["mean_ap"]["interval"] == [None, None]
    assert (result["per_class"], result["boxes"], result["excluded"]) == ({}, 0, 3)


def test_several_submissions_say_who_won_which_class(files):
    path = box_world.write(
        files.folder / "better.csv", box_world.FOUND_HEAD, [*files.found, ("b", COOT, 0.1, *BOX)]
    )

    result = result_of(*files.named("--predictions", f"ours={path}", *FEW))

    assert result["classes_won"] == {"found": 1, "ours": 2}
    assert [own["name"] for own in result["submissions"]] == ["found", "ours"]
    assert result["mean_ap"] == result["submissions"][0]["mean_ap"]
    assert "found − ours" in run(*files.named("--predictions", f"ours={path}", *FEW))[1]
    assert result["submissions"][1]["per_class"][COOT]["ap"] == 1
    [pair] = result["comparison"]["pairs"]
    assert (pair["first"], pair["second"], pair["difference"]["value"]) == ("found", "ours", -0.5)
    low, high = pair["difference"]["interval"]
    # Of two images nothing is sure.
    assert low <= -0.5 <= 0 < high
    assert result["comparison"]["sure"]["apart"] == []
    assert "No order is sure" in run(*files.named("--predictions", f"ours={path}", *FEW))[1]
    assert result["comparison"]["optimistic"]["by_class"]["mean_ap"] == 0.75


def test_the_analysis_of_the_mean(files):
    images = files.file("images.csv", "image,width,height\na,200,200\nb,200,200\nc,200,200\n")

    result = result_of(*files.named("--per-class", "--images", images, *FEW))

    rows = result["analysis"]["per_class"]["rows"]
    assert [(row["wnid"], row["value"], row["images"]) for row in rows] == [
        (DRAKE, result["per_class"][DRAKE]["ap"], 2),
        (COOT, 0, 1),
    ]
    assert result["objects"]["instances_per_image"] == 1.25
    status, out, _ = run(*files.named("--per-class", "--images", images, *FEW))
    assert (status, "easiest" in out, "(w + 10)(h + 10)" in out) == (0, True, True)


def test_coco_says_the_same(files):
    plain = result_of(*files.named(*FEW))
    truth = box_world.coco_truth(files.truth)
    truth["categories"].append({"id": 1, "name": "dog", "wnid": DOG})
    known = box_world.write_json(files.folder / "truth.json", truth)
    found = box_world.write_json(
        files.folder / "found.json", box_world.coco_results(truth, files.found)
    )

    result = result_of("detection", "--truth", known, "--predictions", found, *FEW)
    mixed = result_of("detection", "--truth", known, "--predictions", files.named()[4], *FEW)

    assert result == mixed == plain


def test_a_crowd_takes_its_class_out_of_its_image(files):
    truth = box_world.coco_truth(files.truth, crowd=(1,))
    known = box_world.write_json(files.folder / "truth.json", truth)
    found = box_world.write_json(
        files.folder / "found.json", box_world.coco_results(truth, files.found[:4])
    )

    result = result_of("detection", "--truth", known, "--predictions", found, *FEW)

    drake = result["per_class"][DRAKE]
    assert (drake["ap"], drake["positives"], drake["detections"]) == (0.5, 1, 2)
    assert result["notes"][0] == "1 image and class with crowd regions is excluded"


def test_a_coco_truth_of_other_names_needs_no_wordnet(tmp_path, monkeypatch):
    monkeypatch.setattr("evaluation.readers.box_files._wordnet", None)
    truth = box_world.coco_truth([("1.jpg", "traffic light", *BOX)])
    truth["categories"] = [{"id": 70, "name": "traffic light"}]
    known = box_world.write_json(tmp_path / "truth.json", truth)
    rows = [
        {"image_id": "1.jpg", "category_id": "traffic light", "score": 1, "bbox": [0, 0, 50, 50]}
    ]
    found = box_world.write_json(tmp_path / "found.json", rows)

    result = result_of("detection", "--truth", known, "--predictions", found, *FEW)

    assert result["per_class"]["traffic light"]["ap"] == 1


def test_the_kits_files_count_inclusive_pixels(tmp_path):
    box_world.write_xml(tmp_path / "xml", "val_1", [(DRAKE, 6, 6, 15, 15), (COOT, 30, 30, 90, 90)])
    box_world.write_xml(tmp_path / "xml", "val_2", [])
    (tmp_path / "meta.txt").write_text(f"{COOT}\n{DRAKE}\n{DOG}\n")
    (tmp_path / "found.txt").write_text("1 2 .9 1 1 20 20\n2 1 0.8 1 1 9 9\n1 1 -3 30 30 90 90\n")
    (tmp_path / "list.txt").write_text("val_1 1\nval_2 2\n")
    named = ("detection", "--truth", tmp_path / "xml", "--predictions", tmp_path / "found.txt")
    named = (*named, "--devkit", tmp_path / "meta.txt", *FEW)

    result = result_of(*named)

    assert {c: own["ap"] for c, own in result["per_class"].items()} == {COOT: 0.5, DRAKE: 1}
    assert result["images"] == 2
    assert result_of(*named, "--images", tmp_path / "list.txt") == result
    (tmp_path / "out.txt").write_text("2 1\n")
    out = result_of(*named, "--exclude", tmp_path / "out.txt")
    assert out["per_class"][COOT]["ap"] == 1


def test_outcomes_have_hits_and_misses(files):
    arguments = files.named()
    found = detection.read(arguments[2], arguments[4], Options())

    rows = list(detection.outcomes(found))

    assert [row["image"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["classes"] == [DRAKE]
    assert rows[0]["truth"] == [[*BOX, DRAKE], [*OTHER, DRAKE]]
    assert rows[0]["outcome"]["found"] == [
        [DRAKE, 0.9, *BOX, True, 1],
        [DRAKE, 0.8, *BOX, False, 1],
    ]
    assert rows[0]["outcome"]["missed"] == [[DRAKE, *OTHER]]
    assert rows[1]["outcome"] == {
        "found": [[DRAKE, 0.7, *BOX, False, 0]],
        "missed": [[COOT, *BOX]],
    }
    assert [row[6] for row in rows[2]["outcome"]["found"]] == [True, False]


def test_hits_of_all_images_are_the_hits_of_the_score(files):
    files.found = [(f"{i % 7}", DRAKE, i / 300, *BOX) for i in range(300)]
    files.truth += [(f"{i}", DRAKE, *BOX) for i in range(3)]
    arguments = files.named()
    found = detection.read(arguments[2], arguments[4], Options())

    rows = list(detection.outcomes(found))

    hits = sum(row[6] for own in rows for row in own["outcome"]["found"])
    missed = sum(len(own["outcome"]["missed"]) for own in rows)
    assert hits == found.measured.hits.sum() == 3
    assert hits + missed == len(files.truth)
    assert all(
        own["outcome"]["found"] == sorted(own["outcome"]["found"], key=lambda row: -row[1])
        for own in rows
    )
