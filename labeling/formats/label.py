"""A label of an image and its instances: what every format reads and writes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NotRequired, TypedDict, TypeVar

from labeling.geometry.polygons import Polygons, Ring, from_rings
from labeling.parts.model import Box, Photograph

VALUES = ("yes", "no", "unknown")
# Names of COCO's categories: unique, or as classes and parts are named.
NAMES = ("unique", "plain")
# Answered, closed by an answer on a parent, imported, or inferred from other answers.
ORIGINS = ("explicit", "inherited", "given", "inferred")
# As PASCAL VOC and COCO call them; a group is COCO's crowd.
FLAGS = ("group", "truncated", "occluded", "difficult")
K = TypeVar("K")


@dataclass(frozen=True)
class Instance:
    """One object of a label's class.

    box: x0, y0, x1, y1 in image pixels, x1 and y1 exclusive. polygons: its outline, () where only
    the box is known. flags: of FLAGS, None where the file states none. number: its line, or its
    number in the file, from 1.
    """

    box: Box
    polygons: Polygons = ()
    flags: tuple[str, ...] | None = None
    number: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Label:
    """Whether an image shows a class, and where.

    key: the class, a wnid. origin: one of ORIGINS. source: of a given label. entry: its position in
    the file, for people. error: of a settled label, where gold or audits measured it. votes,
    interval: the people behind the probability, and the 95 % interval of that share. is_covered:
    whether every instance has a box, if people were asked. likely: the most probable answer where
    people did not agree.
    """

    image: str
    key: str
    value: str = "yes"
    origin: str = "given"
    probability: float | None = None
    instances: tuple[Instance, ...] = ()
    name: str = ""
    source: str = ""
    entry: str = field(default="", compare=False)
    error: float | None = field(default=None, compare=False)
    votes: int | None = field(default=None, compare=False)
    interval: tuple[float, float] | None = field(default=None, compare=False)
    is_covered: bool | None = None
    likely: str = field(default="", compare=False)

    @property
    def statement(self) -> dict[str, object]:
        """Return the label for JSON exports; a share of votes includes its support."""
        support = {} if self.votes is None else {"votes": self.votes, "interval": self.interval}
        return {
            "value": self.value,
            "origin": self.origin,
            "probability": self.probability,
            **({} if self.error is None else {"error": self.error}),
            **support,
            **({} if self.is_covered is None else {"is_covered": self.is_covered}),
            **({"decided": False, "likely": self.likely} if self.likely else {}),
        }


class Geometry(TypedDict, total=False):
    """Instances of a label in JSON, for GivenLabel and JSON Lines.

    boxes: of instances without an outline. polygons: of each other instance, a ring [x, y, x, y, …]
    or a list of rings by the even-odd rule. flags: of every instance, boxes first; absent if there
    are none.
    """

    boxes: list[list[float]]
    polygons: list[list[float] | list[list[float]]]
    flags: NotRequired[list[list[str]]]


def geometry_of(instances: Sequence[Instance]) -> Geometry | None:
    """Return the instances as JSON; None for a label of the whole image."""
    boxed = [instance for instance in instances if not instance.polygons]
    drawn = [instance for instance in instances if instance.polygons]
    geometry: Geometry = {}
    if boxed:
        geometry["boxes"] = [list(instance.box) for instance in boxed]
    if drawn:
        geometry["polygons"] = [_flat(instance.polygons) for instance in drawn]
    if any(instance.flags for instance in instances):
        geometry["flags"] = [list(instance.flags or ()) for instance in (*boxed, *drawn)]
    return geometry or None


def _flat(polygons: Polygons) -> list[float] | list[list[float]]:
    rings = [list(chain.from_iterable(ring)) for piece in polygons for ring in piece]
    return rings[0] if len(rings) == 1 else rings


def instances_of(geometry: Geometry | None) -> tuple[Instance, ...]:
    """Return the instances of geometry_of's JSON, unchecked.

    >>> instances_of({"boxes": [[0, 0, 5, 4]], "polygons": [[1, 1, 3, 1, 3, 2]]})[1].box
    (1.0, 1.0, 3.0, 2.0)
    """
    geometry = geometry or {}
    flags = [tuple(row) for row in geometry.get("flags", [])]
    shapes: list[tuple[Box, Polygons]] = [(_box(box), ()) for box in geometry.get("boxes", [])]
    for value in geometry.get("polygons", []):
        polygons = polygons_in(value)
        shapes.append((bounds(polygons), polygons))
    return tuple(
        Instance(box, polygons, flags[nth] if flags else None)
        for nth, (box, polygons) in enumerate(shapes)
    )


def polygons_in(value: Sequence[float] | Sequence[Sequence[float]]) -> Polygons:
    """Return the polygons of one entry of Geometry's `polygons`."""
    rings = [value] if not value or isinstance(value[0], int | float) else value
    points: list[Ring] = [_points(ring) for ring in rings]  # type: ignore[arg-type]
    return ((points[0],),) if len(points) == 1 else from_rings(points)


def _points(ring: Sequence[float]) -> Ring:
    return tuple((float(x), float(y)) for x, y in zip(ring[0::2], ring[1::2], strict=True))


def _box(box: Sequence[float]) -> Box:
    x0, y0, x1, y1 = box
    return (float(x0), float(y0), float(x1), float(y1))


def bounds(polygons: Polygons) -> Box:
    """Return the tight box around polygons; at least one piece."""
    xs, ys = zip(*(point for piece in polygons for point in piece[0]), strict=True)
    return (min(xs), min(ys), max(xs), max(ys))


@dataclass
class ExportContext:
    """Data of a release for formats: its name, classes by key and, with parts, key → name of each
    class's parts in order.

    makes_rest: the format computes what no part covers. names: of COCO's categories, one of NAMES.
    image_base: prefix of image addresses for Label Studio. has_errors: whether the error of labels
    was measured. has_undecided: questions may have been kept without a label. images: names of all
    images, for formats that need them first.
    """

    title: str
    classes: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, str]] = field(default_factory=dict)
    makes_rest: bool = False
    names: str = "unique"
    image_base: str = ""
    has_errors: bool = False
    has_undecided: bool = False
    images: Iterable[str] = ()

    @cached_property
    def unique_classes(self) -> dict[str, str]:
        """Return the names of the classes by key, without duplicates."""
        return unique_names(self.classes)


Pages = Iterable[tuple[Photograph, list[Label]]]


def unique_names(names: Mapping[K, str], detail: Callable[[K], str] = str) -> dict[K, str]:
    """Return the names by key; shared names get a detail appended. Ignores case, as file systems
    may.

    >>> unique_names({"n1": "crane", "n2": "crane", "n3": "dog"})
    {'n1': 'crane (n1)', 'n2': 'crane (n2)', 'n3': 'dog'}
    """
    unique = {key: name or detail(key) for key, name in names.items()}
    for key in _shared(unique):
        unique[key] += f" ({detail(key)})"
    while shared := _shared(unique):
        for number, key in enumerate(shared, 1):
            unique[key] += f" {number}"
    return unique


def _shared(names: Mapping[K, str]) -> list[K]:
    count = Counter(name.casefold() for name in names.values())
    return [key for key, name in names.items() if count[name.casefold()] > 1]
