"""CSV: a row for every label; a label with several boxes has a row for each of them."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from labeling.csv_rows import plain_cell, safe_cell
from labeling.files import BadInput, StrPath, atomic_write
from labeling.formats.label import About, Box, Label, Pages, check

COLUMNS = ("image", "class", "value", "origin", "probability", "x0", "y0", "x1", "y1", "source")
# Of a probability: the people it stands on, and the 95 % interval of the share that it is.
SUPPORT = ("votes", "low", "high")
NEEDED = ("image", "class")
EDGES = ("x0", "y0", "x1", "y1")
LONGEST_CELL = 100_000


def write(pages: Pages, folder: Path, about: About) -> None:
    """labels.csv in the folder."""
    with atomic_write(folder / "labels.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS + SUPPORT)
        for photo, labels in pages:
            for label in labels:
                for box in label.boxes or (("",) * 4,):
                    writer.writerow(
                        [
                            safe_cell(photo.name),
                            safe_cell(label.key),
                            label.value,
                            label.origin,
                            "" if label.probability is None else repr(label.probability),
                            *(_number(edge) for edge in box),
                            safe_cell(label.source),
                            "" if label.votes is None else label.votes,
                            *(map(repr, label.interval) if label.interval else ("", "")),
                        ]
                    )


def read(path: StrPath) -> Iterator[Label]:
    """The labels of a CSV file. Raises BadInput naming the line."""
    # By how they read: a probability of NaN is no other NaN.
    for _, rows in groupby(_rows(path), key=lambda row: repr(row.label)):
        first, *others = list(rows)
        boxes = tuple(row.box for row in (first, *others) if row.box is not None)
        yield check(replace(first.label, boxes=boxes), path, first.line)


class Row(NamedTuple):
    line: int
    label: Label
    box: Box | None


def _rows(path: StrPath) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_CELL)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            _check_head(reader.fieldnames or [], path)
            for row in reader:
                yield _row(row, path, reader.line_num)
    except csv.Error as error:
        raise BadInput(f"is not CSV ({error})", file=path, cure="write image,class,value") from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8", file=path, cure="save it as UTF-8") from None


def _check_head(head: Sequence[str], path: StrPath) -> None:
    missing = [name for name in NEEDED if name not in head]
    unknown = [name for name in head if name not in COLUMNS + SUPPORT]
    if missing or unknown:
        said = f"lacks the column {missing[0]}" if missing else f"has the column {unknown[0]!r}"
        raise BadInput(said, file=path, line=1, cure=f"use {','.join(COLUMNS)}; image and class do")


def _row(row: dict[str, str], path: StrPath, line: int) -> Row:
    if None in row or None in row.values():
        raise BadInput(
            "has another number of cells than the first line",
            file=path,
            line=line,
            cure="quote cells that hold commas",
        )
    label = Label(
        image=plain_cell(row["image"]),
        key=plain_cell(row["class"]),
        value=row.get("value") or "yes",
        origin=row.get("origin") or "given",
        probability=_float(row.get("probability", ""), path, line),
        source=plain_cell(row.get("source", "")),
    )
    edges = [_float(row.get(edge, ""), path, line) for edge in EDGES]
    there = [edge for edge in edges if edge is not None]
    if there and len(there) < 4:
        raise BadInput("has part of a box", file=path, line=line, cure="give x0,y0,x1,y1 or none")
    box = (there[0], there[1], there[2], there[3]) if there else None
    return Row(line, label, box)


def _float(cell: str, path: StrPath, line: int) -> float | None:
    if not cell:
        return None
    try:
        return float(cell)
    except ValueError:
        raise BadInput(
            f"has {cell!r} where a number belongs", file=path, line=line, cure="write a number"
        ) from None


def _number(edge: float | str) -> str:
    return edge if isinstance(edge, str) else f"{edge:g}"
