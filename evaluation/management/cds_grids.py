"""The result of `score cds` as the paper prints it: schemes beside each other in grids."""

from collections.abc import Iterator, Sequence

from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.result import CdsResult
from evaluation.scoring.cds.tables import ClassifierRow, Histogram
from labeling.management import printing
from labeling.management.printing import table
from labeling.records import plain

CAPTCHAS = 3


def show(result: CdsResult) -> str:
    """Return the facts, then every table that has rows."""
    facts = {name: value for name, value in plain(result).items() if name != "tables"}
    facts["averaging"] = result.tables.averaging
    blocks = [f"{title}\n{grid}" for title, grid in _grids(result) if grid]
    return "\n\n".join([printing.show(facts), *blocks])


def _grids(result: CdsResult) -> Iterator[tuple[str, str]]:
    """Yield titles and grids."""
    averaging, of_result = result.tables.averaging, result.tables
    yield (
        "error at the last frame",
        table(
            [
                (row.classifier, _number(row.error), _interval(row.low, row.high))
                for row in of_result.error
            ]
        ),
    )
    for measure in tables.measures(result):
        name = wording.SCORES[measure]
        rows = tables.classifier_rows(result, measure, averaging)
        title = f"{name} by content scheme: lower is better, * surely lowest, % gained by context"
        yield title, _grid(rows, tables.content_schemes(result))
        rows = tables.by_part_scheme(result, measure, averaging)
        yield f"{name} by part scheme", _grid(rows, tables.part_schemes(result))
        wins = [
            (
                tables.category_name(result, row.category),
                f"{row.lowest} {row.lowest_wins}",
                f"{row.highest} {row.highest_wins}",
                row.combinations,
            )
            for row in tables.where(of_result.best_and_worst, measure=measure)
        ]
        yield (
            f"lowest and highest {name}, wins",
            _titled(wins, "category", "lowest", "highest", "of"),
        )
    correlations = [
        (
            wording.SCORES[row.measure],
            row.error,
            row.pearson,
            row.pearson_p,
            row.spearman,
            row.spearman_p,
        )
        for row in tables.where(of_result.error_correlation, averaging=averaging)
    ]
    yield (
        "correlation with error",
        _titled(correlations, "measure", "error", "pearson", "p", "spearman", "p"),
    )
    yield "CL-ratio of all machines by index, ten bins", _bins(tables.ratios(result, ""))
    yield "objects by share of parts present, ten bins", _bins(tables.presence(result))
    extremes = [
        (row.of, _number(row.median), row.easiest.image, row.hardest.image)
        for form in wording.HARDNESS
        for row in tables.hardness(result, form)
    ]
    yield "hardness", _titled(extremes, "of", "median", "easiest", "hardest")
    captchas = [
        (row.image, row.part_scheme, row.content_scheme, f"frames {row.first} to {row.last}")
        for row in of_result.captchas[:CAPTCHAS]
    ]
    yield f"CAPTCHA candidates, the hardest of {len(of_result.captchas)}", table(captchas)


def _grid(rows: Sequence[ClassifierRow], schemes: Sequence[str]) -> str:
    """Return a line of values for each classifier, and one of their intervals if there are any."""
    body: list[list[str]] = []
    for row in rows:
        values, intervals = [], []
        for cell in row.cells:
            mark = "*" if cell and cell.is_best else ""
            values.append(f"{cell.value:.4f}{mark} {cell.gain}".strip() if cell else "-")
            intervals.append(_interval(cell.low, cell.high) if cell else "")
        body.append([row.classifier, *values])
        if any(intervals):
            body.append(["", *intervals])
    return _titled(body, "classifier", *schemes)


def _titled(body: Sequence[Sequence[object]], *head: str) -> str:
    return table(body, head) if body else ""


def _bins(rows: Sequence[Histogram]) -> str:
    return table([(row.name, *row.counts) for row in rows])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _interval(low: float | None, high: float | None) -> str:
    """Return the bounds; "" without rounds, and where every draw is the same."""
    return "" if low is None or high is None or low == high else f"[{low:.4f}, {high:.4f}]"
