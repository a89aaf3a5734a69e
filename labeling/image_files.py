"""Checks an image file and derives what annotators see of it. Pure Pillow, no Django.

The type follows from the content, never from the name. Only six formats are read, so that uploads
cannot reach Pillow's other decoders.
"""

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, product
from typing import IO

import numpy as np
from PIL import Image, ImageCms, UnidentifiedImageError

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
MEDIA_TYPES = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "BMP": "image/bmp",
    "TIFF": "image/tiff",
}
EXTENSIONS = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "image/gif": "gif",
    "image/bmp": "bmp",
    "image/tiff": "tif",
}
# Longest sides. 4096 px shows every pixel of a 12-megapixel photograph, and is a texture that
# phones draw; beyond it zooming stutters.
DISPLAY_PX = 4096
THUMBNAIL_PX = 320
# Of an image larger than its display: the longest side of its preview, and the sides of its tiles.
PREVIEW_PX = 2048
PREVIEW = "preview"
DETAIL_PX = 1024
# Up to here a lossless source stays lossless: drawings and screenshots suffer most from JPEG.
LOSSLESS_PIXELS = 2_000_000
JPEG_QUALITY = 92
# Percentiles that become black and white.
STRETCHED = (0.1, 99.9)
ORIENTATION_TAG = 0x0112
# EXIF orientation → the transposes that make the image upright.
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SIDEWAYS = {5, 6, 7, 8}


class BadImage(Exception):
    """The file is not one complete, still image within the limits; `str()` is the sentence."""


@dataclass(frozen=True)
class CheckedImage:
    """A checked file. width and height: in pixels of the upright image."""

    media_type: str
    width: int
    height: int


@dataclass(frozen=True)
class Encoded:
    """A derivative, ready to be stored."""

    content: bytes
    media_type: str


