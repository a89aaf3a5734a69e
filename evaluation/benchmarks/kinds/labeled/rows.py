"""Rows of a result on released labels for tables, figures and CSV files. Pure.

A missing number is None in a row.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from evaluation.benchmarks.kinds.labeled import wording
from evaluation.benchmarks.kinds.labeled.images.outcomes import ImageQuery
from evaluation.benchmarks.kinds.labeled.results import (
    KindCurves,
    KindResult,
    LabeledResult,
    TruthEffect,
)
from evaluation.metrics import bands
from evaluation.scoring import comparing
from evaluation.scoring.analysis import ClassValue
from evaluation.scoring.comparing import IntervalEstimate
from evaluation.scoring.detection import ClassPrecision, DetectionResult
from evaluation.scoring.wsol.results import LEVEL, Best, BoxResult, Curves, WsolResult, intervals
from labeling.estimators.intervals import clopper_pearson

MAX_LISTED = 10
# The fixed threshold of earlier papers (Choe et al. 2022, Fig. 1), and the accuracies at it.
FIXED_TAU = 0.2
FIXED = {
    "box_acc": "MaxBoxAcc at the fixed threshold of earlier papers",
    "box_acc_v2": "MaxBoxAccV2, mean, at the same fixed threshold",
}
SCORE_BINS = 50
HISTOGRAMS = {
    "score_histogram": "all pixels",
    "background_histogram": "background",
    "foreground_histogram": "foreground",
}


@dataclass(frozen=True)
class MeasureCell:
    """A number with its interval and, for an accuracy, its threshold.

    best: no other cell of the column is significantly better. selection: the images to link to.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    best: bool = False
    selection: ImageQuery | None = None

    @property
    def query(self) -> str:
        """Return the query string of the page of its images; "" without a selection."""
        return self.selection.query() if self.selection else ""


@dataclass(frozen=True)
class SubmissionMeasures:
    """A submission with a cell per main number."""

    name: str
    images: int | None
    attempts: int
    cells: tuple[MeasureCell, ...]

    @property
    def lead(self) -> MeasureCell:
        return self.cells[0] if self.cells else MeasureCell(None)


@dataclass(frozen=True)
class LeadingSubmission:
    """The first and the second by the first main number, and the confirmed ranks."""

    measure: wording.Measure
    best: SubmissionMeasures
    second: SubmissionMeasures | None
    sure: bands.ConfirmedOrder


@dataclass(frozen=True)
class MeasureRow:
    """A number other than the main ones, with a cell per submission.

    number: the number whose images the cells link to, or "". measure, k: set for hp@k and hit@k.
    """

    number: str
    name: str
    cells: list[MeasureCell]
    measure: str = ""
    k: int = 0


@dataclass(frozen=True)
class SetSize:
    k: int
    size: float | None


@dataclass(frozen=True)
class ClassValuesRow:
    """A class with a cell per submission. positives: its objects; detections: per submission."""

    wnid: str
    name: str
    cells: list[MeasureCell]
    images: int | None
    positives: int | None
    detections: list[int | None]

    @property
    def mean(self) -> float | None:
        known = [cell.value for cell in self.cells if cell.value is not None]
        return math.fsum(known) / len(known) if known else None


@dataclass(frozen=True)
class Spread:
    """The range of a submission's class values."""

    name: str
    classes: int
    mean: float
    lowest: float
    highest: float
    range: float
    values: list[float]


@dataclass(frozen=True)
class ScaleRow:
    """A submission's values against the scale of objects. points: (scale, value, class)."""

    name: str
    points: list[tuple[float, float, str]]
    pearson: float | None
    spearman: float | None


@dataclass(frozen=True)
class Won:
    name: str
    classes: int


@dataclass(frozen=True)
class Curve:
    """A submission's values at thresholds of its score maps."""

    name: str
    words: str
    thresholds: list[float]
    values: list[float | None]


@dataclass(frozen=True)
class ScoreHistogram:
    """A submission's pixels by score. shares: of all pixels."""

    name: str
    words: str
    edges: list[float]
    counts: list[int]
    shares: list[float | None]


