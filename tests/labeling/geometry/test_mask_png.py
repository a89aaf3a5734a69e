"""Masks as PNG: inside is what is not 0, in every form of PNG; what cannot be read is named."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from labeling.files import BadInput
from labeling.geometry import mask_png
from tests.cases import for_each

SHAPE = np.array([[0, 1, 0], [0, 1, 1]], np.uint8)
INSIDE = SHAPE.astype(bool).tolist()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "leg.png"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw_png(width: int, height: int, depth: int, colours: int, rows: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0)
    return (
        mask_png.SIGNATURE
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def colours(*channels: np.ndarray) -> Image.Image:
    return Image.fromarray(np.stack(channels, axis=-1))


def palette(values: np.ndarray) -> Image.Image:
    image = Image.fromarray(values).convert("P")
    image.putdata(values.ravel().tolist())
    # Index 0 is white and index 1 black: it is the index that counts.
    image.putpalette([255, 255, 255, 0, 0, 0])
    return image


NOTHING = np.zeros_like(SHAPE)
IMAGES = {
    "grey": Image.fromarray(SHAPE * 255),
    "grey, barely not black": Image.fromarray(SHAPE),
    "one bit": Image.fromarray(SHAPE * 255).convert("1"),
    "16 bits, low values": Image.fromarray(SHAPE.astype(np.uint16)),
    "16 bits, upper halves only": Image.fromarray(SHAPE.astype(np.uint16) * 256),
    "palette": palette(SHAPE),
    "colours": colours(NOTHING, NOTHING, SHAPE),
    "colours on transparent": colours(SHAPE, NOTHING, NOTHING, SHAPE * 255),
    "colours, all opaque": colours(SHAPE, NOTHING, NOTHING, NOTHING + 255),
    "grey, transparent outside": colours(NOTHING + 255, SHAPE),
}


@for_each("name", IMAGES)
def test_inside_is_what_is_not_0(path, name):
    IMAGES[name].save(path)

    assert mask_png.read(path).tolist() == INSIDE


def test_a_written_mask_is_read_again(path):
    mask_png.write(path, SHAPE.astype(bool))

    assert mask_png.read(path).tolist() == INSIDE
    with Image.open(path) as image:
        assert (image.format, image.mode, image.getextrema()) == ("PNG", "L", (0, 255))


def saved(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


GREY, WHOLE = IMAGES["grey"], saved(Image.effect_noise((50, 50), 60))
BOMB = raw_png(60_000, 60_000, 1, 0, b"\0")
ANIMATED = saved(GREY, save_all=True, append_images=[Image.fromarray(255 - SHAPE * 255)])


@for_each(
    ("content", "message", "limits"),
    [
        (saved(Image.new("L", (4, 3))), "empty", {}),
        (b"", "is not a PNG", {}),
        (b"P5 2 2 255 \0\0\0\1", "is not a PNG", {}),
        (b"\x89PNG\r\n", "is not a PNG", {}),
        (saved(GREY, "JPEG"), "is not a PNG", {}),
        (WHOLE[:30], "cannot be read", {}),
        (WHOLE[:-200], "cannot be read", {}),
        (WHOLE[:200] + b"\0\0\0" + WHOLE[203:], "cannot be read", {}),
        # Before it is unpacked.
        (BOMB, "more than 200,000,000 pixels", {}),
        (saved(Image.new("L", (40, 30), 255)), "more than 1,000 pixels", {"max_pixels": 1000}),
        # Small values would be lost.
        (raw_png(1, 1, 16, 2, b"\0" + b"\0\1" * 3), "colours of 16 bits", {}),
        (raw_png(1, 1, 16, 4, b"\0" + b"\0\1" * 2), "colours of 16 bits", {}),
        (raw_png(1, 1, 16, 6, b"\0" + b"\0\1" * 4), "colours of 16 bits", {}),
        (ANIMATED, "animated", {}),
    ],
)
def test_what_holds_no_mask_is_refused_with_a_cure(path, content, message, limits):
    path.write_bytes(content)

    with pytest.raises(BadInput, match=message) as caught:
        mask_png.read(path, **limits)

    assert caught.value.file == str(path)
    assert caught.value.cure
