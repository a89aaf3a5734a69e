"""How many copies of photographs are found, and how many that look alike are copies."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import skimage
from PIL import Image

from labeling.near_duplicates.fingerprints import fingerprint
from labeling.near_duplicates.search import DISTANCE, pairs
from tests.cases import for_each

NAMES = (
    "astronaut brick camera cell chelsea clock_motion coffee coins grass gravel ihc moon "
    "motorcycle_left page text"
)
JPEGS = "hubble_deep_field retina rocket"


def parts(image: Image.Image, by: int) -> Iterator[Image.Image]:
    wide, high = image.width // by, image.height // by
    for row in range(by):
        for column in range(by):
            yield image.crop((column * wide, row * high, (column + 1) * wide, (row + 1) * high))


@pytest.fixture(scope="module")
def photographs() -> list[Image.Image]:
    """The photographs of scikit-image and, of larger ones, their quarters and ninths."""
    folder = Path(skimage.__file__).parent / "data"
    files = [*(f"{name}.png" for name in NAMES.split()), *(f"{name}.jpg" for name in JPEGS.split())]
    images = []
    for file in files:
        image = Image.open(folder / file).convert("RGB")
        side = min(image.size)
        cuts = [by for by, least in ((1, 0), (2, 300), (3, 420)) if side >= least]
        images += [part for by in cuts for part in parts(image, by)]
    return [image for image in images if fingerprint(image) is not None]


@for_each(
    ("off", "quality"),
    [
        ((0, 0, 0, 0), 20),
        ((0.1, 0, 0, 0), None),
        ((0, 0.1, 0, 0), None),
        ((0, 0, 0.1, 0), None),
        ((0, 0, 0, 0.1), None),
        ((0.1, 0.1, 0, 0), None),
        ((0.1, 0.1, 0.1, 0.1), None),
        ((0.05, 0.05, 0.05, 0.05), None),
    ],
)
@pytest.mark.ci
def test_95_percent_of_copies_are_found_and_of_pairs_are_copies(photographs, off, quality):
    copies = [recoded(cropped(image, off), quality) for image in photographs]
    prints = [fingerprint(image) for image in (*photographs, *copies)]
    known = [at for at, made in enumerate(prints) if made is not None]
    hits = pairs(np.array([prints[at] for at in known]))

    count = len(photographs)
    both = np.array(known)[np.stack([hits.query, hits.entry])]
    across = both[:, (both[0] < count) & (both[1] >= count)]
    right = across[1] - across[0] == count

    assert hits.distance.max() <= DISTANCE
    assert right.sum() >= 0.95 * count
    assert right.mean() >= 0.95


def cropped(image: Image.Image, off: tuple[float, ...]) -> Image.Image:
    left, top, right, bottom = off
    box = (left * image.width, top * image.height)
    return image.crop(
        tuple(map(int, (*box, image.width * (1 - right), image.height * (1 - bottom))))
    )


def recoded(image: Image.Image, quality: int | None) -> Image.Image:
    if quality is None:
        return image
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=quality)
    return Image.open(stream)