def names(result: LabeledResult) -> list[str]:
    """Return the submissions in the order of the result."""
    return [submission.name for submission in result.submissions]


def number(value: object) -> float | None:
    """Return the value if it is a finite number, else None.

    >>> number(0.5), number(None), number(float("nan"))
    (0.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def cell_at(scored: KindResult, *path: str) -> MeasureCell:
    """Return the number at the path of a submission's result."""
    node: object = scored
    for key in path:
        node = node.get(key) if isinstance(node, dict) else getattr(node, key, None)
    if isinstance(node, IntervalEstimate):
        return cell_of(node)
    low, high = _wsol_interval(scored, path) or (None, None)
    if isinstance(node, Best):
        value, threshold = number(node.accuracy), number(node.threshold)
        return MeasureCell(value, number(low), number(high), threshold)
    return MeasureCell(number(node), number(low), number(high))


def cell_of(estimate: IntervalEstimate) -> MeasureCell:
    low, high = estimate.interval or (None, None)
    return MeasureCell(number(estimate.value), number(low), number(high))


def _wsol_interval(scored: KindResult, path: tuple[str, ...]) -> list[float | None] | None:
    """Return the interval of a WSOL number; compute it for the oldest results, which lack it."""
    if not isinstance(scored, BoxResult) or not scored.images:
        return None
    interval = getattr(scored.intervals or intervals(scored), path[0], None)
    return interval.get(path[-1]) if isinstance(interval, dict) else interval


def level(result: LabeledResult) -> float:
    """Return the confidence level of the intervals and tests."""
    return result.settings.confidence or LEVEL


def sure(result: LabeledResult, measure: wording.Measure) -> bands.ConfirmedOrder:
    """Return which ranks by a measure are confirmed.

    The first main number uses the paired tests, if any; else intervals must not overlap.
    """
    column = dict(zip(names(result), _column(result, measure), strict=True))
    values = {name: cell.value for name, cell in column.items() if cell.value is not None}
    tested = pairs(result)
    if tested and measure == measures(result)[0]:
        return comparing.sure(values, tested, level(result), measure.less_is_better)
    sign = 1 if measure.less_is_better else -1
    ranked = sorted(values, key=lambda name: (sign * values[name], name))
    bounds = {name: (column[name].low, column[name].high) for name in ranked}
    return bands.apart_by_intervals(ranked, bounds, level(result))


def measures(result: LabeledResult) -> list[wording.Measure]:
    """Return the main numbers that any submission has."""
    return [
        measure
        for measure in wording.LEADS[result.kind]
        if any(cell.value is not None for cell in _column(result, measure))
    ]


def _column(result: LabeledResult, measure: wording.Measure) -> list[MeasureCell]:
    return [cell_at(submission.result, *measure.path) for submission in result.submissions]


def submission_rows(result: LabeledResult) -> list[SubmissionMeasures]:
    """Return every submission, best by the first main number first.

    `best` marks the cells of a column that no other cell beats significantly; if these are all
    cells, none is marked.
    """
    leading = measures(result)
    columns = []
    for measure in leading:
        leaders = sure(result, measure).leaders
        columns.append(
            [
                replace(
                    cell,
                    best=name in leaders,
                    selection=ImageQuery(name, measure.number, measure.case),
                )
                for name, cell in zip(names(result), _column(result, measure), strict=True)
            ]
        )
    rows = [
        SubmissionMeasures(
            submission.name,
            getattr(submission.result, "images", None),
            submission.attempts,
            tuple(column[at] for column in columns),
        )
        for at, submission in enumerate(result.submissions)
    ]
    sign = 1 if leading and leading[0].less_is_better else -1
    return sorted(
        rows, key=lambda row: (row.lead.value is None, sign * (row.lead.value or 0), row.name)
    )


def answer(result: LabeledResult) -> LeadingSubmission | None:
    """Return who leads and what is confirmed; None without any number."""
    leading = measures(result)
    ranked = [row for row in submission_rows(result) if row.lead.value is not None]
    if not ranked:
        return None
    second = ranked[1] if len(ranked) > 1 else None
    return LeadingSubmission(leading[0], ranked[0], second, sure(result, leading[0]))


