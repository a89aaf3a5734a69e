"""Reads and checks CSV files line by line; escapes cells that spreadsheets would run. Pure."""

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from labeling.files import BadInput

# Longer lines are not rows; reading them whole would let a wrong file fill the memory.
MAX_LINE_LENGTH = 1 << 20
# A spreadsheet would run a cell that begins with one of these. It gets a leading quote, which is
# removed when the file is read.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
nfc = partial(unicodedata.normalize, "NFC")
QUOTED = tuple(f"'{first}" for first in (*FORMULA_STARTS, "'"))


def rows(
    path: Path,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    others: bool = False,
    as_nfc: bool = True,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of every row, in the order of `columns`.

    Blank lines are skipped. Missing optional columns give "". `topic` and `wnid` are synonyms.
    others: unknown columns are ignored, not refused. as_nfc: normalize cells to NFC; not for file
    names. A row of several lines has the number of its first. Raises BadInput, also if a file
    spells one image in two normal forms.
    """
    spellings: dict[str, str] = {}
    with open(path, encoding="utf-8-sig", newline="") as file, _csv_errors(path) as line_cell:
        reader = csv.reader(_lines(file, path, line_cell), strict=True)
        header = next(reader, None)
        if header is None:
            raise BadInput("the file is empty", path, None, f"begin with {','.join(columns)}")
        order = _columns(header, columns, optional, path, others)
        width = len(header)
        line_cell[0] = reader.line_num + 1
        for row in reader:
            if row:
                if len(row) != width:
                    raise BadInput(
                        f"the row has {len(row)} cells, the header {width}",
                        path,
                        line_cell[0],
                        "quote cells that contain a comma",
                    )
                cells = [row[at] if at >= 0 else "" for at in order]
                for at, cell in enumerate(cells if as_nfc else ()):
                    if not cell.isascii():
                        cells[at] = nfc(cell)
                        if columns[at] == "image" and cell != spellings.setdefault(cells[at], cell):
                            fault = f"image {cells[at]!r} is written in two Unicode forms"
                            raise BadInput(fault, path, line_cell[0], "rename one of them")
                yield line_cell[0], cells
            line_cell[0] = reader.line_num + 1


def _columns(
    header: list[str], columns: Sequence[str], optional: Sequence[str], path: Path, others: bool
) -> list[int]:
    """Return the index of each column in the header; -1 for a missing optional one."""
    names = [name.strip() for name in header]
    if len(names) == 1 and names[0] not in columns:
        for mark, word in ((";", "semicolons"), ("\t", "tabs")):
            if mark in names[0]:
                fault = f"has {word} between its cells, where commas belong"
                raise BadInput(fault, path, 1, "save it with commas")
    for column, alias in (("wnid", "topic"), ("topic", "wnid")):
        if column in columns and alias not in columns and column not in names:
            names = [column if name == alias else name for name in names]
    cure = f"the header is {','.join(name for name in columns if name not in optional)}"
    if optional:
        cure += f", and {', '.join(optional)} if you like"
    for name in names:
        if name not in columns and not others:
            raise BadInput(f"unknown column {name[:80]!r}", path, 1, cure)
        if name in columns and names.count(name) > 1:
            raise BadInput(f"the column {name!r} occurs twice", path, 1, cure)
    for name in columns:
        if name not in names and name not in optional:
            raise BadInput(f"the column {name!r} is missing", path, 1, cure)
    return [names.index(name) if name in names else -1 for name in columns]


def _lines(file: TextIO, path: Path, line_cell: list[int]) -> Iterator[str]:
    """Yield the lines of a file. line_cell: receives the line on which the current row begins."""
    number = row = size = 0
    while line := file.readline(MAX_LINE_LENGTH):
        number += 1
        if line_cell[0] != row:
            row, size = line_cell[0], 0
        size += len(line)
        if "\0" in line:
            raise BadInput("contains a NUL character", path, number, "save it as plain UTF-8 text")
        if len(line) == MAX_LINE_LENGTH:
            raise BadInput(
                f"the line is longer than {MAX_LINE_LENGTH} characters",
                path,
                number,
                "is it a CSV?",
            )
        if size > MAX_LINE_LENGTH:
            raise BadInput(
                f"the row is longer than {MAX_LINE_LENGTH} characters",
                path,
                row,
                "close every quote that is opened",
            )
        yield line


@contextmanager
def _csv_errors(path: Path) -> Iterator[list[int]]:
    """Convert the reader's exceptions into BadInput; yield a cell for the current line."""
    line_cell = [1]
    try:
        yield line_cell
    except csv.Error as error:
        raise BadInput(
            f"is not CSV ({error})", path, line_cell[0], "close every quote that is opened"
        ) from error
    except UnicodeDecodeError:
        line = _undecodable_line(path)
        raise BadInput("is not UTF-8", path, line, "save it as UTF-8") from None


def _undecodable_line(path: Path) -> int | None:
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return None


def csv_lines(rows_to_write: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield the rows as lines of CSV; text that a spreadsheet would run gets a leading quote.

    None becomes an empty cell. The quote is removed when the file is read.

    >>> list(csv_lines([("name", "change"), ("=1+1", -2), ("b", None)]))
    ['name,change\\n', "'=1+1,-2\\n", 'b,\\n']
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in rows_to_write:
        writer.writerow([safe_cell(cell) if isinstance(cell, str) else cell for cell in row])
        yield stream.getvalue()
        stream.seek(0)
        stream.truncate()


def safe_cell(text: str) -> str:
    """Return the text, with a leading quote if a spreadsheet would run it."""
    return f"'{text}" if text.startswith((*FORMULA_STARTS, "'")) else text


def plain_cell(cell: str) -> str:
    """Return the text that safe_cell wrote.

    >>> [plain_cell(safe_cell(text)) for text in ("=1+1", "'=1+1", "'tis")]
    ['=1+1', "'=1+1", "'tis"]
    """
    return cell[1:] if cell.startswith(QUOTED) else cell
