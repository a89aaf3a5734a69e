"""Questions, missed and false labels by price, as stated by a campaign's learned scenes."""

from dataclasses import dataclass
from typing import NamedTuple

from labeling.graphs import learned_order
from labeling.models import Campaign
from labeling.question_graph.inferring import LearnedScenes, PricePoint
from labeling.question_graph.scenes import FALSE_COST

# Size of the figure in SVG units, and its left and bottom margins for labels.
WIDTH, HEIGHT, LEFT, BELOW = 640, 260, 44, 40
TICKS = 5
STEPS = (1, 2, 5, 10)


class Tick(NamedTuple):
    at: float
    words: str


class Mark(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True)
class Figure:
    """An SVG: lines of missed and false labels, with marks for the current price and
    Algorithm 1.
    """

    missed: list[Mark]
    false: list[Mark]
    current: list[Mark]
    plain: list[Mark]
    across: list[Tick]
    up: list[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    bottom: int = HEIGHT - BELOW


@dataclass(frozen=True)
class PriceCurve:
    """price: of the campaign, if any. learned: None until enough images are finished."""

    price: float | None
    learned: LearnedScenes | None
    figure: Figure | None = None
    false_cost: float = FALSE_COST
    first: int = learned_order.FIRST_SCENES

    @property
    def curve(self) -> list[PricePoint]:
        return self.learned.curve if self.learned else []

    @property
    def algorithm_1(self) -> PricePoint | None:
        return self.learned.algorithm_1 if self.learned else None

    @property
    def rows(self) -> list[tuple[PricePoint, float, bool]]:
        """Return (point, its questions as a share of Algorithm 1's, whether it is the current
        price).
        """
        base = self.algorithm_1.questions if self.algorithm_1 else 0
        return [
            (point, point.questions / base if base else 0, point.price == self.price)
            for point in self.curve
        ]


def price_curve(campaign: Campaign) -> PriceCurve:
    price = campaign.settings.get("price")
    learned = learned_order.scenes_of(campaign.calibration_id) if price is not None else None
    figure = None
    if learned is not None and learned.curve and learned.algorithm_1 is not None:
        figure = _figure(learned.curve, learned.algorithm_1, price)
    return PriceCurve(price, learned, figure)


def _figure(curve: list[PricePoint], plain: PricePoint, price: float | None) -> Figure:
    every = [*curve, plain]
    across = _ticks(max(point.questions for point in every))
    up = _ticks(max(max(point.missed, point.false) for point in every))

    def mark(questions: float, labels: float) -> Mark:
        x = LEFT + (WIDTH - LEFT - 8) * questions / across[-1]
        return Mark(round(x, 1), round((HEIGHT - BELOW) * (1 - labels / up[-1]) + 8, 1))

    current = [point for point in curve if point.price == price]
    return Figure(
        missed=[mark(point.questions, point.missed) for point in curve],
        false=[mark(point.questions, point.false) for point in curve],
        current=[mark(p.questions, labels) for p in current for labels in (p.missed, p.false)],
        plain=[mark(plain.questions, plain.missed), mark(plain.questions, plain.false)],
        across=[Tick(mark(value, 0).x, f"{value:g}") for value in across],
        up=[Tick(mark(0, value).y, f"{value:g}") for value in up],
    )


def _ticks(most: float) -> list[float]:
    """Return round numbers from 0 up to the first that is not below `most`.

    >>> _ticks(43), _ticks(0.31)
    ([0.0, 10.0, 20.0, 30.0, 40.0, 50.0], [0.0, 0.1, 0.2, 0.3, 0.4])
    """
    power = 1.0
    while power * 10 * TICKS < most:
        power *= 10
    while power * TICKS >= most > 0:
        power /= 10
    step = next(power * factor for factor in STEPS if power * factor * TICKS >= most)
    ticks = [0.0]
    while ticks[-1] < most or len(ticks) == 1:
        ticks.append(round(len(ticks) * step, 10))
    return ticks
