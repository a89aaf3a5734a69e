"""Merging pieces by alpha shape against the alphashape package, in one run on one machine.

Both get the same pixel corners. The peer is handed the best alpha, which it would have to look
for, and must draw the same shape. Its search iterates over a MultiPoint, which shapely 2 no longer
allows, so it is given its points one by one.
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

from benchmarks.bench_parts import imports, releases
from labeling.geometry.alpha_shapes import merge
from labeling.geometry.polygons import to_shapely

Mask = NDArray[np.bool_]


def main() -> list[dict[str, Any]]:
    return [*against_peer(), milliseconds(), *imports.rows(), *releases.rows()]


def against_peer() -> list[dict[str, Any]]:
    import alphashape

    masks = two_discs(10_000)
    merged = merge(masks)
    assert merged.radius is not None
    ours = best(lambda: merge(masks), 20)
    points = corners(masks)
    # It takes circumradii below 1 / alpha; a breath more takes ours too.
    alpha = 1 / (merged.radius * (1 + 1e-9))
    theirs = best(lambda: quietly(alphashape.alphashape, points, alpha), 3)
    shape = quietly(alphashape.alphashape, points, alpha)
    assert to_shapely(merged.polygons).equals(shape), "the peer draws another shape"
    small = two_discs(500)
    quick = best(lambda: merge(small), 20)
    looking = best(lambda: quietly(search, corners(small)), 1)
    return [
        row("merging 2 masks of 10,000 pixels together: alphashape at the best alpha", 12,
            theirs / ours, theirs, ours),
        row("merging 2 masks of 500 pixels together: its optimizealpha", 5000,
            looking / quick, looking, quick),
    ]  # fmt: skip


class OneByOne(list[shapely.Point]):
    """Stands in for the MultiPoint that the peer's search iterates over."""

    def __init__(self, points: list[tuple[float, float]]) -> None:
        super().__init__(map(shapely.Point, points))


def search(points: list[tuple[float, float]]) -> float:
    """The alpha that the peer finds by halving."""
    module = importlib.import_module("alphashape.optimizealpha")
    with mock.patch.object(module, "MultiPoint", OneByOne):
        return float(module.optimizealpha(points))


def milliseconds() -> dict[str, Any]:
    masks = two_discs(1400)
    return {
        "name": "merging 2 parts of 30 × 30 pixels",
        "target": "none",
        "measured": f"{best(lambda: merge(masks), 30) * 1000:.1f} ms",
        "ok": None,
    }


def two_discs(pixels: int) -> list[Mask]:
    """Two discs, half of the pixels each, a quarter of their radius apart."""
    radius = (pixels / 2 / np.pi) ** 0.5
    side = int(radius * 5) + 4
    y, x = np.ogrid[:side, :side]
    apart = radius * 2.25 / 2**0.5
    return [(x - at) ** 2 + (y - at) ** 2 < radius**2 for at in (radius + 2, radius + 2 + apart)]


def corners(masks: list[Mask]) -> list[tuple[float, float]]:
    y, x = np.nonzero(masks[0] | masks[1])
    found = {(float(u + i), float(v + j)) for u, v in zip(x, y, strict=True) for i in (0, 1)
             for j in (0, 1)}  # fmt: skip
    return sorted(found)


def best(action: Callable[[], Any], times: int) -> float:
    """Processor seconds of the quickest: all of this runs on one core, and others may be busy."""
    found = []
    for _ in range(times):
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return min(found)


def quietly(action: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return action(*arguments)


def row(name: str, target: float, ratio: float, theirs: float, ours: float) -> dict[str, Any]:
    return {
        "name": name,
        "target": f"≥ {target:,}×",
        "measured": f"{ratio:,.0f}× ({theirs:.3g} s / {ours * 1000:.2g} ms)",
        "ok": ratio >= target,
    }
