"""What a fingerprint keeps of a photograph, and what it tells apart."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import skimage
from PIL import Image, ImageEnhance

from labeling.near_duplicates import fingerprints
from labeling.near_duplicates.fingerprints import BITS, VIEWS, fingerprint
from tests.cases import for_each

NAMES = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png")
Change = Callable[[Image.Image], Image.Image]


@pytest.fixture(scope="module")
def photographs() -> list[Image.Image]:
    folder = Path(skimage.__file__).parent / "data"
    return [Image.open(folder / name).convert("RGB") for name in NAMES]


def compressed(image: Image.Image) -> Image.Image:
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=20)
    return Image.open(stream)


def cropped(left: float, top: float, right: float, bottom: float) -> Change:
    def crop(image: Image.Image) -> Image.Image:
        wide, high = image.size
        box = (wide * left, high * top, wide * (1 - right), high * (1 - bottom))
        return image.crop(tuple(map(int, box)))

    return crop


CHANGES: dict[str, Change] = {
    "half": lambda image: image.resize((image.width // 2, image.height // 2)),
    "jpeg": compressed,
    "lighter": lambda image: ImageEnhance.Brightness(image).enhance(1.1),
    "fewer colors": lambda image: ImageEnhance.Color(image).enhance(0.6),
    "left": cropped(0.05, 0, 0, 0),
    "corner": cropped(0.05, 0.05, 0, 0),
    "all around": cropped(0.05, 0.05, 0.05, 0.05),
    "10 % off the right": cropped(0, 0, 0.1, 0),
    "10 % off a corner": cropped(0, 0.1, 0.1, 0),
    "10 % all around": cropped(0.1, 0.1, 0.1, 0.1),
    "half as much": cropped(0.025, 0.025, 0.025, 0.025),
}


@for_each("change", CHANGES)
def test_a_changed_photograph_looks_like_itself_and_like_no_other(photographs, change):
    prints = [fingerprint(image) for image in photographs]
    changed = [fingerprint(CHANGES[change](image)) for image in photographs]

    # The least Hamming distance of one whole to any view of the other.
    apart = np.array(
        [
            [np.bitwise_count(np.concatenate([a ^ b[0], b ^ a[0]])).min() for b in prints]
            for a in changed
        ]
    )

    assert apart.diagonal().max() <= 6
    assert apart[~np.eye(len(prints), dtype=bool)].min() > 7


def test_the_first_bits_are_of_the_whole_and_as_many_are_set_as_not(photographs):
    print_of_first = fingerprint(photographs[0])

    assert print_of_first.shape == (VIEWS,)
    assert print_of_first.dtype == np.uint64
    assert np.bitwise_count(print_of_first).tolist() == [BITS // 2] * VIEWS


def test_the_transform_is_that_of_scipy():
    from scipy.fft import dctn

    levels = np.random.default_rng(0).random((32, 32))
    ours = fingerprints.COSINES @ levels @ fingerprints.COSINES.T

    assert ours == pytest.approx(dctn(levels)[:8, :8] / 4)


@pytest.mark.parametrize("image", [Image.new("RGB", (90, 60)), Image.new("L", (1, 1), 200)])
def test_a_plain_image_looks_like_nothing(image):
    assert fingerprint(image) is None


def test_a_database_keeps_it_as_bytes(photographs):
    print_of_second = fingerprint(photographs[1])

    kept = fingerprints.to_bytes(print_of_second)

    assert len(kept) == 8 * VIEWS
    assert (fingerprints.from_bytes(kept) == print_of_second).all()
    assert fingerprints.to_bytes(None) == b""
    assert fingerprints.from_bytes(b"") is None
