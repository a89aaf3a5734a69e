"""Bounded numbers of commands: argparse types whose errors state the expected range."""

import argparse
import math
from collections.abc import Callable

import numpy as np


def whole(low: int = 0, high: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers from low to high, inclusive; high may be None.

    The parser raises ArgumentTypeError.

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


def real(holds: Callable[[float], bool], bounds: str) -> Callable[[str], float]:
    """Return a parser of the numbers that hold; its ArgumentTypeError states the bounds.

    >>> real(lambda value: value > 0, "above 0")("2.5")
    2.5
    """

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not holds(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number {bounds}")
        return value

    return read


def level(text: str) -> float:
    """Return a confidence level: above 0 and below 1."""
    value = float(text)
    if not 0 < value < 1:
        raise ValueError(text)
    return value


def ious(text: str) -> tuple[float, ...]:
    """Return an IoU, or those of a range in steps of 0.05, both ends included.

    >>> ious("0.5"), len(ious("0.5:0.95"))
    ((0.5,), 10)
    """
    first, colon, last = text.partition(":")
    low, high = share(first), share(last if colon else first)
    steps = round((high - low) / 0.05)
    if steps < 0 or abs(low + 0.05 * steps - high) > 1e-9:
        raise ValueError(text)
    # Equal to pycocotools' values to the last bit.
    return tuple(np.linspace(low, high, steps + 1).tolist())


def share(text: str) -> float:
    """Return a share: above 0 and at most 1."""
    value = float(text)
    if not 0 < value <= 1:
        raise ValueError(text)
    return value
