"""Blurred sequences of 500 × 375 pixels and 10 frames: how many a second, against the plain way.

`python -m benchmarks foveation`. The plain way makes every frame by itself: scipy dilates and
measures the parts so far, the pyramid is rebuilt, every pixel is blended. Both run on two
threads, an object each, with one thread of torch's in each.
"""

import os
import resource
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks import sized
from evaluation.metrics.frames.foveation import LOW, frames, positions, resolution
from evaluation.metrics.frames.pyramid import codes, pyramid
from evaluation.metrics.frames.sequences import PartSequence, sequence

HEIGHT, WIDTH, PARTS = 375, 500, 9
OBJECTS = sized(30, 2)
THREADS = 2
ROUNDS = sized(4, 1)
Object = tuple[NDArray[np.uint8], PartSequence]


def main() -> list[dict[str, Any]]:
    before = torch.get_num_threads()
    try:
        return measure()
    finally:
        torch.set_num_threads(before)


def measure() -> list[dict[str, Any]]:
    objects = [made(seed) for seed in range(OBJECTS)]
    odd = [made(seed, HEIGHT - 3 * seed, WIDTH - 4 * seed) for seed in range(OBJECTS)]
    assert all(len(found) == 10 for _, found in objects)
    for first, plain in zip(frames(*objects[0], "low"), plain_frames(*objects[0]), strict=True):
        off = (first.int() - plain.int()).abs()
        assert off.max() <= 1, "the plain way makes other frames"
    torch.set_num_threads(1)
    # In turns, so that what else runs meets all of them.
    ways = {"low": ours_of("low"), "higher": ours_of("higher"), "plain": plain_frames}
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            runs[name].append(rate(way, objects[:4] if way is plain_frames else objects))
    top = {name: max(held) for name, held in runs.items()}
    rows = [
        row(f"blurred sequences, {name}, 2 threads", "≥ 40 objects/s", fast, "/s", 40, cpu)
        for name, (fast, cpu) in top.items()
        if name != "plain"
    ]
    (fast, cpu), (plain, plain_cpu) = top["low"], top["plain"]
    times = (
        f"{fast / plain:.1f} times (plain {plain:.1f}/s); by processor time "
        f"{plain_cpu / cpu:.1f} times ({plain_cpu:.0f} ms)"
    )
    rows.append(
        plain_row(
            "… against the plain pyramid of each frame", times, "≥ 8 times", fast >= 8 * plain
        )
    )
    other, cpu = best(rate, ours_of("low"), odd, 2)
    rows.append(row("… every object of another size", "none", other, "/s", None, cpu))
    torch.set_num_threads(THREADS)
    single, cpu = best(alone, ours_of("low"), objects, 2)
    rows.append(
        row("… one object at a time, 2 threads of torch's", "none", single, "/s", None, cpu)
    )
    rows.append(memory(objects))
    if torch.cuda.is_available():
        gpu, cpu = best(alone, ours_of("low", "cuda"), objects, 4)
        rows.append(row("… on one GPU", "≥ 800 objects/s", gpu, "/s", 800, cpu))
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return [*rows, plain_row("this machine: load", load)]


def made(seed: int, height: int = HEIGHT, width: int = WIDTH) -> Object:
    """An object: noise that is smooth in places, and nine parts along an order."""
    rng = np.random.default_rng(seed)
    image = ndimage.gaussian_filter(rng.integers(0, 256, (height, width, 3)), (1.5, 1.5, 0))
    y, x = np.mgrid[:height, :width] / np.array([[[height]], [[width]]])
    masks = {}
    for part in range(PARTS):
        middle, extent = rng.uniform(0.2, 0.8, 2), rng.uniform(0.05, 0.15, 2)
        masks[f"part {part}"] = (
            np.hypot((y - middle[0]) / extent[0], (x - middle[1]) / extent[1]) < 1
        )
    return image.astype(np.uint8), sequence(list(masks), masks)


def ours_of(content: str, device: str = "cpu") -> Callable[..., Iterable[torch.Tensor]]:
    return lambda image, found: frames(image, found, content, device=device)


def plain_frames(image: NDArray[np.uint8], found: PartSequence) -> Iterable[torch.Tensor]:
    """The frames of `low`, each by itself."""
    along = np.arange(-LOW.dilation_px, LOW.dilation_px + 1) ** 2
    disk = np.add.outer(along, along) <= LOW.dilation_px**2
    original = torch.from_numpy(image)
    height, width = found.steps.shape
    for frame in range(len(found) - 1):
        inside = found.revealed(frame)
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


def drain(render: Callable[..., Iterable[torch.Tensor]], one: Object) -> int:
    """As a classifier would: every frame is met once, none is kept."""
    return sum(int(frame[0, 0, 0]) for frame in render(*one))


def rate(render: Any, objects: list[Object]) -> tuple[float, float]:
    """Objects a second on two threads, and milliseconds of processor time an object."""
    with ThreadPoolExecutor(THREADS) as workers:
        start, cpu = time.perf_counter(), time.process_time()
        list(workers.map(lambda one: drain(render, one), objects))
        took, used = time.perf_counter() - start, time.process_time() - cpu
    return len(objects) / took, 1000 * used / len(objects)


def alone(render: Any, objects: list[Object]) -> tuple[float, float]:
    start, cpu = time.perf_counter(), time.process_time()
    for one in objects:
        drain(render, one)
    took, used = time.perf_counter() - start, time.process_time() - cpu
    return len(objects) / took, 1000 * used / len(objects)


def best(how: Any, render: Any, objects: list[Object], runs: int) -> tuple[float, float]:
    return max(how(render, objects) for _ in range(runs))


def memory(objects: list[Object]) -> dict[str, Any]:
    """What the most memory held grows by after the first objects."""
    alone(ours_of("low"), objects[:5])
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    alone(ours_of("low"), objects)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) / 1024
    return plain_row(
        f"… memory of {OBJECTS} objects beyond that of 5",
        f"{grown:.0f} MiB",
        "< 16 MiB",
        grown < 16,
    )


def row(
    name: str, target: str, value: float, unit: str, least: float | None, cpu: float
) -> dict[str, Any]:
    measured = f"{value:.1f}{unit} ({cpu:.0f} ms of processor time each)"
    return plain_row(name, measured, target, None if least is None else value >= least)


def plain_row(
    name: str, measured: str, target: str = "none", ok: bool | None = None
) -> dict[str, Any]:
    return {"name": name, "target": target, "measured": measured, "ok": ok}
