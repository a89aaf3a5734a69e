"""An object with its parts, as the part formats read and write it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import IO, NotRequired, TypedDict

from labeling.geometry.polygons import PolygonLists, Polygons, as_json, from_json

# States of a part.
STATES = ("drawn", "not_visible", "occluded")
# Origin of a part: people, an import, or computed (unlabeled-rest).
ORIGINS = ("explicit", "given", "made")
# The area that no part covers, of the object and of the background in its crop.
REST_OBJECT = "unlabeled-rest-object"
REST_BACKGROUND = "unlabeled-rest-background"
# Key of the object's outline among the parts in labels and answers.
OUTLINE = "object"
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Merge:
    """An instance of a part (the left leg) merged from pieces by alpha shape.

    pieces: as given. radius: of the alpha shape in pixels; None for one piece, and for pieces too
    far apart, which are only united. cap: upper limit of the radius, None without one. holes:
    whether they were kept. instance: distinguishes it from others of its part, "" if there is one.
    names: what the file calls the pieces. apart: the result has several contours. chosen: a person
    chose the radius. method: one of alpha_shapes.METHODS; other than the first only if a person
    chose.
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
    """A named part. polygons: in pixels of the whole image, empty unless it is drawn.

    key: of the vocabulary, or the name in a foreign file. name: for people. radius, pieces: for
    merged parts, the largest radius (pixels) and all pieces. apart: some were too far apart to
    merge. merges: the same by instance. names: what a foreign file calls it.
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

    image: its name. name: of the object within its image ("cat-2"), "" if missing. category: a
    wnid, or the file's name for it. box: x0, y0, x1, y1 in pixels of the image, x1 and y1
    exclusive, tight around the object; crop: the same with context. outline: the object's own mask,
    None if unknown. source: origin of a given outline. entry: where a reader found it, for messages
    only. size: width and height of the image in the file, or None. is_boxed: False if the row had
    no box and the image's box is used.
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
    """The image of objects. open: returns its file, if the pixels are available."""

    name: str
    width: int
    height: int
    sha256: str = ""
    licence: str = ""
    source: str = ""
    open: Callable[[], IO[bytes]] | None = field(default=None, compare=False, repr=False)


Scenes = Iterable[tuple[Photograph, list[PartedObject]]]


class MergeContent(TypedDict):
    """A Merge in JSON. Older ones lack newer keys."""

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
    """Return the merge as JSON; merge_of reads it back."""
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
    # Left out at its default, so that older labels stay equal.
    return content if merge.method == "radius" else content | {"method": merge.method}


def merge_of(content: MergeContent) -> Merge:
    """Return the merge from merge_content's JSON.

    Raises KeyError, TypeError or ValueError for anything else.
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
    """Return what every format stores of an image besides its name, as JSON."""
    return {
        "width": photo.width,
        "height": photo.height,
        "license_name": photo.licence,
        "sha256": photo.sha256,
        "source": photo.source,
    }


def object_details(parted: PartedObject) -> dict[str, object]:
    """Return an object's fields other than polygons, as JSON."""
    return {"name": parted.name, "box": parted.box, "crop": parted.crop, "source": parted.source}


def part_details(part: Part) -> dict[str, object]:
    """Return a part's fields other than polygons, as JSON without default values."""
    row: dict[str, object] = {"part": part.key, "state": part.state, "origin": part.origin}
    if part.name:
        row["name"] = part.name
    if part.names:
        row["names"] = part.names
    if part.merges:
        row["merges"] = [merge_content(merge) for merge in part.merges]
    # Leave out what the merges say already.
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
    """Return a part's fields from its merges: the largest radius, all pieces, apart."""
    merges = tuple(merges)
    return {
        "merges": merges,
        "radius": max((merge.radius for merge in merges if merge.radius is not None), default=None),
        "pieces": tuple(piece for merge in merges for piece in merge.pieces),
        "apart": any(merge.apart for merge in merges),
    }
