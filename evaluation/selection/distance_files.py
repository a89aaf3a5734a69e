"""Read distances between classes from a user's file, a tree or a square matrix. No Django."""

import csv
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeling.csv_rows import rows
from labeling.files import BadInput, StrPath, file_sha256, require_file, text_lines

TREE = ("child", "parent")
CURE = (
    "write child,parent rows of a tree, or a square matrix with names in its first row and column"
)
# Relative tolerance for numbers written and read as text.
TOLERANCE = 1e-9
# Edges from the root; an edge below weighs less than the last bit of a distance.
MAX_TREE_DEPTH = 100


@dataclass(frozen=True)
class DistanceFile:
    """A checked file. sha256: of its bytes; places: the index of each class. between: the distance
    of two indices.
    """

    path: Path
    sha256: str
    places: dict[str, int]
    between: Callable[[int, int], float]

    def matrix(self, classes: Sequence[str], file: StrPath) -> NDArray[np.float64]:
        """Return (C, C) distances of the classes in `file`. Raises BadInput for a class without a
        row.
        """
        self.refuse_missing(classes, file)
        at = [self.places[name] for name in classes]
        return np.array([[self.between(a, b) for b in at] for a in at])

    def refuse_missing(self, classes: Sequence[str], file: StrPath) -> None:
        """Raise BadInput for a class of `file` without a row."""
        for line, name in enumerate(classes, 1):
            if name not in self.places:
                raise BadInput(f"{name!r} is not in {self.path.name}", file, line, "add it there")


def read_distances(path: Path) -> DistanceFile:
    """Return the distances in tree.csv (`child,parent` rows) or matrix.csv. Raises BadInput.

    An edge of the tree from a parent at depth l (root = 0) weighs 2^−l, as in WordNet's `weighted`.
    A matrix is symmetric, finite, not negative, and 0 on its diagonal.
    """
    require_file(path, CURE)
    cells = _cells(path)
    if tuple(cell.strip().lower() for cell in cells[0]) == TREE:
        places, between = _tree(path)
    else:
        places, between = _matrix(path, cells)
    return DistanceFile(path, file_sha256(path), places, between)


def _cells(path: Path) -> list[list[str]]:
    reader = csv.reader(text_lines(path), strict=True)
    try:
        cells = [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise BadInput(f"is not a CSV ({error})", path, reader.line_num, CURE) from None
    if not cells:
        raise BadInput("the file is empty", path, None, CURE)
    if len(cells[0]) == 1 and ";" in cells[0][0]:
        raise BadInput("has ; between cells", path, 1, "separate them by commas")
    return cells


def _tree(path: Path) -> tuple[dict[str, int], Callable[[int, int], float]]:
    parents: dict[str, str] = {}
    for line, (child, parent) in rows(path, TREE):
        child, parent = child.strip(), parent.strip()
        if not child:
            raise BadInput("the child is empty", path, line, "name the class")
        if child in parents:
            raise BadInput(f"{child!r} has two parents", path, line, "keep one: it is a tree")
        parents[child] = parent
    names = list(dict.fromkeys([*parents, *filter(None, parents.values())]))
    roots = [name for name in names if not parents.get(name)]
    _check_depths(parents, path)
    if len(roots) > 1:
        raise BadInput(
            f"has several roots: {', '.join(roots[:5])}", path, None, "give them one parent"
        )
    places = {name: index for index, name in enumerate(names)}

    @cache
    def chain(index: int) -> list[str]:
        """Return the names from the root down to this one."""
        line = [names[index]]
        while parent := parents.get(line[-1]):
            line.append(parent)
        return line[::-1]

    def between(a: int, b: int) -> float:
        lines = chain(a), chain(b)
        common = sum(x == y for x, y in zip(*lines, strict=False)) - 1
        return sum(2.0 ** (1 - common) - 2.0 ** (2 - len(line)) for line in lines)

    return places, between


def _check_depths(parents: dict[str, str], path: Path) -> None:
    """Raise BadInput for a name that is its own ancestor, or deeper than MAX_TREE_DEPTH."""
    depths = {"": -1}
    for start in parents:
        # A dict keeps the order of the names on the way up.
        line: dict[str, None] = {}
        name = start
        while name not in depths:
            if name in line:
                raise BadInput(
                    f"{name!r} is its own ancestor", path, None, "remove one of the rows"
                )
            line[name] = None
            name = parents.get(name, "")
        for depth, below in enumerate(reversed(line), depths[name] + 1):
            if depth > MAX_TREE_DEPTH:
                raise BadInput(
                    f"{below!r} is {depth} levels below the root, at most "
                    f"{MAX_TREE_DEPTH} are read",
                    path,
                    None,
                    "give a flatter tree",
                )
            depths[below] = depth


def _matrix(
    path: Path, cells: list[list[str]]
) -> tuple[dict[str, int], Callable[[int, int], float]]:
    names = [_name(cell) for cell in cells[0][1:]]
    places = {name: index for index, name in enumerate(names)}
    if not names or "" in places or len(places) < len(names):
        raise BadInput("the first row has an empty or a repeated name", path, 1, CURE)
    # Checked before the array is made: a first row may name more classes than the file has numbers.
    for row in cells[1:]:
        if len(row) != len(cells[0]):
            raise BadInput(
                f"the row {_name(row[0])[:80]!r} has {len(row) - 1} numbers, expected {len(names)}",
                path,
                None,
                CURE,
            )
    if len(cells) - 1 != len(names):
        raise BadInput(f"has {len(cells) - 1} rows and {len(names)} columns", path, None, CURE)
    values = np.full((len(names), len(names)), np.nan)
    for row in cells[1:]:
        name = _name(row[0])
        if name not in places or not np.isnan(values[places[name]]).all():
            raise BadInput(
                f"the row {name[:80]!r} is not in the first row, or is repeated", path, None, CURE
            )
        try:
            values[places[name]] = [float(cell) for cell in row[1:]]
        except ValueError:
            raise BadInput(
                f"the row {name!r} has a cell that is not a number", path, None, "give distances"
            ) from None
        if not (np.isfinite(values[places[name]]).all() and (values[places[name]] >= 0).all()):
            raise BadInput(
                f"the row {name!r} has a value that is not a finite number of 0 or more",
                path,
                None,
                "give distances",
            )
    if values.diagonal().any():
        raise BadInput(
            "a class has a distance to itself", path, None, "give distances, not similarities"
        )
    if not np.allclose(values, values.T, rtol=TOLERANCE, atol=0):
        a, b = np.argwhere(~np.isclose(values, values.T, rtol=TOLERANCE, atol=0))[0]
        raise BadInput(
            f"{names[a]} to {names[b]} is {values[a, b]:g}, back it is {values[b, a]:g}",
            path,
            None,
            "give the same distance both ways",
        )
    # Halved first: a sum may be too large.
    values = values / 2 + values.T / 2
    return places, lambda a, b: float(values[a, b])


def _name(cell: str) -> str:
    return unicodedata.normalize("NFC", cell.strip())
