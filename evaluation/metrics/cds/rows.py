"""Rows of the tables of a CDS benchmark, as stored in results and printed by commands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from labeling.records import Record


@dataclass(kw_only=True)
class CdsRow(Record):
    """A row. LATE_COLUMNS: fields that the oldest rows lack: None there, and not written.

    low, high, and fields that end so: an interval, None without rounds. None stands for NaN.
    """

    LATE_COLUMNS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self._lacking: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        lacking = tuple(name for name in cls.LATE_COLUMNS if name not in value)
        row = super().from_json({**value, **dict.fromkeys(lacking)} if lacking else value)
        row._lacking = lacking
        return row

    def to_json(self) -> dict[str, object]:
        written = super().to_json()
        for name in self._lacking:
            del written[name]
        return written
