"""Tables of a result on released labels: columns of its pages and CSV files. Pure.

Pages have a column per number or per submission; CSV files have a row per number and submission.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from evaluation.benchmarks.kinds.labeled import rows
from evaluation.benchmarks.kinds.labeled.label_sets import rows as label_set_rows
from evaluation.benchmarks.kinds.labeled.label_sets import tables as label_set_tables
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.rows import (
    ClassValuesRow,
    MeasureCell,
    MeasureRow,
    SubmissionMeasures,
    TruthEffectRow,
)
from evaluation.benchmarks.tables import Column, Table
from evaluation.scoring.comparing import SubmissionPair

CsvRows = Iterator[dict[str, object]]
CELL = "evaluation/labeled/_cell.html"
WHOLE_NUMBER = "0g"


def _nth(at: int) -> Callable[[SubmissionMeasures | MeasureRow | ClassValuesRow], MeasureCell]:
    return lambda row: row.cells[at]


def _cells(words: list[str]) -> list[Column]:
    """Return a column per cell of the rows."""
    return [
        Column(f"cell_{at}", column_words, template=CELL, of=_nth(at))
        for at, column_words in enumerate(words)
    ]


def _lead_columns(result: LabeledResult) -> tuple[Column, ...]:
    return (
        Column("name", "Submission", is_number=False),
        Column("images", "Images", WHOLE_NUMBER),
        *_cells([measure.words for measure in rows.measures(result)]),
        Column("attempts", "Attempts", template="evaluation/labeled/_attempts.html"),
    )


def _measure_columns(result: LabeledResult) -> tuple[Column, ...]:
    return (Column("name", "Measure", is_number=False), *_cells(rows.names(result)))


def _class_columns(result: LabeledResult) -> tuple[Column, ...]:
    return (
        Column("name", "Class", is_number=False),
        *_cells(rows.names(result)),
        Column("positives", "Objects", WHOLE_NUMBER),
        Column("images", "Images", WHOLE_NUMBER),
    )


def _significant(key: str) -> Callable[[SubmissionPair], str | None]:
    """Return a function that formats a p-value of a pair with three digits."""

    def read(pair: SubmissionPair) -> str | None:
        value = getattr(pair, key)
        return None if value is None else f"{value:.3g}"

    return read


def _errors(pair: SubmissionPair) -> str:
    first, second = pair.errors or (0, 0)
    return f"{first:,}\N{NO-BREAK SPACE}–\N{NO-BREAK SPACE}{second:,}"


def _either_right(pair: SubmissionPair) -> MeasureCell | None:
    """Return the cell; None for results of earlier versions, which lack the number."""
    return rows.cell_of(pair.either_right) if pair.either_right else None


# Only on pages.
LEAD = Table("lead", rows.submission_rows, _lead_columns, "main results")
AT_K = Table("at-k", rows.at_k, _measure_columns, "hp@k and hit@k")
THRESHOLDS = Table("thresholds", rows.thresholds, _measure_columns, "accuracies and thresholds")
CLASSES = Table("classes", rows.per_class, _class_columns, "all classes")
EASIEST = Table("easiest", rows.easiest, _class_columns, "easiest classes")
HARDEST = Table("hardest", rows.hardest, _class_columns, "hardest classes")
SPREAD = Table(
    "spread",
    rows.spread,
    (
        Column("name", "Submission", is_number=False),
        Column("classes", "Classes", WHOLE_NUMBER),
        Column("mean", "Mean", 4),
        Column("lowest", "Lowest", 4),
        Column("highest", "Highest", 4),
        Column("range", "Range", 4),
    ),
    "range over classes",
)
PAIRS = Table(
    "pairs",
    rows.pairs,
    (
        Column("pair", "Pair", is_number=False, of=lambda pair: f"{pair.first} – {pair.second}"),
        Column("errors", "Errors", of=_errors),
        Column(
            "difference",
            "Difference",
            template=CELL,
            of=lambda pair: rows.cell_of(pair.difference),
        ),
        Column("only_first_wrong", "Only first wrong", WHOLE_NUMBER),
        Column("only_second_wrong", "Only second wrong", WHOLE_NUMBER),
        Column("both_right", "Both right", WHOLE_NUMBER),
        Column("both_wrong", "Neither right", WHOLE_NUMBER),
        Column("either_right", "Either right", template=CELL, of=_either_right),
        Column("mcnemar_p", "McNemar p", of=_significant("mcnemar_p")),
        Column("mcnemar_holm_p", "McNemar p, by Holm", of=_significant("mcnemar_holm_p")),
        Column("z", "z", 2),
        Column("p_one_sided", "p, one-sided", of=_significant("p_one_sided")),
        Column("p_two_sided", "p, two-sided", of=_significant("p_two_sided")),
    ),
)


def _truth_cell(at: int) -> Callable[[TruthEffectRow], MeasureCell | None]:
    return lambda row: row.cells[at]


def _truth_difference(row: TruthEffectRow) -> MeasureCell | None:
    """Return the difference; None where the measure is not a mean over images (detection)."""
    cell = rows.cell_of(row.effect.difference)
    return None if cell.value is None else cell


TRUTH = Table(
    "truth-versions",
    rows.effects,
    (
        Column("name", "Submission", is_number=False),
        Column("opening", "First labels", template=CELL, of=_truth_cell(0)),
        Column("corrected", "Newest labels, same images", template=CELL, of=_truth_cell(1)),
        Column("whole", "Newest labels, all images", template=CELL, of=_truth_cell(2)),
        Column("images", "Images covered", WHOLE_NUMBER, of=lambda row: row.effect.images),
        Column("ranks", "Ranks"),
        Column(
            "difference",
            "Change on the same images",
            template=CELL,
            of=_truth_difference,
        ),
        Column(
            "changed",
            "Images with another outcome",
            WHOLE_NUMBER,
            of=lambda row: row.effect.outcomes_changed,
        ),
    ),
    "scores by the first and by the newest labels",
)

LABEL_SET_PAIRS = replace(
    PAIRS,
    name="label-set-pairs",
    rows=label_set_rows.pairs,
    words="pairs by the newest version of the label sets",
)


def _interval(cell: MeasureCell) -> dict[str, object]:
    return {"value": cell.value, "low": cell.low, "high": cell.high}


def _summary_rows(result: LabeledResult) -> CsvRows:
    for row in rows.submission_rows(result):
        head = {"submission": row.name, "attempts": row.attempts}
        for measure, cell in zip(rows.measures(result), row.cells, strict=True):
            measured = {**head, "measure": measure.key}
            yield measured | _interval(cell) | {"threshold": cell.threshold}


def _at_k_rows(result: LabeledResult) -> CsvRows:
    for row in rows.at_k(result):
        for name, cell in zip(rows.names(result), row.cells, strict=True):
            yield {"submission": name, "measure": row.measure, "k": row.k, **_interval(cell)}


def _threshold_rows(result: LabeledResult) -> CsvRows:
    for row in rows.thresholds(result):
        for name, cell in zip(rows.names(result), row.cells, strict=True):
            value = {"accuracy": cell.value, "threshold": cell.threshold}
            yield {"submission": name, "measure": row.name, **value}


def _class_rows(result: LabeledResult) -> CsvRows:
    for row in rows.per_class(result):
        for at, name in enumerate(rows.names(result)):
            yield {
                "submission": name,
                "wnid": row.wnid,
                "value": row.cells[at].value,
                "images": row.images,
                "positives": row.positives,
                "detections": row.detections[at],
            }


def _scale_rows(result: LabeledResult) -> CsvRows:
    for row in rows.scale(result):
        for scale, value, wnid in row.points:
            yield {"submission": row.name, "wnid": wnid, "scale": scale, "value": value}


def _curve_rows(result: LabeledResult) -> CsvRows:
    for row in rows.curves(result):
        head = {"submission": row.name, "measure": row.words}
        for threshold, value in zip(row.thresholds, row.values, strict=False):
            yield {**head, "threshold": threshold, "value": value}


def _histogram_rows(result: LabeledResult) -> CsvRows:
    for row in rows.score_histograms(result):
        head = {"submission": row.name, "pixels": row.words}
        for low, high, count in zip(row.edges, row.edges[1:], row.counts, strict=False):
            yield {**head, "from": low, "to": high, "count": count}


def _truth_rows(result: LabeledResult) -> CsvRows:
    for row in rows.effects(result):
        for truth, cell in zip(("opening", "opening images", "all images"), row.cells, strict=True):
            if cell is not None:
                yield {"submission": row.name, "truth": truth, **_interval(cell)}


COMPARISON = Table(
    "comparison",
    rows.pairs,
    (
        Column("first"),
        Column("second"),
        Column("errors_first", of=lambda pair: pair.errors and pair.errors[0]),
        Column("errors_second", of=lambda pair: pair.errors and pair.errors[1]),
        Column("difference", of=lambda pair: rows.cell_of(pair.difference).value),
        Column("low", of=lambda pair: rows.cell_of(pair.difference).low),
        Column("high", of=lambda pair: rows.cell_of(pair.difference).high),
        Column("only_first_wrong"),
        Column("only_second_wrong"),
        Column("both_wrong"),
        Column("z"),
        Column("p_one_sided"),
        Column("p_two_sided"),
        Column("mcnemar_p"),
        Column("mcnemar_holm_p"),
        Column("both_right"),
        Column("either_right", of=lambda pair: pair.either_right and pair.either_right.value),
    ),
)
WON = Table(
    "classes-won",
    rows.classes_won,
    (Column("name", "Submission", is_number=False), Column("classes", "Classes", WHOLE_NUMBER)),
    "classes won",
)
TABLES = (
    Table("summary", _summary_rows),
    Table("at-k", _at_k_rows),
    Table("correct-sets", rows.set_sizes),
    Table("thresholds", _threshold_rows),
    Table("curves", _curve_rows),
    Table("scores", _histogram_rows),
    Table("per-class", _class_rows),
    Table("by-scale", _scale_rows),
    Table("difficulty", lambda result: result.objects.rows if result.objects else ()),
    COMPARISON,
    WON,
    Table("truth-versions", _truth_rows),
    *label_set_tables.TABLES,
    replace(COMPARISON, name="label-set-comparison", rows=label_set_rows.pairs),
)
