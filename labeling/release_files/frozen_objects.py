"""Objects with parts in a release: a line for each, and what a line says. Pure.

A line joins what was given with what people said: their word on a part stands over the given one,
which stays beside it. What nobody said anything of is named as unknown. The rest, which no part
covers, is not in the line: outline, parts and crop are, and background.py follows from them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from labeling.geometry.polygons import PolygonLists, as_json, from_json
from labeling.parts.joining import PartAgreement, PartAnswer
from labeling.parts.model import (
    STATES,
    Box,
    MergeContent,
    Part,
    PartedObject,
    merge_content,
    merge_of,
)

# By category its "name" and "parts", as a campaign's settings keep them.
Categories = Mapping[str, Mapping[str, Any]]
EXPLICIT, GIVEN, UNKNOWN = "explicit", "given", "unknown"


class PartLine(TypedDict):
    """A part of an object. probability, agreement, instead_of (what was given): where people said
    it; the other optional keys where it was given."""

    key: str
    origin: str
    state: str
    polygons: PolygonLists
    probability: NotRequired[float | None]
    agreement: NotRequired[PartAgreement | None]
    instead_of: NotRequired["PartLine"]
    names: NotRequired[list[str]]
    radius: NotRequired[float | None]
    apart: NotRequired[bool]
    merges: NotRequired[list[MergeContent]]


class ObjectLine(TypedDict):
    """Of objects.jsonl. half, outline_origin: what people answered; where the outline came from.
    unknown: parts that nobody said anything of. settled_by, reviewed: see releases/parts.py."""

    image: str
    object: str
    category: str
    box: list[float]
    crop: list[float] | None
    source: str
    half: bool | None
    outline: PolygonLists | None
    outline_origin: str | None
    parts: list[PartLine]
    unknown: list[str]
    settled_by: NotRequired[dict[str, int]]
    reviewed: NotRequired[bool]


def line(
    known: PartedObject,
    value: Mapping[str, Any],
    probability: float | None,
    parts: Sequence[Mapping[str, Any]],
) -> ObjectLine:
    """The object's line: what was known of it, and people's settled answer.

    parts: of its category, in order. Parts that the category lacks come after those it has.
    """
    given = {part.key: part for part in known.parts}
    said: Mapping[str, PartAnswer] = value.get("parts", {})
    agreement: Mapping[str, PartAgreement] = value.get("agreement") or {}
    asked = [part["key"] for part in parts]
    keys = [key for key in dict.fromkeys([*asked, *given, *said]) if key in given or key in said]
    drawn = value.get("outline")
    given_outline = None if known.outline is None else as_json(known.outline)
    outline = given_outline if drawn is None else drawn
    return {
        "image": known.image,
        "object": known.name,
        "category": known.category,
        "box": list(known.box),
        "crop": None if known.crop is None else list(known.crop),
        "source": known.source,
        "half": value.get("half"),
        "outline": outline,
        "outline_origin": None if outline is None else GIVEN if drawn is None else EXPLICIT,
        "parts": [
            _explicit(key, said[key], given.get(key), probability, agreement.get(key))
            if key in said
            else _given(given[key])
            for key in keys
        ],
        "unknown": [key for key in asked if key not in given and key not in said],
    }


def _explicit(
    key: str,
    answer: PartAnswer,
    given: Part | None,
    probability: float | None,
    agreement: PartAgreement | None,
) -> PartLine:
    found: PartLine = {
        "key": key,
        "origin": EXPLICIT,
        "state": answer["state"],
        "polygons": answer.get("polygons", []),
        "probability": probability,
        "agreement": agreement,
    }
    return found if given is None else {**found, "instead_of": _given(given)}


def _given(part: Part) -> PartLine:
    return {
        "key": part.key,
        "origin": GIVEN,
        "state": part.state,
        "polygons": as_json(part.polygons),
        "names": list(part.names),
        "radius": part.radius,
        "apart": part.apart,
        "merges": [merge_content(merge) for merge in part.merges],
    }


def parted(line: ObjectLine, names: Mapping[str, str]) -> PartedObject:
    """The object of a line. names: of its category's parts, by key. Without the rest."""
    outline, crop = line["outline"], line["crop"]
    return PartedObject(
        image=line["image"],
        category=line["category"],
        box=_box(line["box"]),
        parts=tuple(_part(row, names.get(row["key"], "")) for row in line["parts"]),
        outline=None if outline is None else from_json(outline),
        crop=None if crop is None else _box(crop),
        name=line["object"],
        source=line["source"],
    )


def _box(edges: Sequence[float]) -> Box:
    x0, y0, x1, y1 = edges
    return x0, y0, x1, y1


def _part(row: PartLine, name: str) -> Part:
    merges = tuple(merge_of(merge) for merge in row.get("merges", ()))
    return Part(
        key=row["key"],
        polygons=from_json(row["polygons"]),
        state=row["state"],
        origin=row["origin"],
        name=name,
        radius=row.get("radius"),
        pieces=tuple(piece for merge in merges for piece in merge.pieces),
        apart=row.get("apart", False),
        merges=merges,
        names=tuple(row.get("names", ())),
    )


class Tally:
    """How many parts are in which state, by category and part, of the lines that pass by."""

    def __init__(self, categories: Categories) -> None:
        self.categories = categories
        self.objects: Counter[str] = Counter()
        self.states: Counter[tuple[str, str, str]] = Counter()

    def add(self, line: ObjectLine) -> None:
        category = line["category"]
        self.objects[category] += 1
        for row in line["parts"]:
            for word in (row["state"], row["origin"]):
                self.states[category, row["key"], word] += 1
        for key in line["unknown"]:
            self.states[category, key, UNKNOWN] += 1

    def counted(self) -> list[Any]:
        """What was counted, as JSON keeps it and `join` takes it."""
        return [dict(self.objects), [[*place, count] for place, count in self.states.items()]]

    def join(self, counted: Sequence[Any]) -> None:
        """Adds what another tally counted."""
        objects, states = counted
        self.objects.update(objects)
        for category, key, word, count in states:
            self.states[category, key, word] += count

    def content(self) -> dict[str, "CategoryTally"]:
        """By category how many objects, and how many of each part's are in each state and from
        where, every state named."""
        words = (*STATES, UNKNOWN, EXPLICIT, GIVEN)
        return {
            category: {
                "objects": self.objects[category],
                "parts": {
                    key: {word: self.states[category, key, word] for word in words}
                    for key in self._keys(category)
                },
            }
            for category in sorted(self.objects)
        }

    def _keys(self, category: str) -> list[str]:
        asked = [part["key"] for part in self.categories.get(category, {}).get("parts", [])]
        found = sorted(key for where, key, _ in self.states if where == category)
        return list(dict.fromkeys([*asked, *found]))


class CategoryTally(TypedDict):
    objects: int
    parts: dict[str, dict[str, int]]
