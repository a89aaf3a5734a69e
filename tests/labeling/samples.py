"""Image files of every sort, good and bad, made on the spot."""

import io
import struct
import zipfile
import zlib
from pathlib import Path

from PIL import Image, ImageCms, PngImagePlugin

RED, GREEN = (220, 20, 20), (20, 200, 20)


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def two_sided(size: tuple[int, int] = (60, 40)) -> Image.Image:
    """Red on the left, green on the right: any turn shows."""
    image = Image.new("RGB", size, RED)
    image.paste(GREEN, (size[0] // 2, 0, *size))
    return image


def jpeg(size: tuple[int, int] = (60, 40), **options: object) -> bytes:
    return saved(two_sided(size), "JPEG", **{"quality": 95, **options})


def noise(seed: int = 0, size: tuple[int, int] = (160, 120), form: str = "JPEG") -> bytes:
    """Something that compresses badly, so that cutting it anywhere cuts pixels."""
    import numpy as np

    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return saved(Image.fromarray(pixels), form)


def turned(orientation: int, upright: Image.Image) -> bytes:
    """A JPEG stored in another orientation that a viewer must show as `upright`."""
    back = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = upright.transpose(back[orientation]) if orientation in back else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(stored, "JPEG", exif=exif, quality=95)


def with_secrets(form: str) -> bytes:
    """An image whose every pocket holds the word SECRET (place, comment, author, XMP)."""
    exif = Image.Exif()
    exif[0x010E] = "SECRET description"
    if form != "TIFF":  # Pillow writes no places into TIFF files
        exif[0x8825] = {1: "N", 2: (48.0, 12.0, 30.0), 29: "SECRET"}
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    options: dict[str, object] = {"exif": exif, "icc_profile": profile}
    if form == "PNG":
        text = PngImagePlugin.PngInfo()
        text.add_text("Author", "SECRET author")
        text.add_itxt("XML:com.adobe.xmp", "<x>SECRET xmp</x>")
        options["pnginfo"] = text
    elif form == "JPEG":
        options["comment"] = b"SECRET comment"
        options["xmp"] = b"<x>SECRET xmp</x>"
    elif form == "WEBP":
        options["xmp"] = b"<x>SECRET xmp</x>"
    return saved(two_sided(), form, **options)


def animated(form: str) -> bytes:
    frames = [Image.new("RGB", (20, 20), (shade, 0, 0)) for shade in (0, 120, 240)]
    return saved(frames[0], form, save_all=True, append_images=frames[1:])


def png_bomb(width: int = 60_000, height: int = 60_000) -> bytes:
    """A PNG of a few bytes that says it holds billions of pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


def zipped(files: dict[str, bytes], path: Path | None = None) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    if path is not None:
        path.write_bytes(stream.getvalue())
    stream.seek(0)
    return stream
