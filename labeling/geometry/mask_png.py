"""Masks as PNG files: which pixels are inside. Pure numpy and Pillow.

A pixel is inside where it is not 0: by its grey value (1 to 16 bits), by its index where there is a
palette, whatever colour that stands for, else where any of its colours is not 0; where there is
transparency, only as far as it is not wholly transparent. Colours of 16 bits are refused: Pillow
reads their upper halves only, and a small value would be lost.
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
    """(h, w), True inside. Raises BadInput naming the file.

    empty: whether a mask without any pixel may be; else it is refused too.
    The whole file is decoded and its checksums are read; its size is judged before that.
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
    """A grey PNG, 255 inside and 0 outside, whole or not at all."""
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
