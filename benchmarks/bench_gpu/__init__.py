"""Boxes of score maps and blurred frames on a GPU, beside the CPU of the same machine.

`make bench-gpu`. Maps of 224 × 224 at 1000 thresholds in batches of 1,024 to 4,096; sequences of
500 × 375 pixels and ten frames. Without a GPU it says so, and gives what a batch asks of one:
launches and waits, which do not depend on the device, and memory, as the CPU holds it.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks import Row, bench_foveation, row
from benchmarks.bench_gpu.demand import KINDS, Boxes, Maps, asked_rows, drawn
from benchmarks.bench_wsol import SIZE, ours
from evaluation.metrics.wsol.box_scores import DELTAS, PROTOCOLS, Protocol
from evaluation.metrics.wsol.device import batches
from evaluation.metrics.wsol.device.hits import TrueBoxBatch
from evaluation.metrics.wsol.device.scaled import Scaled, padded_boxes, scaled

DEVICE = "cuda"
# Maps that differ; larger batches repeat them.
DRAWN, BATCHES = 512, (1024, 2048, 4096)
MAPS_WANTED, TIMES_WANTED = 10_000, 20
# Maps whose hits are held against the CPU's.
COMPARED = 64
NOT_MEASURED = "not measured: no GPU is here that torch can use"
MAPS_TARGET, TIMES_TARGET = f"≥ {MAPS_WANTED:,}/s", f"≥ {TIMES_WANTED} times"


def main() -> list[Row]:
    there = torch.cuda.is_available()
    return [*(map_rows() if there else []), *(frame_rows() if there else without()), *asked_rows()]


def without() -> list[Row]:
    return [
        row("MaxBoxAccV2 of smooth maps on a GPU", NOT_MEASURED, MAPS_TARGET),
        row("MaxBoxAccV2 of noise on a GPU", NOT_MEASURED),
        row("blurred sequences on a GPU, against 2 threads", NOT_MEASURED, TIMES_TARGET),
    ]


def map_rows() -> list[Row]:
    """Maps a second that lie on the device already, and from the host's memory."""
    rows = [row("the GPU", torch.cuda.get_device_name())]
    for kind, grid in KINDS.items():
        maps, boxes = drawn(grid, DRAWN)
        for name in PROTOCOLS:
            rates, held = {}, 0.0
            for size in BATCHES:
                torch.cuda.reset_peak_memory_stats()
                batch = on_device(maps * (size // DRAWN), boxes * (size // DRAWN), name)
                rates[size] = size / shortest(partial(hits, *batch))
                held = torch.cuda.max_memory_allocated() / size
            each = ", ".join(f"{rate:,.0f}/s of {size:,}" for size, rate in rates.items())
            host = DRAWN / shortest(partial(from_host, maps, boxes, name))
            compared = maps[:COMPARED], boxes[:COMPARED]
            on_cpu = [ours(*pair, Protocol(name)) for pair in zip(*compared, strict=True)]
            there = from_host(*compared, name)
            alike = all(map(np.array_equal, there, map(np.array, zip(*on_cpu, strict=True))))
            rows += [
                row(
                    f"MaxBoxAccV2 of maps on a GPU, {kind}, {name}",
                    f"{each}; {held / 1e6:.1f} MB a map",
                    MAPS_TARGET if kind == "smooth" else "none",
                    max(rates.values()) >= MAPS_WANTED if kind == "smooth" else None,
                ),
                row(f"… from the host's memory, {DRAWN} at once", f"{host:,.0f}/s"),
                row("… against the CPU", "equal" if alike else "NOT EQUAL", "equal", alike),
            ]
    return rows


def on_device(maps: Maps, boxes: Boxes, name: str) -> tuple[Scaled, TrueBoxBatch, Protocol]:
    extra = 1.0 if name == "reference" else 0.0
    scaled_maps = scaled(maps, [(SIZE, SIZE)] * len(maps), Protocol(name), DEVICE)
    return scaled_maps, TrueBoxBatch(*padded_boxes(boxes, DEVICE), extra, DELTAS), Protocol(name)


def hits(scaled_maps: Scaled, truth: TrueBoxBatch, protocol: Protocol) -> None:
    def work(part: slice) -> Any:
        its = TrueBoxBatch(truth.boxes[part], truth.there[part], truth.extra, truth.deltas)
        return batches.box_hits(Scaled(scaled_maps.values[part], None), its, protocol)

    batches.halved(len(scaled_maps.values), work)
    torch.cuda.synchronize()


def from_host(maps: Maps, boxes: Boxes, name: str) -> Any:
    sizes = [(SIZE, SIZE)] * len(maps)
    return batches.hits_of(maps, boxes, sizes, Protocol(name), device=DEVICE)


def frame_rows() -> list[Row]:
    """Blurred sequences a second: two threads of the CPU, and one that asks a GPU."""
    objects = [bench_foveation.made(seed) for seed in range(bench_foveation.OBJECTS)]
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        slow, _ = bench_foveation.rate(bench_foveation.ours_of("low"), objects)
    finally:
        torch.set_num_threads(before)

    def render() -> None:
        for image, sequence in objects:
            for _ in bench_foveation.frames(image, sequence, "low", device=DEVICE):
                pass
        torch.cuda.synchronize()

    torch.cuda.reset_peak_memory_stats()
    quick = len(objects) / shortest(render)
    held = torch.cuda.max_memory_allocated() / 2**20
    return [
        row(
            "blurred sequences on a GPU, against 2 threads",
            f"{quick / slow:.1f} times ({quick:.0f}/s and {slow:.0f}/s), {held:.0f} MiB",
            TIMES_TARGET,
            quick >= TIMES_WANTED * slow,
        )
    ]


def shortest(action: Callable[[], Any], runs: int = 3) -> float:
    """Seconds, after a first run that is not counted."""
    action()
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best
