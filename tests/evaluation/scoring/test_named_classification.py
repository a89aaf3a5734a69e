"""`manage.py score classification --predictions RELEASE`: what people named as a submission."""

import json
import shutil
from pathlib import Path

import pytest
from django.urls import reverse

from labeling.releases import freezing
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.box_world import write
from tests.evaluation.management.test_score_command import refused, result_of, run
from tests.evaluation.named_images import release

pytestmark = pytest.mark.usefixtures("wordnet")

CLASSES = ("n01847000", "n02018207", "n02012849", "n02084071")
DRAKE, COOT, CRANE, DOG = CLASSES
TRUTH = [("a", DRAKE), ("b", COOT), ("c", DRAKE), ("d", DOG), ("e", DOG), ("f", DOG)]
# "a" right; "b" right at rank 2; "c" two classes before it, the equal ones by key; "d" none of the
# vocabulary; "e" dropped, named by one person; "f" nobody was asked.
ANSWERS = {
    "a": (DRAKE, {DRAKE: 5}),
    "b": (CRANE, {CRANE: 3, COOT: 2}),
    "c": (COOT, {COOT: 3, DRAKE: 1, CRANE: 1, "hard": 2}),
    "d": ("none", {"none": 3}),
    "e": (None, {"hard": 4, DOG: 1}),
}
NOTE = "people settled 5 of the 6 images of the truth: every submission is scored on 5"


@pytest.fixture
def truth(tmp_path) -> Path:
    return write(tmp_path / "truth.csv", ["image", "wnid"], TRUTH)


@pytest.fixture
def arguments(tmp_path, truth) -> tuple:
    people = release(tmp_path / "people", ANSWERS, CLASSES)
    return ("classification", "--truth", truth, "--predictions", people)


def predictions(folder: Path, rows: list) -> Path:
    return write(folder / "machine.csv", ["image", "rank", "wnid"], rows)


def test_what_people_settled_on_is_rank_one_and_other_votes_follow(arguments):
    result = result_of(*arguments)

    assert result["images"] == 5
    assert result["top1_error"]["value"] == 4 / 5
    assert result["top5_error"]["value"] == 1 / 5
    hits = [result["hit_at_k"][k]["value"] for k in ("1", "2", "5")]
    # Drake and crane have one vote each: drake's key comes first.
    assert hits == [1 / 5, 4 / 5, 4 / 5]
    assert NOTE in result["notes"]


def test_the_result_names_the_release(arguments, tmp_path):
    head = json.loads((tmp_path / "people" / "release.json").read_text())

    result = result_of(*arguments)

    assert result["people"] == {
        "campaign": "names",
        "number": 3,
        "sha256": head["sha256"],
        "images": 5,
    }


def test_machines_are_scored_on_the_images_that_people_were_asked(arguments, tmp_path):
    machine = predictions(tmp_path, [(image, 1, wnid) for image, wnid in TRUTH[:3]])

    result = result_of(*arguments, "--predictions", machine)

    people, machine_result = result["submissions"]
    assert (people["images"], machine_result["images"]) == (5, 5)
    assert machine_result["top1_error"]["value"] == 2 / 5
    assert "people" in people
    assert "people" not in machine_result
    [pair] = result["comparison"]["pairs"]
    assert (pair["only_first_wrong"], pair["only_second_wrong"]) == (0, 1)


def test_the_zip_of_a_release_says_the_same(arguments, truth, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "given"), "zip", tmp_path, "people")

    zipped = result_of("classification", "--truth", truth, "--predictions", archive)

    assert zipped == result_of(*arguments)


