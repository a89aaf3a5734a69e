"""Boxes of a release leave in every format that has boxes, with what is said of them."""

import csv
import json
from xml.etree import ElementTree as ET

import pytest

from evaluation.benchmarks.kinds.labeled.truth import ground_truth
from labeling.errors import Refusal
from labeling.formats.reading import LabelReading
from labeling.release_files import exporting
from labeling.releases import freezing
from tests import factories
from tests.cases import for_each
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A, B, box

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def release(once):
    """Two dogs, one of them truncated, and every one has a box; a cat, and somebody still looks for
    more; and a group of dogs."""
    with once():
        alice = factories.person("alice")
        campaign = boxers.make(alice, factories.make_dataset(alice), images=2, topics=(DOG, CAT))
        crowd = boxers.people(campaign)

        def says(question, person):
            name, boxed = question.item.image.name, (question.content or {}).get("boxes", [])
            if question.step == "check":
                return "good"
            boxes = {
                ("0.png", DOG): [box(A, "truncated"), box(B)],
                ("0.png", CAT): [box(B)],
                ("1.png", DOG): [box(A, "group")],
            }.get((name, question.topic), [])
            if question.step == "draw":
                left = [box for box in boxes if box["box"] not in boxed]
                return left[0] if left else "none"
            if len(boxed) < len(boxes) or question.topic == CAT:
                return {"missing": [[40, 20]]}
            return "complete"

        boxers.work(campaign, crowd, says)
        return freezing.read(freezing.freeze(campaign))


def export(release, name, tmp_path):
    exporting.export(release, name, tmp_path / name)
    return tmp_path / name


def test_voc_has_every_box_with_its_flags(release, tmp_path):
    folder = export(release, "voc", tmp_path)

    root = ET.parse(folder / "Annotations" / "0.xml").getroot()
    boxes = [
        tuple(node.findtext(name) for name in ("wnid", "truncated", "group", "difficult"))
        for node in root.iter("object")
    ]
    assert boxes == [(DOG, "1", "0", "0"), (DOG, "0", "0", "0"), (CAT, "0", "0", "0")]
    assert [node.findtext("covered") for node in root.iter("label")] == ["1", "0"]


def test_coco_says_crowd_of_a_group(release, tmp_path):
    folder = export(release, "coco", tmp_path)

    content = json.loads((folder / "labels.json").read_text())
    crowds = [(row["image_id"], row["bbox"], row["iscrowd"]) for row in content["annotations"]]
    assert crowds == [
        (1, [2.0, 2.0, 20.0, 20.0], 0),
        (1, [30.0, 10.0, 20.0, 30.0], 0),
        (1, [30.0, 10.0, 20.0, 30.0], 0),
        (2, [2.0, 2.0, 20.0, 20.0], 1),
    ]
    assert content["annotations"][0]["truncated"] is True


@for_each("name", ["csv", "jsonl", "voc", "coco", "label-studio"])
def test_what_was_exported_is_read_again(release, tmp_path, name):
    folder = export(release, name, tmp_path)

    pages, _ = exporting.read_labels(LabelReading(folder))

    labels = [label for _, labels in pages for label in labels]
    assert [
        (label.image, label.key, len(label.instances)) for label in labels if label.value == "yes"
    ] == [("0.png", DOG, 2), ("0.png", CAT, 1), ("1.png", DOG, 1)]


def test_detection_leaves_out_what_was_not_covered_and_groups(release, tmp_path):
    counts = ground_truth.write(release, "detection", tmp_path)

    truth = list(csv.reader((tmp_path / "truth.csv").read_text().splitlines()))
    assert [(row[0], row[1]) for row in truth[1:]] == [("0.png", DOG)] * 2
    excluded = list(csv.reader((tmp_path / "excluded.csv").read_text().splitlines()))
    assert excluded[1:] == [["0.png", CAT], ["1.png", DOG], ["1.png", CAT]]
    assert (counts.objects, counts.images) == (2, 2)


def test_localization_needs_every_instance_boxed(release):
    with pytest.raises(Refusal, match="no box of an object"):
        ground_truth.count(release, "localization")
