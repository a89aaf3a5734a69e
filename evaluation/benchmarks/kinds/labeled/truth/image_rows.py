"""A ground truth image by image, and its changes from one version to the next. No database.

The files that `score KIND` reads have rows that begin with an image; here the rows of an image are
together. A mask is named by the hash of its file.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from evaluation.benchmarks.changes import link_or_copy, read_changes, write_changes
from evaluation.benchmarks.kinds.labeled.truth.csv_writer import Sheets
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    BOXED,
    CLASSIFICATION,
    DETECTION,
    EXCLUDED,
    IMAGES,
    LOCALIZATION,
    SIZE_COLUMNS,
    TRUTH,
    WSOL,
)
from evaluation.benchmarks.kinds.labeled.truth.wsol_truth import (
    BOXES_FILE,
    CLASSES,
    IDS,
    MASKS,
    PNG,
    SIZES,
)
from labeling.files import file_sha256

# File → the rows of one image in it, without the image.
ImageRows = dict[str, list[list[str]]]
PAIR = ("image", "wnid")
# The CSV files of each kind with their columns; the first has every image.
TABLES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    CLASSIFICATION: {TRUTH: PAIR},
    LOCALIZATION: {IMAGES: SIZE_COLUMNS, TRUTH: BOXED},
    DETECTION: {IMAGES: SIZE_COLUMNS, TRUTH: BOXED, EXCLUDED: PAIR},
}
# The lists of a WSOL folder with the number of cells after the image. Names of images may have
# commas, so lines are split from the right.
LISTS = {IDS: 0, CLASSES: 1, SIZES: 2, BOXES_FILE: 4}
MASK_LISTS = {
    f"{MASKS}/{name}": 2 if name == BOXES_FILE else cells for name, cells in LISTS.items()
}
MASKED = f"{MASKS}/{BOXES_FILE}"


@dataclass
class RowsByImage:
    """A truth. images: rows by image, in the order of the files. masks: files by hash."""

    kind: str
    images: dict[str, ImageRows] = field(default_factory=dict)
    masks: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def read(cls, kind: str, folder: Path) -> "RowsByImage":
        """Return the truth in a folder that ground_truth.write filled."""
        truth = cls(kind)
        for name, image, cells in _rows(kind, folder):
            if name == MASKED:
                cells = [truth._mask(folder / MASKS / cell) if cell else "" for cell in cells]
            truth.images.setdefault(image, {}).setdefault(name, []).append(cells)
        return truth

    def _mask(self, path: Path) -> str:
        sha256 = file_sha256(path)
        self.masks[sha256] = path
        return sha256

    def write(self, folder: Path) -> None:
        """Write the files of the truth into an existing folder; masks are linked."""
        if self.kind == WSOL:
            with Sheets(folder) as sheets:
                self._write_lists(sheets)
            self._link_masks(folder / MASKS / PNG)
            return
        with Sheets(folder) as sheets:
            for name, columns in TABLES[self.kind].items():
                sheets.row(name, *columns)
                for image, rows in self.images.items():
                    for cells in rows.get(name, ()):
                        sheets.row(name, image, *cells)

    def _write_lists(self, sheets: Sheets) -> None:
        for image, rows in self.images.items():
            for name, lines in rows.items():
                for cells in lines:
                    if name == MASKED:
                        cells = [f"{PNG}/{cell}.png" if cell else "" for cell in cells]
                    sheets.line(name, image, *cells)

    def _link_masks(self, folder: Path) -> None:
        needed = {cell for rows in self.images.values() for cell in _masks_of(rows)}
        for sha256 in needed:
            folder.mkdir(parents=True, exist_ok=True)
            link_or_copy(self.masks[sha256], folder / f"{sha256}.png")

    @property
    def classes(self) -> int:
        name = CLASSES if self.kind == WSOL else TRUTH
        return len({cells[0] for rows in self.images.values() for cells in rows.get(name, ())})

    @property
    def objects(self) -> int:
        """Return the number of boxes; 0 for classification."""
        if self.kind == CLASSIFICATION:
            return 0
        name = BOXES_FILE if self.kind == WSOL else TRUTH
        return sum(len(rows.get(name, ())) for rows in self.images.values())


@dataclass(frozen=True)
class TruthChanges:
    """Changes to the next version. rows: image → its new rows, None if it is removed."""

    rows: dict[str, ImageRows | None]

    @classmethod
    def between(cls, before: RowsByImage, after: RowsByImage) -> "TruthChanges":
        changed = {
            image: rows for image, rows in after.images.items() if before.images.get(image) != rows
        }
        return cls(changed | dict.fromkeys(before.images.keys() - after.images.keys()))

    def apply(self, truth: RowsByImage) -> None:
        """Change the truth; new images come last."""
        for image, rows in self.rows.items():
            if rows is None:
                truth.images.pop(image, None)
            else:
                truth.images[image] = rows

    def write(self, path: Path) -> None:
        """Write a line per image; equal changes give equal bytes."""
        write_changes(path, ({"image": image, "rows": rows} for image, rows in self.rows.items()))

    @classmethod
    def read(cls, path: Path) -> "TruthChanges":
        return cls({line["image"]: line["rows"] for line in read_changes(path)})

    def masks(self) -> set[str]:
        """Return the hashes of the masks in the rows."""
        return {cell for rows in self.rows.values() if rows for cell in _masks_of(rows)}


def _masks_of(rows: ImageRows) -> set[str]:
    return {cell for cells in rows.get(MASKED, ()) for cell in cells if cell}


def _rows(kind: str, folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the file, the image and the other cells of every row."""
    if kind != WSOL:
        for name in TABLES[kind]:
            if (folder / name).exists():
                with open(folder / name, encoding="utf-8", newline="") as file:
                    for image, *cells in islice(csv.reader(file), 1, None):
                        yield name, image, cells
        return
    for name, count in (LISTS | MASK_LISTS).items():
        if (folder / name).exists():
            with open(folder / name, encoding="utf-8-sig", newline="\n") as file:
                for line in file:
                    image, *cells = line.rstrip("\n").rsplit(",", count) if count else (line[:-1],)
                    yield name, image, cells
