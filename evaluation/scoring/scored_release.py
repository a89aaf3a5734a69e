"""The release that a run scored, as stored in every result. Pure."""

from dataclasses import dataclass

from labeling.records import Record


@dataclass(kw_only=True)
class ScoredRelease(Record):
    number: int
    sha256: str
