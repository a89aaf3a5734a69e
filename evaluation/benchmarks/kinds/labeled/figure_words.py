"""What each figure of a result on released labels says, in a sentence. Pure.

The numbers are in the table beside the figure; this is the finding.
"""

from collections.abc import Callable

from evaluation.benchmarks.kinds.labeled import rows, wording
from evaluation.benchmarks.kinds.labeled.results import LabeledResult


def alt(name: str, result: LabeledResult) -> str:
    """The finding of a figure of FIGURES."""
    return WORDS[name](result)


def _lead(result: LabeledResult) -> str:
    parts = []
    for place, measure in enumerate(rows.measures(result)):
        own = [
            f"{row.name} {row.cells[place].value:.3f}"
            for row in rows.standings(result)
            if row.cells[place].value is not None
        ]
        parts.append(f"{measure.words}: {', '.join(own)}")
    return f"{'; '.join(parts)}."


def _at_k(result: LabeledResult) -> str:
    parts = []
    for key, words in wording.AT_K.items():
        found = [row for row in rows.at_k(result) if row.measure == key]
        for place, name in enumerate(rows.names(result)):
            known = [row for row in found if row.cells[place].value is not None]
            if known:
                first, last = known[0], known[-1]
                parts.append(
                    f"{words} of {name} from {first.cells[place].value:.3f} at k ="
                    f" {first.k} to {last.cells[place].value:.3f} at k = {last.k}"
                )
    return f"{'; '.join(parts)}."


def _per_class(result: LabeledResult) -> str:
    parts = [
        f"{row.name} from {row.lowest:.3f} to {row.highest:.3f} over {row.classes}"
        for row in rows.spread(result)
    ]
    return f"{wording.PER_CLASS[result.kind]} by class: {'; '.join(parts)} classes."


def _spread(result: LabeledResult) -> str:
    parts = [
        f"{row.name}: {sum(value >= 0.5 for value in row.values)} of {row.classes}"
        for row in rows.spread(result)
    ]
    return f"Classes with at least one half. {'; '.join(parts)}."


def _scale(result: LabeledResult) -> str:
    parts = [
        f"{row.name} {row.spearman:.2f}" for row in rows.scale(result) if row.spearman is not None
    ]
    return f"Value against object scale. Spearman correlation: {', '.join(parts) or 'unknown'}."


def _comparison(result: LabeledResult) -> str:
    parts = [
        f"{row.first} minus {row.second} {row.difference.value:+.3f}"
        for row in rows.pairs(result)
        if row.difference.value is not None
    ]
    return f"Difference of the errors: {', '.join(parts) or 'unknown'}."


def _won(result: LabeledResult) -> str:
    parts = [f"{row.name} {row.classes}" for row in rows.classes_won(result)]
    return f"Classes won: {', '.join(parts)}."


def _thresholds(result: LabeledResult) -> str:
    parts = []
    for row in rows.thresholds(result):
        own = [
            f"{name} {cell.value:.3f}"
            for name, cell in zip(rows.names(result), row.cells, strict=True)
            if cell.value is not None
        ]
        if row.number:
            parts.append(f"{row.name}: {', '.join(own)}")
    return f"{'; '.join(parts)}."


def _curves(result: LabeledResult) -> str:
    parts = []
    for row in rows.curves(result):
        known = [
            (value, at)
            for at, value in zip(row.thresholds, row.values, strict=False)
            if value is not None
        ]
        if known:
            best, at = max(known, key=lambda pair: (pair[0], -pair[1]))
            parts.append(f"{row.words} of {row.name} at most {best:.3f}, at {at:.3f}")
    return f"Curves over the threshold: {'; '.join(parts)}."


def _scores(result: LabeledResult) -> str:
    parts = []
    for row in rows.score_histograms(result):
        half = len(row.shares) // 2
        low = sum(share or 0.0 for share in row.shares[:half])
        parts.append(f"{row.name}, {row.words}: {low:.0%} below one half")
    return f"Scores of pixels. {'; '.join(parts)}."


WORDS: dict[str, Callable[[LabeledResult], str]] = {
    "lead": _lead,
    "at-k": _at_k,
    "per-class": _per_class,
    "spread": _spread,
    "scale": _scale,
    "comparison": _comparison,
    "classes-won": _won,
    "thresholds": _thresholds,
    "curves": _curves,
    "scores": _scores,
}
