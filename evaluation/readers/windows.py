"""Reader of objectness windows, `image,rank,x0,y0,x1,y1`, which clutter needs."""

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeling.csv_rows import rows
from labeling.files import BadInput

COLUMNS = ("image", "rank", "x0", "y0", "x1", "y1")


def read_windows(path: Path) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield each image with its windows (K, 4) in the order of their ranks, from 1.

    The rows of an image are consecutive. Memory holds all names, and the windows of one image.
    Raises BadInput with the line.
    """
    seen: set[str] = set()
    for image, lines in groupby(rows(path, COLUMNS), key=lambda row: row[1][0]):
        windows: list[list[float]] = []
        for line, (_, rank, *cells) in lines:
            if image in seen:
                raise BadInput(f"{image} is repeated", path, line, "sort the rows by image")
            expected = len(windows) + 1
            if _number(int, rank, path, line) != expected:
                cure = "number the windows of an image from 1, in order"
                raise BadInput(f"the rank is {rank}, expected {expected}", path, line, cure)
            window = [_number(float, cell, path, line) for cell in cells]
            if not (window[0] < window[2] and window[1] < window[3]):
                cure = "write x0 < x1 and y0 < y1"
                raise BadInput("the window is empty", path, line, cure)
            windows.append(window)
        seen.add(image)
        yield image, np.array(windows, float)


def _number(read: Callable[[str], float], cell: str, path: Path, line: int) -> float:
    try:
        value = read(cell)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise BadInput(f"{cell[:40]!r} is not a number", path, line, "write numbers")
    return value
