"""Masks as PNG: inside is what is not 0, in every form of PNG; what cannot be read is named."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from labeling.files import BadInput
from labeling.geometry import mask_png

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


@pytest.mark.parametrize("name", IMAGES)
def test_inside_is_what_is_not_0(path, name):
    IMAGES[name].save(path)

    assert mask_png.read(path).tolist() == INSIDE


def test_a_written_mask_is_read_again(path):
    mask_png.write(path, SHAPE.astype(bool))

    assert mask_png.read(path).tolist() == INSIDE
    with Image.open(path) as image:
        assert (image.format, image.mode, image.getextrema()) == ("PNG", "L", (0, 255))


def refused(path, **limits) -> BadInput:
    with pytest.raises(BadInput) as caught:
        mask_png.read(path, **limits)
    assert caught.value.file == str(path)
    assert caught.value.cure
    return caught.value


def test_a_mask_without_pixels_inside_is_refused(path):
    Image.new("L", (4, 3)).save(path)

    assert "empty" in refused(path).message


@pytest.mark.parametrize("content", [b"", b"P5 2 2 255 \0\0\0\1", b"\x89PNG\r\n"])
def test_what_is_no_png_is_refused(path, content):
    path.write_bytes(content)

    assert "is not a PNG" in refused(path).message


def test_a_jpeg_by_the_name_of_png_is_refused(path):
    Image.fromarray(SHAPE * 255).save(path, "JPEG")

    assert "is not a PNG" in refused(path).message


def test_a_damaged_png_is_refused(path):
    stream = io.BytesIO()
    Image.effect_noise((50, 50), 60).save(stream, "PNG")
    whole = stream.getvalue()

    for content in (whole[:30], whole[:-200], whole[:200] + b"\0\0\0" + whole[203:]):
        path.write_bytes(content)
        assert "cannot be read" in refused(path).message


def test_a_bomb_is_refused_before_it_is_unpacked(path):
    path.write_bytes(raw_png(60_000, 60_000, 1, 0, b"\0"))

    assert "more than 200,000,000 pixels" in refused(path).message
    Image.new("L", (40, 30), 255).save(path)
    assert "more than 1,000 pixels" in refused(path, max_pixels=1000).message


@pytest.mark.parametrize(("kind", "channels"), [(2, 3), (4, 2), (6, 4)])
def test_colours_of_16_bits_are_refused_since_small_values_would_be_lost(path, kind, channels):
    path.write_bytes(raw_png(1, 1, 16, kind, b"\0" + b"\0\1" * channels))

    assert "colours of 16 bits" in refused(path).message


def test_an_animated_png_is_refused(path):
    frames = [Image.fromarray(SHAPE * 255), Image.fromarray(255 - SHAPE * 255)]
    frames[0].save(path, save_all=True, append_images=frames[1:])

    assert "animated" in refused(path).message
