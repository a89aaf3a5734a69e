"""Masks as PNG files. Pure numpy and Pillow.

A pixel is inside if it is not 0: by its grey value (1 to 16 bits), by its palette index whatever
its colour, else by any of its colours; fully transparent pixels are outside. Colours of 16 bits are
refused: Pillow reads only their upper halves, so small values would be lost.
"""

import struct
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from labeling.files import BadInput, atomic_write
from labeling.image_files import BadImage, check

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY = 0
MAX_PIXELS = 200_000_000


def read(path: Path, max_pixels: int = MAX_PIXELS, empty: bool = False) -> NDArray[np.bool_]:
    """Return (h, w), True inside. Raises BadInput, which names the file.

    empty: whether a mask without pixels is allowed. Decodes the whole file with its checksums,
    after checking the size.
    """
    with open(path, "rb") as file:
        head = file.read(26)
        if head[:8] != SIGNATURE:
            raise BadInput("is not a PNG", file=path, cure="save the mask as PNG")
        try:
            check(file, max_pixels=max_pixels)
        except BadImage as bad:
            raise BadInput(f"cannot be read: {bad}", file=path, cure="save it again") from None
        depth, colours = struct.unpack("BB", head[24:26])
        if depth == 16 and colours != GREY:
            raise BadInput(
                "has colours of 16 bits", file=path, cure="save it as grey, or with 8 bits"
            )
        mask = _inside(file)
    if not empty and not mask.any():
        raise BadInput("the mask is empty", file=path, cure="leave it out, or draw the piece")
    return mask


def write(path: Path, mask: NDArray[np.bool_]) -> None:
    """Write a grey PNG, 255 inside and 0 outside, atomically."""
    with atomic_write(path, "wb") as file:
        Image.fromarray(np.where(mask, np.uint8(255), np.uint8(0))).save(file, "PNG")


def _inside(file: IO[bytes]) -> NDArray[np.bool_]:
    file.seek(0)
    with Image.open(file, formats=["PNG"]) as image:
        values = np.asarray(image) != 0
        if values.ndim == 2:
            return values
        opaque = values[..., -1] if image.mode in {"LA", "RGBA"} else True
        count = 3 if image.mode.startswith("RGB") else 1
        inside: NDArray[np.bool_] = values[..., :count].any(axis=-1) & opaque
        return inside
