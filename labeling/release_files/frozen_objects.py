"""Objects with parts in a release: writing and reading their lines. Pure.

A line joins given labels and answers. An answer on a part takes precedence over the given one,
which is kept beside it. Parts without either are unknown. The rest, which no part covers, is not
in the line; background.py derives it from outline, parts and crop.
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
    """A part of an object.

    probability, agreement, instead_of (the given label): where people answered. The other optional
    keys: where it was given.
    """

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
    """A line of objects.jsonl.

    half: whether at least half of the missing parts could be drawn; None if nobody was asked.
    outline_origin: EXPLICIT or GIVEN. unknown: parts without a label. settled_by, reviewed: see
    releases/parts.py.
    """

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
    """Return the object's line from the known labels and the settled answer.

    parts: of its category, in order. Parts that the category lacks come last.
    """
    known_parts = {part.key: part for part in known.parts}
    answers: Mapping[str, PartAnswer] = value.get("parts", {})
    agreement: Mapping[str, PartAgreement] = value.get("agreement") or {}
    part_keys = [part["key"] for part in parts]
    keys = [
        key
        for key in dict.fromkeys([*part_keys, *known_parts, *answers])
        if key in known_parts or key in answers
    ]
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
            _explicit(key, answers[key], known_parts.get(key), probability, agreement.get(key))
            if key in answers
            else _given(known_parts[key])
            for key in keys
        ],
        "unknown": [key for key in part_keys if key not in known_parts and key not in answers],
    }


def _explicit(
    key: str,
    answer: PartAnswer,
    known: Part | None,
    probability: float | None,
    agreement: PartAgreement | None,
) -> PartLine:
    part_line: PartLine = {
        "key": key,
        "origin": EXPLICIT,
        "state": answer["state"],
        "polygons": answer.get("polygons", []),
        "probability": probability,
        "agreement": agreement,
    }
    return part_line if known is None else {**part_line, "instead_of": _given(known)}


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


def to_parted_object(line: ObjectLine, names: Mapping[str, str]) -> PartedObject:
    """Return the object of a line, without the rest. names: of its category's parts, by key."""
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


class PartTally:
    """Counts parts by category, part and state."""

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

    def to_json(self) -> list[Any]:
        """Return the counts as JSON, which `join` reads."""
        return [dict(self.objects), [[*keys, count] for keys, count in self.states.items()]]

    def join(self, counted: Sequence[Any]) -> None:
        """Add the counts of another tally."""
        objects, states = counted
        self.objects.update(objects)
        for category, key, word, count in states:
            self.states[category, key, word] += count

    def content(self) -> dict[str, "CategoryTally"]:
        """Return, by category, the number of objects and of each part's states and origins."""
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
        part_keys = [part["key"] for part in self.categories.get(category, {}).get("parts", [])]
        further_keys = sorted(key for where, key, _ in self.states if where == category)
        return list(dict.fromkeys([*part_keys, *further_keys]))


class CategoryTally(TypedDict):
    objects: int
    parts: dict[str, dict[str, int]]
