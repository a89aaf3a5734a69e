"""What every format reads and writes: a label of an image, and where it comes from."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from labeling.files import BadInput, StrPath

VALUES = ("yes", "no", "unknown")
# People answered, an answer above closed it, or it was imported.
ORIGINS = ("explicit", "inherited", "given")
NO_TEXT = re.compile("[\0\ud800-\udfff]")
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Label:
    """Whether an image shows a class.

    key: the class, a wnid. origin: one of ORIGINS. boxes: (x0, y0, x1, y1) in image pixels, x1 and
    y1 exclusive. polygons: rings of [x, y, x, y, …], as COCO has them. source: where a given label
    came from. place: where a reader found it, for people; no part of the label.
    """

    image: str
    key: str
    value: str = "yes"
    origin: str = "given"
    probability: float | None = None
    boxes: tuple[Box, ...] = ()
    polygons: tuple[tuple[float, ...], ...] = ()
    name: str = ""
    source: str = ""
    place: str = field(default="", compare=False)

    @property
    def geometry(self) -> dict[str, Any] | None:
        """As GivenLabel keeps it; None for the whole image."""
        found: dict[str, Any] = {}
        if self.boxes:
            found["boxes"] = [list(box) for box in self.boxes]
        if self.polygons:
            found["polygons"] = [list(ring) for ring in self.polygons]
        return found or None


@dataclass(frozen=True)
class Photo:
    """An image as exports name it."""

    name: str
    width: int
    height: int
    sha256: str = ""
    licence: str = ""
    source: str = ""


@dataclass
class About:
    """What a format may need beside the labels: the release's name, the classes by key and, where
    objects have parts, by class the parts by key, in their order.

    without_rest: objects come without what no part covers, and the format makes it.
    """

    title: str
    classes: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, str]] = field(default_factory=dict)
    without_rest: bool = False


Pages = Iterable[tuple[Photo, list[Label]]]


def boxes_of(geometry: dict[str, Any] | None) -> tuple[Box, ...]:
    return tuple(_box(box) for box in (geometry or {}).get("boxes", []))


def polygons_of(geometry: dict[str, Any] | None) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(ring) for ring in (geometry or {}).get("polygons", []))


def _box(box: Any) -> Box:
    x0, y0, x1, y1 = box
    return (float(x0), float(y0), float(x1), float(y1))


def check(label: Label, path: StrPath, line: int | None = None) -> Label:
    """The label with its place, once its words, its class and its boxes make sense. Raises
    BadInput."""
    if not label.image:
        raise BadInput("names no image", file=path, line=line, cure="give the image's name")
    if not label.key or len(label.key) > 64:
        raise BadInput(
            f"has the class {label.key!r}",
            file=path,
            line=line,
            cure="give an identifier of 1 to 64 characters, such as a wnid",
        )
    _check_text(label, path, line)
    for word, words, what in (
        (label.value, VALUES, "value"),
        (label.origin, ORIGINS, "origin"),
    ):
        if word not in words:
            raise BadInput(
                f"has the {what} {word!r}", file=path, line=line, cure=f"use {', '.join(words)}"
            )
    for box in label.boxes:
        # Written so that NaN fails too.
        if not (-math.inf < box[0] < box[2] < math.inf and -math.inf < box[1] < box[3] < math.inf):
            raise BadInput(
                f"has the empty box {list(box)}",
                file=path,
                line=line,
                cure="write x0,y0,x1,y1 with x0 < x1 and y0 < y1",
            )
    if not all(math.isfinite(edge) for ring in label.polygons for edge in ring):
        raise BadInput(
            "has a polygon with a corner that is no number",
            file=path,
            line=line,
            cure="write [x, y, x, y, …] in pixels",
        )
    return label if line is None else replace(label, place=f"Line {line}")


def _check_text(label: Label, path: StrPath, line: int | None) -> None:
    # Databases refuse both, and so would whoever reads an export.
    for text in (label.image, label.key, label.source):
        if NO_TEXT.search(text):
            raise BadInput(
                "has a NUL or half a surrogate pair, which is no text",
                file=path,
                line=line,
                cure="take it out",
            )


def read_json(path: StrPath) -> Any:
    """What a JSON file holds. Raises BadInput naming the line."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return json.load(file)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise BadInput("is not JSON", file=path, line=line, cure="export it anew") from None
