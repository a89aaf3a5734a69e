"""Tables of results: one declaration of their columns for the pages and for CSV files. Pure."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Result = dict[str, Any]
Row = dict[str, Any]
# What a spreadsheet would run as a formula begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Column:
    """A column: its key in a row and in CSV files, and what pages write above it.

    digits: after the point on pages, -1 for one unless it is 0; None writes the value as it is.
    template: shows the cell instead, given `column`, `value` and `row`. A column without words
    is on no page.
    """

    key: str
    words: str = ""
    digits: int | None = None
    is_number: bool = True
    template: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a result: its name in addresses, its rows, its columns in the order of CSV files.

    A column that no row has is left out; a key that is not declared comes last, in CSV files alone.
    page: the keys of the columns on pages, where their order is another.
    """

    name: str
    rows: Callable[[Result], Iterable[Row]]
    columns: tuple[Column, ...] = ()
    words: str = ""
    page: tuple[str, ...] = ()

    def content(self, result: Result) -> tuple[list[str], list[list[Any]]]:
        """Head and rows, as they go into a CSV file; a list becomes one cell."""
        rows = list(self.rows(result))
        there = dict.fromkeys(key for row in rows for key in row)
        kept = [column.key for column in self.columns if column.key in there]
        head = [*kept, *(key for key in there if key not in kept)]
        return head, [[_cell(row.get(key)) for key in head] for row in rows]

    def shown(self, result: Result) -> dict[str, Any]:
        """What `_table.html` shows: the columns with words that any row has a value of."""
        rows = list(self.rows(result))
        known = {column.key: column for column in self.columns if column.words}
        columns = [
            known[key]
            for key in self.page or known
            if any(row.get(key) is not None for row in rows)
        ]
        cells = [[(column, row.get(column.key), row) for column in columns] for row in rows]
        return {"words": self.words or self.name, "columns": columns, "rows": cells}


def _cell(value: Any) -> Any:
    return " ".join(str(part) for part in value) if isinstance(value, (list, tuple)) else value


def as_csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The table as CSV, safe to open: a text that a spreadsheet would run gets a quote before it.

    >>> as_csv(["name", "change"], [["=1+1", -2]])
    "name,change\\r\\n'=1+1,-2\\r\\n"
    """
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([_safe(cell) for cell in head])
    writer.writerows([_safe(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _safe(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"'{cell}"
    return "" if cell is None else cell
