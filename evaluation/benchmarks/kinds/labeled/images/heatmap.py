"""Score maps as translucent pictures on top of photographs. Pure."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.readers.answers import NO_ARRAY
from labeling.files import BadInput

# Score maps are coarse, and the layer is scaled to the photograph.
MAX_PX = 512
# Larger than any score map; only the drawn part of a map on disk is read.
MAX_VALUES = 100_000_000
# From cold and transparent to hot; also ordered by lightness.
COLOURS = np.array([[38, 12, 81], [137, 34, 106], [227, 89, 50], [249, 201, 50]], np.float64)
FAINTEST, STRONGEST = 30, 215


def layer(path: Path) -> bytes:
    """Return the map in a .npy of 2-D floats, drawn. Raises BadInput for any other file."""
    return drawn(_read(path))


def drawn(scores: NDArray[np.float64]) -> bytes:
    """Return a WebP of at most MAX_PX pixels a side, more opaque for higher scores.

    A constant map is faint throughout; values that are not finite count as the lowest.
    """
    scores = _scaled(scores)
    levels = np.linspace(0, 1, len(COLOURS))
    colours = [np.interp(scores, levels, COLOURS[:, channel]) for channel in range(3)]
    opacity = FAINTEST + (STRONGEST - FAINTEST) * scores
    pixels = np.stack([*colours, opacity], axis=-1).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(stream, "WEBP", quality=80, method=2)
    return stream.getvalue()


def _read(path: Path) -> NDArray[np.float64]:
    """Return the map (H, W), subsampled so that neither side exceeds MAX_PX."""
    cure = "upload the score maps again"
    try:
        kept = np.load(path, mmap_mode="r", allow_pickle=False)
    except NO_ARRAY:
        raise BadInput("is not a NumPy array", path, None, cure) from None
    is_map = isinstance(kept, np.ndarray) and kept.ndim == 2 and kept.dtype.kind in "fiu"
    if not is_map or not 0 < kept.size <= MAX_VALUES:
        raise BadInput("is not a map of scores", path, None, cure)
    step = max(1, -(-max(kept.shape) // MAX_PX))
    return np.array(kept[::step, ::step], np.float64)


def _scaled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores scaled to 0 … 1; all 0 if they are equal."""
    finite = np.isfinite(scores)
    if not finite.any():
        return np.zeros_like(scores)
    # Halved, so that the difference of the largest floats does not overflow.
    halves = scores / 2
    low, high = halves[finite].min(), halves[finite].max()
    known = np.where(finite, halves, low) - low
    return known / (high - low) if high > low else np.zeros_like(scores)
