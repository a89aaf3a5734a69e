"""The result of `score cds` as the paper prints it: schemes beside each other in grids."""

from collections.abc import Sequence

from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.result import CdsResult
from evaluation.scoring.cds.tables import ClassifierRow, Histogram
from labeling.management import printing
from labeling.records import plain

CORRELATION = ("measure", "error", "pearson", "pearson_p", "spearman", "spearman_p")
WINNERS = ("category", "lowest", "lowest_wins", "highest", "highest_wins", "combinations")
TITLE = "by content scheme: lower is better, * surely lowest, % gained by context"


def show(result: CdsResult) -> str:
    """Return the facts, the grids of the schemes, then the other tables."""
    averaging, facts = result.tables.averaging, plain(result)
    kept = facts.pop("tables")
    correlations = [row for row in kept["error_correlation"] if row["averaging"] == averaging]
    further = {
        "error": kept["error"],
        **{
            f"lowest and highest {wording.SCORES[measure]}": [
                {key: row[key] for key in WINNERS}
                | {"category": tables.category_name(result, row["category"])}
                for row in kept["best_and_worst"]
                if row["measure"] == measure
            ]
            for measure in tables.measures(result)
        },
        "correlation with error": [{key: row[key] for key in CORRELATION} for row in correlations],
        "hardness": [
            {"of": row.of, "median": row.median, "easiest": row.easiest.image}
            | {"hardest": row.hardest.image}
            for form in wording.HARDNESS
            for row in tables.hardness(result, form)
        ],
        "captchas": kept["captchas"],
    }
    blocks = [printing.show(facts | {"averaging": averaging})]
    for measure in tables.measures(result):
        name = wording.SCORES[measure]
        rows = tables.classifier_rows(result, measure, averaging)
        blocks.append(f"{name} {TITLE}\n{_grid(rows, tables.content_schemes(result))}")
        rows = tables.by_part_scheme(result, measure, averaging)
        blocks.append(f"{name} by part scheme\n{_grid(rows, tables.part_schemes(result))}")
    blocks += [
        printing.show({name: rows for name, rows in further.items() if rows}),
        _bins("CL-ratio of all machines by index", tables.ratios(result, "")),
        _bins("objects by share of parts present", tables.presence(result)),
    ]
    return "\n\n".join(filter(None, blocks))


def _grid(rows: Sequence[ClassifierRow], schemes: Sequence[str]) -> str:
    """Return a line of values for each classifier, and one of their intervals if there are any."""
    body: list[list[str]] = []
    for row in rows:
        values, intervals = [row.classifier], [""]
        for cell in row.cells:
            mark = "*" if cell and cell.is_best else ""
            values.append(f"{cell.value:.4f}{mark} {cell.gain}".strip() if cell else "-")
            is_drawn = cell and cell.low is not None and cell.low != cell.high
            intervals.append(f"[{cell.low:.4f}, {cell.high:.4f}]" if cell and is_drawn else "")
        body += [values, intervals] if any(intervals) else [values]
    return printing.table(body, ("classifier", *schemes))


def _bins(title: str, rows: Sequence[Histogram]) -> str:
    body = [(row.name, *row.counts) for row in rows]
    return f"{title}, ten bins\n{printing.table(body)}" if body else ""