def _measure_row(
    result: LabeledResult, path: tuple[str, ...], number: str, name: str, case: str = "right"
) -> MeasureRow | None:
    """Return the row of a number; None if no submission has it."""
    cells = [cell_at(submission.result, *path) for submission in result.submissions]
    if all(cell.value is None for cell in cells):
        return None
    if number:
        cells = [
            replace(cell, selection=ImageQuery(submission_name, number, case))
            for submission_name, cell in zip(names(result), cells, strict=True)
        ]
    return MeasureRow(number, name, cells)


def at_k(result: LabeledResult) -> list[MeasureRow]:
    """Return hp@k and hit@k.

    hp@k does not make an image right or wrong, so its cells link to the images of hit@k.
    """
    rows = []
    for key, words in wording.AT_K.items():
        ks = {
            int(k)
            for submission in result.submissions
            for k in getattr(submission.result, key, None) or {}
        }
        for k in sorted(ks):
            row = _measure_row(result, (key, str(k)), f"hit_at_{k}", f"{words[:-1]}{k}")
            if row is not None:
                rows.append(replace(row, measure=key, k=k))
    return rows


def set_sizes(result: LabeledResult) -> list[SetSize]:
    """Return the mean size of hCorrectSet by k, the same for all submissions."""
    for submission in result.submissions:
        sizes = getattr(submission.result, "mean_correct_set_size", None)
        if sizes:
            return [SetSize(int(k), number(sizes[k])) for k in sorted(sizes, key=int)]
    return []


def thresholds(result: LabeledResult) -> list[MeasureRow]:
    """Return accuracy and threshold of WSOL at each IoU, and of pixels."""
    deltas = {
        key
        for submission in result.submissions
        if isinstance(submission.result, WsolResult)
        for key in submission.result.max_box_acc_v2.best
    }
    number_paths: list[tuple[str, str, tuple[str, ...]]] = [
        ("max_box_acc", "MaxBoxAcc, largest component", ("max_box_acc",)),
        *((d, f"MaxBoxAccV2, IoU {d}", ("max_box_acc_v2", "best", d)) for d in sorted(deltas)),
        ("", "MaxBoxAccV2, mean", ("max_box_acc_v2", "mean")),
        ("top1_localization", "Top-1 localization", ("top1_localization",)),
        ("px_acc", "PxAcc", ("px_acc",)),
        ("", "PxAP", ("pxap",)),
        ("", "mPxAP", ("mpxap",)),
    ]
    rows = [
        _measure_row(result, path, key, words, "" if key.startswith("px_") else "right")
        for key, words, path in number_paths
    ]
    return [row for row in rows if row is not None] + _at_fixed_threshold(result)


def _at_fixed_threshold(result: LabeledResult) -> list[MeasureRow]:
    """Return the box accuracies at FIXED_TAU, with exact intervals; none without stored curves."""
    boxes = [(result.curves or {}).get(name, KindCurves()).boxes for name in names(result)]
    if not any(boxes):
        return []
    rows = []
    for key, words in FIXED.items():
        cells = []
        for curves_of_boxes, submission in zip(boxes, result.submissions, strict=True):
            value = _at_tau(curves_of_boxes, key) if curves_of_boxes else None
            images = getattr(submission.result, "images", 0)
            if value is None or not images:
                cells.append(MeasureCell(None))
                continue
            low, high = clopper_pearson(value * images, images, LEVEL)
            cells.append(MeasureCell(value, low, high, FIXED_TAU))
        rows.append(MeasureRow("", words, cells))
    return rows


def _at_tau(curves_of_boxes: Curves, key: str) -> float | None:
    """Return the accuracy at the threshold nearest to FIXED_TAU, averaged over the IoUs."""
    curve = getattr(curves_of_boxes, key)
    if not curve:
        return None
    taus = curves_of_boxes.thresholds
    at = min(range(len(taus)), key=lambda k: abs(taus[k] - FIXED_TAU))
    by_iou = curve.values() if isinstance(curve, dict) else [curve]
    values = [number(each[at]) for each in by_iou]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def numbered(result: LabeledResult) -> list[MeasureRow]:
    """Return the rows of `thresholds` whose cells link to images."""
    return [row for row in thresholds(result) if row.number]


