"""The questions of a release and the settlements behind them."""

from typing import Any, NamedTuple


class FrozenQuestion(NamedTuple):
    """A settled or dropped question of a snapshot.

    settlement, first: ids of its last and first settlement. late: ids of answers that came after
    it was settled. region: of its object. step, content: of a question that is a step. queries:
    that found its image, where it is a candidate.
    """

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
        """Return the index of the step within its (image, class) pair."""
        return int((self.content or {}).get("number", 0))


class FrozenSettlement(NamedTuple):
    """A settlement as written in lines. number: of its calibration."""

    value: Any
    probability: float | None
    answers: list[str]
    reviewed: bool
    policy: int
    calibration: int | None
    number: int | None
