"""CSV: a row for every object whose parts people shall draw, with its box or for a whole image."""

import csv
import math
from collections.abc import Iterator, Sequence

from labeling.files import BadInput, StrPath
from labeling.formats.reading import OnFault, Reading
from labeling.parts.model import Box, PartedObject

COLUMNS = ("image", "category", "name", "x0", "y0", "x1", "y1", "source")
NEEDED = ("image", "category")
EDGES = ("x0", "y0", "x1", "y1")
# The box of an object that is its whole image, whose size the list need not say.
WHOLE: Box = (0.0, 0.0, math.inf, math.inf)
LONGEST_CELL = 100_000


def read(path: StrPath, *, on_fault: OnFault | None = None) -> Iterator[PartedObject]:
    """The objects of a CSV file, without parts; those without a box have WHOLE.

    Raises BadInput naming the line. With on_fault, faults of a single line are told to it and the
    other lines are read.
    """
    csv.field_size_limit(LONGEST_CELL)
    reading = Reading(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            _check_head(rows.fieldnames or [], path)
            for row in rows:
                try:
                    yield _object(row, rows.line_num, reading)
                except BadInput as bad:
                    fault = BadInput(bad.message, path, rows.line_num, bad.cure)
                    if on_fault is None:
                        raise fault from None
                    on_fault(fault)
    except csv.Error as error:
        cure = "write image,category and a row for each object"
        raise BadInput(f"is not CSV ({error})", file=path, cure=cure) from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8", file=path, cure="save it as UTF-8") from None


def _check_head(head: Sequence[str], path: StrPath) -> None:
    missing = [name for name in NEEDED if name not in head]
    unknown = [name for name in head if name not in COLUMNS]
    if missing or unknown or len(set(head)) < len(head):
        said = "names a column twice"
        if missing or unknown:
            said = f"lacks the column {missing[0]}" if missing else f"has the column {unknown[0]!r}"
        cure = f"use {','.join(COLUMNS)}; image and category do"
        raise BadInput(said, file=path, line=1, cure=cure)


def _object(row: dict[str, str], line: int, reading: Reading) -> PartedObject:
    if None in row or None in row.values():
        raise reading.bad(
            "has another number of cells than the first line", "quote cells that hold commas"
        )
    cells = {name: cell.strip() for name, cell in row.items()}
    edges = [cells.get(edge, "") for edge in EDGES]
    box = WHOLE
    if any(edges):
        if not all(edges):
            raise reading.bad("has part of a box", "give x0,y0,x1,y1 or none of them")
        box = reading.box([_number(edge, reading) for edge in edges], "the object")
    return PartedObject(
        image=reading.image(cells["image"], "the image"),
        category=reading.text(cells["category"], "the category", most=200),
        box=box,
        name=reading.text(cells.get("name", ""), "the object's name", empty=True, most=80),
        source=reading.text(cells.get("source", ""), "the source", empty=True, most=200),
        place=f"Line {line}",
    )


def _number(cell: str, reading: Reading) -> float:
    try:
        return float(cell)
    except ValueError:
        raise reading.bad(f"has {cell!r} where a number belongs", "write a number") from None
