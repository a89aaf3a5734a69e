"""Twenty outlines on made-up photographs, and hands that place corners on them.

Each photograph has one object whose border is blurred over some pixels and whose ground and inside
have textures of their own, little apart in colour: what a tool that follows edges has to deal with.
"""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage
from shapely.geometry import Polygon

from benchmarks import sized

COUNT = sized(20, 3)
WIDTH, HEIGHT = 640, 480
# How far a hand is off, in pixels of the photograph: standard deviation in each direction.
OFF_PX = 1.2
CORNERS = 24
FINER = 4


def outline(number: int) -> NDArray[np.float64]:
    """A smooth closed line of 720 points in the middle of the photograph: (720, 2), pixels."""
    rng = np.random.default_rng(number)
    turn = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    radius = np.ones_like(turn)
    for wave in range(2, 8):
        radius += rng.normal(0, 0.28 / wave) * np.cos(wave * turn + rng.uniform(0, 2 * np.pi))
    radius = np.clip(radius, 0.35, None)
    radius *= 150 / radius.max() * rng.uniform(0.9, 1.25)
    stretch = np.sqrt(rng.uniform(0.75, 1.3))
    x = WIDTH / 2 + radius * np.cos(turn) * stretch
    y = HEIGHT / 2 + radius * np.sin(turn) / stretch
    return np.column_stack([x, y])


def photograph(number: int) -> str:
    """The photograph of an outline, as the address of a PNG."""
    rng = np.random.default_rng(1000 + number)
    mask = Image.new("L", (WIDTH * FINER, HEIGHT * FINER))
    ring = [tuple(point) for point in outline(number) * FINER]
    ImageDraw.Draw(mask).polygon(ring, fill=255)
    share = np.asarray(mask.resize((WIDTH, HEIGHT), Image.Resampling.BOX)) / 255
    share = ndimage.gaussian_filter(share, 2)[..., None]
    ground, inside = _colours(rng)
    mixed = _texture(rng, ground) * (1 - share) + _texture(rng, inside) * share
    pixels = np.clip(mixed + rng.normal(0, 4, mixed.shape), 0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _colours(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two colours that differ by 25 to 50 of 255 in the channel where they differ most."""
    while True:
        ground, inside = rng.uniform(40, 215, 3), rng.uniform(40, 215, 3)
        if 25 < np.abs(ground - inside).max() < 50:
            return ground, inside


def _texture(rng: np.random.Generator, colour: NDArray[np.float64]) -> NDArray[np.float64]:
    grains = ((1.5, 9), (5, 14), (14, 16))  # sizes in pixels, and how strong each is
    noise = [
        sum(
            ndimage.gaussian_filter(rng.normal(size=(HEIGHT, WIDTH)), size) * size * strength
            for size, strength in grains
        )
        for _ in colour
    ]
    return colour + np.stack(noise, axis=-1)


def corners(number: int, count: int) -> list[tuple[float, float]]:
    """Where a hand places so many corners evenly along an outline, each a little off."""
    rng = np.random.default_rng(2000 + number)
    ring = outline(number)
    places = np.linspace(0, len(ring), count, endpoint=False).astype(int)
    off = rng.normal(0, OFF_PX, (count, 2))
    return [(float(x), float(y)) for x, y in ring[places] + off]


def iou(polygons: Any, number: int) -> float:
    """IoU of a drawing with the outline."""
    drawn, known = Polygon(polygons[0][0], polygons[0][1:]), Polygon(outline(number))
    return float(drawn.intersection(known).area / drawn.union(known).area)
