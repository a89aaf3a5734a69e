"""Content schemes: what a frame of a part sequence shows outside its parts.

Blurring is Geisler and Perry's multiresolution pyramid with a resolution map (1998; Perry and
Geisler 2002), as used by Sarvadevabhatla et al. 2016 (Supplement A §3). Torch is imported inside
functions. docs/explanation/sequences.md covers what the sources leave open.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.devices import BatchSize
from evaluation.metrics.frames.part_distances import PartDistances
from evaluation.metrics.frames.pyramid import MIN_LEVELS, codes, gaussian, linear, pyramid
from evaluation.metrics.frames.sequences import PartSequence, PartsError

if TYPE_CHECKING:
    from torch import Tensor

CONTENT_SCHEMES = ("intra-object", "intra-object-and-neighbourhood", "low", "higher")
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Blur:
    """Resolution h / (h + d^p) at distance d from the parts, as a share of the image's own.

    half: h, the distance at which the resolution is ½ if p = 1. d is measured in pixels of the crop
    to the parts dilated by a disk of dilation_px, then scaled to a crop of map_width pixels.
    empty_sigma_px: of the Gaussian over a frame without any part, in pixels of the crop.
    """

    half: float
    power: float
    empty_sigma_px: float
    dilation_px: int = 4
    map_width: int = 227

    def __post_init__(self) -> None:
        positive = min(self.half, self.power, self.empty_sigma_px, self.map_width) > 0
        if not (positive and self.dilation_px >= 0 and math.isfinite(self.half + self.power)):
            raise ValueError(f"{self} cannot be meant: all numbers are above 0, dilation_px may be")


# The map of the authors' code.
LOW = Blur(half=2.3, power=0.65, empty_sigma_px=10)
# 2.3° on a map of 60°, twice as wide as the image: 17.4 px. The authors' value is unknown.
HIGHER = Blur(half=2.3 * 2 * 227 / 60, power=1, empty_sigma_px=5)
BLURS = {"low": LOW, "higher": HIGHER}


def frames(
    image: NDArray[np.uint8],
    sequence: PartSequence,
    content: str | Blur,
    box: Box | None = None,
    device: Any = "cpu",
    compiled: bool | None = None,
    batch: BatchSize | None = None,
) -> Iterator["Tensor"]:
    """Yield the frames of an object: (H, W, 3) uint8 tensors on the device.

    image: (H, W, 3) uint8, sRGB, the crop of the sequence: tight for intra-object, widened for the
    other schemes. content: one of CONTENT_SCHEMES or a Blur. box: the object's x0, y0, x1, y1 in
    pixels of the crop, for intra-object-and-neighbourhood; it includes pixels that it touches. The
    last frame is the image itself; revealed pixels equal the image's exactly. A repeated frame is
    the same tensor: do not write into it. compiled: numba loops on the CPU; the default if the
    device is the CPU. Otherwise torch makes `batch` frames at a time (frame_batch()). Results do
    not depend on the batch. Between devices, and between compiled loops and torch, they differ by
    rounding: by one code in fewer than 1 of 1,000 pixels, because logarithms and sums in another
    order differ in the last of 24 bits. Parts on black and distances are integers and equal
    everywhere. To render objects in several threads, limit torch to one thread
    (torch.set_num_threads(1)). Memory holds one object's pyramid and a batch. Raises PartsError:
    another size or type of the image, a missing box, an unknown scheme. ValueError: compiled on a
    device that is not the CPU.
    """
    _refuse(image, sequence, content, box)
    device, compiled = _checked_device(device, compiled)
    original = _on_device(image, device)
    if isinstance(content, str) and content not in BLURS:
        return _on_black(original, sequence, box if content.endswith("hood") else None)
    blur = BLURS[content] if isinstance(content, str) else content
    crop = _OfSteps(original, sequence, blur, device, compiled)
    return _blurred(crop, sequence, compiled, batch)


def resolution(squared: "Tensor", width: int, blur: Blur) -> "Tensor":
    """Return the resolution in (0, 1] at squared distances in pixels of a crop of this width;
    float32.

    >>> import torch
    >>> resolution(torch.tensor([0, 1, 100]), 227, Blur(10, 1, 5)).tolist()
    [1.0, 0.9090909361839294, 0.5]
    """
    scaled = squared.float() * (blur.map_width / width) ** 2
    # exp(p ln d) is many times faster than d^p; 0 stays 0.
    return blur.half / (blur.half + (scaled.log() * (blur.power / 2)).exp())


def positions(resolutions: "Tensor", levels: int) -> "Tensor":
    """Return the positions of resolutions between levels: i + s mixes 1 − s of level i and s of i +
    1.

    Level i keeps half the amplitude at 2^−i of Nyquist. A grating at r times Nyquist keeps w T_i +
    (1 − w) T_{i+1}, so that w = (½ − T_{i+1}) / (T_i − T_{i+1}) leaves half of it. Level 0 is the
    image itself, used alone where r is 1; between 1 and ½ slightly more than half is left.
    """
    level = (-resolutions.log2()).floor_().clamp_(0, levels - 2)
    # The frequency as a share of level i's half height, where the transfer is 2^(−share²).
    share = resolutions * level.exp2()
    fine = (-share * share).exp2()
    coarse = fine**4
    return level + 1 - ((0.5 - coarse) / (fine - coarse)).clamp_(0, 1)


class SharedCrop:
    """Data shared by all sequences of one crop: its pyramid, and the distances to each part.

    Use it for several part orders and blurs of one object: pyramid and distances are computed once,
    on first use. The `frames` method returns what the function `frames` returns, up to rounding by
    one code. image, device, compiled: as in `frames`. masks: part → (H, W), not 0 inside the part.
    Memory: 12 bytes per pixel and level of the pyramid, and 4 per pixel and part.
    """

    def __init__(
        self,
        image: NDArray[np.uint8],
        masks: Mapping[str, NDArray[Any]],
        device: Any = "cpu",
        compiled: bool | None = None,
    ) -> None:
        self.image, self.masks = image, masks
        self.device, self.compiled = _checked_device(device, compiled)
        self.original = _on_device(image, self.device)
        self._distances: dict[tuple[str, int], Tensor] = {}
        self._tables: dict[Blur, tuple[Tensor, int]] = {}
        self._blurred: dict[float, Tensor] = {}
        self._pyramid: Tensor | None = None

    def prepare(self, contents: Iterable[str | Blur]) -> None:
        """Compute what these content schemes need. Afterwards several threads may call `frames`."""
        for content in contents:
            blur = BLURS.get(content) if isinstance(content, str) else content
            if blur is not None and any(np.any(mask) for mask in self.masks.values()):
                self.pyramid(self.positions(blur)[1])

    def frames(
        self,
        sequence: PartSequence,
        content: str | Blur,
        box: Box | None = None,
        batch: BatchSize | None = None,
    ) -> Iterator["Tensor"]:
        """Return the frames of one sequence of the crop's masks, as the function `frames` does."""
        _refuse(self.image, sequence, content, box)
        if isinstance(content, str) and content not in BLURS:
            return _on_black(self.original, sequence, box if content.endswith("hood") else None)
        blur = BLURS[content] if isinstance(content, str) else content
        return _blurred(_OfParts(self, sequence, blur), sequence, self.compiled, batch)

    def distances(self, name: str, radius: int) -> "Tensor":
        """Return the (H, W) int32 squared distances to a part that has pixels."""
        if (name, radius) not in self._distances:
            alone = (np.asarray(self.masks[name]) != 0).astype(np.int16)
            measured = PartDistances(alone, 2, radius, self.device, self.compiled)
            self._distances[name, radius] = measured.of(1)
        return self._distances[name, radius]

    def positions(self, blur: Blur) -> tuple["Tensor", int]:
        """Return the levels by squared distance, up to the farthest pixel; and the number of
        levels.
        """
        import torch

        if blur not in self._tables:
            radius = blur.dilation_px
            drawn = [name for name, mask in self.masks.items() if np.any(mask)]
            # Read once: each read from a GPU waits.
            farthest = int(
                torch.stack([self.distances(name, radius).max() for name in drawn]).max()
            )
            self._tables[blur] = _levels_by_distance(farthest, self.original, blur)
        return self._tables[blur]

    def pyramid(self, levels: int) -> "Tensor":
        """Return at least this many levels."""
        if self._pyramid is None or len(self._pyramid) < levels:
            self._pyramid = pyramid(self.original, levels)
        return self._pyramid

    def blurred(self, sigma_px: float) -> "Tensor":
        if sigma_px not in self._blurred:
            self._blurred[sigma_px] = codes(gaussian(linear(self.original), sigma_px))
        return self._blurred[sigma_px]


