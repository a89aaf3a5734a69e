"""The preview of a large photograph, and tiles with all its pixels.

They are in a folder named after the display image. The preview is written last, so if it exists,
all tiles do. See docs/how-to/images.md.
"""

import io
import re
from contextlib import suppress
from typing import IO

from django.conf import settings
from django.core.files.base import ContentFile

from labeling.errors import Refusal
from labeling.image_files import DISPLAY_PX, PREVIEW, BadImage, tiles_of
from labeling.jobs.image_store import storing
from labeling.models import Image

TILE_NAME = re.compile(r"[0-9]{1,2},[0-9]{1,4},[0-9]{1,4}")


def is_large(image: Image) -> bool:
    """Return whether the display image has fewer pixels than the photograph."""
    return max(image.width, image.height) > DISPLAY_PX


def tiles_exist(image: Image) -> bool:
    return bool(image.display.storage.exists(_path(image, PREVIEW)))


def open_file(image: Image, name: str) -> IO[bytes]:
    """Return the file, open for reading. Raises FileNotFoundError."""
    if not image.display:
        raise FileNotFoundError(name)
    opened: IO[bytes] = image.display.storage.open(_path(image, name))
    return opened


def make(image: Image) -> None:
    """Write the tiles and the preview. Idempotent. Raises Refusal for a damaged file."""
    storage = image.display.storage
    with image.file.storage.open(str(image.file.name)) as original:
        content = io.BytesIO(original.read())
    try:
        for name, tile in tiles_of(content, max_pixels=settings.ASSAY_MAX_IMAGE_PIXELS):
            path = _path(image, name)
            with storing(path, storage):
                # A killed process may have left half of it.
                storage.delete(path)
                storage.save(path, ContentFile(tile.content))
    except BadImage as bad:
        raise Refusal(str(bad), code="bad_image") from bad


def remove(image: Image) -> None:
    """Delete the tiles and the preview."""
    storage = image.display.storage
    folder = _path(image, "").rpartition("/")[0]
    with suppress(FileNotFoundError):
        for name in storage.listdir(folder)[1]:
            storage.delete(f"{folder}/{name}")
        storage.delete(folder)


def _path(image: Image, name: str) -> str:
    """Return the path in the storage: details/ab/TOKEN/NAME.jpg for display/ab/TOKEN.jpg."""
    folder = str(image.display.name).rpartition(".")[0].partition("/")[2]
    return f"details/{folder}/{name}.jpg"
