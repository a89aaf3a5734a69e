"""Files that came in wrong: each is refused with its place and a cure, and nothing else happens."""

import json
import math
import random

import numpy as np
import pytest
from PIL import Image

from labeling.files import BadInput
from labeling.formats import coco_parts, indexed_png, json_stream, label_studio_parts
from labeling.formats.part_formats import PART_FORMATS
from labeling.formats.reading import LabelReading
from labeling.parts.model import Merge, Part, PartedObject, Photograph, merge_fields
from tests.cases import for_each
from tests.labeling.part_scenes import rectangle, written

MANY = [[n % 1000, n // 1000 % 1000] for n in range(300_000)]


def coco(tmp_path, *annotations, images=None, categories=None):
    content = {
        "images": images or [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 50}],
        "categories": categories
        or [{"id": 1, "name": "dog"}, {"id": 2, "name": "head", "supercategory": "dog"}],
        "annotations": [
            {"id": number, "image_id": 1, "category_id": 1, **row}
            for number, row in enumerate(annotations, 1)
        ],
    }
    path = tmp_path / "coco.json"
    path.write_text(json.dumps(content))
    return path


def image_row(image):
    return {"id": 1, "file_name": image, "width": 9, "height": 9}


def rle(counts, size=(50, 100)):
    return {"segmentation": {"size": list(size), "counts": counts}}


@for_each(
    ("row", "message"),
    [
        ({"segmentation": [[1, 1, 9, 9, 9, 1, 1, 9]]}, r"crosses or touches itself near \(5\.0"),
        ({"segmentation": [[1, 1, 9, 9]]}, "2 different corners"),
        ({"segmentation": [[1, 1, 5, 5, 9, 9]]}, "no area"),
        ({"segmentation": [[1, 1, 900, 1, 9, 9]]}, "outside the image"),
        ({"segmentation": [[1, 1, math.nan, 1, 9, 9]]}, "not two finite numbers"),
        ({"segmentation": [[1, 1, 9, 1, 9, 9, 3]]}, "neither rings nor RLE"),
        ({"segmentation": [1, 1, 9, 1, 9, 9]}, "neither rings nor RLE"),
        ({"segmentation": [[["1", 1], [9, 1]]]}, "Annotation 1"),
        ({"segmentation": "0 5"}, "neither rings nor RLE"),
        ({"segmentation": [[edge for point in MANY for edge in point]]}, "more than 200,000"),
        (rle([10, 10]), "do not add up to 100 × 50"),
        (rle([10, -10, 5000]), "do not add up"),
        (rle([2**63, 2**63]), "do not add up"),
        (rle("11"), "do not add up"),
        (rle("ééé"), "do not add up"),
        (rle("oooooooooooooooooooo"), "do not add up"),
        (rle(["5000"]), "do not add up"),
        (rle([5000], size=(100, 50)), "mask of another size"),
        ({"image_id": 9}, "unknown image_id 9"),
        ({"image_id": None}, "annotation 1's image has the id None"),
        ({"category_id": 9}, "unknown category_id 9"),
        ({"category_id": [1]}, r"annotation 1's category has the id \[1"),
        ({"bbox": [1, 1, -1, 5]}, "annotation 1: bbox is"),
        ({"bbox": [1, 1, math.nan, 5]}, "annotation 1: bbox is"),
        ({"bbox": 0, "segmentation": [[1, 1, 9, 1, 9, 9]]}, "annotation 1: bbox is 0"),
        ({"bbox": [1, 1, 500, 5]}, "the box leaves its image"),
        ({}, "neither a bbox nor a segmentation"),
        ({"bbox": [1, 1, 5, 5], "part_of": 7}, "part of annotation 7, which is not in its image"),
        ({"bbox": [1, 1, 5, 5], "part_of": {}}, "which is not in its image"),
        ({"bbox": [1, 1, 5, 5], "part_of": 1}, "part of itself"),
        ({"polygons": 7, "bbox": [1, 1, 5, 5]}, "not a list of pieces"),
        ({"polygons": None, "unseen": 7}, "odd list of unseen parts"),
        ({"polygons": None, "unseen": [{"at": "1", "part": "x"}]}, "odd list of unseen parts"),
        ({"polygons": None, "unseen": [{"at": -1, "part": "x"}]}, "odd list of unseen parts"),
        (
            {"polygons": None, "unseen": [{"at": 10**30, "part": "x"}]},
            "neither a box nor an outline",
        ),
        (
            {"polygons": None, "unseen": [{"at": 0, "part": "x", "state": "gone"}]},
            "state is 'gone'",
        ),
        ({"polygons": None, "unseen": [{"at": 0, "part": 4}]}, "part is 4"),
        ({"polygons": None, "unseen": [{"at": 0, "part": "x", "merges": [7]}]}, "invalid merge"),
        (
            {"polygons": None, "unseen": [{"at": 0, "part": "x", "merges": [{"method": "hull"}]}]},
            "method is 'hull'",
        ),
        ({"polygons": None, "unseen": [], "box": [5, 5, 1, 1]}, "inverted or empty"),
        ({"polygons": None, "unseen": [], "box": [1, 1, 5, 5], "crop": "all"}, "crop has the box"),
        ({"polygons": None, "unseen": [], "box": [1, 1, 5, 5], "source": "\0"}, "NUL"),
    ],
)
def test_a_fault_of_a_coco_annotation_is_named(row, message, tmp_path):
    path = coco(tmp_path, row)

    with pytest.raises(BadInput, match=message):
        list(coco_parts.read(LabelReading(path)))


@for_each(
    ("content", "message"),
    [
        (
            {"annotations": [{"id": 1, "image_id": 1, "category_id": 1}] * 2},
            "the id 1 occurs twice",
        ),
        (
            {"images": [{"id": 1, "file_name": "a"}, {"id": 1, "file_name": "b"}]},
            "the id 1 occurs twice",
        ),
        ({"categories": [{"id": 1, "name": "a"}] * 2}, "the id 1 occurs twice"),
        (
            {"images": [{"id": 1, "file_name": "../a", "width": 9, "height": 9}]},
            "leaves its folder",
        ),
        ({"images": [{"id": 1, "file_name": 7, "width": 9, "height": 9}]}, "name is 7"),
        ({"images": [{"id": n, "file_name": "a"} for n in (1, 2)]}, "image 2: 'a' occurs twice"),
        (
            {"images": [{"id": n, "file_name": f"caf{e}"} for n, e in ((1, "é"), (2, "e\u0301"))]},
            "image 2: 'café' occurs twice",
        ),
        ({"images": [{"id": 1, "file_name": "a", "width": 9}]}, "9 × None pixels"),
        ({"images": [{"id": 1, "file_name": "a", "width": 1e9, "height": 1e9}]}, "pixels"),
        ({"images": [{"id": [], "file_name": "a", "width": 9, "height": 9}]}, "has the id"),
        ({"images": {"1": "a.jpg"}}, "image 1 is not an object"),
        ({"images": [["a.jpg"]]}, "image 1 is not an object"),
        ({"categories": [{"id": 1}]}, "category 1's name is None"),
        ({"categories": [{"id": 1, "name": "a", "supercategory": 5}]}, "is not text"),
        ({"annotations": ["x"]}, "annotation 1 is not an object"),
    ],
)
def test_a_fault_of_a_coco_file_is_named(content, message, tmp_path):
    usual = {"images": [image_row("a")], "categories": []}
    path = tmp_path / "coco.json"
    path.write_text(json.dumps(usual | content))

    with pytest.raises(BadInput, match=message):
        list(coco_parts.read(LabelReading(path)))


@for_each(
    "text",
    [
        *("", "[", "{", '{"images": [}', '{"a": 1,}', '{"a" 1}', "{1: 2}", '{"a": tru}'),
        *('{"a":[1,]}', "[" * 200_000, '{"a": ' + "[" * 200_000, '{"images": []} more'),
    ],
)
def test_what_is_no_json_is_told_with_its_line(text, tmp_path):
    path = tmp_path / "x.json"
    path.write_text("\n\n" + text)

    for read in (coco_parts.read, label_studio_parts.read):
        with pytest.raises(BadInput, match=r"is not a JSON|is not JSON|nests too deeply|line 3"):
            list(read(LabelReading(path)))


def test_json_is_read_the_same_however_it_falls_into_pieces(tmp_path, monkeypatch):
    chance = random.Random(4)
    path = tmp_path / "x.json"

    def value(depth=0):
        kinds = [1.5e-300, -12345, 'a\n"\\é☃', None, True, [], {}]
        several = [value(depth + 1) for _ in range(chance.randrange(4))] if depth < 3 else []
        return chance.choice([*kinds, several, dict(enumerate(several))])

    monkeypatch.setattr(json_stream, "CHUNK", 5)
    for _ in range(60):
        values = [value() for _ in range(3)]
        text = json.dumps(values, indent=chance.choice([None, 2]))
        path.write_text(text)
        assert list(json_stream.elements(path)) == json.loads(text)
        path.write_text(f'{{"a": {text}, "b": 12.5e1 }}')
        kept = [(key, value) for key, raw, value in json_stream.members(path) if raw]
        assert kept == [*(("a", value) for value in json.loads(text)), ("b", 125.0)]


def test_good_objects_of_a_coco_file_stay_when_somebody_takes_faults(tmp_path):
    square = {"segmentation": [[1, 1, 9, 1, 9, 9, 1, 9]]}
    path = coco(
        tmp_path,
        square,
        {"segmentation": [[1, 1, 9, 9, 9, 1, 1, 9]]},
        {"category_id": 9},
        {**square, "category_id": 2, "part_of": 1},
    )
    faults = []

    [parted] = coco_parts.read(LabelReading(path, on_fault=faults.append))

    assert [part.key for part in parted.parts] == ["head"]
    assert [str(fault).partition("nnotation ")[2][:1] for fault in faults] == ["3", "2"]


def test_crowds_and_annotations_without_area_are_skipped(tmp_path):
    square = {"segmentation": [[1, 1, 9, 1, 9, 9, 1, 9]]}
    crowd = {**rle([10, 20, 4970]), "iscrowd": 1}
    empty = {**rle([5000]), "part_of": 1, "category_id": 2}
    skipped = []
    path = coco(tmp_path, square, crowd, empty, {"bbox": [1, 1, 0, 5]})

    [_] = coco_parts.read(LabelReading(path, skip=lambda *reason: skipped.append(reason)))

    assert skipped == [
        ("annotation", "it is a crowd (iscrowd)", "annotation 2"),
        ("annotation", "it has no area", "annotation 3"),
        ("annotation", "it has no area", "annotation 4"),
    ]


def mask_files(tmp_path, labels, indices=None, name="a.png"):
    indices = np.array([[0, 1], [2, 2]], np.uint8) if indices is None else indices
    Image.fromarray(indices).save(tmp_path / name)
    (tmp_path / "a.json").write_text(json.dumps(labels))
    return tmp_path


LABELS = {"image": "a.jpg", "category": "dog", "parts": {"1": "head", "2": "leg"}}


@for_each(
    ("labels", "message"),
    [
        ([], "is not a JSON object"),
        ({**LABELS, "parts": {"1": "head"}}, "does not name the indices 2 of a.png"),
        ({**LABELS, "parts": {"x": "head"}}, "for the index 'x'"),
        ({**LABELS, "parts": {"256": "head"}}, "for the index '256'"),
        ({**LABELS, "parts": {"0": "head"}}, "for the index '0'"),
        ({**LABELS, "parts": {"0001" + 5000 * "0": "head"}}, "for the index '00010"),
        ({**LABELS, "parts": ["head"]}, "no table of parts"),
        ({**LABELS, "parts": {"1": 7, "2": "leg"}}, "part of index 1 is 7"),
        ({**LABELS, "category": None}, "category is None"),
        ({**LABELS, "image": "../a.jpg"}, "leaves its folder"),
        ({"objects": "dog"}, "no list of objects"),
        ({"objects": [LABELS, LABELS]}, "uses an index for two objects"),
        ({**LABELS, "object": {}, "over": [{"file": "../../x.png"}]}, "not in its folder"),
        ({**LABELS, "object": {}, "over": [{"file": "gone.png"}]}, "is missing"),
        ({**LABELS, "object": {"parts": [{"part": "x", "index": 1}]}, "over": []}, "in no mask"),
    ],
)
def test_a_fault_of_the_labels_of_a_mask_is_named(labels, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        list(indexed_png.read(LabelReading(mask_files(tmp_path, labels))))


def test_a_mask_that_has_no_indices_is_refused(tmp_path):
    path = mask_files(tmp_path, LABELS, np.zeros((2, 2, 3), np.uint8))
    with pytest.raises(BadInput, match="has the mode RGB, not indices"):
        list(indexed_png.read(LabelReading(path)))

    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n no")
    with pytest.raises(BadInput, match="is not a PNG file, or a damaged one"):
        list(indexed_png.read(LabelReading(path)))


def test_masks_of_another_size_are_refused(tmp_path):
    labels = {**LABELS, "object": {"parts": []}, "over": [{"file": "b.png"}]}
    path = mask_files(tmp_path, labels)
    Image.fromarray(np.zeros((3, 3), np.uint8)).save(tmp_path / "b.png")

    with pytest.raises(BadInput, match=r"b.png: is 3 × 3 pixels, a.png 2 × 2"):
        list(indexed_png.read(LabelReading(path)))


def test_the_border_of_objects_and_masks_without_labels_are_skipped(tmp_path):
    path = mask_files(tmp_path, LABELS, np.array([[0, 1], [2, 255]], np.uint8))
    Image.fromarray(np.zeros((3, 3), np.uint8)).save(tmp_path / "b.png")
    skipped = []

    [_] = indexed_png.read(LabelReading(path, skip=lambda *reason: skipped.append(reason)))

    assert skipped == [
        ("index", "255 is the border of objects", "a.png"),
        ("mask", "it has no .json of the same name", "b.png"),
    ]


def region(kind="polygonlabels", value=None, **fields):
    usual = {"points": [[10, 10], [20, 10], [20, 20]], kind: ["head"]}
    return {
        "id": "r",
        "type": kind,
        "original_width": 200,
        "original_height": 100,
        "value": usual if value is None else value,
        **fields,
    }


def task_file(tmp_path, *regions, data=None):
    task = {"data": data or {"image": "a.jpg"}, "annotations": [{"result": list(regions)}]}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([task]))
    return path


@for_each(
    ("fields", "message"),
    [
        (region(value={"points": [[1, 1]], "polygonlabels": ["a"]}), "1 different corners"),
        (region(value={"points": [[1, 1], 7], "polygonlabels": ["a"]}), "has no list of points"),
        (region(value={"points": [[1, "1"]] * 3, "polygonlabels": ["a"]}), "no list of points"),
        (
            region(value={"points": [[1, 1], [2, math.nan], [3, 1]], "polygonlabels": ["a"]}),
            "finite",
        ),
        (region(value={"points": [[1, 1], [200, 1], [3, 3]], "polygonlabels": ["a"]}), "outside"),
        (
            region(value={"points": [[1, 1], [9, 1], [9, 9]], "polygonlabels": ["a", "b"]}),
            "has not one label",
        ),
        (region(value=[]), "has no value"),
        (region(original_width=None), "None × 100 pixels"),
        (region(image_rotation=90), "drawn on a turned image"),
        (region(id=7), "has the id 7"),
        (region(parentID="r"), "part of itself"),
        (
            region("rectanglelabels", {"x": "a", "rectanglelabels": ["a"]}),
            "is not a valid rectangle",
        ),
        (
            region(
                "rectanglelabels", {"x": 90, "width": 20, "height": 5, "rectanglelabels": ["a"]}
            ),
            "the box leaves its image",
        ),
        (region("brushlabels", {"rle": [0, 1], "brushlabels": ["a"]}), "painted mask"),
        (region("brushlabels", {"rle": ["x"], "brushlabels": ["a"]}), "painted mask"),
        (region("brushlabels", {"rle": [0, 1, 56, 128, 61], "brushlabels": ["a"]}), "painted mask"),
    ],
)
def test_a_fault_of_a_label_studio_region_is_named(fields, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        list(label_studio_parts.read(LabelReading(task_file(tmp_path, fields))))


@for_each(
    "content",
    [
        [7],
        [{}],
        [{"data": []}],
        [{"data": {"image": "a", "objects": 7}}],
        [{"data": {"image": "a"}, "annotations": 7}],
        [{"data": {"image": "a"}, "annotations": [{"result": [7]}]}],
    ],
)
def test_an_odd_task_is_named(content, tmp_path):
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(content))

    with pytest.raises(BadInput, match="task 1 has no"):
        list(label_studio_parts.read(LabelReading(path)))


def test_a_part_in_no_rectangle_is_named(tmp_path):
    around = {"x": 60, "y": 60, "width": 20, "height": 20, "rectanglelabels": ["dog"]}
    path = task_file(tmp_path, region(), region("rectanglelabels", around, id="o"))

    with pytest.raises(BadInput, match="'head', is not inside the rectangle of an object"):
        list(label_studio_parts.read(LabelReading(path)))
    faults = []
    parted = list(label_studio_parts.read(LabelReading(path, on_fault=faults.append)))

    assert len(faults) == 1
    assert [parted.category for parted in parted] == ["head", "dog"]


ODD = (None, True, -1, 0, 7.5, 10**400, 2**70, math.nan, math.inf, "", "x", "\0", "\ud800", "../x")
NESTED = ([], {}, [None], [[]], [[[[1, 2]]]], [1, 2, 3, 4], {"a": 1})


def places(value, path=()):
    """Where in nested JSON something else could stand."""
    yield path
    inside = list(enumerate(value)) if isinstance(value, list) else []
    for key, inner in value.items() if isinstance(value, dict) else inside:
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("name", PART_FORMATS)
def test_nothing_odd_in_json_does_more_than_be_refused(name, tmp_path):
    merge = Merge((rectangle(1, 1, 5, 5),), 2.0, instance="left", names=("lleg",))
    parts = (
        Part("leg", rectangle(10, 10, 20, 20), **merge_fields((merge,))),
        Part("ear", rectangle(15, 15, 25, 25)),
        Part("tail", state="occluded", origin="explicit"),
    )
    whole = rectangle(0, 0, 50, 50)
    dog = PartedObject("a.jpg", "dog", (0, 0, 50, 50), parts, whole, (0, 0, 60, 60))
    path = written(name, [(Photograph("a.jpg", 160, 120), [dog])], tmp_path)
    [file] = path.rglob("*.json")
    text = file.read_text()
    everywhere = list(places(json.loads(text)))[1:]
    chance = random.Random(5)
    refused = 0
    for _ in range(200):
        spoilt = json.loads(text)
        *above, last = chance.choice(everywhere)
        goal = spoilt
        for key in above:
            goal = goal[key]
        goal[last] = chance.choice([*ODD, *NESTED])
        file.write_text(json.dumps(spoilt))
        try:
            list(PART_FORMATS[name].read(LabelReading(path, repair=chance.random() < 0.5)))
        except BadInput:
            refused += 1

    assert refused > 50