class _OfSteps:
    """A crop for a single sequence: distances are computed step by step and not kept."""

    def __init__(
        self,
        original: "Tensor",
        sequence: PartSequence,
        blur: Blur,
        device: Any,
        compiled: bool,
    ) -> None:
        self.original, self.blur = original, blur
        self._distances = PartDistances(
            sequence.steps, len(sequence), blur.dilation_px, device, compiled
        )

    def distances(self, step: int) -> "Tensor":
        return self._distances.of(step)

    def positions(self, first: "Tensor") -> tuple["Tensor", int]:
        return _levels_by_distance(int(first.max()), self.original, self.blur)

    def pyramid(self, levels: int) -> "Tensor":
        return pyramid(self.original, levels)

    def blurred(self) -> "Tensor":
        return codes(gaussian(linear(self.original), self.blur.empty_sigma_px))


class _OfParts:
    """A shared crop for a single sequence: a step's distances are those of its whole part.

    Overlaps do not matter: the minimum over the revealed parts is the same.
    """

    def __init__(self, crop: SharedCrop, sequence: PartSequence, blur: Blur) -> None:
        self.crop, self.sequence, self.blur = crop, sequence, blur
        self.original = crop.original

    def distances(self, step: int) -> "Tensor":
        return self.crop.distances(self.sequence.names[step], self.blur.dilation_px)

    def positions(self, _: "Tensor") -> tuple["Tensor", int]:
        return self.crop.positions(self.blur)

    def pyramid(self, levels: int) -> "Tensor":
        return self.crop.pyramid(levels)

    def blurred(self) -> "Tensor":
        return self.crop.blurred(self.blur.empty_sigma_px)


