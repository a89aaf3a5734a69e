"""YOLO and Datumaro: written, not read back."""

import json

import pytest
import yaml

from labeling.files import BadInput
from labeling.formats import datumaro, yolo
from labeling.formats.label import ExportContext, Instance, Label
from labeling.parts.model import Photograph

DOG, CAT = "n02084071", "n02121620"
CLASSES = {DOG: "dog", CAT: "cat"}
OUTLINE = ((((0.0, 0.0), (4.0, 0.0), (4.0, 2.0)),),)
PHOTO = Photograph("pond/a.png", 40, 20)
LABELS = [
    Label(PHOTO.name, CAT, "no"),
    Label(
        PHOTO.name,
        DOG,
        instances=(Instance((10.0, 5.0, 30.0, 10.0)), Instance((0.0, 0.0, 4.0, 2.0), OUTLINE)),
    ),
]


def test_yolo_has_centres_and_sizes_as_shares(tmp_path):
    plain = Photograph("b.png", 40, 20)

    yolo.write([(PHOTO, LABELS), (plain, [])], tmp_path, ExportContext("ponds", CLASSES))

    rows = (tmp_path / "labels" / "train" / "pond%2Fa.txt").read_text().splitlines()
    assert rows == ["0 0.5 0.375 0.5 0.25", "0 0.05 0.05 0.1 0.1"]
    assert (tmp_path / "labels" / "train" / "b.txt").read_text() == ""
    head = yaml.safe_load((tmp_path / "data.yaml").read_text())
    assert head["names"] == {0: "dog", 1: "cat"}


def test_yolo_refuses_two_images_of_one_label_file(tmp_path):
    twin = Photograph("pond/a.jpg", 40, 20)

    with pytest.raises(BadInput, match="differ only in their extension"):
        yolo.write([(twin, []), (PHOTO, [])], tmp_path, ExportContext("ponds", CLASSES))


def test_datumaro_has_boxes_polygons_and_labels(tmp_path):
    info = ExportContext("ponds", CLASSES, images=[PHOTO.name])

    datumaro.write([(PHOTO, LABELS)], tmp_path, info)

    content = json.loads((tmp_path / "annotations" / "default.json").read_text())
    [item] = content["items"]
    assert (item["id"], item["image"]) == ("pond/a", {"path": "pond/a.png", "size": [20, 40]})
    assert [(row["type"], row["label_id"]) for row in item["annotations"]] == [
        ("label", 0),
        ("bbox", 0),
        ("polygon", 0),
    ]
    assert item["annotations"][1]["bbox"] == [10, 5, 20, 5]
    assert item["annotations"][2]["points"] == [0, 0, 4, 0, 4, 2]
    assert item["attr"] == {"no": CAT, "unknown": ""}
