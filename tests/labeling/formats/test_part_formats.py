import json
import tempfile
import time
import tracemalloc
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from pycocotools.coco import COCO

from labeling.files import BadInput
from labeling.formats import json_stream
from labeling.formats.label import ExportContext
from labeling.formats.part_formats import PART_FORMATS
from labeling.formats.reading import LabelReading
from labeling.parts.model import REST_BACKGROUND, REST_OBJECT, Part, PartedObject, Photograph
from tests.labeling.part_scenes import (
    DOG,
    EXACT,
    HEIGHT,
    NAMES,
    WIDTH,
    an_object,
    pixelled,
    pixels,
    rectangle,
    scenes,
    written,
)

PHOTO = Photograph("a.jpg", WIDTH, HEIGHT)
HEAD = Part("head", rectangle(10, 10, 20.5, 20.3), origin="explicit")


def dog(*parts, **fields):
    return PartedObject(PHOTO.name, DOG, (0, 0, 50, 50), parts, **fields)


def as_masks(parted):
    """The object as formats of masks can tell it: polygons along the edges of pixels."""
    parts = tuple(replace(part, polygons=pixelled(part.polygons)) for part in parted.parts)
    outline = None if parted.outline is None else pixelled(parted.outline) or None
    return replace(parted, parts=parts, outline=outline)


def back(name, parted):
    with tempfile.TemporaryDirectory() as folder:
        path = written(name, parted, Path(folder))
        assert not list(path.rglob("*.part"))
        return list(PART_FORMATS[name].read(LabelReading(path)))


@pytest.mark.parametrize("name", EXACT)
@given(objects_by_photo=scenes())
def test_polygons_come_back_corner_by_corner(name, objects_by_photo):
    assert back(name, objects_by_photo) == [
        parted for _, several in objects_by_photo for parted in several
    ]


@pytest.mark.parametrize("name", [name for name in PART_FORMATS if name not in EXACT])
@given(objects_by_photo=scenes())
def test_masks_come_back_to_the_pixel(name, objects_by_photo):
    def in_order(objects):
        # Masks are read in the order of their files.
        return sorted(objects, key=lambda parted: parted.image)

    expected = [as_masks(parted) for _, several in objects_by_photo for parted in several]
    assert in_order(back(name, objects_by_photo)) == in_order(expected)


# pycocotools 2.0.11 copies arrays in a way that numpy will not know some day.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@given(objects_by_photo=scenes())
def test_pycocotools_sees_the_pixels_that_we_see(objects_by_photo):
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        path = written("coco", objects_by_photo, Path(folder)) / "parts.json"
        coco = COCO(str(path))

    objects = [parted for _, several in objects_by_photo for parted in several]
    roots = [row for row in coco.dataset["annotations"] if "part_of" not in row]
    assert len(roots) == len(objects)
    for root, parted in zip(roots, objects, strict=True):
        parts = [part for part in parted.parts if part.key != REST_BACKGROUND]
        union = np.any([pixels(part.polygons) for part in parts] or [pixels(())], axis=0)
        whole = pixels(parted.outline or ()) | union
        assert np.array_equal(coco.annToMask(root), whole)
        drawn = [part for part in parted.parts if part.polygons]
        rows = [row for row in coco.dataset["annotations"] if row.get("part_of") == root["id"]]
        for row, part in zip(rows, drawn, strict=True):
            mask = coco.annToMask(row)
            assert np.array_equal(mask, pixels(part.polygons))
            assert row["area"] == mask.sum()
            assert coco.loadCats(row["category_id"])[0]["supercategory"] in {"dog", "cow"}


def test_coco_writes_rings_and_run_lengths_where_there_are_holes(tmp_path):
    two = (*rectangle(1, 1, 5, 5), *rectangle(10, 1, 15, 5))
    hole = ((*rectangle(20, 20, 40, 40)[0], ((25, 25), (25, 30), (30, 30))),)
    path = written("coco", [(PHOTO, [dog(Part("ear", two), Part("eye", hole))])], tmp_path)

    rows = json.loads((path / "parts.json").read_text())["annotations"]

    whole, ear, eye = [row["segmentation"] for row in rows]
    assert ear == [[1, 1, 5, 1, 5, 5, 1, 5], [10, 1, 15, 1, 15, 5, 10, 5]]
    assert eye["size"] == whole["size"] == [HEIGHT, WIDTH]
    assert isinstance(eye["counts"], str)


