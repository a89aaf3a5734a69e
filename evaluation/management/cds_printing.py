"""The result of `score cds` as a person reads it: the tables by the rule of the text, compactly.

Lines keep to 100 columns as long as names are no longer than usual.
"""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from evaluation.scoring.cds import wording
from evaluation.scoring.cds.tables import leaders
from labeling.management.contract import Result, table
from labeling.plurals import count_of

Row = dict[str, Any]
# Ids that are listed of a gallery, and of the candidates.
_LISTED = 3
_COLUMNS = 100
# As wide as an interval: a longer name of a scheme goes on in a second line.
_SCHEME = len("[0.0000, 0.0000]") + 1


def show(result: Result) -> str:
    """Every table that has rows, under its title, then the notes."""
    tables = result["tables"]
    parts = [_head(result), textwrap.fill(_sure(result), _COLUMNS)]
    parts += [_titled("Error at the last frame, median over categories", _error(tables["error"]))]
    titles = {
        "content_scheme": "content scheme: lower is better, * surely low, % gained by context",
        "part_scheme": "part scheme",
    }
    leading = leaders(result)
    for axis, title in titles.items():
        for measure, name in wording.SCORES.items():
            rows = _of(tables[f"by_{axis}"], measure=measure, averaging=tables["averaging"])
            rows = [
                row | {"best": row.get("best") and row["classifier"] in leading} for row in rows
            ]
            parts.append(_titled(f"{name} by {title}", _by(rows, axis)))
    called = result["category_names"]
    for measure, name in wording.SCORES.items():
        rows = _of(tables["best_and_worst"], measure=measure)
        parts.append(_titled(f"Lowest and highest {name}, wins", _wins(rows, called)))
    parts += [
        _titled("Correlation with error", _correlation(tables)),
        _titled("CL-ratio of all machines, by index", _ratios(tables["cl_ratio"])),
        _titled(
            "Objects by share of parts present, ten bins",
            _presence(tables["part_presence"], called),
        ),
        _titled("Hardness: the easiest and the hardest", _galleries(tables["hardness"])),
        _titled("CAPTCHA candidates, the hardest first", _captchas(tables["captchas"])),
        "\n".join(textwrap.fill(f"note: {note}", _COLUMNS) for note in result["notes"]),
    ]
    return "\n\n".join(part for part in parts if part)


def _sure(result: Result) -> str:
    """What of the order of the machines is sure."""
    words, objects = result["sure"]["words"], count_of(result["objects"], "object")
    return f"{words} By the sign test over {objects}." if words else ""


def _head(result: Result) -> str:
    drawn, mapping = result["bootstrap"], result["mapping"]
    intervals = "none"
    if drawn["rounds"]:
        intervals = f"{drawn['level']:.0%}, {drawn['rounds']} rounds, seed {drawn['seed']}"
    return table(
        [
            ("images", result["images"]),
            ("objects", result["objects"]),
            *_listed("classifiers", result["classifiers"]),
            ("similarity", f"{result['similarity']}, {result['convention']}, by {result['by']}"),
            ("mapping", "none" if mapping is None else f"{len(mapping)} categories"),
            ("averaging", result["tables"]["averaging"]),
            ("intervals", intervals),
        ]
    )


def _listed(title: str, names: list[str]) -> list[tuple[str, str]]:
    """Names on as many lines as they need."""
    lines = textwrap.wrap(", ".join(names), _COLUMNS - len(title) - 2, break_on_hyphens=False)
    return [(title if i == 0 else "", line) for i, line in enumerate(lines)]


def _titled(title: str, text: str) -> str:
    return f"{title}\n{text}" if text else ""


def _of(rows: Iterable[Row], **wanted: str) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _interval(row: Row, value: str) -> str:
    told = f"{row[value]:.4f}"
    return (
        told
        if row["low"] is None or row["low"] == row["high"]
        else f"{told} [{row['low']:.4f}, {row['high']:.4f}]"
    )


def _error(rows: list[Row]) -> str:
    return table([(row["classifier"], _interval(row, "error")) for row in rows])


