"""Tables of results: one declaration of columns for pages and CSV files. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from labeling.records import Record

Cells = dict[str, object]


@dataclass(frozen=True)
class Column:
    """A column: its key in CSV files and in a row, and its heading on pages.

    digits: decimals on pages, as in floatformat: -1 for one unless it is 0, "0g" with thousands
    separators; None shows the value unchanged. template: renders the cell instead, given `column`,
    `value` and `row`. of: returns the cell of a row; by default the row's key or attribute `key`.
    A column without words is only in CSV files.
    """

    key: str
    words: str = ""
    digits: int | str | None = None
    is_number: bool = True
    template: str = ""
    of: Callable[[Any], object] | None = None

    def cell(self, row: Any) -> object:
        if self.of is not None:
            return self.of(row)
        is_mapping = isinstance(row, Mapping)
        return row.get(self.key) if is_mapping else getattr(row, self.key, None)


@dataclass(frozen=True)
class Table:
    """A table of a result: its name in addresses, its rows, its columns in CSV order.

    rows: dataclasses or dicts. In CSV files, a column that no dict has is left out, and undeclared
    keys come last. Without columns, dataclasses have one per field. columns: a function of the
    result if they depend on it. page: keys of the columns on pages, if their order differs.
    """

    name: str
    rows: Callable[[Any], Iterable[Any]]
    columns: tuple[Column, ...] | Callable[[Any], tuple[Column, ...]] = ()
    words: str = ""
    page: tuple[str, ...] = ()

    def content(self, result: Any) -> tuple[list[str], list[list[object]]]:
        """Return the head and the rows of the CSV file; a list becomes one cell."""
        columns, rows = self._filled(result)
        there = dict.fromkeys(key for _, cells in rows for key in cells)
        kept = [column.key for column in columns if column.key in there]
        head = [*kept, *(key for key in there if key not in kept)]
        return head, [[_cell(cells.get(key)) for key in head] for _, cells in rows]

    def page_context(self, result: Any) -> dict[str, object]:
        """Return the context of `_table.html`: columns with words that have a value in any row; all
        of them if there are no rows.
        """
        declared, rows = self._filled(result)
        known = {column.key: column for column in declared if column.words}
        columns = [
            known[key]
            for key in self.page or known
            if not rows or any(cells.get(key) is not None for _, cells in rows)
        ]
        page_rows = [
            [(column, cells.get(column.key), row) for column in columns] for row, cells in rows
        ]
        return {"words": self.words or self.name, "columns": columns, "rows": page_rows}

    def _filled(
        self, result: Any
    ) -> tuple[tuple[Column, ...], list[tuple[Any, dict[str, object]]]]:
        """Return the columns, and each row with its cells by key."""
        columns = self.columns(result) if callable(self.columns) else self.columns
        return columns, [(row, _cells(row, columns)) for row in self.rows(result)]


def _cells(row: Any, columns: Sequence[Column]) -> Cells:
    if isinstance(row, Mapping):
        return {**row} | {column.key: column.cell(row) for column in columns if column.of}
    if columns:
        return {column.key: column.cell(row) for column in columns}
    if isinstance(row, Record):
        return row.to_json()
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _cell(value: object) -> object:
    return " ".join(str(part) for part in value) if isinstance(value, (list, tuple)) else value