def by_class(scored: KindResult) -> dict[str, ClassValue]:
    """Return class → value of one submission of any kind."""
    if not isinstance(scored, WsolResult):
        if scored.analysis is None:
            return {
                wnid: ClassValue(wnid=wnid, value=number(scored_class.ap), images=None)
                for wnid, scored_class in scored_classes(scored).items()
            }
        rows = scored.analysis.per_class.rows
        return {row.wnid: replace(row, value=number(row.value)) for row in rows}
    return {
        wnid: ClassValue(wnid=wnid, value=number(value), images=None)
        for wnid, value in (scored.per_class or {}).items()
    }


def scored_classes(scored: KindResult) -> dict[str, ClassPrecision]:
    """Return class → AP and counts of a detection; {} for other kinds."""
    return scored.per_class if isinstance(scored, DetectionResult) else {}


def per_class(result: LabeledResult) -> list[ClassValuesRow]:
    """Return every class, easiest first by the mean of the cells; classes without a value last."""
    columns = [by_class(submission.result) for submission in result.submissions]
    counted = [scored_classes(submission.result) for submission in result.submissions]
    number = wording.CLASS_IMAGES[result.kind]
    called = result.class_names or {}
    rows = []
    for wnid in dict.fromkeys(wnid for column in columns for wnid in column):
        values = [column.get(wnid) for column in columns]
        objects = [classes.get(wnid) for classes in counted]
        rows.append(
            ClassValuesRow(
                wnid,
                called.get(wnid, wnid),
                [
                    MeasureCell(
                        value.value if value else None, selection=ImageQuery(name, number, "", wnid)
                    )
                    for name, value in zip(names(result), values, strict=True)
                ],
                next((value.images for value in values if value), None),
                next((scored_class.positives for scored_class in objects if scored_class), None),
                [scored_class.detections if scored_class else None for scored_class in objects],
            )
        )
    return sorted(rows, key=lambda row: (row.mean is None, -(row.mean or 0.0), row.wnid))


def spread(result: LabeledResult) -> list[Spread]:
    """Return the spread of each submission that has class values."""
    rows = []
    for submission in result.submissions:
        values = [row.value for row in by_class(submission.result).values()]
        known = [value for value in values if value is not None]
        if known:
            low, high = min(known), max(known)
            mean = math.fsum(known) / len(known)
            rows.append(Spread(submission.name, len(known), mean, low, high, high - low, known))
    return rows