def check(file: IO[bytes], *, max_pixels: int, first_frame: bool = False) -> CheckedImage:
    """Decode the whole file and return its properties. Raises BadImage.

    The number of pixels is checked from the header before decoding. Animated files are refused
    unless first_frame is set; the functions below read only the first frame.
    """
    with _opened(file, max_pixels) as image:
        if not first_frame and image.format not in {"MPO", "TIFF"} and _is_animated(image):
            raise BadImage("It is animated. Save the frame that is meant as a still image.")
        media_type = _media_type(image)
        if media_type == "image/png":
            # Decoding stops at the last pixel; this goes through every chunk and its checksum.
            image.verify()
            file.seek(0)
            image = Image.open(file, formats=FORMATS)
        size = image.size
        # Decode at lower resolution, a quarter of the work. The whole stream is still read.
        image.draft("RGB", (max(1, size[0] // 8), max(1, size[1] // 8)))
        image.load()
        if media_type == "image/tiff":
            size = image.size  # Pillow turns TIFF files upright while it loads them
        if _orientation(image) in SIDEWAYS:
            size = size[::-1]
        return CheckedImage(media_type, *size)


def stated_pixels(file: IO[bytes], *, max_pixels: int) -> int:
    """Return width times height from the header, without decoding; 0 for what `check`
    would refuse.
    """
    try:
        with _opened(file, max_pixels) as image:
            return math.prod(image.size)
    except BadImage:
        return 0


def derive(file: IO[bytes], *, max_pixels: int) -> tuple[Encoded, Encoded]:
    """Return the display image and the thumbnail: upright, sRGB, on white, without metadata.

    Raises BadImage for what `check` would refuse.
    """
    with _opened(file, max_pixels) as image:
        media_type = _media_type(image)
        # Let the decoder scale a large JPEG down to half, a quarter or an eighth.
        share = DISPLAY_PX / max(image.size)
        image.draft(None, (math.ceil(image.width * share), math.ceil(image.height * share)))
        upright = _shown(image)
        lossless = media_type in {"image/png", "image/gif", "image/bmp", "image/tiff"}
        # Comments, profiles, XMP and EXIF travel in `info`; saving would write some of it again.
        upright.info.clear()
        upright.thumbnail((DISPLAY_PX, DISPLAY_PX), Image.Resampling.LANCZOS)
        small = lossless and math.prod(upright.size) <= LOSSLESS_PIXELS
        display = _encode(upright, "image/png" if small else "image/jpeg")
        upright.thumbnail((THUMBNAIL_PX, THUMBNAIL_PX), Image.Resampling.LANCZOS)
        return display, _encode(upright, "image/webp")


def tiles_of(file: IO[bytes], *, max_pixels: int) -> Iterator[tuple[str, Encoded]]:
    """Yield the image's tiles, named LEVEL,COLUMN,ROW, and last its PREVIEW.

    Level 0 has all pixels, each next level half as many per side. Only one is in memory, beside the
    decoded file. Raises BadImage.
    """
    with _opened(file, max_pixels) as image:
        image.load()
        turn, profile = UPRIGHT.get(_orientation(image)), image.info.get("icc_profile")
        level = _flat(image)
        # Drop metadata, as in derive: crops inherit `info`.
        level.info.clear()
        if turn is not None:
            level = level.transpose(turn)
        for number in count():
            for x, y in product(*(range(0, side, DETAIL_PX) for side in level.size)):
                box = (x, y, min(x + DETAIL_PX, level.width), min(y + DETAIL_PX, level.height))
                name = f"{number},{x // DETAIL_PX},{y // DETAIL_PX}"
                yield name, _encode(_in_srgb(level.crop(box), profile), "image/jpeg")
            if max(level.size) <= 2 * PREVIEW_PX:
                break
            level = level.reduce(2)
        preview = _in_srgb(level, profile)
        preview.thumbnail((PREVIEW_PX, PREVIEW_PX), Image.Resampling.LANCZOS)
        yield PREVIEW, _encode(preview, "image/jpeg")


def upright(file: IO[bytes], *, max_pixels: int) -> Image.Image:
    """Return the image upright, sRGB, on white. Raises BadImage."""
    with _opened(file, max_pixels) as image:
        return _shown(image).convert("RGB")


def coarse(file: IO[bytes], *, max_pixels: int, side: int) -> tuple[Image.Image, int]:
    """Return the image upright, grey, on white, and its full number of pixels. Raises BadImage.

    A side has at least `side` pixels if the original has; a JPEG is decoded no finer than needed.
    """
    with _opened(file, max_pixels) as image:
        pixels = math.prod(image.size)
        image.draft("L", (2 * side, 2 * side))
        image.load()
        turn = UPRIGHT.get(_orientation(image))
        grey = _flat(image).convert("L")
        return (grey if turn is None else grey.transpose(turn)), pixels


def _shown(image: Image.Image) -> Image.Image:
    image.load()
    turn = UPRIGHT.get(_orientation(image))
    # sRGB in mode RGB or L, with transparency on white.
    converted = _in_srgb(_flat(image), image.info.get("icc_profile"))
    return converted if turn is None else converted.transpose(turn)


@contextmanager
def _opened(file: IO[bytes], max_pixels: int) -> Iterator[Image.Image]:
    """Yield the image with a checked header; convert decoder exceptions into BadImage."""
    # Pillow warns above its own limit and raises above twice that. The site's operator sets our
    # limit; Pillow's is raised to it if it is lower.
    if Image.MAX_IMAGE_PIXELS is not None and max_pixels > Image.MAX_IMAGE_PIXELS:
        Image.MAX_IMAGE_PIXELS = max_pixels
    file.seek(0)
    try:
        with Image.open(file, formats=FORMATS) as image:
            _check_header(image, max_pixels)
            yield image
    except (BadImage, MemoryError):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise BadImage(_too_many_pixels(max_pixels)) from None
    except UnidentifiedImageError:
        raise BadImage(_not_an_image(file)) from None
    except Exception as error:
        # Decoders raise nearly anything on damaged data: struct.error, IndexError, SyntaxError …
        raise BadImage(_damaged(error)) from error


def _check_header(image: Image.Image, max_pixels: int) -> None:
    width, height = image.size
    if width < 1 or height < 1:
        raise BadImage("The image has no pixels.")
    if width * height > max_pixels:
        raise BadImage(f"{_too_many_pixels(max_pixels)} It has {width} × {height}.")
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and image.format == "TIFF":
        raise BadImage(f"It has {frames} pages. Save each page as an image of its own.")


def _is_animated(image: Image.Image) -> bool:
    return getattr(image, "n_frames", 1) > 1 or getattr(image, "is_animated", False)


def _too_many_pixels(max_pixels: int) -> str:
    return f"It has more than {max_pixels:,} pixels, the limit of this site."


def _not_an_image(file: IO[bytes]) -> str:
    file.seek(0)
    head = file.read(16)
    if not head:
        return "The file is empty."
    if head[4:8] == b"ftyp" and head[8:12] in {b"heic", b"heix", b"mif1", b"avif"}:
        return "It is a HEIC or AVIF image, which is not supported. Save it as JPEG or PNG."
    if head[:4] == b"PK\x03\x04":
        return "It is an archive, not an image. Unpack it first."
    return (
        "It is not a JPEG, PNG, WebP, GIF, BMP or TIFF image (judged by its content, not by its "
        "name)."
    )


def _damaged(error: Exception) -> str:
    message = str(error).lower()
    if isinstance(error, EOFError) or "truncated" in message or "end of file" in message:
        return "It is truncated: the file ends before the image does. Copy it again."
    return "It is damaged and cannot be decoded. Copy or save it again."


def _media_type(image: Image.Image) -> str:
    return MEDIA_TYPES["JPEG" if image.format == "MPO" else str(image.format)]


def _orientation(image: Image.Image) -> int:
    """Return the EXIF orientation; 1 (upright) if it is missing or unreadable."""
    try:
        orientation = image.getexif().get(ORIENTATION_TAG, 1)
    except Exception:
        # A damaged EXIF block is not a reason to refuse a picture that decodes.
        return 1
    return orientation if orientation in UPRIGHT else 1


def _in_srgb(flat: Image.Image, profile: bytes | None) -> Image.Image:
    if profile:
        try:
            return ImageCms.profileToProfile(  # type: ignore[return-value]
                flat,
                ImageCms.ImageCmsProfile(io.BytesIO(profile)),
                ImageCms.createProfile("sRGB"),
                outputMode="RGB",
            )
        except (ImageCms.PyCMSError, OSError, ValueError):
            # A profile that is damaged or of another colour space: the plain colours will do.
            pass
    return flat.copy() if flat.mode in {"RGB", "L"} else flat.convert("RGB")


def _flat(image: Image.Image) -> Image.Image:
    """Return the image as RGB, L or CMYK with 8 bits per channel and without transparency."""
    if image.mode.startswith("I") or image.mode == "F":
        return _eight_bit(image)
    if image.mode in {"RGBA", "LA", "PA", "RGBa", "La"} or "transparency" in image.info:
        seen = image.convert("RGBA")
        white = Image.new("RGBA", seen.size, "white")
        return Image.alpha_composite(white, seen).convert("RGB")
    if image.mode == "1":
        return image.convert("L")
    return image if image.mode in {"RGB", "L", "CMYK"} else image.convert("RGB")


def _eight_bit(image: Image.Image) -> Image.Image:
    """Return deep grey values as 8 bits: 16-bit ones by their upper byte, wider ones from min to
    max.

    16-bit files whose values stay below a quarter of the range hold 14 bits or fewer, as from
    microscopes and CT: those are stretched between two percentiles, so that a few hot pixels do not
    darken the rest. Non-finite values become black.
    """
    values = np.asarray(image)
    if image.mode.startswith("I;16"):
        if values.max(initial=0) >= 2**14:
            return Image.fromarray((values.astype(np.uint32) >> 8).astype(np.uint8))
        low, high = np.percentile(values, STRETCHED)
    else:
        values = np.where(np.isfinite(values), values, np.nan).astype(np.float64)
        if np.isnan(values).all():
            return Image.new("L", image.size)
        low, high = np.nanmin(values), np.nanmax(values)
    if low == high:
        low, high = np.nanmin(values), np.nanmax(values)
    scaled = (values - low) * (255 / (high - low) if high > low else 0)
    return Image.fromarray(np.nan_to_num(scaled).clip(0, 255).round().astype(np.uint8))


def _encode(image: Image.Image, media_type: str) -> Encoded:
    stream = io.BytesIO()
    if media_type == "image/png":
        image.save(stream, "PNG", optimize=True)
    elif media_type == "image/webp":
        image.convert("RGB").save(stream, "WEBP", quality=80, method=4)
    else:
        image.save(stream, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return Encoded(stream.getvalue(), media_type)
