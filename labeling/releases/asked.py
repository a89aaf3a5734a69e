"""What releases are written of: questions as a cut lists them, and what settled them."""

from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A settled or dropped question at the cut. settlement, first: ids of its last and its first
    one; late: ids of the answers that came after it was settled; region: of its object; queries:
    that found its image as a candidate."""

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
    late: list[str]
    queries: list[str]


class Settled(NamedTuple):
    """A settlement, as lines say it. number: of its calibration."""

    value: Any
    probability: float | None
    answers: list[str]
    reviewed: bool
    policy: int
    calibration: int | None
    number: int | None
