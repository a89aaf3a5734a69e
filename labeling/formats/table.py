"""CSV: a row for every label, or for each of its instances; a row for every object with parts.

The column of the class is `class`, `wnid`, `topic` or `category`.
"""

import csv
import math
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from labeling.csv_rows import plain_cell, rows, safe_cell
from labeling.files import atomic_write
from labeling.formats.label import FLAGS, ExportContext, Instance, Label, Pages
from labeling.formats.reading import LabelReading
from labeling.parts.model import Box, PartedObject, Photograph

EDGES = ("x0", "y0", "x1", "y1")
CLASS = ("class", "wnid", "topic", "category")
# Support of a probability: the number of people, and the 95 % interval of the share.
SUPPORT = ("votes", "low", "high")
COLUMNS = ("image", "class", "value", "origin", "probability", *EDGES, "source", *SUPPORT, "flags")
# The most probable answer if people did not agree. It is the last column if the campaign
# keeps such questions.
LIKELY = "likely"
# Columns that are read. name: the name of an object.
READ_COLUMNS = (
    *CLASS,
    *(name for name in COLUMNS if name not in {"image", "class"}),
    "error",
    "name",
    LIKELY,
)
# The box of an object without a box: the whole image, whose size is unknown here.
WHOLE: Box = (0.0, 0.0, math.inf, math.inf)


def write(pages: Pages, folder: Path, release_info: ExportContext) -> None:
    """Write labels.csv into the folder."""
    with atomic_write(folder / "labels.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        likely = (LIKELY,) if release_info.has_undecided else ()
        errors = ("error",) if release_info.has_errors else ()
        writer.writerow((*COLUMNS, *errors, *likely))
        for photo, labels in pages:
            for label in labels:
                error = [""] if label.error is None else [repr(label.error)]
                error = error if release_info.has_errors else []
                for instance in label.instances or (None,):
                    writer.writerow(
                        [
                            safe_cell(photo.name),
                            safe_cell(label.key),
                            label.value,
                            label.origin,
                            "" if label.probability is None else repr(label.probability),
                            *(f"{edge:g}" if instance else "" for edge in _box(instance)),
                            safe_cell(label.source),
                            "" if label.votes is None else label.votes,
                            *(map(repr, label.interval) if label.interval else ("", "")),
                            " ".join(instance.flags or ()) if instance else "",
                            *error,
                            *(safe_cell(label.likely) for _ in likely),
                        ]
                    )


def _box(instance: Instance | None) -> Box:
    return instance.box if instance else WHOLE


def read(reading: LabelReading) -> Pages:
    """Yield the images of a CSV file with their labels. Raises BadInput with the line."""
    for image, group in groupby(_rows(reading), key=lambda row: row.label.image):
        yield Photograph(image, 0, 0), [row.label for row in group]


def read_objects(reading: LabelReading) -> Iterator[PartedObject]:
    """Yield the objects of a CSV file, without parts; those without a box have WHOLE.

    Raises BadInput with the line.
    """
    for row in _rows(reading):
        label = row.label
        if label.value != "yes":
            reading.skip("row", f"its value is {label.value}", label.entry)
            continue
        yield PartedObject(
            image=label.image,
            category=label.key,
            box=label.instances[0].box if label.instances else WHOLE,
            name=row.name,
            source=label.source,
            entry=label.entry,
        )


class _TableRow(NamedTuple):
    label: Label
    name: str


def _rows(reading: LabelReading) -> Iterator[_TableRow]:
    for line, cells in rows(Path(reading.file), ("image", *READ_COLUMNS), optional=READ_COLUMNS):
        row = None
        with reading.collecting_faults():
            row = _row(dict(zip(("image", *READ_COLUMNS), cells, strict=True)), reading.at(line))
        if row is not None:
            yield row


def _row(cells: dict[str, str], reading: LabelReading) -> _TableRow:
    classes = {cells[name] for name in CLASS if cells[name]}
    if len(classes) != 1:
        fault = "has no class" if not classes else f"has {len(classes)} classes"
        raise reading.bad(fault, f"write it in one of the columns {', '.join(CLASS)}")
    label = Label(
        image=reading.image(plain_cell(cells["image"]), "the image"),
        key=reading.name(plain_cell(classes.pop()), "the class"),
        value=cells["value"] or "yes",
        origin=cells["origin"] or "given",
        probability=_float(cells["probability"], reading),
        instances=_instances(cells, reading),
        source=plain_cell(cells["source"]),
        entry=f"Line {reading.line}",
    )
    name = reading.text(cells["name"].strip(), "the object's name", empty=True, most=80)
    return _TableRow(reading.checked(label), name)


def _instances(cells: dict[str, str], reading: LabelReading) -> tuple[Instance, ...]:
    edges = [_float(cells[edge], reading) for edge in EDGES]
    sides = [edge for edge in edges if edge is not None]
    if not sides:
        return ()
    if len(sides) < 4:
        raise reading.bad("has part of a box", "give x0,y0,x1,y1 or none of them")
    x0, y0, x1, y1 = sides
    last = float(reading.inclusive)
    box = reading.box((x0, y0, x1 + last, y1 + last), "the row")
    flags = tuple(cells["flags"].split())
    if not set(flags) <= set(FLAGS):
        raise reading.bad(f"has the flags {cells['flags']!r}", f"use {' '.join(FLAGS)}")
    assert reading.line is not None, "rows have lines"
    instance = reading.instance(box, (), flags or None, None, "the row", reading.line)
    return (instance,) if instance else ()


def _float(cell: str, reading: LabelReading) -> float | None:
    try:
        return float(cell) if cell.strip() else None
    except ValueError:
        raise reading.bad(f"has {cell!r} where a number belongs", "write a number") from None
