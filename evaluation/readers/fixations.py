"""Read the eye fixations of PASCAL-S as published (MATLAB v7.3). No Django."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeling.files import BadInput, StrPath, require_file
from labeling.plurals import count_of

# Limit on images and on values per image, above that of any experiment.
MAX_VALUES = 10_000_000
# Limit on rows, columns, persons and sides of images.
LARGEST = 2**31
_SAVE_AS_V73 = "save it in MATLAB with -v7.3, or take the file as published"


@dataclass(frozen=True)
class Gazes:
    """The fixations on one image: for each person (n, 2) rows and columns from 0, in order.

    size: height and width of the image, None without the file of sizes.
    """

    people: tuple[NDArray[np.int64], ...]
    size: tuple[int, int] | None = None


def read_pascal_s(fixations: StrPath, sizes: StrPath | None = None) -> list[Gazes]:
    """Return the gazes of every image, starting with PASCAL-S's image 1.

    fixations: pascalFix.mat, a cell per image of rows (row, column, person), from 1, grouped by
    person and in order. sizes: pascalSize.mat, (height, width) of each. Raises BadInput with the
    file and the image (from 1): not MATLAB v7.3, a missing variable, another shape, numbers that
    are not whole, positions outside the image.
    """
    extents = None if sizes is None else _sizes(Path(sizes))
    path = Path(fixations)
    gazes = []
    with _opened(path) as file, _readable(path):
        cells = _variable(file, "fixCell", path)
        if cells.dtype != object or 1 not in cells.shape:
            raise BadInput("fixCell is not a list of cells", file=path, cure=_SAVE_AS_V73)
        if extents is not None and len(extents) != cells.size:
            raise BadInput(
                f"has {count_of(cells.size, 'image')}, {sizes} has {len(extents)}",
                file=path,
                cure="give both files of one data set",
            )
        for number, reference in enumerate(cells.ravel(), start=1):
            size = None if extents is None else extents[number - 1]
            gazes.append(
                Gazes(_people(_cell(file, reference, number, path), number, size, path), size)
            )
    return gazes


def _opened(path: Path) -> Any:
    import h5py

    require_file(path, "check the path")
    try:
        return h5py.File(path)
    except OSError:
        raise BadInput("is not a MATLAB v7.3 file", file=path, cure=_SAVE_AS_V73) from None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert the errors of HDF5 into BadInput; on a damaged file it raises errors of any type."""
    try:
        yield
    except (RuntimeError, OSError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"is damaged inside ({error})", file=path, cure=_SAVE_AS_V73) from None


def _values(data: Any, name: str, path: Path) -> NDArray[Any]:
    """Return the content of a dataset. Raises BadInput for one that declares too many values."""
    if data.size is None or data.size > MAX_VALUES:
        raise BadInput(
            f"{name} says it has {data.size or 'no'} values, expected at most {MAX_VALUES:,}",
            file=path,
            cure=_SAVE_AS_V73,
        )
    return np.asarray(data[()])


def _variable(file: Any, name: str, path: Path) -> NDArray[Any]:
    import h5py

    if not isinstance(file.get(name), h5py.Dataset):
        variables = ", ".join(key for key in file if not key.startswith("#")) or "nothing"
        raise BadInput(f"has no variable {name}, it has {variables}", file=path, cure=_SAVE_AS_V73)
    return _values(file[name], name, path)


def _cell(file: Any, reference: Any, number: int, path: Path) -> NDArray[Any]:
    try:
        return _values(file[reference], f"image {number}", path)
    except (AttributeError, KeyError, OSError, RuntimeError, TypeError, ValueError):
        raise BadInput(
            f"image {number}: its cell leads nowhere", file=path, cure=_SAVE_AS_V73
        ) from None


def _sizes(path: Path) -> list[tuple[int, int]]:
    with _opened(path) as file, _readable(path):
        values = _variable(file, "sizeData", path)
    if values.ndim != 2 or values.shape[0] != 2 or values.dtype.kind not in "fiu":
        raise BadInput(
            f"sizeData has shape {values.shape[::-1]}, expected (images, 2)",
            file=path,
            cure=_SAVE_AS_V73,
        )
    if not ((values >= 1) & (values <= LARGEST) & (values % 1 == 0)).all():
        raise BadInput("sizeData has sizes that are not whole pixels", file=path, cure=_SAVE_AS_V73)
    return [(int(height), int(width)) for height, width in values.T]


def _people(
    values: NDArray[Any], number: int, size: tuple[int, int] | None, path: Path
) -> tuple[NDArray[np.int64], ...]:
    """Return the fixations of one cell by person; the cell is (3, n), columns before rows."""
    if values.dtype.kind in "iu" and values.shape == (2,) and not values.any():
        # MATLAB stores the shape of an empty array.
        return ()
    if values.ndim != 2 or values.shape[0] != 3 or values.dtype.kind not in "fiu":
        raise BadInput(
            f"image {number}: has shape {values.shape[::-1]}, expected rows of (row, column, "
            "person)",
            file=path,
            cure=_SAVE_AS_V73,
        )
    rows, columns, people = values
    with np.errstate(invalid="ignore"):
        wrong = ~((values >= 1) & (values <= LARGEST) & (values % 1 == 0)).all(axis=0)
    if size is not None:
        wrong |= (rows > size[0]) | (columns > size[1])
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        within = "" if size is None else f" within {size[0]} rows and {size[1]} columns"
        raise BadInput(
            f"image {number}: fixation {at + 1} is at row {rows[at]:g}, column {columns[at]:g}, "
            f"person {people[at]:g}, expected whole numbers from 1{within}",
            file=path,
            cure="leave the fixation out",
        )
    starts = np.flatnonzero(np.diff(people, prepend=0)).tolist()
    if len(set(people[starts])) < len(starts):
        raise BadInput(
            f"image {number}: a person's fixations are not together",
            file=path,
            cure="sort them by person, then by time",
        )
    places = np.stack([rows, columns], axis=1).astype(np.int64) - 1
    return tuple(np.split(places, starts[1:])) if len(places) else ()
