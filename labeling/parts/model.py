"""Types for an object and its parts, which the part formats read and write."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import IO, NotRequired, TypedDict

from labeling.geometry.polygons import PolygonLists, Polygons, as_json, from_json

# States of a part.
STATES = ("drawn", "not_visible", "occluded")
# Origin of a part: stated by people, imported, or computed (the two rests below).
ORIGINS = ("explicit", "given", "made")
# Keys of computed parts: the areas of the object, and of the background in its crop, that no other
# part covers.
REST_OBJECT = "unlabeled-rest-object"
REST_BACKGROUND = "unlabeled-rest-background"
# Key of the object's outline, which labels and answers store like a part.
OUTLINE = "object"
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Merge:
    """One instance of a part, such as the left leg, merged from pieces by an alpha shape.

    pieces: before merging. radius: of the alpha shape in pixels; None for a single piece, and for
    pieces too far apart to merge, of which the union is taken. cap: upper limit of the radius; None
    for no limit. holes: whether holes were kept. instance: tells the instances of a part apart; ""
    if there is only one. names: of the pieces in the file. apart: whether the result has several
    contours. chosen: whether a person chose the radius and the method. method: one of
    alpha_shapes.METHODS.
    """

    pieces: tuple[Polygons, ...]
    radius: float | None = None
    cap: float | None = None
    holes: bool = True
    instance: str = ""
    names: tuple[str, ...] = ()
    apart: bool = False
    chosen: bool = False
    method: str = "radius"


@dataclass(frozen=True)
class Part:
    """A part of an object.

    key: its key in the vocabulary, or its name in a foreign file. polygons: in pixels of the whole
    image; empty unless the state is "drawn". state: one of STATES. origin: one of ORIGINS. name:
    for people. merges: its instances with their pieces. radius, pieces, apart: the largest radius
    in pixels, all pieces, and whether any pieces were too far apart to merge. names: of the part in
    a foreign file.
    """

    key: str
    polygons: Polygons = ()
    state: str = "drawn"
    origin: str = "given"
    name: str = ""
    radius: float | None = None
    pieces: tuple[Polygons, ...] = ()
    apart: bool = False
    merges: tuple[Merge, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class PartedObject:
    """An object of an image, with its parts in the order of the file.

    image: name of the image. name: of the object within its image ("cat-2"), "" if missing.
    category: a wnid, or the file's name for it. box: x0, y0, x1, y1 in pixels of the image, x1 and
    y1 exclusive, tight around the object; crop: the same with context. outline: the object's own
    mask, None if unknown. source: origin of an imported outline. entry: position of the object in
    the file, for messages only. size: width and height of the image according to the file, or None.
    is_boxed: False if the file has no box for the object; then `box` is the whole image.
    """

    image: str
    category: str
    box: Box
    parts: tuple[Part, ...] = ()
    outline: Polygons | None = None
    crop: Box | None = None
    name: str = ""
    source: str = ""
    entry: str = field(default="", compare=False)
    size: tuple[int, int] | None = field(default=None, compare=False)
    is_boxed: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class Photograph:
    """An image that has objects. open: opens its file; None if the pixels are not available."""

    name: str
    width: int
    height: int
    sha256: str = ""
    licence: str = ""
    source: str = ""
    open: Callable[[], IO[bytes]] | None = field(default=None, compare=False, repr=False)


Scenes = Iterable[tuple[Photograph, list[PartedObject]]]


class MergeContent(TypedDict):
    """A Merge as JSON. Older labels lack the keys that were added later."""

    pieces: list[PolygonLists]
    radius: NotRequired[float | None]
    cap: NotRequired[float | None]
    holes: NotRequired[bool]
    instance: NotRequired[str]
    names: NotRequired[list[str]]
    apart: NotRequired[bool]
    chosen: NotRequired[bool]
    method: NotRequired[str]


def merge_content(merge: Merge) -> MergeContent:
    """Return the merge as JSON, which merge_of reads."""
    content: MergeContent = {
        "pieces": [as_json(piece) for piece in merge.pieces],
        "radius": merge.radius,
        "cap": merge.cap,
        "holes": merge.holes,
        "instance": merge.instance,
        "names": list(merge.names),
        "apart": merge.apart,
        "chosen": merge.chosen,
    }
    # Omit the default, so that the JSON of labels from before `method` does not change.
    return content if merge.method == "radius" else content | {"method": merge.method}


def merge_of(content: MergeContent) -> Merge:
    """Return the merge for JSON that merge_content wrote.

    Raises KeyError, TypeError or ValueError for other JSON.
    """
    return Merge(
        pieces=tuple(from_json(piece) for piece in content["pieces"]),
        radius=content.get("radius"),
        cap=content.get("cap"),
        holes=content.get("holes", True),
        instance=content.get("instance", ""),
        names=tuple(content.get("names", ())),
        apart=content.get("apart", False),
        chosen=content.get("chosen", False),
        method=content.get("method", "radius"),
    )


def photo_details(photo: Photograph) -> dict[str, object]:
    """Return the fields of an image that every format stores, except its name, as JSON."""
    return {
        "width": photo.width,
        "height": photo.height,
        "license_name": photo.licence,
        "sha256": photo.sha256,
        "source": photo.source,
    }


def object_details(parted: PartedObject) -> dict[str, object]:
    """Return an object's fields without polygons, as JSON."""
    return {"name": parted.name, "box": parted.box, "crop": parted.crop, "source": parted.source}


def part_details(part: Part) -> dict[str, object]:
    """Return a part's fields without its own polygons, as JSON without default values."""
    row: dict[str, object] = {"part": part.key, "state": part.state, "origin": part.origin}
    if part.name:
        row["name"] = part.name
    if part.names:
        row["names"] = part.names
    if part.merges:
        row["merges"] = [merge_content(merge) for merge in part.merges]
    # Omit fields that a reader computes from the merges.
    for key, value in merge_fields(part.merges).items():
        if (part_value := getattr(part, key)) != value:
            row[key] = part_value
    return row


class MergeFields(TypedDict):
    merges: tuple[Merge, ...]
    radius: float | None
    pieces: tuple[Polygons, ...]
    apart: bool


def merge_fields(merges: Iterable[Merge]) -> MergeFields:
    """Return the fields of Part that follow from its merges."""
    merges = tuple(merges)
    return {
        "merges": merges,
        "radius": max((merge.radius for merge in merges if merge.radius is not None), default=None),
        "pieces": tuple(piece for merge in merges for piece in merge.pieces),
        "apart": any(merge.apart for merge in merges),
    }
