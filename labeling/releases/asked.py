"""What releases are written of: questions as a cut lists them, and what settled them."""

from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A settled or dropped question at the cut. settlement, first: ids of its last and its first
    one; late: ids of the answers that came after it was settled; region: of its object; step,
    content: of one that is a step; queries: that found its image as a candidate."""

    pk: int
    item: int
    image: str
    object: str
    topic: str
    state: str
    policy: int
    settlement: int | None
    first: int | None
    region: list[float] | None
    step: str
    content: Any
    late: list[str]
    queries: list[str]

    @property
    def number(self) -> int:
        """Of the step, among those of its image and class."""
        return int((self.content or {}).get("number", 0))


class Settled(NamedTuple):
    """A settlement, as lines say it. number: of its calibration."""

    value: Any
    probability: float | None
    answers: list[str]
    reviewed: bool
    policy: int
    calibration: int | None
    number: int | None
