"""What a batch of score maps asks of any device: launches, waits, and memory as on the CPU."""

import tempfile

from benchmarks import Row, own_process, row
from benchmarks.bench_gpu import made
from evaluation.metrics.wsol.box_scores import PROTOCOLS, Protocol
from evaluation.metrics.wsol.device import batches
from tests.evaluation.metrics.torch_guard import Guard

# Maps of the batches that are counted; of those whose memory is.
COUNTED, HELD = (2, 8), (2, 6)


def asked_rows() -> list[Row]:
    """What a batch asks of any device."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, grid in made.GRIDS.items():
            for name in PROTOCOLS:
                counted = [counts(grid, count, name) for count in COUNTED]
                few, many = (
                    own_process.run("bench_gpu.demand", folder, "held", [grid, count, name])
                    for count in HELD
                )
                each = (many - few) / (HELD[1] - HELD[0])
                numbers = "; ".join(
                    f"{launches:,} and {waits} for {count}"
                    for count, (launches, waits) in zip(COUNTED, counted, strict=True)
                )
                rows.append(
                    row(
                        f"launches and waits of a batch of maps, {kind}, {name}",
                        f"{numbers}; {each:.0f} MiB a map",
                        "≤ 3,200 and 400",
                        all(launches <= 3200 and waits <= 400 for launches, waits in counted),
                    )
                )
    return rows


def counts(grid: int, count: int, name: str) -> tuple[int, int]:
    maps, boxes = made.maps(grid, count)
    with Guard() as guard:
        batches.hits_of(maps, boxes, [(made.SIZE, made.SIZE)] * count, Protocol(name))
    return guard.launches.total(), guard.waits.total()


def held(batch: tuple[int, int, str]) -> int:
    """The most MiB that this process holds with a batch of so many maps, on the CPU."""
    grid, count, name = batch
    maps, boxes = made.maps(grid, count)
    batches.hits_of(maps, boxes, [(made.SIZE, made.SIZE)] * count, Protocol(name))
    return own_process.peak_mib()
