"""JSON Lines: an object for every label with all its data."""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from labeling.files import BadInput, atomic_write
from labeling.formats.label import (
    FLAGS,
    ExportContext,
    Instance,
    Label,
    Pages,
    Polygons,
    geometry_of,
    polygons_in,
)
from labeling.formats.reading import LabelReading, is_number
from labeling.geometry.polygons import as_json
from labeling.parts.model import Photograph

KEYS = {"image", "class", "name", "value", "origin", "probability", "geometry", "source"} | {
    "votes",
    "interval",
    "error",
    "is_covered",
    "decided",
    "likely",
    "flags",
}
GEOMETRY = 'geometry is {"boxes": [[x0, y0, x1, y1], …], "polygons": [[x, y, x, y, …], …]} or null'


def write(pages: Pages, folder: Path, release_info: ExportContext) -> None:
    """Write labels.jsonl into the folder."""
    with atomic_write(folder / "labels.jsonl") as file:
        for photo, labels in pages:
            for label in labels:
                geometry = geometry_of(label.instances)
                flags = geometry.pop("flags", None) if geometry else None
                row = {
                    "image": photo.name,
                    "class": label.key,
                    "name": release_info.classes.get(label.key, label.name),
                    **label.statement,
                    "geometry": geometry,
                    "source": label.source,
                    **({"flags": flags} if flags else {}),
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read(reading: LabelReading) -> Pages:
    """Yield the images of a JSON Lines file with their labels. Raises BadInput with the line."""
    for image, labels in groupby(_labels(reading), key=lambda label: label.image):
        yield Photograph(image, 0, 0), list(labels)


def _labels(reading: LabelReading) -> Iterator[Label]:
    try:
        with open(reading.file, encoding="utf-8-sig") as file:
            for line, text in enumerate(file, 1):
                if text.strip():
                    yield _label(text, reading.at(line))
    except UnicodeDecodeError:
        raise reading.bad("is not UTF-8", "save it as UTF-8") from None


def _label(text: str, reading: LabelReading) -> Label:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not {"image", "class"} <= set(row) <= KEYS:
        raise reading.bad(
            "is not a label",
            'write {"image": "…", "class": "…", "value": "yes"} and no other keys than '
            + ", ".join(sorted(KEYS)),
        )
    probability = row.get("probability")
    if probability is not None and not is_number(probability):
        raise reading.bad(f"has the probability {str(probability)[:80]!r}", "write a number")
    return reading.checked(
        Label(
            image=reading.image(row["image"], "the image"),
            key=reading.name(row["class"], "the class"),
            value=row.get("value", "yes"),
            origin=row.get("origin", "given"),
            probability=probability,
            instances=_instances(row, reading),
            name=reading.text(row.get("name") or "", "the name", empty=True, most=400),
            source=reading.text(row.get("source") or "", "the source", empty=True, most=500),
            entry=f"Line {reading.line}",
        )
    )


def _instances(row: Mapping[str, object], reading: LabelReading) -> tuple[Instance, ...]:
    geometry = row.get("geometry") or {}
    if not isinstance(geometry, dict) or not set(geometry) <= {"boxes", "polygons", "flags"}:
        raise _bad_value(reading)
    boxes, outlines = (_list(geometry.get(key), reading) for key in ("boxes", "polygons"))
    flags = _list(row.get("flags") or geometry.get("flags"), reading)
    if flags and len(flags) != len(boxes) + len(outlines):
        raise reading.bad("has other flags than instances", "write a list of flags for each")
    shapes: list[tuple[Any, Polygons]] = [(reading.box(box, "the row"), ()) for box in boxes]
    shapes += [(None, _polygons(outline, reading)) for outline in outlines]
    instances = []
    for nth, (box, polygons) in enumerate(shapes):
        stated = _flags(flags[nth], reading) if flags else None
        assert reading.line is not None, "rows have lines"
        instances.append(reading.instance(box, polygons, stated, None, "the row", reading.line))
    return tuple(instance for instance in instances if instance)


def _polygons(outline: Any, reading: LabelReading) -> Polygons:
    try:
        value = as_json(polygons_in(outline))
    except (TypeError, ValueError, KeyError):
        raise reading.bad(
            "has a polygon that is not a ring of three or more x, y pairs", GEOMETRY
        ) from None
    return reading.polygons(value, None, "The polygon")


def _flags(value: Any, reading: LabelReading) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(flag in FLAGS for flag in value):
        raise reading.bad(f"has the flags {str(value)[:80]}", f"use {', '.join(FLAGS)}")
    return tuple(value)


def _list(value: Any, reading: LabelReading) -> list[Any]:
    if not isinstance(value, list | None):
        raise _bad_value(reading)
    return value or []


def _bad_value(reading: LabelReading) -> BadInput:
    return reading.bad("has a geometry of another form", GEOMETRY)
