"""CSV files and plain lists written row by row into a folder, or only counted."""

import csv
from contextlib import ExitStack
from pathlib import Path
from typing import IO

BOM = "\ufeff"


class Sheets:
    """Files of a folder that are open while rows are added; each begins with its first row.

    folder: None writes nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.files = ExitStack()
        self._open: dict[str, IO[str]] = {}

    def __enter__(self) -> "Sheets":
        return self

    def __exit__(self, *error: object) -> None:
        self.files.close()

    def row(self, name: str, *cells: object) -> None:
        """Add a row to a CSV file."""
        if self.folder is not None:
            csv.writer(self._file(name), lineterminator="\n").writerow(map(plain, cells))

    def line(self, name: str, *cells: object) -> None:
        """Add a line to a list with unquoted cells separated by commas."""
        if self.folder is not None:
            new = name not in self._open
            text = ",".join(map(plain, cells))
            # Readers skip a byte order mark at the start of a file: double one of the first cell.
            text = BOM + text if new and text.startswith(BOM) else text
            self._file(name).write(text + "\n")

    def _file(self, name: str) -> IO[str]:
        if name not in self._open:
            assert self.folder is not None
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            file = path.open("w", encoding="utf-8", newline="")
            self._open[name] = self.files.enter_context(file)
        return self._open[name]


def plain(cell: object) -> str:
    """Return the cell as text: whole numbers without a decimal point, others with all digits.

    >>> plain(12.0), plain(0.1), plain("a,b")
    ('12', '0.1', 'a,b')
    """
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