@pytest.mark.parametrize("name", PART_FORMATS)
def test_what_is_unlabeled_is_a_part_of_its_own(name, tmp_path):
    rest = Part(REST_OBJECT, rectangle(30, 30, 40, 40), origin="made")
    background = Part(REST_BACKGROUND, rectangle(50, 50, 60, 60), origin="made")
    path = written(name, [(PHOTO, [dog(HEAD, rest, background)])], tmp_path)

    [parted] = PART_FORMATS[name].read(LabelReading(path))

    assert [(part.key, part.origin) for part in parted.parts[1:]] == [
        (REST_OBJECT, "made"),
        (REST_BACKGROUND, "made"),
    ]


@pytest.mark.parametrize("name", ["coco", "label-studio"])
def test_what_tenths_cannot_hold_of_the_rest_refuses_no_file(name, tmp_path):
    hair = (((10.0, 10.0), (40.0, 10.02), (10.0, 10.04)),)
    rest = Part(REST_OBJECT, (*rectangle(30, 30, 40, 40), hair), origin="made")
    path = written(name, [(PHOTO, [dog(HEAD, rest)])], tmp_path)

    [parted] = PART_FORMATS[name].read(LabelReading(path))

    assert parted.parts[1].polygons == rectangle(30, 30, 40, 40)


def test_categories_of_coco_are_called_by_class_and_part_each_once(tmp_path):
    parts = [Part(key, rectangle(9, 9, 20, 20), name=key) for key in ("head", "leg")]
    cow = replace(dog(*parts), category="cow")
    odd = replace(dog(), category="dog head")
    about_file = ExportContext("ponds", {DOG: "dog"})

    PART_FORMATS["coco"].write([(PHOTO, [dog(*parts), cow, odd])], tmp_path, about_file)

    rows = json.loads((tmp_path / "parts.json").read_text())["categories"]
    names = {row["id"]: row["name"] for row in rows}
    assert list(names.items()) == [
        *((1, "dog"), (2, "dog head (head)"), (3, "dog leg"), (4, "cow"), (5, "cow head")),
        *((6, "cow leg"), (7, "dog head (dog head)")),
    ]
    assert [row.get("supercategory") for row in rows] == [
        *(None, "dog", "dog", None, "cow", "cow", None)
    ]
    assert [parted.category for parted in PART_FORMATS["coco"].read(LabelReading(tmp_path))] == [
        *(DOG, "cow", "dog head")
    ]


def test_the_labeling_configuration_has_every_class_and_part_that_tasks_name(tmp_path):
    rest = Part(REST_OBJECT, rectangle(30, 30, 40, 40), origin="made")
    cow = replace(dog(HEAD, rest), category="cow")
    about_file = ExportContext(
        "ponds", {DOG: "dog"}, {DOG: {"tail": "Schwanz"}}, image_base="s3://bucket"
    )

    PART_FORMATS["label-studio"].write([(PHOTO, [dog(HEAD), cow])], tmp_path, about_file)

    root = ElementTree.parse(tmp_path / "label_config.xml").getroot()
    wholes = {row.get("alias", row.get("value")) for row in root.iterfind("RectangleLabels/Label")}
    parts = [row.get("value") for row in root.iterfind("PolygonLabels/Label")]
    assert wholes == {DOG, "cow"}
    assert parts == ["tail", "object", "hole", "head", REST_OBJECT]
    [task] = json.loads((tmp_path / "tasks.json").read_text())
    assert (task["id"], task["data"]["image"]) == (1, "s3://bucket/a.jpg")
    assert {
        parted.image for parted in PART_FORMATS["label-studio"].read(LabelReading(tmp_path))
    } == {"a.jpg"}


def test_a_part_that_sticks_out_of_the_outline_is_in_the_objects_mask(tmp_path):
    head = rectangle(2, 2, 22, 22)
    parted = replace(dog(Part("head", head)), outline=rectangle(10, 10, 40, 40))
    path = written("coco", [(PHOTO, [parted])], tmp_path)

    both = pixels(head) | pixels(rectangle(10, 10, 40, 40))
    assert coco_mask(path) == both.sum()


@pytest.mark.parametrize("name", PART_FORMATS)
def test_parts_in_the_background_are_no_part_of_the_objects_mask(name, tmp_path):
    background = Part(REST_BACKGROUND, rectangle(50, 50, 60, 60), origin="made")
    path = written(name, [(PHOTO, [dog(HEAD, background)])], tmp_path)

    masks = {"coco": coco_mask, "pascal-part": mat_mask}
    if name in masks:
        assert masks[name](path) == pixels(HEAD.polygons).sum()
    [parted] = PART_FORMATS[name].read(LabelReading(path))
    assert parted.outline is None


