"""Decodes masks of Label Studio's brush: bit-packed run lengths of an RGBA image.

Source: the packing is @thi.ng/rle-pack's; like Label Studio's converter, uses the fourth channel.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

CHANNELS = 4
WORD = 8


def mask_of_brush(packed: Any, size: tuple[int, int]) -> npt.NDArray[np.bool_] | None:
    """Return (H, W), True where the brush painted; None for an invalid mask.

    packed: bytes as a list of numbers. size: (width, height).
    """
    try:
        bits = _Bits(bytes(packed))
        count = bits.read(32)
        if bits.read(5) + 1 != WORD or count != size[0] * size[1] * CHANNELS:
            return None
        return _unpacked(bits, count)[3::CHANNELS].reshape(size[1], size[0]) > 0
    except (TypeError, ValueError, EOFError):
        return None


def _unpacked(bits: "_Bits", count: int) -> npt.NDArray[np.uint8]:
    widths = [bits.read(4) + 1 for _ in range(4)]
    values = np.empty(count, np.uint8)
    at = 0
    while at < count:
        repeated = bits.read(1)
        after = at + 1 + bits.read(widths[bits.read(2)])
        if after > count:
            raise ValueError("more values than pixels")
        if repeated:
            values[at:after] = bits.read(WORD)
        else:
            several = bits.read(WORD * (after - at)).to_bytes(after - at, "big")
            values[at:after] = np.frombuffer(several, np.uint8)
        at = after
    return values


class _Bits:
    """Reads bytes a few bits at a time, the highest first."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def read(self, count: int) -> int:
        end = self.at + count
        if end > 8 * len(self.data):
            raise EOFError
        some = int.from_bytes(self.data[self.at // 8 : -(-end // 8)], "big")
        self.at = end
        return some >> (-end % 8) & ((1 << count) - 1)
