"""Releases of objects with parts and their photographs, in a folder, without a database."""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from labeling.geometry.polygons import Polygons, as_json
from labeling.json_text import canonical
from labeling.parts.model import Part, PartedObject, Photograph
from labeling.release_files import frozen
from labeling.release_files.frozen import Frozen

CAT, COW = "n02121620", "n01887787"
VOCABULARY = {CAT: ("head", "torso", "leg", "tail"), COW: ("head", "horn")}
WIDTH, HEIGHT = 90, 64


def ellipse(x: float, y: float, across: float, down: float, corners: int = 24) -> Polygons:
    """One piece around a middle, corners on tenths."""
    turn = np.arange(corners) * 2 * np.pi / corners
    points = zip(x + across * np.cos(turn), y + down * np.sin(turn), strict=True)
    return ((tuple((round(float(u), 1), round(float(v), 1)) for u, v in points),),)


def photograph(seed: int, width: int = WIDTH, height: int = HEIGHT) -> NDArray[np.uint8]:
    """(H, W, 3) uint8, noise that is smooth in places."""
    noise = np.random.default_rng(seed).random((height, width, 3))
    smooth = ndimage.gaussian_filter(noise, (1, 1, 0))
    return ((smooth - smooth.min()) / np.ptp(smooth) * 255).astype(np.uint8)


def cat(image: str, name: str = "cat-1", **fields: Any) -> PartedObject:
    """A cat whose torso overlaps its head and legs, and whose tail is not to be seen."""
    parts = (
        Part("head", ellipse(28.3, 22.4, 11, 9)),
        Part("torso", ellipse(46, 30, 16, 12.5)),
        Part("leg", (*ellipse(38, 44, 3, 9), *ellipse(56, 44, 3, 9))),
        Part("tail", state="not_visible"),
    )
    parted_object = PartedObject(image, CAT, (15.4, 12.0, 64.0, 54.0), parts, name=name)
    return replace(parted_object, **fields)


def cow(image: str, name: str = "cow-1", **fields: Any) -> PartedObject:
    parts = (Part("head", ellipse(20, 20, 8, 8)),)
    return replace(PartedObject(image, COW, (10, 10, 34, 40), parts, name=name), **fields)


def release(
    folder: Path,
    scenes: Mapping[str, Sequence[PartedObject]],
    vocabulary: Mapping[str, Sequence[str]] = VOCABULARY,
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> Frozen:
    """A release folder that reads back: images of one size and their objects, by name."""
    folder.mkdir(parents=True)
    with (
        open(folder / "images.jsonl", "wb") as images,
        open(folder / "objects.jsonl", "wb") as objects,
    ):
        for name, parted_objects in sorted(scenes.items()):
            photo = Photograph(name, *size)
            row = {key: getattr(photo, key) for key in frozen.ImageLine.__required_keys__}
            images.write(canonical(row) + b"\n")
            for thing in parted_objects:
                objects.write(canonical(_line(thing)) + b"\n")
    files = {}
    for name in ("images.jsonl", "objects.jsonl"):
        sha256 = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        files[name] = {"sha256": sha256}
    categories = {
        key: {"name": key, "parts": [{"key": part, "name": part} for part in parts]}
        for key, parts in vocabulary.items()
    }
    campaign = {"name": "cats", "title": "Cats", "kind": "parts"}
    meta: dict[str, Any] = {
        "format": frozen.FORMAT,
        "campaign": campaign | {"settings": {"categories": categories}},
        "files": files,
    }
    meta["sha256"] = frozen.digest(meta)
    (folder / "release.json").write_text(json.dumps(meta))
    return frozen.read(folder)


def _line(thing: PartedObject) -> dict[str, Any]:
    return {
        "image": thing.image,
        "object": thing.name,
        "category": thing.category,
        "box": list(thing.box),
        "crop": None if thing.crop is None else list(thing.crop),
        "source": "",
        "outline": None if thing.outline is None else as_json(thing.outline),
        "parts": [
            {
                "key": part.key,
                "origin": part.origin,
                "state": part.state,
                "polygons": as_json(part.polygons),
            }
            for part in thing.parts
        ],
    }


def png(pixels: NDArray[np.uint8]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


class Photographs:
    """Opens photographs by name, made of their place among the names; counts how often."""

    def __init__(self, names: Sequence[str], size: tuple[int, int] = (WIDTH, HEIGHT)) -> None:
        self.pixels = {name: photograph(seed, *size) for seed, name in enumerate(names)}
        self.opened: list[str] = []

    def __call__(self, name: str) -> IO[bytes]:
        self.opened.append(name)
        return io.BytesIO(png(self.pixels[name]))

    def write(self, folder: Path) -> Path:
        for name, pixels in self.pixels.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(pixels))
        return folder


def cats_and_cow(folder: Path, **cow_fields: Any) -> None:
    """release/ and images/: two cats on a photograph, a cat and a cow on another."""
    drawn = {
        "a/1.png": [cat("a/1.png"), cat("a/1.png", "cat-2")],
        "b.png": [cat("b.png"), cow("b.png", **cow_fields)],
    }
    release(folder / "release", drawn)
    Photographs(tuple(drawn)).write(folder / "images")