def coco_mask(path):
    return json.loads((path / "parts.json").read_text())["annotations"][0]["area"]


def mat_mask(path):
    from scipy.io import loadmat

    anno = loadmat(path / "Annotations_Part" / "a.mat")["anno"][0, 0]
    return anno["objects"][0, 0]["mask"].sum()


@pytest.mark.parametrize("name", PART_FORMATS)
def test_readers_say_how_large_the_image_is_and_what_others_called_a_part(name, tmp_path):
    part = replace(HEAD, names=("lhead", "rhead"))
    path = written(name, [(PHOTO, [dog(part)])], tmp_path)

    [parted] = PART_FORMATS[name].read(LabelReading(path))

    assert parted.size == (WIDTH, HEIGHT)
    assert parted.entry
    assert parted.parts[0].names == ("lhead", "rhead")


@pytest.mark.parametrize("name", PART_FORMATS)
def test_two_exports_are_the_same_bytes(name, tmp_path):
    scenes = [(PHOTO, [dog(HEAD, outline=HEAD.polygons)])]
    first, second = (written(name, scenes, tmp_path / number) for number in "12")

    def content(folder):
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return [(file.relative_to(folder), file.read_bytes()) for file in files]

    assert content(first) == content(second)


@pytest.mark.parametrize("name", PART_FORMATS)
def test_no_image_is_written_outside_the_folder(name, tmp_path):
    photo = Photograph("../../../evil.jpg", WIDTH, HEIGHT)
    path = written(name, [(photo, [dog(HEAD)])], tmp_path / "a" / "b")

    assert {file.name for file in tmp_path.iterdir()} == {"a"}
    with pytest.raises(BadInput, match=r"leaves its folder"):
        list(PART_FORMATS[name].read(LabelReading(path)))


@pytest.mark.parametrize("name", ["coco", "label-studio"])
def test_a_self_crossing_ring_is_refused_with_its_place_or_repaired(name, tmp_path):
    path = written(name, [(PHOTO, [dog(HEAD)])], tmp_path)
    [file] = path.glob("*.json")
    content = file.read_text()
    ring = [[10, 10], [20, 20], [20, 10], [10, 20]]
    if name == "coco":
        spoilt = json.loads(content)
        spoilt["annotations"][1]["polygons"] = [[ring]]
    else:
        spoilt = json.loads(content)
        value = spoilt[0]["annotations"][0]["result"][1]["value"]
        value["points"] = [[x / WIDTH * 100, y / HEIGHT * 100] for x, y in ring]
    file.write_text(json.dumps(spoilt))
    read = PART_FORMATS[name].read

    with pytest.raises(BadInput, match=r"crosses or touches itself near \(15\.0, 15\.0\)"):
        list(read(LabelReading(path)))
    messages = []
    [parted] = read(LabelReading(path, repair=True, tell=messages.append))

    assert len(messages) == 1
    assert "Repaired" in messages[0]
    assert pixels(parted.parts[0].polygons).sum() == 50


def many(count):
    """Photographs with a dog of twelve parts each."""
    several = [an_object(seed=seed) for seed in range(10)]
    for number in range(count):
        photo = Photograph(f"{number}.jpg", 500, 375)
        yield photo, [replace(several[number % 10], image=photo.name)]


@pytest.mark.ci
def test_coco_is_written_and_read_in_flat_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(json_stream, "CHUNK", 1 << 14)
    coco = PART_FORMATS["coco"]
    peaks = {}
    coco.write(many(2), tmp_path, NAMES)
    for count in (10, 40):
        tracemalloc.start()
        coco.write(many(count), tmp_path, NAMES)
        size = (tmp_path / "parts.json").stat().st_size
        assert sum(1 for _ in coco.read(LabelReading(tmp_path))) == count
        peaks[count] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert peaks[40] - peaks[10] < size / 8


@pytest.mark.slow
def test_coco_of_many_parts_is_written_at_a_speed_of_thousands_a_minute(tmp_path):
    scenes = list(many(60))
    seconds = []
    for _ in range(3):
        begun = time.process_time()
        PART_FORMATS["coco"].write(scenes, tmp_path, NAMES)
        seconds.append(time.process_time() - begun)

    # This leaves room for machines that others keep busy.
    assert min(seconds) / len(scenes) * 5_000 < 60
