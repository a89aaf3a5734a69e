"""Files that others wrote, and the low-level readers, held to the libraries that know them."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pycocotools import mask as reference
from scipy.io import loadmat, savemat

from labeling.formats import coco_parts, indexed_png, label_studio_parts, matfiles, pascal_part
from labeling.formats.brush_masks import mask_of_brush
from labeling.formats.coco_masks import Canvas, compressed, counts_in, mask_in, rings, run_lengths
from labeling.formats.reading import LabelReading
from labeling.geometry.regions import mask_of
from labeling.parts.model import Part, PartedObject, Photograph
from tests.labeling import pascal_mats
from tests.labeling.part_scenes import HEIGHT, NAMES, WIDTH, pixels, rectangle, regions

SIZE = (WIDTH, HEIGHT)
copying = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@st.composite
def small_masks(draw):
    """A mask anywhere in a small image, and its origin; the image's size."""
    width, height = draw(st.integers(1, 13)), draw(st.integers(1, 13))
    x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    shape = (draw(st.integers(1, height - y)), draw(st.integers(1, width - x)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.random(shape) < draw(st.floats(0, 1)), (x, y), (width, height)


def placed(mask, origin, size):
    whole = np.zeros(size[::-1], bool)
    (x, y), (height, width) = origin, mask.shape
    whole[y : y + height, x : x + width] = mask
    return whole


@given(made=small_masks())
def test_run_lengths_are_those_of_pycocotools_and_come_back(made):
    mask, origin, size = made
    whole = placed(mask, origin, size)

    text = compressed(run_lengths(mask, origin, size))

    assert text == reference.encode(np.asfortranarray(whole, np.uint8))["counts"].decode()
    counts = counts_in(text, size)
    assert np.array_equal(counts, counts_in(counts.tolist(), size))
    assert np.array_equal(placed(*mask_in(counts, size), size), whole)


@copying
@given(made=small_masks())
def test_pycocotools_draws_our_rings_as_the_mask_that_they_are_of(made):
    mask, origin, size = made
    whole = placed(mask, origin, size)

    rings_of_mask = rings(mask, origin)

    if rings_of_mask:
        drawn = reference.decode(reference.merge(reference.frPyObjects(rings_of_mask, *size[::-1])))
        assert np.array_equal(drawn.astype(bool), whole)
    else:
        # A hole, or nothing at all.
        assert rings_of_mask is None or not mask.any()


@given(several=st.lists(regions(), min_size=1, max_size=5))
def test_a_canvas_gives_every_region_its_own_pixels_and_rings(several):
    canvas = Canvas(several, SIZE)

    for (mask, origin), outline, region in zip(
        canvas.masks(), canvas.rings(), several, strict=True
    ):
        assert np.array_equal(placed(mask, origin, SIZE), mask_of(region, (0, 0, *SIZE)))
        assert outline == rings(mask, origin)


def coco_file(tmp_path, categories, annotations):
    content = {
        "images": [{"id": 7, "file_name": "a.jpg", "width": WIDTH, "height": HEIGHT}],
        "annotations": [
            {"id": number, "image_id": 7, **row} for number, row in enumerate(annotations, 1)
        ],
        "categories": categories,
    }
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(content))
    return path


def square(category, x0, y0, x1, y1, **fields):
    ring = [x0, y0, x1, y0, x1, y1, x0, y1]
    box = [x0, y0, x1 - x0, y1 - y0]
    return {"category_id": category, "segmentation": [ring], "bbox": box, **fields}


def brief(objects):
    return [
        (parted.category, parted.box, [part.key for part in parted.parts]) for parted in objects
    ]


DOG_AND_PARTS = [
    {"id": 1, "name": "dog", "supercategory": "animal"},
    {"id": 2, "name": "head", "supercategory": "dog"},
    {"id": 3, "name": "leg", "supercategory": "dog"},
]


@pytest.mark.parametrize("link", ["part_of", "parent", "parent_id", "object_id"])
def test_coco_parts_of_others_go_to_the_object_they_name(link, tmp_path):
    categories = [{"id": 1, "name": "dog"}, {"id": 2, "name": "head"}]
    dogs = square(1, 0, 0, 50, 50), square(1, 0, 0, 60, 60), square(2, 5, 5, 9, 9, **{link: 1})

    objects = list(coco_parts.read(LabelReading(coco_file(tmp_path, categories, dogs))))

    assert brief(objects) == [("dog", (0, 0, 50, 50), ["head"]), ("dog", (0, 0, 60, 60), [])]
    assert objects[0].outline == rectangle(0, 0, 50, 50)
    assert objects[0].name == ""


def test_coco_parts_of_others_go_to_the_object_of_their_supercategory_that_they_lie_in(tmp_path):
    rows = square(1, 0, 0, 50, 50), square(1, 60, 0, 90, 50), square(3, 62, 5, 70, 9)

    objects = list(coco_parts.read(LabelReading(coco_file(tmp_path, DOG_AND_PARTS, rows))))

    assert brief(objects) == [("dog", (0, 0, 50, 50), []), ("dog", (60, 0, 90, 50), ["leg"])]


def test_coco_parts_without_an_object_make_one_for_each_image_and_supercategory(tmp_path):
    rows = square(2, 5, 5, 9, 9), square(3, 62, 5, 70, 9), square(3, 20, 30, 25, 40)

    objects = list(coco_parts.read(LabelReading(coco_file(tmp_path, DOG_AND_PARTS, rows))))

    assert brief(objects) == [("dog", (5, 5, 70, 40), ["head", "leg", "leg"])]
    assert objects[0].outline is None


def test_coco_of_instances_gives_objects_without_parts(tmp_path):
    categories = [{"id": 18, "name": "dog", "supercategory": "animal"}]
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[10:20, 10:30] = True
    mask[12:15, 12:15] = False
    counts = run_lengths(mask, (0, 0), SIZE)
    rows = [
        {"category_id": 18, "segmentation": {"size": [HEIGHT, WIDTH], "counts": encoded}}
        for encoded in (compressed(counts), counts.tolist())
    ]

    objects = list(
        coco_parts.read(
            LabelReading(coco_file(tmp_path, categories, [*rows, {**rows[0], "bbox": []}]))
        )
    )

    assert [parted.parts for parted in objects] == [(), (), ()]
    assert all(np.array_equal(pixels(parted.outline), mask) for parted in objects)


def test_rings_of_one_coco_annotation_are_pieces_of_one_part(tmp_path):
    two = square(1, 0, 0, 9, 9)
    two["segmentation"] += square(1, 20, 0, 29, 9)["segmentation"]

    [parted] = coco_parts.read(LabelReading(coco_file(tmp_path, DOG_AND_PARTS, [two])))

    assert parted.outline == (*rectangle(0, 0, 9, 9), *rectangle(20, 0, 29, 9))


def test_repair_cuts_off_what_leaves_the_image_and_joins_rings_that_overlap(tmp_path):
    row = square(1, 150, 100, 170, 130)
    row["segmentation"] += square(1, 140, 100, 155, 110)["segmentation"] + [[1, 1, 2, 2]]
    messages = []

    [parted] = coco_parts.read(
        LabelReading(coco_file(tmp_path, DOG_AND_PARTS, [row]), repair=True, tell=messages.append)
    )

    assert len(messages) == 2
    assert np.array_equal(
        pixels(parted.outline),
        pixels(rectangle(150, 100, 160, 120)) | pixels(rectangle(140, 100, 155, 110)),
    )


def test_pascal_part_gives_masks_to_the_pixel_and_names_as_they_are(tmp_path):
    pascal_mats.a_scene(tmp_path)

    cow, dog, person = pascal_part.read(LabelReading(tmp_path))

    assert (cow.image, cow.category, cow.box) == ("2008_000585", "cow", (4, 10, 64, 80))
    assert [part.key for part in cow.parts] == pascal_mats.NAMES["cow"].split()
    made = pascal_mats.an_object("cow", (90, 120), (4, 10, 64, 80), seed=1)
    assert np.array_equal(pixels(cow.outline, (120, 90)), made.mask)
    for part, (_, mask) in zip(cow.parts, made.parts, strict=True):
        assert np.array_equal(pixels(part.polygons, (120, 90)), mask)
    assert len(dog.parts[-1].polygons) == 2
    assert (person.parts, person.entry) == ((), "anno.objects(3)")


def test_empty_masks_of_pascal_part_are_skipped(tmp_path):
    dog = pascal_mats.an_object("dog", (30, 40), (1, 1, 29, 29), ["head", "tail"])
    nothing = np.zeros((30, 40), bool)
    dog.parts = [*dog.parts, ("nose", nothing)]
    pascal_mats.save(tmp_path, "x", [dog, pascal_mats.MatObject("cat", nothing)])
    skipped = []

    [parted] = pascal_part.read(LabelReading(tmp_path, skip=lambda *reason: skipped.append(reason)))

    assert [part.key for part in parted.parts] == ["head", "tail"]
    assert skipped == [
        ("part", "its mask is empty", "anno.objects(1).parts(3), nose"),
        ("object", "its mask is empty", "anno.objects(2), cat"),
    ]


def test_a_mat_file_without_its_json_is_read_by_its_masks(tmp_path):
    pascal_mats.save(tmp_path, "x", [pascal_mats.an_object("dog", (30, 40), (1, 1, 29, 29))])
    [before] = pascal_part.read(LabelReading(tmp_path))
    goal = tmp_path / "ours"
    goal.mkdir()
    pascal_part.write([(Photograph("x.jpg", 40, 30), [before])], goal, NAMES)
    [ours] = pascal_part.read(LabelReading(goal))
    (goal / "Annotations_Part" / "x.mat.json").unlink()
    [parted] = pascal_part.read(LabelReading(goal))

    assert (ours.image, parted.image) == ("x.jpg", "x")
    assert parted.outline == ours.outline == before.outline
    assert [part.polygons for part in parted.parts] == [part.polygons for part in before.parts]


def as_scipy(value):
    """What our reader gives, for what scipy gives."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        rows = value.ravel(order="F")
        return matfiles.Struct(
            [{name: as_scipy(row[name]) for name in value.dtype.names} for row in rows]
        )
    if isinstance(value, np.ndarray) and value.dtype == object:
        return matfiles.Cells([as_scipy(cell) for cell in value.ravel(order="F")])
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return str(value.item()) if value.size else ""
    return value


def same(a, b):
    if isinstance(a, matfiles.Struct):
        return all(
            x.keys() == y.keys() and all(same(x[key], y[key]) for key in x)
            for x, y in zip(a.rows, b.rows, strict=True)
        )
    if isinstance(a, matfiles.Cells):
        return all(same(x, y) for x, y in zip(a.values, b.values, strict=True))
    if isinstance(a, str):
        return a == b
    return a.shape == b.shape and np.array_equal(a, b)


@pytest.mark.parametrize("compress", [False, True])
def test_mat_files_hold_what_scipy_reads_in_them(compress, tmp_path):
    rng = np.random.default_rng(3)
    numbers = {
        f"of_{kind}": (rng.random((3, 5)) * 100).astype(kind)
        for kind in ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "bool")
    }
    content = {
        **numbers,
        "several": rng.random((2, 3, 4)),
        "text": "Größe",
        "empty": "",
        "nothing": np.zeros((0, 0)),
        "number": 7,
        "cells": np.array([["a", 3.5], [np.zeros((0, 0)), "b"]], object),
        "structs": pascal_mats.struct([{"a": "x", "b": 1.0}, {"a": "", "b": np.eye(3)}]),
    }
    path = tmp_path / "x.mat"
    savemat(path, {"other": np.eye(2), "anno": content}, do_compression=compress)

    assert same(matfiles.load(path, "anno"), as_scipy(loadmat(path)["anno"]))


def mask_folder(tmp_path):
    Image.fromarray(np.array([[0, 1, 1], [0, 2, 3]], np.uint8)).save(tmp_path / "cat-1.png")
    return tmp_path


def test_one_table_of_parts_holds_for_all_masks_of_its_folder(tmp_path):
    folder = mask_folder(tmp_path)
    Image.fromarray(np.array([[3]], np.uint8)).save(folder / "dog.png")
    table = {"category": "cat", "parts": {"1": "head", "2": "leg", "3": "leg"}}
    (folder / "labels.json").write_text(json.dumps(table))

    cat, dog = indexed_png.read(LabelReading(folder))

    assert (cat.image, cat.category, cat.box) == ("cat-1", "cat", (1, 0, 3, 2))
    assert [(part.key, part.polygons) for part in cat.parts] == [
        ("head", rectangle(1, 0, 3, 1)),
        ("leg", rectangle(1, 1, 2, 2)),
        ("leg", rectangle(2, 1, 3, 2)),
    ]
    assert (dog.image, [part.key for part in dog.parts]) == ("dog", ["leg"])


def test_one_mask_may_hold_several_objects(tmp_path):
    folder = mask_folder(tmp_path)
    two = [
        {"category": "cat", "parts": {"1": "head", "2": "leg"}},
        {"category": "dog", "parts": {"3": "leg"}},
    ]
    (folder / "cat-1.json").write_text(json.dumps({"image": "both.jpg", "objects": two}))

    objects = list(indexed_png.read(LabelReading(folder / "cat-1.png")))

    assert brief(objects) == [
        ("cat", (1, 0, 3, 2), ["head", "leg"]),
        ("dog", (2, 1, 3, 2), ["leg"]),
    ]
    assert {parted.image for parted in objects} == {"both.jpg"}


def region(key, kind, label, parent=None, **value):
    return {
        "id": key,
        "type": kind,
        "original_width": 200,
        "original_height": 100,
        "value": {**value, kind: [label]},
        **({"parentID": parent} if parent else {}),
    }


def box(key, label, x, y, width, height, parent=None, **fields):
    sides = {"x": x, "y": y, "width": width, "height": height, "rotation": 0, **fields}
    return region(key, "rectanglelabels", label, parent, **sides)


def ring(key, label, *points, parent=None):
    return region(key, "polygonlabels", label, parent, points=points)


def tasks(tmp_path, *results):
    path = tmp_path / "tasks.json"
    cancelled = {"was_cancelled": True, "result": [{"type": "choices"}]}
    task = {"data": {"image": "a.jpg"}, "annotations": [cancelled, {"result": results}]}
    path.write_text(json.dumps([task]))
    return path


CORNERS = ([10, 10], [20, 10], [20, 20])


def test_label_studio_parts_go_to_their_parent_and_holes_to_their_piece(tmp_path):
    path = tasks(
        tmp_path,
        box("o", "dog", 0, 0, 50, 50),
        ring("p", "head", [0, 0], [20, 0], [20, 40], [0, 40], parent="o"),
        ring("h", "hole", [5, 10], [10, 10], [10, 20], parent="p"),
        {"type": "choices", "value": {"choices": ["wild"]}},
    )

    [parted] = label_studio_parts.read(LabelReading(path))

    assert (parted.image, parted.category, parted.box) == ("a.jpg", "dog", (0, 0, 100, 50))
    assert parted.parts[0].polygons == (
        (((0, 0), (40, 0), (40, 40), (0, 40)), ((10, 10), (20, 10), (20, 20))),
    )


def test_label_studio_parts_without_a_parent_go_by_relation_then_by_place(tmp_path):
    path = tasks(
        tmp_path,
        box("big", "dog", 0, 0, 90, 90),
        box("small", "cat", 5, 5, 30, 30),
        ring("p", "head", *CORNERS),
        ring("q", "leg", *CORNERS),
        {"type": "relation", "from_id": "q", "to_id": "big", "direction": "right"},
    )

    dog, cat = label_studio_parts.read(LabelReading(path))

    assert [part.key for part in dog.parts] == ["leg"]
    assert [part.key for part in cat.parts] == ["head"]


def test_label_studio_polygons_may_be_objects_themselves(tmp_path):
    alone, whole = ring("a", "dog", *CORNERS), ring("b", "cat", [0, 0], [90, 0], [90, 90])
    path = tasks(tmp_path, alone, whole, ring("c", "head", *CORNERS, parent="b"))

    dog, cat = label_studio_parts.read(LabelReading(path))

    assert dog.outline == cat.parts[0].polygons == ((((20, 10), (40, 10), (40, 20)),),)
    assert (dog.parts, cat.box) == ((), (0, 0, 180, 90))


def test_a_turned_rectangle_is_an_object_of_the_box_around_it(tmp_path):
    [parted] = label_studio_parts.read(
        LabelReading(tasks(tmp_path, box("o", "dog", 50, 0, 10, 40, rotation=90)))
    )

    assert parted.box == (60, 0, 100, 20)


def packed(values):
    """Bytes as @thi.ng/rle-pack writes them: runs of equal values, the others as they are."""
    bits = f"{len(values):032b}{7:05b}" + "".join(f"{width - 1:04b}" for width in (3, 4, 8, 16))
    at = 0
    while at < len(values):
        end = at + 1
        while end < len(values) and values[end] == values[at] and end - at < 2**16:
            end += 1
        which = next(n for n, width in enumerate((3, 4, 8, 16)) if end - at <= 2**width)
        width = (3, 4, 8, 16)[which]
        if end - at > 1:
            bits += f"1{which:02b}{end - at - 1:0{width}b}{values[at]:08b}"
        else:
            bits += f"000{0:03b}{values[at]:08b}"
        at = end
    bits += "0" * (-len(bits) % 8)
    return [int(bits[n : n + 8], 2) for n in range(0, len(bits), 8)]


@given(made=small_masks())
def test_painted_masks_are_read_by_their_fourth_channel(made):
    whole = placed(*made)
    image = np.zeros((*whole.shape, 4), np.uint8)
    image[whole] = (255, 3, 3, 200)

    mask = mask_of_brush(packed(image.ravel().tolist()), made[2])

    assert np.array_equal(mask, whole)


def test_several_values_that_differ_are_unpacked_together():
    values = bytes([1, 2, 3, 255])
    bits = (
        f"{4:032b}{7:05b}" + f"{2:04b}" * 4 + "000011" + "".join(f"{byte:08b}" for byte in values)
    )
    bits += "0" * (-len(bits) % 8)
    data = [int(bits[n : n + 8], 2) for n in range(0, len(bits), 8)]

    assert mask_of_brush(data, (1, 1)).tolist() == [[True]]
    assert mask_of_brush(data[:-2], (1, 1)) is None
    assert mask_of_brush([*struct.pack(">I", 2**32 - 1), *data[4:]], (1, 1)) is None


def test_a_painted_part_is_read_to_the_pixel(tmp_path):
    image = np.zeros((100, 200, 4), np.uint8)
    image[10:20, 30:50, 3] = 255
    rle = packed(image.ravel().tolist())
    painted = region("p", "brushlabels", "head", "o", format="rle", rle=rle)

    [parted] = label_studio_parts.read(
        LabelReading(tasks(tmp_path, box("o", "dog", 0, 0, 50, 50), painted))
    )

    assert parted.parts[0].polygons == rectangle(30, 10, 50, 20)


def test_what_was_changed_in_label_studio_is_what_comes_back(tmp_path):
    parts = [Part(name, rectangle(10, 10, 20, 20), "drawn", "explicit") for name in "abc"]
    unseen = Part("tail", state="occluded", origin="explicit")
    parted = PartedObject("a.jpg", "n1", (0, 0, 50, 50), (*parts, unseen), name="cat-2")
    label_studio_parts.write([(Photograph("a.jpg", WIDTH, HEIGHT), [parted])], tmp_path, NAMES)
    path = tmp_path / "tasks.json"
    [task] = json.loads(path.read_text())
    result = task["annotations"][0]["result"]
    result[0]["value"]["width"] = 100
    result[1]["value"]["polygonlabels"] = ["renamed"]
    result[2]["value"]["points"][0] = [0, 0]
    del result[3]
    added = {**result[1], "id": "Xyz", "value": {**result[1]["value"], "polygonlabels": ["new"]}}
    result.append(added)
    path.write_text(json.dumps([task]))
    messages = []

    [parted] = label_studio_parts.read(LabelReading(path, tell=messages.append))

    assert [part.key for part in parted.parts] == ["renamed", "b", "tail", "new"]
    assert parted.parts[1].polygons[0][0][0] == (0, 0)
    assert (parted.box, parted.name) == ((0, 0, 160, 50), "cat-2")
    assert messages == ["c of region 1 of task 1 was deleted."]