def test_a_campaign_is_scored_as_the_site_gives_it_out(alice, bob, dataset, as_alice, tmp_path):
    campaign = factories.make_campaign(
        *(alice, dataset, "names"),
        kind="naming",
        images=2,
        policy={"votes": 1, "gold_share": 0},
        settings={"vocabulary": [{"key": key, "name": key} for key in CLASSES]},
    )
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], lambda image, _: {"key": COOT if "000" in image else DRAKE})
    frozen = freezing.freeze(campaign, alice)
    zipped = tmp_path / "names-1.zip"
    zipped.write_bytes(
        as_alice.get(reverse("labeling:release_download", args=["names", 1])).getvalue()
    )
    truth = write(
        tmp_path / "truth.csv",
        ["image", "wnid"],
        [("names/000.png", COOT), ("names/001.png", COOT)],
    )

    for path in (freezing.folder_of(frozen), zipped):
        result = result_of("classification", "--truth", truth, "--predictions", path)

        assert result["top1_error"]["value"] == 0.5
        assert result["people"]["campaign"] == "names"


def test_images_that_the_truth_lacks_are_counted(truth, tmp_path):
    people = release(tmp_path / "p", {**ANSWERS, "other": (DOG, {DOG: 5})}, CLASSES)

    result = result_of("classification", "--truth", truth, "--predictions", people)

    assert "1 image of the release is not in the truth" in result["notes"]
    assert result["top1_error"]["value"] == 4 / 5


def test_valid_labels_need_not_have_classes_of_other_images(arguments, truth, tmp_path):
    rows = [*TRUTH, ("g", "n02876657")]
    write(truth, ["image", "wnid"], rows)
    (tmp_path / "valid.txt").write_text("\n".join(CLASSES))

    result = result_of(*arguments, "--valid-labels", tmp_path / "valid.txt")

    assert (result["images"], result["valid_labels"]) == (5, 4)


@pytest.mark.parametrize(
    ("answers", "vocabulary", "kind", "words"),
    [
        ({"x": (DOG, {DOG: 1})}, CLASSES, "naming", "has no settled image that is in the truth"),
        ({"a": ("duck", {"duck": 1})}, ("duck",), "naming", "'duck' has several meanings"),
        ({"a": (DOG, {"yes": 1})}, (), "contains", "which names no classes"),
    ],
)
def test_releases_that_are_no_predictions_are_refused(
    truth, tmp_path, answers, vocabulary, kind, words
):
    people = release(tmp_path / "p", answers, vocabulary, kind)

    refusal = refused("classification", "--truth", truth, "--predictions", people)

    assert words in refusal["error"]
    assert refusal["file"].startswith(str(people))
    assert refusal["cure"]


def test_releases_that_share_no_image_are_not_compared(truth, tmp_path):
    first_release = release(tmp_path / "one", {"a": ANSWERS["a"]}, CLASSES)
    two = release(tmp_path / "two", {"b": ANSWERS["b"]}, CLASSES)

    refusal = refused(
        "classification", "--truth", truth, "--predictions", first_release, "--predictions", two
    )

    assert refusal["error"] == "no image of the truth is settled in every release"


def test_zips_without_a_whole_release_are_refused(truth, tmp_path):
    people = release(tmp_path / "people", ANSWERS, CLASSES)
    with open(people / "answers.jsonl", "a") as file:
        file.write("{}\n")
    changed = shutil.make_archive(str(tmp_path / "changed"), "zip", people)
    truth_zip = shutil.make_archive(str(tmp_path / "other"), "zip", tmp_path, "truth.csv")
    (tmp_path / "broken.zip").write_bytes(Path(truth_zip).read_bytes()[:40])

    def error_of(path: object) -> str:
        return refused("classification", "--truth", truth, "--predictions", path)["error"]

    assert error_of(changed) == "answers.jsonl differs from what was frozen"
    assert error_of(truth_zip) == "holds no release"
    assert error_of(tmp_path / "broken.zip") == "is not a zip, or is damaged"


def test_ids_of_the_kit_do_not_go_with_a_release(arguments):
    status, _, err = run(*arguments, "--devkit")

    assert status == 2
    assert "--devkit is for files of ILSVRC's kit, not for a release" in err
