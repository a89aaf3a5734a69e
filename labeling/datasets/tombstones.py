"""Tombstones: keyed hashes by which the site refuses images that were removed for privacy.

Without the site's secret key nobody can test whether a picture was here. Former keys are tried too:
SECRET_KEY_FALLBACKS, and the key that `restore` put into the data folder.
"""

import hashlib
import hmac
import io
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from labeling.errors import Refusal
from labeling.image_files import BadImage, upright
from labeling.models import Image, Tombstone, User


def create(image: Image, content: bytes | None, actor: User) -> Tombstone:
    """Create the tombstone of an image. content: of its file; None if the file is missing."""
    key = settings.SECRET_KEY
    pixels = _pixels_sha256(content) if content is not None else ""
    return Tombstone.objects.create(
        dataset=image.dataset,
        content=_keyed(key, image.sha256),
        pixels=_keyed(key, pixels) if pixels else "",
        width=image.width,
        height=image.height,
        created_by=actor,
    )


def check(content: bytes, sha256: str, size: tuple[int, int]) -> None:
    """Raise Refusal if a removed image had the same file or the same upright pixels.

    size: width and height. The file is decoded only if a removed image had this size.
    """
    rows = Tombstone.objects.filter(width=size[0], height=size[1])
    hashes = {value for row in rows.values_list("content", "pixels") for value in row if value}
    if not hashes:
        return
    values = [sha256, _pixels_sha256(content)]
    if hashes & {_keyed(key, value) for key in _keys() for value in values if value}:
        raise Refusal(
            "This image was removed from this site for privacy and cannot be added again.",
            field="file",
            code="image_removed",
        )


def _keys() -> list[str]:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    with suppress(OSError):
        keys.append((Path(settings.DATA_DIR) / "secret-key").read_text().strip())
    return keys


def _keyed(key: str, value: str) -> str:
    return hmac.new(f"tombstone {key}".encode(), value.encode(), hashlib.sha256).hexdigest()


def _pixels_sha256(content: bytes) -> str:
    """Return the hash of the upright pixels, "" for a file that cannot be decoded."""
    try:
        image = upright(io.BytesIO(content), max_pixels=settings.ASSAY_MAX_IMAGE_PIXELS)
    except BadImage:
        return ""
    return hashlib.sha256(image.tobytes()).hexdigest()
