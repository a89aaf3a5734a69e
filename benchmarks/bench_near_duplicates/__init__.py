"""How many changed photographs are found again, how many others are taken for alike, and how long a
search takes.

Photographs are those of scikit-image and scikit-learn, whole and cut into tiles that do not
overlap, or those below the folder that ASSAY_PHOTOGRAPHS names.
"""

import io
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance

from benchmarks import sized
from labeling.near_duplicates import search
from labeling.near_duplicates.fingerprints import VIEWS, distance, fingerprint

# Of its tiles so many a side, where each has so many pixels.
TILES, LEAST = 3, 150
SHOWN = sized(800, 200)
SIZES = sized((10_000, 100_000, 1_000_000), (1_000, 2_000, 4_000))
# Photographs, not diagrams, of scikit-image.
NAMES = (
    *("astronaut.png", "brick.png", "camera.png", "chelsea.png", "coffee.png", "coins.png"),
    *("grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png", "retina.jpg"),
    *("motorcycle_left.png", "rocket.jpg"),
)
Change = Callable[[Image.Image], Image.Image]


def main() -> list[dict[str, Any]]:
    images = list(photographs())
    known = [(image, own) for image in images if (own := fingerprint(image)) is not None]
    prints = np.array([own for _, own in known])
    words = f"{len(images)} images, {len(images) - len(known)} of them too plain"
    rows = [
        row(f"found again, of {words}: {name}", f"{found_again(known, change):.1%}")
        for name, change in CHANGES.items()
    ]
    different = len(search.pairs(prints).query)
    count = len(known) * (len(known) - 1) // 2
    rows.append(row(f"of {count:,} pairs of different images taken for alike", str(different)))
    rows += [row(f"search of {size:,} fingerprints", f"{searched(size):.1f} s") for size in SIZES]
    return rows


def photographs() -> Iterator[Image.Image]:
    """Every photograph whole, and its tiles."""
    for path in paths():
        image = Image.open(path).convert("RGB")
        yield shown(image)
        wide, high = image.width // TILES, image.height // TILES
        if min(wide, high) >= LEAST:
            for at in range(TILES * TILES):
                x, y = at % TILES * wide, at // TILES * high
                yield shown(image.crop((x, y, x + wide, y + high)))


def paths() -> Iterator[Path]:
    folder = os.environ.get("ASSAY_PHOTOGRAPHS")
    if folder:
        yield from sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return
    import skimage
    import sklearn.datasets

    yield from (Path(skimage.__file__).parent / "data" / name for name in NAMES)
    yield from sorted(Path(sklearn.datasets.__file__).parent.glob("images/*.jpg"))


def shown(image: Image.Image) -> Image.Image:
    image = image.copy()
    image.thumbnail((SHOWN, SHOWN))
    return image


def scaled(share: float) -> Change:
    return lambda image: image.resize((int(image.width * share), int(image.height * share)))


def compressed(quality: int) -> Change:
    def compress(image: Image.Image) -> Image.Image:
        stream = io.BytesIO()
        image.save(stream, "JPEG", quality=quality)
        return Image.open(stream)

    return compress


def cropped(left: float, top: float, right: float, bottom: float) -> Change:
    def crop(image: Image.Image) -> Image.Image:
        box = (left, top, 1 - right, 1 - bottom)
        sides = (image.width, image.height) * 2
        return image.crop(tuple(int(side * at) for side, at in zip(sides, box, strict=True)))

    return crop


def both(first: Change, then: Change) -> Change:
    return lambda image: then(first(image))


CHANGES: dict[str, Change] = {
    "half the size": scaled(0.5),
    "a quarter": scaled(0.25),
    "JPEG of quality 50": compressed(50),
    "JPEG of quality 20": compressed(20),
    "5 % off one side": cropped(0.05, 0, 0, 0),
    "5 % off two sides": cropped(0.05, 0.05, 0, 0),
    "5 % off all sides": cropped(0.05, 0.05, 0.05, 0.05),
    "2.5 % off all sides": cropped(0.025, 0.025, 0.025, 0.025),
    "10 % lighter": lambda image: ImageEnhance.Brightness(image).enhance(1.1),
    "15 % less contrast": lambda image: ImageEnhance.Contrast(image).enhance(0.85),
    "40 % less color": lambda image: ImageEnhance.Color(image).enhance(0.6),
    "5 % off two sides, half the size, JPEG 60": both(
        cropped(0.05, 0.05, 0, 0), both(scaled(0.5), compressed(60))
    ),
    "10 % off all sides": cropped(0.1, 0.1, 0.1, 0.1),
}


def found_again(known: list[tuple[Image.Image, Any]], change: Change) -> float:
    """The share of images that look like themselves once they are changed."""
    changed = [(fingerprint(change(image)), own) for image, own in known]
    found = [new is not None and distance(own, new) <= search.DISTANCE for new, own in changed]
    return sum(found) / len(found)


def searched(size: int) -> float:
    """Seconds of a search among chance fingerprints, whose crops differ a little from the whole."""
    rng = np.random.default_rng(0)
    prints = np.repeat(rng.integers(0, 2**64, (size, 1), dtype=np.uint64), VIEWS, axis=1)
    for _ in range(8):
        bits = rng.integers(0, 64, prints[:, 1:].shape).astype(np.uint64)
        prints[:, 1:] ^= np.left_shift(np.uint64(1), bits)
    search.pairs(prints[:100])
    start = time.perf_counter()
    search.pairs(prints)
    return time.perf_counter() - start


def row(name: str, measured: str) -> dict[str, Any]:
    return {"name": name, "target": "none", "measured": measured, "ok": None}
