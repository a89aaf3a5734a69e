"""Which release a run scored, as every result of a run keeps it. Pure."""

from dataclasses import dataclass

from labeling.records import Record


@dataclass(kw_only=True)
class ScoredRelease(Record):
    number: int
    sha256: str
