"""Time and memory to make a pool from photographs, beside the network alone on a batch in memory.

`python -m benchmarks predict [--size N]`: N JPEG files of 160 × 120 pixels, made of noise that is
enlarged, through a toy network of four convolutions at 64 × 64, about twenty times as much work as
decoding and preparing a photograph of that size. The network alone is timed in between, in the same
process, since shared cores change their speed within seconds.
"""

import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks import Row, own_process, row, sized
from evaluation.readers.shipped import CLASSES

BATCH = 32
FEW_IMAGES = sized(1_000, 100)
# Batches of the command between two turns of the network alone, and batches of such a turn.
EVERY, ALONE = 40, 10
SIDE = 64
TARGET = 0.9
TARGET_MIB = 64


def main(images: int = sized(10_000, 200)) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        _child(folder, "make", {"folder": folder, "images": images})
        few = _child(folder, "predict", {"folder": folder, "part": "few"})
        got = _child(folder, "predict", {"folder": folder, "part": "all"})
    rate, alone = images / got["seconds"], 1 / got["alone"]
    parts = (got["alone_processor"], got["processor"] / images, got["decoding"] / images)
    network, whole, decoding = (1000 * part for part in parts)
    more = got["peak"] - few["peak"]
    return [
        row(
            f"predict, {images:,} photographs, of the network's own rate",
            f"{rate / alone:.3f} ({rate:.1f} of {alone:.1f} images/s)",
            f"≥ {TARGET}",
            rate / alone >= TARGET,
        ),
        row(
            "… processor time of an image",
            f"{whole:.2f} ms and {decoding:.2f} ms of decoding; the network alone {network:.2f} ms",
        ),
        row(
            f"… memory beyond that of {FEW_IMAGES:,} photographs",
            f"{more} MiB over {few['peak']}",
            f"< {TARGET_MIB} MiB",
            more < TARGET_MIB,
        ),
    ]


_child = partial(own_process.run, "bench_predict")

# In processes of their own.


def make(settings: dict[str, Any]) -> None:
    """Write photographs to few/ and all/, and the network."""
    import torch
    from torch import nn

    folder, rng = Path(settings["folder"]), np.random.default_rng(0)
    for number in range(settings["images"]):
        part = folder / "all" / f"{number // FEW_IMAGES:03}"
        part.mkdir(parents=True, exist_ok=True)
        small = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
        path = part / f"{number:07}.jpg"
        small.resize((160, 120), Image.Resampling.BICUBIC).save(path, quality=85)
    (folder / "few").symlink_to(folder / "all" / "000")
    torch.manual_seed(0)
    network = nn.Sequential(
        *(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.Linear(128, 1000),
    )
    torch.jit.script(network.eval()).save(folder / "toy.pt")


def predict(settings: dict[str, Any]) -> dict[str, float]:
    """Return the seconds of the command from its start to the whole pool, without those of the
    network alone, and the seconds of the network for one image; both also in processor time.
    """
    from django.core.management import call_command, load_command_class

    from evaluation.classifiers import opening
    from evaluation.classifiers.predicting import decoding

    folder = Path(settings["folder"])
    alone, images, decoded = np.zeros(2), [0], [0.0]
    network = opening.load(
        os.fspath(folder / "toy.pt"),
        CLASSES["ilsvrc"].read_text().split(),
        preparing={"size": (SIDE, SIDE)},
    )
    prepared, leave = decoding.Decoders.prepared, decoding.Decoders.__exit__

    def interrupted(self: Any, batches: Any) -> Any:
        for number, (batch, pixels, reasons) in enumerate(prepared(self, batches)):
            if number % EVERY == 1:
                prepared_batch = torch.from_numpy(pixels[0]).clone()
                begun = _clocks()
                for _ in range(ALONE):
                    network(prepared_batch)
                alone[:] += _clocks() - begun
                images[0] += ALONE * BATCH
            yield batch, pixels, reasons

    def leaving(self: Any, *error: Any) -> None:
        decoded[0] += sum(_of_process(process.pid) for process, _ in self._started)
        leave(self, *error)

    decoding.Decoders.prepared = interrupted  # type: ignore[method-assign]
    decoding.Decoders.__exit__ = leaving  # type: ignore[method-assign]
    import torch

    begun = _clocks()
    with open(os.devnull, "w") as nowhere:
        call_command(
            load_command_class("evaluation", "predict"),
            *(f"{folder / settings['part']}", f"--model={folder / 'toy.pt'}", "--classes=ilsvrc"),
            *(f"--out={folder / settings['part']}-pool", f"--size={SIDE}", f"--batch={BATCH}"),
            "--device=cpu",
            stdout=nowhere,
        )
    seconds, processor = _clocks() - begun - alone
    return {
        "seconds": seconds,
        "processor": processor,
        "decoding": decoded[0],
        "alone": alone[0] / images[0],
        "alone_processor": alone[1] / images[0],
        "peak": own_process.peak_mib(),
    }


def _clocks() -> NDArray[np.float64]:
    """Return seconds, and processor seconds of this process."""
    return np.array([time.perf_counter(), time.process_time()])


def _of_process(pid: int) -> float:
    """Return the processor seconds of another process so far."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
