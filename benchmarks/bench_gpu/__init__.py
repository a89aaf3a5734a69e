"""Score maps, blurred frames and selection on a GPU, beside the CPU of the same machine.

`python -m benchmarks gpu [--out DIR]` needs only torch 2.8 or later and numpy, so it runs on a bare
machine with a GPU; the compiled loops of the CPU are left out by name where numba is missing. First
both devices must give equal results; then a table of rates, which --out also writes as gpu.md.
Without a GPU, the rows only say that nothing was measured.
"""

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import Row, row, sized
from benchmarks.bench_gpu import made
from evaluation.classifiers.likeliest_classes import batch_rows
from evaluation.classifiers.opening import Classifier
from evaluation.classifiers.preparing import FramePreparation
from evaluation.metrics.frames.foveation import frames
from evaluation.metrics.mad.selection import Levels, PairReducer, SelectionRule
from evaluation.metrics.mad.sorting import DevicePredictions, SortingReducer
from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.box_scores import PROTOCOLS, Protocol
from evaluation.metrics.wsol.device import batches

# ASSAY_BENCHMARK_DEVICE=cpu lets the rows be tried without a GPU.
DEVICE = os.environ.get("ASSAY_BENCHMARK_DEVICE", "cuda")
HAS_NUMBA = importlib.util.find_spec("numba") is not None
CORES = len(os.sched_getaffinity(0))
# The compiled loops need milliseconds for a map, torch on the CPU up to a second.
MAPS, COMPARED = sized(4096, 1), sized(64 if HAS_NUMBA else 8, 1)
CPU_MAPS, CPU_RUNS = sized(256 if HAS_NUMBA else 8, 1), 3 if HAS_NUMBA else 1
OBJECTS = sized(60, 1)
IMAGES, CLASSES = sized(2_000_000, 2_000), 1000
MAPS_WANTED, TIMES_WANTED = 10_000, 20
IDS: Any = SimpleNamespace(in_order=True, text=np.zeros(1, np.uint8), marks=np.zeros(1, np.int64))
NOT_MEASURED = "not measured: no GPU is here that torch can use"
NO_NUMBA = "numba is not installed: the CPU's compiled loops"
CONTENT = "low"


def main() -> list[Row]:
    if DEVICE == "cuda" and not torch.cuda.is_available():
        names = ("score maps on a GPU", "objects of CDS on a GPU", "selection of MAD on a GPU")
        return [row(name, NOT_MEASURED) for name in names]
    model = torch.cuda.get_device_name() if DEVICE == "cuda" else DEVICE
    rows = [row("the device, and the CPU beside it", f"{model}; {CORES} cores")]
    if not HAS_NUMBA:
        rows.append(row("left out", NO_NUMBA))
    with torch.inference_mode():
        return [*rows, *equal_rows(), *map_rows(), cds_row(), *mad_rows()]


def equal_rows() -> Iterator[Row]:
    """Yield rows that tell whether both devices give equal results."""
    for kind, grid in made.GRIDS.items():
        maps, boxes = made.maps(grid, COMPARED)
        for name in PROTOCOLS:
            alike = all(map(np.array_equal, hits(maps, boxes, name), cpu_hits(maps, boxes, name)))
            yield row(f"hits of maps, {kind}, {name}", _words(alike), "equal", alike)
    image, sequence = made.part_object(0)
    off = [
        (a.cpu().int() - b.int()).abs().max().item()
        for a, b in zip(
            frames(image, sequence, CONTENT, device=DEVICE, compiled=False),
            frames(image, sequence, CONTENT, compiled=False),
            strict=True,
        )
    ]
    yield row(
        f"frames of an object, {CONTENT}", f"at most {max(off)} of 255 apart", "≤ 1", max(off) <= 1
    )
    pool = made.pool(min(IMAGES, 100_000), CLASSES)
    reduced = [
        vars(sorting(device).reduce(*placed(pool, device), slice(0, len(pool[0].labels))))
        for device in (DEVICE, "cpu")
    ]
    alike = all(np.array_equal(reduced[0][key], reduced[1][key]) for key in reduced[0])
    yield row("candidates of a pair", _words(alike), "equal", alike)


