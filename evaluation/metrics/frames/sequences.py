"""Part sequences: which pixels of an object's crop each frame reveals.

Source: Sarvadevabhatla et al. 2016, §4 and Supplement A §4. docs/explanation/sequences.md covers
what the text leaves open.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The rest of the object and the background, revealed together in the last step.
REST = "unlabeled-rest"
REST_NAMES = (REST, "unlabeled-rest-object", "unlabeled-rest-background")


class PartsError(ValueError):
    """Parts, masks or fixations that do not fit together, with a cure."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(f"{message}; {cure}")
        self.message = message
        self.cure = cure


@dataclass(frozen=True)
class PartSequence:
    """The frames of one object.

    steps: (H, W) int16, the first frame (from 0) that reveals a pixel; the last one reveals the
    rest. names: what each frame adds, "" for the empty frame, REST for the last. present: parts
    with a pixel of their own mask; the paper's m.
    """

    steps: NDArray[np.int16]
    names: tuple[str, ...]
    present: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def revealed(self, frame: int) -> NDArray[np.bool_]:
        """Return (H, W) which pixels a frame (from 0) reveals."""
        return self.steps <= frame

    @property
    def added(self) -> NDArray[np.int64]:
        """Return (N,) how many pixels each frame adds; a frame that adds none repeats the
        previous.
        """
        return np.bincount(self.steps.ravel(), minlength=len(self))


def sequence(
    order: Sequence[str], masks: Mapping[str, NDArray[Any]], include_empty: bool = False
) -> PartSequence:
    """Return the sequence of an object: its parts one by one in order, then the whole crop.

    order: every part of the category, the first to reveal first; names of the rest are ignored.
    masks: name → (H, W), not 0 inside the part, for the parts of the object; all of one size, the
    crop's. N = M + 1 frames for M parts in the order, M + 2 with include_empty, which begins with a
    frame without any part (as the authors' code does). A part that is missing, empty or hidden by
    earlier ones repeats the previous frame; if there is none, the frame shows no part. An overlap
    belongs to the earlier part.
    Raises PartsError: a duplicate name in the order, a part that the order lacks, masks of several
    sizes, no part with a pixel.

    >>> left, right = np.array([[1, 1, 0]]), np.array([[0, 1, 1]])
    >>> frames = sequence(["right", "tail", "left"], {"left": left, "right": right})
    >>> frames.names, frames.steps.tolist()
    (('right', 'tail', 'left', 'unlabeled-rest'), [[2, 0, 0]])
    """
    parts = [name for name in order if name not in REST_NAMES]
    part_masks = {
        name: np.asarray(mask) != 0 for name, mask in masks.items() if name not in REST_NAMES
    }
    _refuse(parts, part_masks)
    first = int(include_empty)
    names = ("",) * first + (*parts, REST)
    shape = next(iter(part_masks.values())).shape
    steps = np.full(shape, len(names) - 1, np.int16)
    for frame in range(len(names) - 2, first - 1, -1):
        if names[frame] in part_masks:
            steps[part_masks[names[frame]]] = frame
    present = tuple(name for name in parts if name in part_masks and part_masks[name].any())
    return PartSequence(steps, names, present)


def _refuse(parts: Sequence[str], part_masks: Mapping[str, NDArray[np.bool_]]) -> None:
    twice = sorted(name for name, count in Counter(parts).items() if count > 1)
    if twice:
        raise PartsError(f"the part order names {', '.join(twice)} twice", "name each part once")
    strange = sorted(set(part_masks) - set(parts))
    if strange:
        raise PartsError(
            f"the object has parts that the part order lacks: {', '.join(strange)}",
            f"order all of the category's parts (the order has {', '.join(parts) or 'none'})",
        )
    if not any(mask.any() for mask in part_masks.values()):
        raise PartsError("the object has no part with a pixel", "leave it out, or draw a part")
    sizes: dict[tuple[int, ...], str] = {}
    for name, mask in part_masks.items():
        sizes.setdefault(mask.shape, name)
    if len(sizes) > 1 or len(next(iter(sizes))) != 2:
        sizes_text = ", ".join(f"{name} has {shape}" for shape, name in sizes.items())
        raise PartsError(
            f"masks differ in size: {sizes_text}", "give (H, W) masks of the same crop"
        )


def checked_order(order: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
    """Return the order without the rest. Raises PartsError for unknown or missing parts."""
    parts = [name for name in order if name not in REST_NAMES]
    known = [name for name in vocabulary if name not in REST_NAMES]
    for left, right, fault in (
        (parts, known, "the part order names parts that the category does not have"),
        (known, parts, "the part order leaves parts out"),
    ):
        odd = sorted(set(left) - set(right))
        if odd:
            raise PartsError(
                f"{fault}: {', '.join(odd)}", f"the category has {', '.join(known) or 'none'}"
            )
    return parts
