"""Rows of a CDS result for its pages and figures: ordered and aggregated. Pure.

The result is a run's, without the sequences.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TypeVar
from urllib.parse import urlencode

from evaluation.metrics import bands
from evaluation.metrics.cds.formulas import BINS
from evaluation.metrics.cds.hardness import HardnessRow
from evaluation.metrics.cds.tables import ContentSchemeRow, ErrorRow, PartSchemeRow, WinnersRow
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import PART_SCHEMES
from evaluation.readers.frame_predictions import PEOPLE
from evaluation.scoring.cds import wording
from evaluation.scoring.cds.result import CdsResult, SequencesEffect

T = TypeVar("T")


@dataclass(frozen=True)
class ReaderChoice:
    """The reader's choices: the averaging rule, and whose CL-ratios ("" for all)."""

    averaging: str = "text"
    of: str = ""

    def query(self) -> str:
        """Return the query for an address; "" for the defaults."""
        chosen = {"averaging": self.averaging if self.averaging != "text" else "", "of": self.of}
        return urlencode({key: value for key, value in chosen.items() if value})


@dataclass(frozen=True)
class SchemeCell:
    """A classifier's score, such as its average at a scheme. is_best: the lowest of the machines,
    and its machine is one of leaders().

    gain: the improvement in signed percent with its interval; empty if there is none.
    """

    value: float
    is_best: bool
    low: float | None = None
    high: float | None = None
    gain: str = ""
    gain_interval: str = ""


@dataclass(frozen=True)
class ClassifierRow:
    """A classifier's row of a grid: a cell per scheme, None if it was not asked.

    mean: over the schemes, None if one is missing.
    """

    classifier: str
    is_people: bool
    mean: float | None
    cells: list[SchemeCell | None]


@dataclass(frozen=True)
class PeopleMean:
    """The means of people and of the best machine over the content schemes that people saw."""

    value: float
    machine: float
    schemes: int


@dataclass(frozen=True)
class Lead:
    """The machine that needs least of the object.

    wins: the number of content schemes at which it has the lowest CDS of the machines. sure: their
    confirmed order.
    """

    best: ClassifierRow
    second: ClassifierRow | None
    wins: int
    schemes: int
    sure: bands.ConfirmedOrder
    people: PeopleMean | None


@dataclass(frozen=True)
class TruthCell:
    """A classifier's mean CDS by one truth. objects: how many it was asked about, out of `of`."""

    value: float | None
    rank: int | None
    objects: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.objects == self.of


@dataclass(frozen=True)
class TruthRow:
    """A classifier's cells: by the opening, by the newest truth on its objects, and on all."""

    effect: SequencesEffect
    is_people: bool
    cells: list[TruthCell]


@dataclass
class Winners:
    """The classifiers that most often have the lowest and the highest scores of a category."""

    category: str
    name: str
    cds: WinnersRow | None = None
    b_cds: WinnersRow | None = None


