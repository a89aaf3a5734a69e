"""Photographs of one colour each, in folders, and the names that networks.Colours gives them."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from PIL import Image

RED, GREEN, BLUE = (200, 20, 20), (20, 200, 20), (20, 20, 200)
COLOURS = (RED, GREEN, BLUE)
TURNED = 0x0112


def jpeg(colour: tuple[int, int, int] = RED, size: tuple[int, int] = (24, 16)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, "JPEG", quality=95)
    return stream.getvalue()


def of(number: int) -> bytes:
    """Red, green and blue in turn, each a little different."""
    colour = tuple(max(0, value - number % 19) for value in COLOURS[number % 3])
    return jpeg(colour, (20 + number % 5, 16))  # type: ignore[arg-type]


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def folder(path: Path, count: int) -> Path:
    """000.jpg, 001.jpg, … in folders of ten."""
    return write(path, {f"{n // 10}/{n:03}.jpg": of(n) for n in range(count)})


def zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def manifest(path: Path, images: Iterable[str], header: str = "image") -> Path:
    path.write_text("".join(f"{line}\n" for line in (header, *images)), encoding="utf-8")
    return path
