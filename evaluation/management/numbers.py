"""Numbers given to commands: types for argparse, which say what they expected."""

import argparse
from collections.abc import Callable


def whole(low: int = 0, high: int | None = None) -> Callable[[str], int]:
    """What reads a whole number from low to high, both included; without high there is no end.

    It raises ArgumentTypeError for another text.

    >>> whole(1, 4096)("224")
    224
    """
    ends = f"from {low}" if high is None else f"from {low} to {high}"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low or (high is not None and value > high):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {ends}")
        return value

    return read


def level(text: str) -> float:
    """A level of confidence: above 0 and below 1."""
    value = float(text)
    if not 0 < value < 1:
        raise ValueError(text)
    return value


def share(text: str) -> float:
    """A share of something: above 0 and at most 1."""
    value = float(text)
    if not 0 < value <= 1:
        raise ValueError(text)
    return value
