"""What every format reads and writes: a label of an image, and where it comes from."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypedDict, TypeVar

from labeling.files import NO_TEXT, BadInput, StrPath
from labeling.parts.model import Photograph

VALUES = ("yes", "no", "unknown")
# What categories of COCO are called: each by a name of its own, or as their classes and parts are.
NAMES = ("unique", "plain")
# People answered, an answer above closed it, it was imported, or other answers make it likely.
ORIGINS = ("explicit", "inherited", "given", "inferred")
Box = tuple[float, float, float, float]
K = TypeVar("K")


@dataclass(frozen=True)
class Label:
    """Whether an image shows a class.

    key: the class, a wnid. origin: one of ORIGINS. boxes: (x0, y0, x1, y1) in image pixels, x1 and
    y1 exclusive. polygons: rings of [x, y, x, y, …], as COCO has them. source: where a given label
    came from. place: where a reader found it, for people; no part of the label. votes, interval:
    the people whom the probability stands on and the 95 % interval of the share that it is, for
    people. flags: of each box, as boxes/chain.py has them; () where nothing is said of any.
    is_covered: whether every instance has a box, where people were asked for that.
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
    votes: int | None = field(default=None, compare=False)
    interval: tuple[float, float] | None = field(default=None, compare=False)
    flags: tuple[tuple[str, ...], ...] = ()
    is_covered: bool | None = None

    @property
    def geometry(self) -> "Geometry | None":
        """As GivenLabel keeps it; None for the whole image."""
        found: Geometry = {}
        if self.boxes:
            found["boxes"] = [list(box) for box in self.boxes]
        if self.polygons:
            found["polygons"] = [list(ring) for ring in self.polygons]
        return found or None

    @property
    def statement(self) -> dict[str, object]:
        """What is known of the class, as exports in JSON say it: where the probability is a share
        of votes, with what it stands on."""
        support = {} if self.votes is None else {"votes": self.votes, "interval": self.interval}
        return {
            "value": self.value,
            "origin": self.origin,
            "probability": self.probability,
            **support,
            **({} if self.is_covered is None else {"is_covered": self.is_covered}),
        }


class Geometry(TypedDict, total=False):
    """Boxes and polygons of a label in JSON, as Label has them."""

    boxes: list[list[float]]
    polygons: list[list[float]]


@dataclass
class About:
    """What a format may need beside the labels: the release's name, the classes by key and, where
    objects have parts, by class the parts by key, in their order.

    makes_rest: objects come without what no part covers, and the format makes it.
    names: of COCO's categories, one of NAMES. image_base: what stands before an image's name in its
    address, for Label Studio. images: the names of all images, for formats that need them first.
    """

    title: str
    classes: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, str]] = field(default_factory=dict)
    makes_rest: bool = False
    names: str = "unique"
    image_base: str = ""
    images: Iterable[str] = ()

    @cached_property
    def unique_classes(self) -> dict[str, str]:
        """Names of the classes by key, no name twice."""
        return unique_names(self.classes)


Pages = Iterable[tuple[Photograph, list[Label]]]


def unique_names(names: Mapping[K, str], detail: Callable[[K], str] = str) -> dict[K, str]:
    """The names by key; where several keys share one, each has its detail after it. Case is
    ignored, as it is in the names of files on many systems.

    >>> unique_names({"n1": "crane", "n2": "crane", "n3": "dog"})
    {'n1': 'crane (n1)', 'n2': 'crane (n2)', 'n3': 'dog'}
    """
    found = {key: name or detail(key) for key, name in names.items()}
    for key in _shared(found):
        found[key] += f" ({detail(key)})"
    while shared := _shared(found):
        for number, key in enumerate(shared, 1):
            found[key] += f" {number}"
    return found


def _shared(names: Mapping[K, str]) -> list[K]:
    count = Counter(name.casefold() for name in names.values())
    return [key for key, name in names.items() if count[name.casefold()] > 1]


def boxes_of(geometry: Geometry | None) -> tuple[Box, ...]:
    return tuple(_box(box) for box in (geometry or {}).get("boxes", []))


def polygons_of(geometry: Geometry | None) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(ring) for ring in (geometry or {}).get("polygons", []))


def _box(box: Sequence[float]) -> Box:
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


def read_json(path: StrPath) -> object:
    """What a JSON file holds. Raises BadInput naming the line."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return json.load(file)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise BadInput("is not JSON", file=path, line=line, cure="export it again") from None