def map_rows() -> Iterator[Row]:
    """Yield maps a second at 1,000 thresholds, on the CPU's threads and on the GPU."""
    for kind, grid in made.GRIDS.items():
        maps, boxes = made.maps(grid, min(MAPS, 512))
        for name in PROTOCOLS:
            many = maps * (MAPS // len(maps)), boxes * (MAPS // len(maps))
            fast = MAPS / shortest(partial(hits, *many, name))
            on_cpu = partial(cpu_hits, maps[:CPU_MAPS], boxes[:CPU_MAPS], name)
            slow = CPU_MAPS / shortest(on_cpu, CPU_RUNS)
            target = f"≥ {MAPS_WANTED:,}/s" if grid == made.SMOOTH else "none"
            ok = fast >= MAPS_WANTED if grid == made.SMOOTH else None
            measured = f"{fast:,.0f}/s; CPU {slow:,.0f}/s; {fast / slow:.1f} times"
            yield row(f"MaxBoxAccV2 of maps, {kind}, {name}", measured, target, ok)


def cds_row() -> Row:
    """Return objects a second: frames are made and classified by a random network on one device."""
    objects = [made.part_object(seed) for seed in range(OBJECTS)]
    rates, count = {}, made.PARTS + 1
    for device in (DEVICE, "cpu"):
        classifier = frame_classifier(device)

        def classify(classifier: Classifier = classifier, device: str = device) -> None:
            by_loops = HAS_NUMBA and device == "cpu"
            rendered = (
                ("", frame)
                for image, sequence in objects
                for frame in frames(image, sequence, CONTENT, device=device, compiled=by_loops)
            )
            assert sum(map(len, batch_rows(rendered, classifier, 32))) == OBJECTS * count

        rates[device] = OBJECTS / shortest(classify, 2)
    fast, slow = rates[DEVICE], rates["cpu"]
    measured = f"{fast:.0f}/s, {fast * count:,.0f} frames/s; CPU {slow:.1f}/s"
    return row(
        f"objects of CDS, {CONTENT}",
        f"{measured}; {fast / slow:.1f} times",
        f"≥ {TIMES_WANTED} times",
        fast / slow >= TIMES_WANTED,
    )


def frame_classifier(device: str) -> Classifier:
    classes = tuple(f"class {number}" for number in range(CLASSES))
    network = made.network().to(device)
    return Classifier("random", classes, FramePreparation(), device, {}, network)


def mad_rows() -> Iterator[Row]:
    """Yield images a second of the selection of one pair, with predictions on the host and on the
    device.
    """
    pool = made.pool(IMAGES, CLASSES)
    slow = IMAGES / shortest(lambda: reducer("cpu").reduce(*pool, slice(0, IMAGES)), 2) / 1e6
    for where, pair in (("host", pool), ("device", placed(pool, DEVICE))):
        reduce = partial(sorting(DEVICE).reduce, *pair, slice(0, IMAGES))
        fast = IMAGES / shortest(reduce, 2) / 1e6
        measured = f"{fast:.1f} M/s; CPU {slow:.1f} M/s; {fast / slow:.1f} times"
        yield row(f"selection of MAD, images of a pair on the {where}", measured)


def placed(pool: made.Pool, device: str) -> list[DevicePredictions]:
    """Return predictions in this device's memory, as a network on it leaves them."""
    return [DevicePredictions.of(each, slice(0, len(each.labels)), device) for each in pool]


def hits(maps: made.Maps, boxes: made.Boxes, name: str, device: str = DEVICE) -> Any:
    sizes = [(made.SIZE, made.SIZE)] * len(maps)
    return batches.hits_of(maps, boxes, sizes, Protocol(name), device=device)


def cpu_hits(maps: made.Maps, boxes: made.Boxes, name: str) -> Any:
    """Return hits from the compiled loops, a thread for each core; without numba, from torch."""
    if not HAS_NUMBA:
        return hits(maps, boxes, name, "cpu")

    def one_map(pair: tuple[NDArray[np.float32], NDArray[np.float64]]) -> Any:
        scale = box_scores.scale_of(pair[0], "min-max")
        return box_scores.box_hits(*pair, Protocol(name), scale=scale)

    with ThreadPoolExecutor(CORES) as threads:
        results = list(threads.map(one_map, zip(maps, boxes, strict=True)))
    return [np.array(part) for part in zip(*results, strict=True)]


def reducer(device: str) -> SortingReducer | PairReducer:
    """Return the reducer that `mad select` would use on this device."""
    if device == "cpu" and HAS_NUMBA:
        return PairReducer(Levels.of_matrix(made.distances(CLASSES)), SelectionRule(), IDS)
    return sorting(device)


def sorting(device: str) -> SortingReducer:
    return SortingReducer(Levels.of_matrix(made.distances(CLASSES)), SelectionRule(), IDS, device)


def shortest(action: Callable[[], Any], runs: int = 3) -> float:
    """Return the seconds of the shortest run, after a first run that is not counted."""
    best = float("inf")
    for number in range(runs + 1):
        start = time.perf_counter()
        action()
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start) if number else best
    return best


def _words(alike: bool) -> str:
    return "equal" if alike else "NOT EQUAL"
