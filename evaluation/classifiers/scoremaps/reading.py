"""Reads the images of score maps from a folder in WSOL layout. No Django.

Ids are paths below the folder. Images are read ahead of the network.
"""

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.readers.wsol_folders import MAX_PIXELS
from labeling import image_files
from labeling.files import BadInput
from labeling.release_files.frozen import map_ahead

# Upright as people see it, or pixels as stored, ignoring EXIF.
ORIENTATIONS = ("upright", "stored")
Size = tuple[int, int]


def refuse_missing(folder: Path, names: Sequence[str]) -> None:
    """Raise BadInput for the first missing image, before any work is done."""
    for name in names:
        if not (folder / name).is_file():
            raise BadInput("the image is missing", file=folder / name, cure="check --images")


def read(
    folder: Path, names: Sequence[str], orientation: str, sizes: Mapping[str, Size]
) -> Generator[tuple[str, NDArray[np.uint8]]]:
    """Yield each image with its id, (H, W, 3).

    sizes: expected width and height of some images. Raises BadInput for an image that is unreadable
    or has another size.
    """

    def read_image(name: str) -> tuple[str, NDArray[np.uint8]]:
        path = folder / name
        pixels = pixels_of(path, orientation)
        size = pixels.shape[1], pixels.shape[0]
        if sizes.get(name, size) != size:
            expected = " × ".join(map(str, sizes[name]))
            alternative = ORIENTATIONS[1 - ORIENTATIONS.index(orientation)]
            raise BadInput(
                f"is {size[0]} × {size[1]}, image_sizes.txt says {expected}",
                file=path,
                cure=f"give --orientation {alternative}, or correct image_sizes.txt",
            )
        return name, pixels

    yield from map_ahead(read_image, names)


def pixels_of(path: Path, orientation: str) -> NDArray[np.uint8]:
    """Return an image as (H, W, 3). Raises BadInput for an unreadable one."""
    try:
        if orientation == "stored":
            with Image.open(path, formats=image_files.FORMATS) as image:
                return np.array(image.convert("RGB"))
        with open(path, "rb") as file:
            return np.array(image_files.upright(file, max_pixels=MAX_PIXELS))
    # Pillow raises these for broken chunks and for sizes that would fill the memory.
    except (
        image_files.BadImage,
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
    ) as error:
        reason = str(error) if isinstance(error, image_files.BadImage) else "It cannot be decoded."
        raise BadInput(
            f"cannot be read as an image: {reason}",
            file=path,
            cure="correct it, or leave out its id",
        ) from None