def _blurred(
    crop: _OfSteps | _OfParts, sequence: PartSequence, compiled: bool, batch: BatchSize | None
) -> Iterator["Tensor"]:
    added = sequence.added[:-1]
    steps = np.flatnonzero(added).tolist()
    if not steps or steps[0] > 0:
        frame = crop.blurred()
        for _ in range(steps[0] if steps else len(added)):
            yield frame
    painter: _Painter | None = None

    def paint(part: slice) -> "list[Tensor]":
        nonlocal painter
        squared = [crop.distances(step) for step in steps[part]]
        painter = painter or _Painter(crop, squared[0], compiled)
        return list(painter.paint(squared))

    at_once = BatchSize(1) if compiled else batch or frame_batch()
    painted = chain.from_iterable(at_once.run(len(steps), paint))
    for step, end, frame in zip(steps, [*steps[1:], len(added)], painted, strict=False):
        yield from [frame] * (end - step)
    yield crop.original


def frame_batch() -> BatchSize:
    """Return the number of frames that torch makes at once."""
    return BatchSize(16, "frame")


def _levels_by_distance(farthest: int, original: "Tensor", blur: Blur) -> tuple["Tensor", int]:
    """Return (farthest + 1,) positions between levels by squared distance, and the number of
    levels.
    """
    import torch

    squared = torch.arange(farthest + 1, device=original.device)
    table = resolution(squared, original.shape[1], blur)
    levels = max(MIN_LEVELS, math.ceil(-math.log2(float(table.min()))) + 1)
    # Rounding must not make a nearer pixel coarser.
    level_positions = positions(table, levels).cummax(0).values
    # Use the image itself where the resolution is 1, however a device rounds.
    level_positions[0] = 0
    return level_positions, levels