def easiest(result: LabeledResult) -> list[ClassValuesRow]:
    """Return at most MAX_LISTED classes, easiest first; none of them is also among the hardest."""
    known = [row for row in per_class(result) if row.mean is not None]
    return known[: min(MAX_LISTED, len(known) // 2)]


def hardest(result: LabeledResult) -> list[ClassValuesRow]:
    """Return at most MAX_LISTED classes, hardest first; as many as `easiest` returns."""
    known = [row for row in per_class(result) if row.mean is not None]
    return known[::-1][: min(MAX_LISTED, len(known) // 2)]


def scale(result: LabeledResult) -> list[ScaleRow]:
    """Return a row for each submission with values and object scales of its classes."""
    rows = []
    for submission in result.submissions:
        analysis = None if isinstance(submission.result, WsolResult) else submission.result.analysis
        if analysis is None or analysis.by_scale is None:
            continue
        known = [(number(row.scale), number(row.value), row.wnid) for row in analysis.by_scale.rows]
        points = [(x, y, wnid) for x, y, wnid in known if x is not None and y is not None]
        if points:
            pearson, spearman = analysis.by_scale.correlation, analysis.by_scale.rank_correlation
            rows.append(ScaleRow(submission.name, points, number(pearson), number(spearman)))
    return rows


def pairs(result: LabeledResult) -> list[comparing.SubmissionPair]:
    """Return the comparison of every pair of submissions; [] if there is none."""
    return (result.comparison.pairs if result.comparison else None) or []


def classes_won(result: LabeledResult) -> list[Won]:
    """Return in how many classes each submission is the best; most first."""
    comparison = result.comparison
    won = comparison.classes_won if comparison else None
    if won is None and comparison and comparison.optimistic:
        won = comparison.optimistic.by_class.classes_won
    rows = [Won(name, count) for name, count in (won or {}).items()]
    return sorted(rows, key=lambda row: (-row.classes, row.name))


def curves(result: LabeledResult) -> list[Curve]:
    """Return every threshold curve."""
    rows = []
    for name, part in _parts(result):
        for key, words in wording.CURVES.items():
            values = getattr(part, key)
            by_iou = values if isinstance(values, dict) else {"": values or []}
            rows += [
                Curve(name, f"{words} {iou}".strip(), part.thresholds, [number(v) for v in curve])
                for iou, curve in by_iou.items()
                if curve
            ]
    return rows


def _parts(result: LabeledResult) -> Iterator[tuple[str, Curves]]:
    """Yield the curves of boxes and of masks, with their submission."""
    for name, kind_curves in (result.curves or {}).items():
        for part in (kind_curves.boxes, kind_curves.masks):
            if part is not None:
                yield name, part


def score_histograms(result: LabeledResult) -> list[ScoreHistogram]:
    """Return the number of pixels per score, in at most SCORE_BINS bins."""
    return [
        _binned(name, words, getattr(part, key))
        for name, part in _parts(result)
        for key, words in HISTOGRAMS.items()
        if getattr(part, key)
    ]


def _binned(name: str, words: str, counts: list[int]) -> ScoreHistogram:
    """Return the counts in bins; scores of exactly 1 (the last position) are in the last bin."""
    count = max(1, len(counts) - 1)
    bins = min(SCORE_BINS, count)
    sums = [0] * bins
    for at, pixels in enumerate(counts):
        sums[min(at, count - 1) * bins // count] += int(pixels)
    total = sum(sums)
    edges = [at / bins for at in range(bins + 1)]
    return ScoreHistogram(
        name, words, edges, sums, [value / total if total else None for value in sums]
    )


@dataclass(frozen=True)
class TruthEffectRow:
    """A submission's cells: opening truth; newest truth on the opening's images; and on all."""

    effect: TruthEffect
    cells: tuple[MeasureCell | None, ...]

    @property
    def name(self) -> str:
        return self.effect.name

    @property
    def ranks(self) -> str:
        """Return the ranks in the three columns, such as 1, 2, –, on one line."""
        return ",\N{NO-BREAK SPACE}".join(
            "–" if rank is None else str(rank) for rank in self.effect.ranks
        )


def effects(result: LabeledResult) -> list[TruthEffectRow]:
    """Return the newest truth's effect on each submission, best by the opening truth first."""
    newest = result.newest
    if newest is None or not measures(result):
        return []
    lead = measures(result)[0]
    columns = [
        {row.name: cell_at(row.result, *lead.path) for row in submissions}
        for submissions in (
            result.submissions,
            newest.opening_images.submissions,
            newest.all_images.submissions,
        )
    ]
    by_name = {effect.name: effect for effect in newest.effects}
    return [
        TruthEffectRow(by_name[row.name], tuple(column.get(row.name) for column in columns))
        for row in submission_rows(result)
        if row.name in by_name
    ]


def notes(result: LabeledResult) -> list[tuple[list[str], str]]:
    """Return (submissions, note), each note once; notes of the run first, with no submissions."""
    names_by_note: dict[str, list[str]] = {note: [] for note in result.notes}
    for submission in result.submissions:
        reason = getattr(submission.result, "reason", None)
        no_pixels = [f"PxAP is not known: {reason}"] if reason else []
        for note in (*getattr(submission.result, "notes", ()), *no_pixels):
            names_by_note.setdefault(note, []).append(submission.name)
    return [(who, note) for note, who in names_by_note.items()]
