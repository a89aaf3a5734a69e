"""Objects with parts in a release: a line for each, and what a line says. Pure.

A line joins what was given with what people said: their word on a part stands over the given one,
which stays beside it. What nobody said anything of is named as unknown. The rest, which no part
covers, is not in the line: outline, parts and crop are, and background.py follows from them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from labeling.geometry.polygons import as_json, from_json
from labeling.parts.model import STATES, Merge, Part, PartedObject, merge_content, merge_of

Line = dict[str, Any]
# By category its "name" and "parts", as a campaign's settings keep them.
Categories = Mapping[str, Mapping[str, Any]]
EXPLICIT, GIVEN, UNKNOWN = "explicit", "given", "unknown"


def line(
    known: PartedObject, value: Mapping[str, Any], probability: float | None, parts: list[Line]
) -> Line:
    """The object's line: what was known of it, and people's settled answer.

    parts: of its category, in order. Parts that the category lacks come after those it has.
    """
    given = {part.key: part for part in known.parts}
    said: Mapping[str, Any] = value.get("parts", {})
    agreement: Mapping[str, Any] = value.get("agreement") or {}
    asked = [part["key"] for part in parts]
    keys = [key for key in dict.fromkeys([*asked, *given, *said]) if key in given or key in said]
    drawn = value.get("outline")
    outline = drawn if drawn is not None else _json(known.outline)
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
            _said(key, said[key], given.get(key), probability, agreement.get(key))
            if key in said
            else _given(given[key])
            for key in keys
        ],
        "unknown": [key for key in asked if key not in given and key not in said],
    }


def _json(polygons: Any) -> Any:
    return None if polygons is None else as_json(polygons)


def _said(
    key: str, said: Mapping[str, Any], given: Part | None, probability: float | None, agreement: Any
) -> Line:
    found: Line = {
        "key": key,
        "origin": EXPLICIT,
        "state": said["state"],
        "polygons": said.get("polygons", []),
        "probability": probability,
        "agreement": agreement,
    }
    return found if given is None else found | {"instead_of": _given(given)}


def _given(part: Part) -> Line:
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


def parted(line: Line, names: Mapping[str, str]) -> PartedObject:
    """The object of a line. names: of its category's parts, by key. Without the rest."""
    outline, crop = line["outline"], line["crop"]
    return PartedObject(
        image=line["image"],
        category=line["category"],
        box=tuple(line["box"]),
        parts=tuple(_part(row, names.get(row["key"], "")) for row in line["parts"]),
        outline=None if outline is None else from_json(outline),
        crop=None if crop is None else tuple(crop),
        name=line["object"],
        source=line["source"],
    )


def _part(row: Line, name: str) -> Part:
    merges: tuple[Merge, ...] = tuple(merge_of(merge) for merge in row.get("merges", ()))
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

    def add(self, line: Line) -> None:
        category = line["category"]
        self.objects[category] += 1
        for row in line["parts"]:
            for word in (row["state"], row["origin"]):
                self.states[category, row["key"], word] += 1
        for key in line["unknown"]:
            self.states[category, key, UNKNOWN] += 1

    def content(self) -> Line:
        """{category: {"objects": n, "parts": {part: {state: n, origin: n}}}}, every state named."""
        return {
            category: {
                "objects": self.objects[category],
                "parts": {key: dict(self._row(category, key)) for key in self._keys(category)},
            }
            for category in sorted(self.objects)
        }

    def _keys(self, category: str) -> list[str]:
        asked = [part["key"] for part in self.categories.get(category, {}).get("parts", [])]
        found = sorted(key for where, key, _ in self.states if where == category)
        return list(dict.fromkeys([*asked, *found]))

    def _row(self, category: str, key: str) -> Iterator[tuple[str, int]]:
        for word in (*STATES, UNKNOWN, EXPLICIT, GIVEN):
            yield word, self.states[category, key, word]
