"""Frames of a release streamed as to a classifier: how many a second, in how much memory.

`python -m benchmarks sequences`. Objects of nine parts on JPEG photographs of 500 × 375 pixels, in
five part schemes and four content schemes, each action in a process of its own. Beside it the same
frames with each sequence by itself, and an estimate for the 1,850 objects of the paper.
"""

import io
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from benchmarks import own_process, sized
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.readers.sequences import SequenceLine
from evaluation.sequences.part_orders import random_orders
from evaluation.sequences.sequencing import frames_of, lines_of, render
from labeling.release_files import frozen

OBJECTS = sized(20, 3)
MORE = sized(4, 2)
ALONE = 2
PAPER = 1_850
PARTS = tuple(f"part-{n}" for n in range(9))
SCHEMES = 5
SIZE = (500, 375)
BOX = (60.0, 40.0, 440.0, 340.0)
# Frames of the last objects and the allocator's mood come and go.
FLAT_MIB = 48
THREADS = 2


def main() -> list[dict[str, Any]]:
    return rows(OBJECTS)


def rows(objects: int = OBJECTS) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), objects * MORE)
        about = {"folder": folder, "objects": objects}
        few = own_process.run("bench_sequences", folder, "stream", about)
        many = own_process.run(
            "bench_sequences", folder, "stream", about | {"objects": objects * MORE}
        )
        alone = own_process.run("bench_sequences", folder, "alone", about | {"objects": ALONE})
    grown = many["mib"] - few["mib"]
    cpu = many["cpu"] / many["objects"]
    minutes = PAPER * many["seconds"] / many["objects"] / 60
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return [
        plain_row(
            f"frames streamed, {SCHEMES} × {len(CONTENT_SCHEMES)} sequences an object, "
            f"{THREADS} threads",
            f"{many['frames'] / many['seconds']:.0f} frames/s, {1000 * cpu:.0f} ms of processor "
            f"time an object ({load})",
        ),
        plain_row(
            "… against each sequence by itself",
            f"{alone['cpu'] / alone['objects'] / cpu:.1f} times, by processor time",
        ),
        plain_row(
            f"… of {PAPER:,} objects, from {many['objects']}",
            f"{minutes:.0f} min at this rate, {PAPER * cpu / 60:.0f} of processor time",
        ),
        plain_row(
            f"… memory of {many['objects']} objects beyond that of {few['objects']}",
            f"{grown} MiB over {few['mib']}",
            f"< {FLAT_MIB} MiB",
            grown < FLAT_MIB,
        ),
        plain_row(
            f"… written to disk by {many['frames']:,} frames",
            f"{many['written']} bytes",
            "none",
            many["written"] == 0,
        ),
    ]


def plain_row(
    name: str, measured: str, target: str = "none", ok: bool | None = None
) -> dict[str, Any]:
    return {"name": name, "target": target, "measured": measured, "ok": ok}


def prepare(folder: Path, objects: int) -> None:
    """release-N for the first N objects of each count, and photograph.jpg."""
    import numpy as np
    from PIL import Image

    # Releases in a folder, without a database: the tests' own.
    from tests.evaluation.cds import scenes

    Image.fromarray(scenes.photograph(1, *SIZE)).save(folder / "photograph.jpg", quality=90)
    things = {}
    for number in range(objects):
        chance = np.random.default_rng(number)
        parts = tuple(
            scenes.Part(
                key,
                scenes.ellipse(
                    *chance.uniform((90, 70), (410, 310)), *chance.uniform(15, 50, 2), corners=60
                ),
            )
            for key in PARTS
        )
        name = f"{number:05}.jpg"
        things[name] = [replace(scenes.cat(name), box=BOX, parts=parts)]
    for count in (ALONE, objects // MORE, objects):
        chosen = dict(list(things.items())[:count])
        scenes.release(folder / f"release-{count}", chosen, {scenes.CAT: PARTS}, SIZE)


class Asked:
    """A release in the folder, five orders of its parts, and one photograph for every image."""

    def __init__(self, about: dict[str, Any]) -> None:
        folder, self.objects = Path(about["folder"]), about["objects"]
        self.frozen = frozen.read(folder / f"release-{self.objects}")
        parts = {category: tuple(names) for category, names in self.frozen.parts().items()}
        self.orders = {
            f"random-{seed}": random_orders(parts, seed)["random"] for seed in range(SCHEMES)
        }
        self.photograph = (folder / "photograph.jpg").read_bytes()

    def open(self, name: str) -> IO[bytes]:
        return io.BytesIO(self.photograph)

    def lines(self) -> Iterator[SequenceLine]:
        return lines_of(self.frozen, self.orders, CONTENT_SCHEMES)


def stream(about: dict[str, Any]) -> dict[str, Any]:
    """Every frame is met once, as by a classifier; none is kept."""
    asked = Asked(about)
    # The loops are compiled, torch is there.
    warm = frames_of(asked.frozen, asked.orders, CONTENT_SCHEMES, asked.open, threads=THREADS)
    for _ in range(50):
        next(warm)
    warm.close()
    start, cpu, written, count = time.perf_counter(), time.process_time(), blocks_written(), 0
    found = frames_of(asked.frozen, asked.orders, CONTENT_SCHEMES, asked.open, threads=THREADS)
    for _, frame in found:
        count += int(frame[0, 0, 0]) >= 0
    return measured(asked, start, cpu) | {
        "frames": count,
        "written": blocks_written() - written,
        "mib": own_process.peak_mib(),
    }


def alone(about: dict[str, Any]) -> dict[str, Any]:
    """The same frames, each sequence by itself."""
    import torch

    torch.set_num_threads(1)
    asked = Asked(about)
    ((photo, [thing]), *_) = asked.frozen.objects(rest=False)
    lines = [line for line in asked.lines() if line.image == photo.name]
    for warm in (True, False):
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(1 if warm else asked.objects):
            for line in lines:
                order = asked.orders[line.part_scheme][line.category]
                render(thing, photo, line, order, asked.open)
    return measured(asked, start, cpu)


def measured(asked: Asked, start: float, cpu: float) -> dict[str, Any]:
    return {
        "objects": asked.objects,
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
    }


def blocks_written() -> int:
    """Bytes that this process has written to file systems, in blocks of 512."""
    return 512 * resource.getrusage(resource.RUSAGE_SELF).ru_oublock


ACTIONS = {"stream": stream, "alone": alone}

if __name__ == "__main__":
    own_process.main(__doc__, ACTIONS, rows, OBJECTS)
