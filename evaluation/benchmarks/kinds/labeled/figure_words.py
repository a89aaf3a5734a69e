"""What each figure of a result on released labels says, in a sentence. Pure.

The numbers are in the table beside the figure; this is the finding.
"""

from collections.abc import Callable

from evaluation.benchmarks.kinds.labeled import tables, wording
from evaluation.benchmarks.kinds.labeled.tables import Result


def alt(name: str, result: Result) -> str:
    """The finding of a figure of FIGURES."""
    return WORDS[name](result)


def _lead(result: Result) -> str:
    told = []
    for place, measure in enumerate(tables.measures(result)):
        own = [
            f"{row['name']} {row['cells'][place]['value']:.3f}"
            for row in tables.standings(result)
            if row["cells"][place]["value"] is not None
        ]
        told.append(f"{measure.words}: {', '.join(own)}")
    return f"{'; '.join(told)}."


def _at_k(result: Result) -> str:
    told = []
    for key, words in wording.AT_K.items():
        rows = [row for row in tables.at_k(result) if row["measure"] == key]
        for place, name in enumerate(tables.names(result)):
            known = [row for row in rows if row["cells"][place]["value"] is not None]
            if known:
                first, last = known[0], known[-1]
                told.append(
                    f"{words} of {name} from {first['cells'][place]['value']:.3f} at k ="
                    f" {first['k']} to {last['cells'][place]['value']:.3f} at k = {last['k']}"
                )
    return f"{'; '.join(told)}."


def _per_class(result: Result) -> str:
    told = [
        f"{row['name']} from {row['lowest']:.3f} to {row['highest']:.3f} over {row['classes']}"
        for row in tables.spread(result)
    ]
    return f"{wording.PER_CLASS[result['kind']]} by class: {'; '.join(told)} classes."


def _spread(result: Result) -> str:
    told = [
        f"{row['name']}: {sum(value >= 0.5 for value in row['values'])} of {row['classes']}"
        for row in tables.spread(result)
    ]
    return f"Classes with at least one half. {'; '.join(told)}."


def _scale(result: Result) -> str:
    told = [
        f"{row['name']} {row['spearman']:.2f}"
        for row in tables.scale(result)
        if row["spearman"] is not None
    ]
    return f"Value against object scale. Spearman correlation: {', '.join(told) or 'unknown'}."


def _comparison(result: Result) -> str:
    told = [
        f"{row['first']} minus {row['second']} {row['difference']['value']:+.3f}"
        for row in tables.pairs(result)
        if row["difference"]["value"] is not None
    ]
    return f"Difference of the errors: {', '.join(told) or 'unknown'}."


def _won(result: Result) -> str:
    told = [f"{row['name']} {row['classes']}" for row in tables.classes_won(result)]
    return f"Classes won: {', '.join(told)}."


def _thresholds(result: Result) -> str:
    told = []
    for row in tables.thresholds(result):
        own = [
            f"{name} {cell['value']:.3f}"
            for name, cell in zip(tables.names(result), row["cells"], strict=True)
            if cell["value"] is not None
        ]
        if row["number"]:
            told.append(f"{row['words']}: {', '.join(own)}")
    return f"{'; '.join(told)}."


def _curves(result: Result) -> str:
    told = []
    for row in tables.curves(result):
        known = [
            (value, at)
            for at, value in zip(row["thresholds"], row["values"], strict=False)
            if value is not None
        ]
        if known:
            best, at = max(known, key=lambda pair: (pair[0], -pair[1]))
            told.append(f"{row['words']} of {row['name']} at most {best:.3f}, at {at:.3f}")
    return f"Curves over the threshold: {'; '.join(told)}."


def _scores(result: Result) -> str:
    told = []
    for row in tables.score_histograms(result):
        half = len(row["shares"]) // 2
        low = sum(share or 0.0 for share in row["shares"][:half])
        told.append(f"{row['name']}, {row['words']}: {low:.0%} below one half")
    return f"Scores of pixels. {'; '.join(told)}."


WORDS: dict[str, Callable[[Result], str]] = {
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
