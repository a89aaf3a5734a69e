"""Merging pieces by alpha shape against the alphashape package, in one run on one machine.

Both get the same pixel corners. The package is given the best alpha, for which it would have to
search, and must draw the same shape. Its own search iterates over a MultiPoint, which shapely 2 no
longer allows; a list of points replaces it.
"""

import importlib
import time
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import shapely
from numpy.typing import NDArray

from benchmarks import Row, row, sized
from labeling.geometry.alpha_shapes import merge
from labeling.geometry.polygons import to_shapely

Mask = NDArray[np.bool_]
LARGE, SMALL, RUNS = sized(10_000, 200), sized(500, 60), sized(20, 1)


def main() -> list[Row]:
    import alphashape

    masks = two_discs(LARGE)
    merged = merge(masks)
    assert merged.radius is not None
    ours = best(lambda: merge(masks), RUNS)
    points = corners(masks)
    # The package keeps circumradii below 1 / alpha; a little more includes our radius.
    alpha = 1 / (merged.radius * (1 + 1e-9))
    theirs = best(lambda: quietly(alphashape.alphashape, points, alpha), 3)
    shape = quietly(alphashape.alphashape, points, alpha)
    assert to_shapely(merged.polygons).equals(shape), "the peer draws another shape"
    small = two_discs(SMALL)
    quick = best(lambda: merge(small), RUNS)
    looking = best(lambda: quietly(search, corners(small)), 1)
    return [
        ratio_row(f"{LARGE:,} pixels: alphashape at the best alpha", 12, theirs, ours),
        ratio_row(f"{SMALL} pixels: its optimizealpha", 5000, looking, quick),
    ]


def ratio_row(of: str, target: int, theirs: float, ours: float) -> Row:
    ratio = theirs / ours
    measured = f"{ratio:,.0f}× ({theirs:.3g} s / {ours * 1000:.2g} ms)"
    return row(f"merging 2 masks of {of}", measured, f"≥ {target:,}×", ratio >= target)


class OneByOne(list[shapely.Point]):
    """Stands in for the MultiPoint that the package's search iterates over."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        super().__init__(map(shapely.Point, points))


def search(points: list[tuple[float, float]]) -> float:
    """Return the alpha that the package finds by bisection."""
    module = importlib.import_module("alphashape.optimizealpha")
    with mock.patch.object(module, "MultiPoint", OneByOne):
        return float(module.optimizealpha(points))


def two_discs(pixels: int) -> list[Mask]:
    """Return two discs, half of the pixels each, a quarter of their radius apart."""
    radius = (pixels / 2 / np.pi) ** 0.5
    side = int(radius * 5) + 4
    y, x = np.ogrid[:side, :side]
    apart = radius * 2.25 / 2**0.5
    return [(x - at) ** 2 + (y - at) ** 2 < radius**2 for at in (radius + 2, radius + 2 + apart)]


def corners(masks: list[Mask]) -> list[tuple[float, float]]:
    y, x = np.nonzero(masks[0] | masks[1])
    points = {(float(u + i), float(v + j)) for u, v in zip(x, y, strict=True) for i in (0, 1)
             for j in (0, 1)}  # fmt: skip
    return sorted(points)


def best(action: Callable[[], Any], times: int) -> float:
    """Return processor seconds of the quickest run.

    All of it runs on one core, and other cores may be busy.
    """
    seconds = []
    for _ in range(times):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def quietly(action: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return action(*arguments)
