"""The perceptual hash of an image: 64 bits of low frequencies, for the whole and slight crops.

It takes the 8 × 8 lowest frequencies of a discrete cosine transform of the grey image at 32 × 32.
A bit says whether a coefficient exceeds the median of all; the coefficient of the mean is set to 0.
Scaling, compression and changes of colour or brightness flip few bits. A crop of 5 % flips a dozen,
so an image also has the bits of its crops by 5 and 10 %. Two images are near-duplicates if the
whole of one is close to the whole or a crop of the other. Source: Zauner (2010), pHash, with a
median instead of the mean.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Fingerprint = NDArray[np.uint64]

# Side in pixels of the grey image that crops are cut from, and of the transformed crops; number of
# frequencies per axis.
SIDE, SMALL, LOW = 256, 32, 8
BITS = LOW * LOW
SIDES = ((0,), (1,), (2,), (3,), (0, 1), (1, 2), (2, 3), (3, 0))


def _crops_of(off: float) -> tuple[tuple[float, ...], ...]:
    """Return what each crop takes off the left, top, right and bottom: off all sides, one side, or
    two sides that meet.
    """
    some = (tuple(off if side in sides else 0.0 for side in range(4)) for sides in SIDES)
    return ((off,) * 4, *some)


# The first view is the whole image. Fingerprints of the second edition lack the last nine views.
CROPS = ((0.0,) * 4, (0.025,) * 4, *_crops_of(0.05), *_crops_of(0.1))
VIEWS = len(CROPS)
# Bytes of a stored fingerprint.
STORED = 8 * VIEWS
# Grey levels that the image's brightness must vary by, or its bits are noise.
PLAIN = 3.0

_angles = np.pi * (2 * np.arange(SMALL) + 1) / (2 * SMALL)
COSINES = np.array([np.cos(order * _angles) for order in range(LOW)])


def fingerprint(image: Image.Image) -> Fingerprint | None:
    """Return (VIEWS,) hashes of the whole and each crop; None for an image that is too plain.

    image: upright, of any size.
    """
    grey = image.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX, reducing_gap=2.0)
    levels = grey.convert("F")
    small = np.array([_cut(levels, crop) for crop in CROPS])
    if small[0].std() < PLAIN:
        return None
    waves = np.einsum("fy,vyx,gx->vfg", COSINES, small, COSINES).reshape(VIEWS, BITS)
    waves[:, 0] = 0
    # Round, so that machines whose last bits differ give the same hash.
    waves = np.round(waves, 3)
    return _packed(waves > np.median(waves, axis=1, keepdims=True))


def to_bytes(fingerprint: Fingerprint | None) -> bytes:
    """Return the fingerprint for the database, STORED bytes; empty for a plain image."""
    return b"" if fingerprint is None else fingerprint.astype("<u8").tobytes()


def from_bytes(kept: bytes) -> Fingerprint | None:
    if not kept:
        return None
    return np.frombuffer(kept, "<u8").astype(np.uint64)


def _cut(levels: Image.Image, crop: tuple[float, ...]) -> NDArray[np.float32]:
    left, top, right, bottom = (off * SIDE for off in crop)
    box = (left, top, SIDE - right, SIDE - bottom)
    return np.asarray(levels.resize((SMALL, SMALL), Image.Resampling.BOX, box=box))


def _packed(bits: NDArray[np.bool_]) -> Fingerprint:
    weights = np.left_shift(np.uint64(1), np.arange(BITS, dtype=np.uint64))
    return np.where(bits, weights, np.uint64(0)).sum(axis=1, dtype=np.uint64)