@dataclass
class Histogram:
    """Counts in ten bins of [0, 1]. name: an index j or a category."""

    name: str
    total: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * BINS)

    @property
    def below_half(self) -> float | None:
        """Return the share in the lower five bins."""
        return sum(self.counts[: BINS // 2]) / self.total if self.total else None


@dataclass(frozen=True)
class HardnessSummary:
    """The objects of a content scheme or classifier: the median, the easiest and the hardest."""

    of: str
    median: float
    easiest: HardnessRow
    hardest: HardnessRow

    @property
    def name(self) -> str:
        return wording.content_scheme(self.of)


def where(rows: Iterable[T], **fields: object) -> list[T]:
    """Return the rows whose fields have these values."""
    return [row for row in rows if all(getattr(row, key) == value for key, value in fields.items())]


def content_schemes(result: CdsResult) -> list[str]:
    """Return the content schemes of the result, those of the paper first."""
    schemes = (row.content_scheme for row in result.tables.by_content_scheme)
    return _in_order(schemes, CONTENT_SCHEMES)


def part_schemes(result: CdsResult) -> list[str]:
    """Return the part schemes of the result, those of the paper first."""
    return _in_order((row.part_scheme for row in result.tables.by_part_scheme), PART_SCHEMES)


def _in_order(names: Iterable[str], known: Sequence[str]) -> list[str]:
    there = list(dict.fromkeys(names))
    return [name for name in known if name in there] + [n for n in there if n not in known]


def category_name(result: CdsResult, category: str) -> str:
    """Return the category's name."""
    return result.category_names.get(category, category)


def measures(result: CdsResult) -> list[str]:
    """Return cds, and b_cds if a mapping was given."""
    rows = result.tables.by_content_scheme
    valued = {row.measure for row in rows if row.value is not None}
    return [name for name in wording.SCORES if name in valued]


def classifier_rows(result: CdsResult, measure: str, averaging: str) -> list[ClassifierRow]:
    """Return every classifier over the content schemes, lowest first, people last."""
    rows = where(result.tables.by_content_scheme, measure=measure, averaging=averaging)
    by_cell = {(row.classifier, row.content_scheme): row for row in rows}
    return _grid(result, content_schemes(result), by_cell)


def by_part_scheme(result: CdsResult, measure: str, averaging: str) -> list[ClassifierRow]:
    """Return every classifier over the part schemes, lowest first, people last."""
    rows = where(result.tables.by_part_scheme, measure=measure, averaging=averaging)
    return _grid(result, part_schemes(result), {(r.classifier, r.part_scheme): r for r in rows})


def _grid(
    result: CdsResult,
    schemes: list[str],
    rows: Mapping[tuple[str, str], ContentSchemeRow | PartSchemeRow],
) -> list[ClassifierRow]:
    """Return the grid. rows: by classifier and scheme. People never take the mark of the best
    machine.
    """
    values = {key: row.value for key, row in rows.items() if row.value is not None}
    leading = leaders(result)
    lowest = {
        scheme: min(
            (value for (name, of), value in values.items() if of == scheme and name != PEOPLE),
            default=None,
        )
        for scheme in schemes
    }
    grid = []
    for name in result.classifiers:
        scores = [values.get((name, scheme)) for scheme in schemes]
        known = [value for value in scores if value is not None]
        cells = [
            value
            if value is None
            else _cell(rows[name, scheme], value, name in leading and value == lowest[scheme])
            for scheme, value in zip(schemes, scores, strict=True)
        ]
        mean = sum(known) / len(known) if scores and len(known) == len(scores) else None
        grid.append(ClassifierRow(name, name == PEOPLE, mean, cells))
    return sorted(
        grid, key=lambda row: (row.is_people, row.mean is None, row.mean or 0, row.classifier)
    )


def _cell(row: ContentSchemeRow | PartSchemeRow, value: float, is_best: bool) -> SchemeCell:
    cell = SchemeCell(value, is_best, row.low, row.high)
    if isinstance(row, PartSchemeRow) or row.improvement is None:
        return cell
    low, high = row.improvement_low, row.improvement_high
    interval = "" if low is None or high is None else f"{signed(low)} to {signed(high)}"
    return replace(cell, gain=f"{signed(row.improvement)} %", gain_interval=interval)


def signed(share: float) -> str:
    """Return a share in percent with its sign.

    >>> signed(0.1795), signed(-0.0027)
    ('+18.0', '−0.3')
    """
    return f"{100 * share:+.1f}".replace("-", "−")


def answer(result: CdsResult, averaging: str) -> Lead | None:
    """Return which machine needs least of the object, and by how much; None without a machine."""
    ranked = classifier_rows(result, "cds", averaging)
    machines = [row for row in ranked if not row.is_people and row.mean is not None]
    if not machines:
        return None
    best = machines[0]
    columns = list(zip(*(_values(row) for row in machines), strict=True))
    return Lead(
        best=best,
        second=machines[1] if len(machines) > 1 else None,
        wins=sum(column[0] == min(column) for column in columns),
        schemes=len(columns),
        sure=_ordered(result, [row.classifier for row in machines]),
        people=_people(ranked, best),
    )


def _values(row: ClassifierRow) -> list[float]:
    return [cell.value for cell in row.cells if cell]


def _ordered(result: CdsResult, names: list[str]) -> bands.ConfirmedOrder:
    """Return the order that the sign test over objects confirms; nothing for older results."""
    sure = result.sure
    apart = {tuple(pair) for pair in sure.apart} if sure else set()
    level = sure.level if sure else result.bootstrap.level
    return bands.order(names, lambda a, b: (a, b) in apart, level)


def leaders(result: CdsResult) -> list[str]:
    """Return the machines that none beats significantly, if any machine is significantly worse."""
    rank_bands = result.sure.bands if result.sure else []
    return rank_bands[0] if len(rank_bands) > 1 else []


def _people(ranked: list[ClassifierRow], best: ClassifierRow) -> PeopleMean | None:
    for row in ranked:
        if row.is_people and (values := _values(row)):
            both = zip(best.cells, row.cells, strict=True)
            machine = [cell.value for cell, seen in both if cell and seen]
            return PeopleMean(sum(values) / len(values), sum(machine) / len(machine), len(values))
    return None


def errors(result: CdsResult) -> list[ErrorRow]:
    """Return the rows of Table 1, lowest error first, people last."""
    return sorted(
        result.tables.error,
        key=lambda row: (row.classifier == PEOPLE, row.error is None, row.error or 0),
    )


def by_truths(result: CdsResult) -> list[TruthRow]:
    """Return a row per classifier, in the order of the opening; none without a later truth."""
    if result.newest is None:
        return []
    newest = result.newest
    scores = [
        {row.name: row for row in column.classifiers}
        for column in (newest.opening_objects, newest.all_objects)
    ]
    counts = [newest.opening_objects.objects, newest.objects]
    effects = {effect.name: effect for effect in newest.effects}
    rows = []
    for opening in classifier_rows(result, "cds", ReaderChoice().averaging):
        effect = effects[opening.classifier]
        cells = [TruthCell(opening.mean, effect.ranks[0], effect.opening, result.objects)]
        for by_name, rank, count in zip(scores, effect.ranks[1:], counts, strict=True):
            score = by_name.get(effect.name)
            value, objects = (score.cds, score.objects) if score else (None, 0)
            cells.append(TruthCell(value, rank, objects, count))
        rows.append(TruthRow(effect, opening.is_people, cells))
    return rows


def winners(result: CdsResult) -> list[Winners]:
    """Return one row per category."""
    by_category: dict[str, Winners] = {}
    for row in result.tables.best_and_worst:
        name = category_name(result, row.category)
        setattr(by_category.setdefault(row.category, Winners(row.category, name)), row.measure, row)
    return list(by_category.values())


def ratios(result: CdsResult, of: str) -> list[Histogram]:
    """Return the CL-ratios of a classifier, "" for all: one histogram per index j."""
    by_index: dict[int, Histogram] = {}
    for row in where(result.tables.cl_ratio, classifier=of):
        histogram = by_index.setdefault(row.index, Histogram(str(row.index)))
        histogram.counts[row.bin] = row.count
        histogram.total += row.count
    return [by_index[index] for index in sorted(by_index)]


def presence(result: CdsResult) -> list[Histogram]:
    """Return the share m / M of its parts that an object has: one histogram per category."""
    by_category: dict[str, Histogram] = {}
    for row in result.tables.part_presence:
        name = category_name(result, row.category)
        histogram = by_category.setdefault(row.category, Histogram(name, row.objects))
        histogram.counts[row.bin] = row.count
    return list(by_category.values())


def hardness(result: CdsResult, form: str) -> list[HardnessSummary]:
    """Return one row per content scheme or classifier."""
    return [
        HardnessSummary(of, median(row.hardness for row in rows), rows[0], rows[-1])
        for of, rows in by_of(result, form).items()
    ]


def by_of(result: CdsResult, form: str) -> dict[str, list[HardnessRow]]:
    """Return the hardness rows of one form, easiest first, by content scheme in the paper's order,
    or by classifier.
    """
    by_scheme: dict[str, list[HardnessRow]] = {}
    for row in where(result.tables.hardness, form=form):
        by_scheme.setdefault(row.of, []).append(row)
    known = CONTENT_SCHEMES if form == "content_scheme" else result.classifiers
    return {
        of: sorted(by_scheme[of], key=lambda row: row.rank) for of in _in_order(by_scheme, known)
    }
