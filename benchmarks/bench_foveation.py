"""Blurred sequences of 500 × 375 pixels and 10 frames: how many a second, beside the plain way.

`python -m benchmarks foveation`. The plain way makes every frame by itself: scipy dilates the parts
so far and measures distances to them, the pyramid is rebuilt, and every pixel is blended. Both run
on two threads, one object in each, with one torch thread in each.
"""

import resource
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks import Row, row, sized
from benchmarks.bench_gpu.made import HEIGHT, WIDTH, round_parts
from evaluation.metrics.frames.foveation import LOW, frames, positions, resolution
from evaluation.metrics.frames.pyramid import codes, pyramid
from evaluation.metrics.frames.sequences import PartSequence

OBJECTS = sized(30, 2)
THREADS = 2
ROUNDS = sized(4, 1)
Object = tuple[NDArray[np.uint8], PartSequence]


def main() -> list[Row]:
    before = torch.get_num_threads()
    try:
        return measure()
    finally:
        torch.set_num_threads(before)


def measure() -> list[Row]:
    objects = [made(seed) for seed in range(OBJECTS)]
    assert all(len(steps) == 10 for _, steps in objects)
    for first, plain in zip(frames(*objects[0], "low"), plain_frames(*objects[0]), strict=True):
        off = (first.int() - plain.int()).abs()
        assert off.max() <= 1, "the plain way makes other frames"
    torch.set_num_threads(1)
    # Take turns, so that other load affects all of them.
    ways = {"low": ours_of("low"), "higher": ours_of("higher"), "plain": plain_frames}
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            runs[name].append(rate(way, objects[:4] if way is plain_frames else objects))
    top = {name: max(held) for name, held in runs.items()}
    rows = [
        row(
            f"blurred sequences, {name}, 2 threads",
            f"{fast:.1f}/s ({cpu:.0f} ms of processor time each)",
            "≥ 40 objects/s",
            fast >= 40,
        )
        for name, (fast, cpu) in top.items()
        if name != "plain"
    ]
    (fast, cpu), (plain, plain_cpu) = top["low"], top["plain"]
    times = (
        f"{fast / plain:.1f} times (plain {plain:.1f}/s); by processor time "
        f"{plain_cpu / cpu:.1f} times ({plain_cpu:.0f} ms)"
    )
    rows.append(
        row("… against the plain pyramid of each frame", times, "≥ 8 times", fast >= 8 * plain)
    )
    return [*rows, memory(objects)]


def made(seed: int) -> Object:
    """Return an object: smoothed noise and nine parts in an order."""
    rng = np.random.default_rng(seed)
    image = ndimage.gaussian_filter(rng.integers(0, 256, (HEIGHT, WIDTH, 3)), (1.5, 1.5, 0))
    return image.astype(np.uint8), round_parts(rng)


def ours_of(content: str, device: str = "cpu") -> Callable[..., Iterable[torch.Tensor]]:
    return lambda image, steps: frames(image, steps, content, device=device)


def plain_frames(image: NDArray[np.uint8], steps: PartSequence) -> Iterable[torch.Tensor]:
    """Yield the frames of `low`, each computed by itself."""
    along = np.arange(-LOW.dilation_px, LOW.dilation_px + 1) ** 2
    disk = np.add.outer(along, along) <= LOW.dilation_px**2
    original = torch.from_numpy(image)
    height, width = steps.steps.shape
    for frame in range(len(steps) - 1):
        inside = steps.revealed(frame)
        distance = ndimage.distance_transform_edt(~ndimage.binary_dilation(inside, disk))
        at = resolution(torch.from_numpy(np.rint(distance**2)), width, LOW).float()
        levels = max(2, int(np.ceil(-np.log2(float(at.min())))) + 1)
        stack = pyramid(original, levels)
        position = positions(at, levels)
        level = position.long().clamp_(max=levels - 2)
        rows, columns = torch.arange(height)[:, None], torch.arange(width)
        fine, coarse = stack[level, rows, columns], stack[level + 1, rows, columns]
        painted = codes(fine + (position - level).unsqueeze(-1) * (coarse - fine))
        yield torch.where(torch.from_numpy(inside).unsqueeze(-1), original, painted)
    yield original


def drain(render: Callable[..., Iterable[torch.Tensor]], sample: Object) -> int:
    """Read every frame once and keep none, as a classifier does."""
    return sum(int(frame[0, 0, 0]) for frame in render(*sample))


def rate(render: Any, objects: list[Object]) -> tuple[float, float]:
    """Return objects a second on two threads, and milliseconds of processor time for an object."""
    with ThreadPoolExecutor(THREADS) as workers:
        start, cpu = time.perf_counter(), time.process_time()
        list(workers.map(lambda sample: drain(render, sample), objects))
        took, used = time.perf_counter() - start, time.process_time() - cpu
    return len(objects) / took, 1000 * used / len(objects)


def memory(objects: list[Object]) -> Row:
    """Return how much the peak memory grows after the first objects."""
    rate(ours_of("low"), objects[:5])
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rate(ours_of("low"), objects)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) / 1024
    return row(
        f"… memory of {OBJECTS} objects beyond that of 5",
        f"{grown:.0f} MiB",
        "< 16 MiB",
        grown < 16,
    )
