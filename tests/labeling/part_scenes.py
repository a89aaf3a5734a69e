"""Made-up objects with parts, for tests of what reads and writes them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from labeling.errors import Refusal
from labeling.formats.label import ExportContext
from labeling.formats.part_formats import PART_FORMATS
from labeling.geometry.alpha_shapes import METHODS
from labeling.geometry.polygons import Polygons, clean
from labeling.geometry.regions import mask_of, polygons_of
from labeling.parts.model import (
    REST_BACKGROUND,
    REST_OBJECT,
    Merge,
    Part,
    PartedObject,
    Photograph,
    merge_fields,
)

DOG = "n02084071"
NAMES = ExportContext("ponds", {DOG: "dog"})
WIDTH, HEIGHT = 160, 120
# Of these the polygons come back; of the others, the masks.
EXACT = ("coco", "label-studio")


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Polygons:
    return ((((x0, y0), (x1, y0), (x1, y1), (x0, y1)),),)


def pixels(polygons: Polygons, size: tuple[int, int] = (WIDTH, HEIGHT)) -> np.ndarray:
    return mask_of(polygons, (0, 0, *size))


def pixelled(polygons: Polygons, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Polygons:
    """The same region along the edges of its pixels."""
    return polygons_of(pixels(polygons, size))


def star(
    rng: np.random.Generator,
    corners: int = 30,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    radius: float = 40,
) -> Polygons:
    """A ragged outline that a hand might draw, on tenths."""
    while True:
        middle = rng.uniform((0, 0), size)
        turns = np.sort(rng.random(corners)) * math.tau
        far = radius * rng.uniform(0.5, 1, corners)
        points = middle + np.stack([np.cos(turns), np.sin(turns)], 1) * far[:, None]
        ring = np.clip(points, 0, size).round(1).tolist()
        try:
            return clean([[ring]], *size)
        except Refusal:
            continue


@st.composite
def regions(draw: st.DrawFn) -> Polygons:
    """Any region on the pixels of the image: holes, several pieces, pixels that touch in a corner;
    or a drawn outline on tenths."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    if draw(st.booleans()):
        return star(rng, draw(st.integers(3, 40)), radius=draw(st.integers(1, 60)))
    mask = rng.random((draw(st.integers(1, 12)), draw(st.integers(1, 12)))) < rng.random()
    origin = (draw(st.integers(0, WIDTH - 12)), draw(st.integers(0, HEIGHT - 12)))
    return polygons_of(mask, origin) or rectangle(1, 1, 2, 2)


@st.composite
def merges(draw: st.DrawFn) -> Merge:
    lengths = st.none() | st.floats(0, 1000, allow_nan=False)
    return Merge(
        tuple(draw(st.lists(regions(), min_size=1, max_size=2))),
        draw(lengths),
        draw(lengths),
        draw(st.booleans()),
        draw(st.sampled_from(["", "left", "2"])),
        tuple(draw(st.lists(st.sampled_from(["llleg", "rüssel"]), max_size=2))),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from(METHODS)),
    )


@st.composite
def parts(draw: st.DrawFn) -> Part:
    key = draw(st.sampled_from(["head", "leg", "hole", REST_OBJECT, REST_BACKGROUND]))
    name = draw(st.sampled_from(["", "Kopf, <groß>"]))
    if draw(st.integers(0, 3)) == 0:
        state = draw(st.sampled_from(["not_visible", "occluded"]))
        return Part(key, state=state, origin="explicit", name=name)
    fields: dict[str, Any] = {}
    if draw(st.booleans()):
        fields = merge_fields(draw(st.lists(merges(), max_size=2)))
    elif draw(st.booleans()):
        fields = {"radius": draw(st.floats(0, 99)), "pieces": (draw(regions()),), "apart": True}
    origin = draw(st.sampled_from(["explicit", "given", "made"]))
    return Part(key, draw(regions()), origin=origin, name=name, **fields)


@st.composite
def objects(draw: st.DrawFn, image: str) -> PartedObject:
    box = draw(st.sampled_from([(0, 0, 160, 120), (0.1, 0.3, 9.7, 11.9), (3, 4, 5, 6)]))
    return PartedObject(
        image=image,
        category=draw(st.sampled_from([DOG, "cow"])),
        box=box,
        parts=tuple(draw(st.lists(parts(), max_size=4))),
        outline=draw(st.none() | regions()),
        crop=draw(st.sampled_from([None, (0.0, 0.0, 12.0, 13.5)])),
        name=draw(st.sampled_from(["", "cat-2"])),
        source=draw(st.sampled_from(["", "a list of dogs"])),
    )


IMAGES = ("birds/coot 1.jpg", "=cmd.png", "coot.png", "coot.jpg", "ünïcödé.jpg")


@st.composite
def scenes(draw: st.DrawFn) -> list[tuple[Photograph, list[PartedObject]]]:
    names = draw(st.lists(st.sampled_from(IMAGES), unique=True, max_size=3))
    return [
        (Photograph(name, WIDTH, HEIGHT, "ab" * 32), draw(st.lists(objects(name), max_size=3)))
        for name in names
    ]


def written(format_name: str, scenes: Any, folder: Path) -> Path:
    """What the format writes of the scenes, in a folder of its own."""
    goal = folder / format_name
    goal.mkdir(parents=True)
    PART_FORMATS[format_name].write(scenes, goal, NAMES)
    return goal


def an_object(count: int = 12, size: tuple[int, int] = (500, 375), seed: int = 0) -> PartedObject:
    """A dog with so many parts of thirty corners, 20 to 70 pixels across."""
    rng = np.random.default_rng(seed)
    stars = [star(rng, 30, size, rng.uniform(10, 35)) for _ in range(count)]
    made = [Part(f"part-{n}", polygons, origin="explicit") for n, polygons in enumerate(stars)]
    return PartedObject("dog.jpg", DOG, (0, 0, *size), tuple(made), crop=(0, 0, *size))
