"""Confirmed order: bands of names that no interval and no paired test separates.

Every result with an order of classifiers or submissions uses this, on pages and in commands.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from labeling.records import Record


@dataclass(kw_only=True)
class Sure(Record):
    """A ConfirmedOrder as stored in results; `bands` has the names in the same order."""

    level: float
    bands: list[list[str]]
    apart: list[list[str]]
    words: str


@dataclass(frozen=True)
class ConfirmedOrder:
    """names: best first. apart: pairs (better, worse) that differ at the level.

    bands: the names in the same order, split wherever everything above differs from everything
    below. places: the first and the last confirmed rank of each name, from 1.
    """

    names: tuple[str, ...]
    apart: tuple[tuple[str, str], ...]
    level: float

    @property
    def bands(self) -> list[list[str]]:
        known, bands = set(self.apart), []
        start = 0
        for end in range(1, len(self.names) + 1):
            above, below = self.names[:end], self.names[end:]
            if all((a, b) in known for a in above for b in below):
                bands.append(list(self.names[start:end]))
                start = end
        return bands

    @property
    def places(self) -> list[tuple[int, int]]:
        return [
            (
                1 + sum(worse == name for _, worse in self.apart),
                len(self.names) - sum(better == name for better, _ in self.apart),
            )
            for name in self.names
        ]

    @property
    def words(self) -> str:
        """Return the confirmed order as a sentence; "" for fewer than two names.

        >>> ConfirmedOrder(("A", "B", "C"), (("A", "B"), ("A", "C")), 0.95).words
        'Confirmed at 95 %: A, then B and C. Within a band, no order is confirmed.'
        """
        if len(self.names) < 2:
            return ""
        at, bands = f"{100 * self.level:g} %", self.bands
        if not self.apart:
            return f"No order is confirmed at {at}."
        if len(bands) == len(self.names):
            return f"The order is confirmed at {at}: {', then '.join(self.names)}."
        inside = {(a, b) for band in bands for a in band for b in band}
        pairs = [f"{a} before {b}" for a, b in self.apart if (a, b) in inside]
        if len(bands) == 1:
            return f"Only this is confirmed at {at}: {'; '.join(pairs)}."
        words = f"Confirmed at {at}: {', then '.join(_listed(band) for band in bands)}."
        if pairs:
            return f"{words} Within a band, only this is confirmed: {'; '.join(pairs)}."
        return f"{words} Within a band, no order is confirmed."

    @property
    def leaders(self) -> list[str]:
        """Return the first band; empty if it contains all names."""
        return self.bands[0] if len(self.bands) > 1 else []

    @property
    def first(self) -> str:
        """Return who may be first, for a heading; "" if that is not confirmed.

        >>> ConfirmedOrder(("A", "B", "C"), (("A", "C"), ("B", "C")), 0.95).first
        'A or B'
        """
        return _listed(self.leaders, "or") if self.leaders else ""

    def as_record(self) -> Sure:
        """Return the record that results store under `sure`."""
        apart = [list(pair) for pair in self.apart]
        return Sure(level=self.level, bands=self.bands, apart=apart, words=self.words)

    def as_payload(self) -> dict[str, object]:
        return self.as_record().to_json()


def order(
    names: Sequence[str], is_apart: Callable[[str, str], bool], level: float
) -> ConfirmedOrder:
    """Return the order. names: best first. is_apart: called with (better, worse) once per pair."""
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if is_apart(a, b)]
    return ConfirmedOrder(tuple(names), tuple(pairs), level)


def apart_by_intervals(
    names: Sequence[str],
    intervals: Mapping[str, Sequence[float | None]],
    level: float,
) -> ConfirmedOrder:
    """Return the order; pairs whose intervals do not overlap are apart.

    An interval without bounds overlaps with all, and so does a point, which resampling gives for
    few units.
    """

    def is_apart(a: str, b: str) -> bool:
        bounds = [x for name in (a, b) for x in intervals.get(name) or (None,)]
        if any(x is None or math.isnan(x) for x in bounds) or len(bounds) != 4:
            return False
        low_a, high_a, low_b, high_b = (float(x) for x in bounds if x is not None)
        has_width = low_a < high_a and low_b < high_b
        return has_width and (high_a < low_b or high_b < low_a)

    return order(names, is_apart, level)


def _listed(names: Sequence[str], last: str = "and") -> str:
    """Return the names as a list in words.

    >>> _listed(["A", "B", "C"])
    'A, B and C'
    """
    *head, end = names
    return f"{', '.join(head)} {last} {end}" if head else end
