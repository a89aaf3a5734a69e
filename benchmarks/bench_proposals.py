"""From a click to a polygon: a made-up network with SAM's inputs, in the process that decodes.

The network itself costs next to nothing; what a real decoder takes comes on top.
"""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from benchmarks import sized
from labeling.promptable.network import Decoder, Encoder
from labeling.promptable.outlines import outline_of
from labeling.promptable.prompts import Prompts
from labeling.promptable.workers import Pool
from tests.labeling.promptable import made_up

SIZES = ((450, 300), sized((4000, 3000), (900, 600)))
IMAGES, CLICKS = sized(8, 3), sized(40, 3)


def photograph(size: tuple[int, int], number: int) -> Image.Image:
    """Ten discs on grey."""
    chance = np.random.default_rng(number)
    image = Image.new("RGB", size, (120, 120, 120))
    draw = ImageDraw.Draw(image)
    for _ in range(10):
        x, y = chance.random(2) * size
        reach = 0.05 + 0.1 * chance.random()
        r = reach * size[1]
        colour = tuple(int(value) for value in chance.integers(0, 255, 3))
        draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)
    return image


def main() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as name:
        return [row for size in SIZES for row in measured(Path(name), size)]


def measured(folder: Path, size: tuple[int, int]) -> list[dict[str, object]]:
    encoder_file, decoder_file = made_up.files(folder, size=1024, grid=256)
    encoder, decoder = Encoder(encoder_file), Decoder(decoder_file, threads=1)
    prepared = encoder.preparation.as_json()
    files = []
    for number in range(IMAGES):
        path = folder / f"{size[0]}-{number}.npy"
        np.save(path, encoder.embed(photograph(size, number)))
        files.append(path)
    chance = np.random.default_rng(0)
    clicks = [
        Prompts(((round(float(x), 1), round(float(y), 1), 1),))
        for x, y in chance.random((CLICKS, 2)) * size
    ]
    pool = Pool()
    try:
        first = timed(
            lambda: pool.decode(decoder_file, prepared, files[0], size, clicks[0].as_json())
        )
        fresh = [
            timed(
                lambda path=path: pool.decode(
                    decoder_file, prepared, path, size, clicks[0].as_json()
                )
            )
            for path in files[1:]
        ]
        kept = [
            timed(
                lambda click=click: pool.decode(
                    decoder_file, prepared, files[-1], size, click.as_json()
                )
            )
            for click in clicks
        ]
    finally:
        pool.end()
    embedding = np.load(files[-1])
    alone = [
        timed(lambda click=click: here(decoder, embedding, click, size, encoder))
        for click in clicks
    ]
    ratio = statistics.median(kept) / statistics.median(alone)
    what = f"{size[0]} × {size[1]}"
    shown = (
        ("first click, starting the process", first),
        ("first click on an image", statistics.median(fresh)),
        ("further clicks, median", statistics.median(kept)),
        ("further clicks, slowest of 40", max(kept)),
    )
    rows = [
        {"name": f"{what}: {words}", "target": "", "measured": f"{1000 * value:.0f} ms", "ok": None}
        for words, value in shown
    ]
    return [
        *rows,
        {
            "name": f"{what}: over the same in this process",
            "target": "",
            "measured": f"{ratio:.2f}",
            "ok": None,
        },
    ]


def here(
    decoder: Decoder, embedding: object, click: Prompts, size: tuple[int, int], encoder: Encoder
) -> None:
    mask, _ = decoder.decode(np.asarray(embedding), click, size, encoder.preparation)
    outline_of(mask, size, click.on_it())


def timed(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