class _Painter:
    """Paints the frames of one object; distances only decrease from frame to frame."""

    def __init__(self, crop: _OfSteps | _OfParts, first: "Tensor", compiled: bool) -> None:
        import torch

        self.original, self.compiled = crop.original, compiled
        self.positions, levels = crop.positions(first)
        self.levels = crop.pyramid(levels).flatten(1, 2)
        self.nearest = torch.full_like(first, len(self.positions)).view(-1)
        self.frame = self.original.view(-1, 3)

    def paint(self, squared: list["Tensor"]) -> Iterator["Tensor"]:
        """Yield a frame for each further part, given the squared distances to each."""
        paint = self._paint_compiled if self.compiled else self._paint
        return paint(squared)

    def _paint_compiled(self, squared: list["Tensor"]) -> Iterator["Tensor"]:
        from evaluation.metrics.frames import kernels

        for distances in squared:
            self.frame = self.frame.clone()
            kernels.paint(
                distances.view(-1).numpy(),
                self.nearest.numpy(),
                self.positions.numpy(),
                self.levels.numpy(),
                _codes_table(),
                self.frame.numpy(),
            )
            yield self.frame.view_as(self.original)

    def _paint(self, squared: list["Tensor"]) -> Iterator["Tensor"]:
        import torch

        stacked = torch.stack([self.nearest, *(distances.view(-1) for distances in squared)])
        nearest = stacked.cummin(0).values[1:]
        position = self.positions[nearest.long()]
        level = position.long().clamp_(max=self.levels.shape[0] - 2)
        share = (position - level).unsqueeze(-1)
        flat = self.levels.view(-1, 3)
        at = level * nearest.shape[1] + torch.arange(nearest.shape[1], device=nearest.device)
        fine, coarse = flat[at], flat[at + nearest.shape[1]]
        painted = codes(fine + share * (coarse - fine)).view(-1, *self.original.shape)
        # Set this last: if memory runs out above, painting continues here with smaller batches.
        self.nearest = nearest[-1]
        yield from painted


def _checked_device(device: Any, compiled: bool | None) -> tuple[Any, bool]:
    import torch

    device = torch.device(device)
    compiled = device.type == "cpu" if compiled is None else compiled
    if compiled and device.type != "cpu":
        raise ValueError(f"compiled loops run on the CPU, not on {device}; leave compiled out")
    return device, compiled


def _on_device(array: NDArray[Any], device: Any) -> "Tensor":
    """Return a copy on the device: the input may be read-only, flipped, or change later."""
    import torch

    return torch.from_numpy(np.array(array, order="C")).to(device)


@functools.cache
def _codes_table() -> NDArray[np.uint8]:
    from evaluation.metrics.frames.pyramid import encoding

    return encoding("cpu").numpy()


def _on_black(original: "Tensor", sequence: PartSequence, box: Box | None) -> Iterator["Tensor"]:
    """Yield parts on black; with a box, only its inside is black."""
    import torch

    frame = torch.zeros_like(original)
    if box is not None:
        left, top = max(math.floor(box[0]), 0), max(math.floor(box[1]), 0)
        frame = original.clone()
        frame[top : max(math.ceil(box[3]), 0), left : max(math.ceil(box[2]), 0)] = 0
    # Indices in order of step: faster than masks per step, and without reads from
    # the device.
    places = _on_device(np.argsort(sequence.steps, axis=None, kind="stable"), original.device)
    added = sequence.added.tolist()
    for new, at in zip(added[:-1], places.split(added), strict=False):
        if new:
            frame = frame.clone()
            frame.view(-1, 3).index_copy_(0, at, original.view(-1, 3).index_select(0, at))
        yield frame
    yield original


def _refuse(
    image: NDArray[np.uint8], sequence: PartSequence, content: str | Blur, box: Box | None
) -> None:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise PartsError(
            f"the image is {image.dtype} of shape {image.shape}", "give (H, W, 3) uint8 in RGB"
        )
    if image.shape[:2] != sequence.steps.shape:
        raise PartsError(
            f"the image has shape {image.shape[:2]}, the masks {sequence.steps.shape}",
            "cut image and masks to the same crop",
        )
    if isinstance(content, str) and content not in CONTENT_SCHEMES:
        raise PartsError(
            f"the content scheme is {content!r}", f"expected one of {', '.join(CONTENT_SCHEMES)}"
        )
    if content == "intra-object-and-neighbourhood" and box is None:
        raise PartsError(f"{content} came without a box", "give the object's box in the crop")