def _by(rows: list[Row], axis: str) -> str:
    """A classifier's values side by side, a column a scheme, with their intervals below them.

    Schemes that do not fit beside the others stand in a table below.
    """
    schemes = list(dict.fromkeys(row[axis] for row in rows))
    cells = {(row["classifier"], row[axis]): _cell(row) for row in rows}
    classifiers = list(dict.fromkeys(row["classifier"] for row in rows))
    first = max(map(len, ["classifier", *classifiers]))
    widths = {
        scheme: 2 + max(len(line) for name in classifiers for line in cells.get((name, scheme), ""))
        for scheme in schemes
    }
    told = []
    for together in _fitting({name: max(w, _SCHEME + 2) for name, w in widths.items()}, first):
        body = [_line("classifier", [textwrap.wrap(scheme, _SCHEME) for scheme in together])]
        body += [
            _line(name, [cells.get((name, of), ["-"]) for of in together]) for name in classifiers
        ]
        told.append(table(line for lines in body for line in lines))
    return "\n\n".join(told)


def _line(name: str, cells: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The printed lines of one row: the name stands in the first."""
    return list(zip_longest([name], *cells, fillvalue=""))


def _fitting(widths: dict[str, int], taken: int) -> list[list[str]]:
    """Columns in groups, each of which fits beside the first column."""
    groups: list[list[str]] = []
    free = 0
    for name, width in widths.items():
        if not groups or width > free:
            groups.append([])
            free = _COLUMNS - taken
        groups[-1].append(name)
        free -= width
    return groups


def _cell(row: Row) -> list[str]:
    gain = row.get("improvement")
    value = f"{row['value']:.4f}" + ("*" if row.get("best") else "")
    told = [value if gain is None else f"{value} {100 * gain:+.2f} %"]
    # Of one object every draw is the same: no interval.
    if row["low"] is not None and row["low"] != row["high"]:
        told.append(f"[{row['low']:.4f}, {row['high']:.4f}]")
    return told


def _wins(rows: list[Row], called: dict[str, str]) -> str:
    body = [
        (
            _category(row["category"], called),
            f"{row['lowest']} {row['lowest_wins']}",
            f"{row['highest']} {row['highest_wins']}",
            row["combinations"],
        )
        for row in rows
    ]
    return table(body, head=("category", "lowest", "highest", "of")) if body else ""


def _correlation(tables: Result) -> str:
    body = [
        (
            wording.SCORES[row["measure"]],
            row["error"],
            *(
                None if row[name] is None else f"{row[name]:.4f}"
                for name in ("pearson", "pearson_p", "spearman", "spearman_p")
            ),
        )
        for row in _of(tables["error_correlation"], averaging=tables["averaging"])
    ]
    return table(body, head=("measure", "error", "pearson", "p", "spearman", "p")) if body else ""


def _ratios(rows: list[Row]) -> str:
    """How many CL-ratios each index has, and how many of them are small."""
    shares: dict[int, list[float]] = {}
    totals: dict[int, int] = {}
    for row in _of(rows, classifier=""):
        shares.setdefault(row["index"], []).append(row["share"])
        totals[row["index"]] = row["total"]
    body = [
        (index, totals[index], f"{sum(own[:5]):.3f}", f"{own[9]:.3f}")
        for index, own in shares.items()
    ]
    return table(body, head=("index", "ratios", "below 0.5", "from 0.9")) if body else ""


def _presence(rows: list[Row], called: dict[str, str]) -> str:
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(row["category"], []).append(row["count"])
    return table([(_category(name, called), *own) for name, own in counts.items()])


def _category(name: str, called: dict[str, str]) -> str:
    """A wnid with the word for it; another name as it is."""
    word = called.get(name, name)
    return name if word == name else f"{word} ({name})"


def _galleries(rows: list[Row]) -> str:
    body = []
    for of in dict.fromkeys(row["of"] for row in rows):
        named = {
            gallery: [_object(row) for row in _of(rows, of=of, gallery=gallery)]
            for gallery in ("easiest", "hardest")
        }
        body += _line(of, [named["easiest"], named["hardest"]])
    return table(body, head=("of", "easiest", "hardest")) if body else ""


def _captchas(rows: list[Row]) -> str:
    body = [
        (
            _object(row),
            row["part_scheme"],
            row["content_scheme"],
            f"frames {row['first']} to {row['last']} of {row['frames']}",
        )
        for row in rows[:_LISTED]
    ]
    more = f"\n… {len(rows) - _LISTED} more under --json" if len(rows) > _LISTED else ""
    return table(body) + more


def _object(row: Row) -> str:
    return f"{row['image']}#{row['object']}" if row["object"] else str(row["image"])
