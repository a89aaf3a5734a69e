"""Images for `--preset small`, drawn by numpy: an object away from the middle, on a background.

An object has a small part whose color and stripes tell its class, and a body whose color tells it
less. The background's color is that of the class in some images. Noise and illumination vary.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.scoring.wsol.splits import FULL, TEST, WEAK
from labeling.geometry.regions import PixelBox, tight

SIDE, CLASSES = 56, 8
# Images of each class.
COUNTS = {WEAK: 40, FULL: 12, TEST: 70}
# Shares of images whose background, and whose body, have the color of the class.
CONTEXT, BODY = 0.4, 0.5
# Least distance of an object's middle from that of its image, in pixels.
MIN_OFFSET = 10
Floats = NDArray[np.float64]


def write(folder: Path, counts: Mapping[str, int] = COUNTS, seed: int = 0) -> None:
    """Write images/ and metadata/ of the three parts into a folder, as score wsol reads them.

    counts: the number of images of each class in each part.
    """
    for number, (part, count) in enumerate(counts.items()):
        rng = np.random.default_rng([seed, number])
        lines: dict[str, list[str]] = {}
        (folder / "images" / part).mkdir(parents=True, exist_ok=True)
        for index in range(count * CLASSES):
            name, label = f"{part}/{index:04}.png", index % CLASSES
            pixels, box = draw_image(label, rng)
            Image.fromarray(pixels).save(folder / "images" / name)
            corners = ",".join(map(str, box))
            for file, cells in (
                ("image_ids", ""),
                ("class_labels", f",class{label}"),
                ("image_sizes", f",{SIDE},{SIDE}"),
                ("localization", f",{corners}"),
            ):
                lines.setdefault(file, []).append(f"{name}{cells}\n")
        metadata = folder / "metadata" / part
        metadata.mkdir(parents=True, exist_ok=True)
        for file, rows in lines.items():
            if part != WEAK or file in ("image_ids", "class_labels"):
                (metadata / f"{file}.txt").write_text("".join(rows))


def draw_image(label: int, rng: np.random.Generator) -> tuple[NDArray[np.uint8], PixelBox]:
    """Return a (SIDE, SIDE, 3) image of a class, and the box of its object."""
    y, x = np.mgrid[:SIDE, :SIDE].astype(float)
    field = label if rng.random() < CONTEXT else int(rng.integers(CLASSES))
    image = _color(field, 0.15)[:, None, None] + 0.08 * np.array(list(_clouds(rng)))
    # Semi-axes of the body, and its middle.
    long, short = rng.uniform(7, 11), rng.uniform(4.5, 7)
    angle = rng.uniform(-0.6, 0.6) + (np.pi if rng.random() < 0.5 else 0.0)
    along, across = np.cos(angle), np.sin(angle)
    middle = _off_center(long + 5, rng)
    dx, dy = x - middle[0], y - middle[1]
    u, v = dx * along + dy * across, -dx * across + dy * along
    body = (u / long) ** 2 + (v / short) ** 2 <= 1
    head = (u - long) ** 2 + v**2 <= rng.uniform(3.5, 4.5) ** 2
    coat = label if rng.random() < BODY else int(rng.integers(CLASSES))
    shade = 0.75 + 0.1 * np.sin(rng.uniform(0.5, 1.0) * u)
    stripes = 0.5 + 0.5 * np.sin((label % 4 + 1) * 0.6 * (u if label < 4 else v))
    for channel in range(3):
        image[channel][body] = (_color(coat, 0.2)[channel] + 0.3) * shade[body]
        image[channel][head] = (0.5 + 0.5 * stripes[head]) * _color(label, 1.2)[channel].clip(0, 1)
    image = image * rng.uniform(0.8, 1.2) + rng.normal(0, 0.04, image.shape)
    box = tight(body | head)
    assert box is not None
    return (image.clip(0, 1) * 255).astype(np.uint8).transpose(1, 2, 0), box


def _off_center(margin: float, rng: np.random.Generator) -> Floats:
    """Return a point at least `margin` from the edges, and MIN_OFFSET from the middle."""
    while True:
        point = rng.uniform(margin, SIDE - margin, 2)
        if np.hypot(*(point - SIDE / 2)) >= MIN_OFFSET:
            return point


def _color(label: int, strength: float) -> Floats:
    """Return the color of a class, around grey."""
    phase = 2 * np.pi * (label / CLASSES + np.arange(3) / 3)
    return 0.4 + strength * 0.5 * np.cos(phase)


def _clouds(rng: np.random.Generator) -> Iterator[Floats]:
    """Yield a smooth random field of each channel."""
    for _ in range(3):
        coarse = Image.fromarray(rng.normal(0, 1, (8, 8)).astype(np.float32))
        yield np.asarray(coarse.resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.float64)
