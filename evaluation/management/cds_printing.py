"""The result of `score cds` as a person reads it: the tables by the rule of the text, compactly.

Lines keep to 100 columns as long as names are no longer than usual.
"""

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from evaluation.metrics.cds.captchas import CaptchaRow
from evaluation.metrics.cds.hardness import HardnessRow
from evaluation.metrics.cds.histograms import PresenceRow, RatioRow
from evaluation.metrics.cds.tables import ContentSchemeRow, ErrorRow, PartSchemeRow, WinnersRow
from evaluation.scoring.cds import wording
from evaluation.scoring.cds.result import CdsResult, CdsTables
from evaluation.scoring.cds.tables import leaders, where
from labeling.management.contract import table
from labeling.plurals import count_of

# Ids that are listed of a gallery, and of the candidates.
_LISTED = 3
_COLUMNS = 100
# As wide as an interval: a longer name of a scheme goes on in a second line.
_SCHEME = len("[0.0000, 0.0000]") + 1


def show(result: CdsResult) -> str:
    """Return every table that has rows, under its title, then the notes."""
    tables, called = result.tables, result.category_names
    parts = [_head(result), textwrap.fill(_sure(result), _COLUMNS)]
    parts += [_titled("Error at the last frame, median over categories", _error(tables.error))]
    for measure, name in wording.SCORES.items():
        contents = where(tables.by_content_scheme, measure=measure, averaging=tables.averaging)
        title = "content scheme: lower is better, * surely low, % gained by context"
        grid = _by([(row.content_scheme, row) for row in contents], leaders(result))
        parts.append(_titled(f"{name} by {title}", grid))
    for measure, name in wording.SCORES.items():
        of_parts = where(tables.by_part_scheme, measure=measure, averaging=tables.averaging)
        grid = _by([(row.part_scheme, row) for row in of_parts], [])
        parts.append(_titled(f"{name} by part scheme", grid))
    for measure, name in wording.SCORES.items():
        rows = where(tables.best_and_worst, measure=measure)
        parts.append(_titled(f"Lowest and highest {name}, wins", _wins(rows, called)))
    parts += [
        _titled("Correlation with error", _correlation(tables)),
        _titled("CL-ratio of all machines, by index", _ratios(tables.cl_ratio)),
        _titled(
            "Objects by share of parts present, ten bins", _presence(tables.part_presence, called)
        ),
        _titled("Hardness: the easiest and the hardest", _galleries(tables.hardness)),
        _titled("CAPTCHA candidates, the hardest first", _captchas(tables.captchas)),
        "\n".join(textwrap.fill(f"note: {note}", _COLUMNS) for note in result.notes),
    ]
    return "\n\n".join(part for part in parts if part)


def _sure(result: CdsResult) -> str:
    """What of the order of the machines is sure."""
    words = result.sure.words if result.sure else ""
    return f"{words} By the sign test over {count_of(result.objects, 'object')}." if words else ""


def _head(result: CdsResult) -> str:
    drawn, mapping = result.bootstrap, result.mapping
    intervals = "none"
    if drawn.rounds:
        intervals = f"{drawn.level:.0%}, {drawn.rounds} rounds, seed {drawn.seed}"
    return table(
        [
            ("images", result.images),
            ("objects", result.objects),
            *_listed("classifiers", result.classifiers),
            ("similarity", f"{result.similarity}, {result.convention}, by {result.by}"),
            ("mapping", "none" if mapping is None else f"{len(mapping)} categories"),
            ("averaging", result.tables.averaging),
            ("intervals", intervals),
        ]
    )


def _listed(title: str, names: list[str]) -> list[tuple[str, str]]:
    """Names on as many lines as they need."""
    lines = textwrap.wrap(", ".join(names), _COLUMNS - len(title) - 2, break_on_hyphens=False)
    return [(title if i == 0 else "", line) for i, line in enumerate(lines)]


def _titled(title: str, text: str) -> str:
    return f"{title}\n{text}" if text else ""


def _interval(low: float | None, high: float | None) -> list[str]:
    """The bounds; nothing without rounds, and of one object, of which every draw is the same."""
    return [] if low is None or low == high else [f"[{low:.4f}, {high:.4f}]"]


def _error(rows: list[ErrorRow]) -> str:
    return table(
        (row.classifier, " ".join([f"{row.error:.4f}", *_interval(row.low, row.high)]))
        for row in rows
    )


def _by(
    rows: Sequence[tuple[str, ContentSchemeRow | PartSchemeRow]], leading: Sequence[str]
) -> str:
    """A classifier's values side by side, a column a scheme, with their intervals below them.

    rows: each after its scheme. Schemes that do not fit beside the others stand in a table below.
    """
    schemes = list(dict.fromkeys(scheme for scheme, _ in rows))
    cells = {(row.classifier, scheme): _cell(row, leading) for scheme, row in rows}
    classifiers = list(dict.fromkeys(row.classifier for _, row in rows))
    first = max(map(len, ["classifier", *classifiers]))
    widths = {
        scheme: 2 + max(len(line) for name in classifiers for line in cells.get((name, scheme), ""))
        for scheme in schemes
    }
    grids = []
    for together in _fitting({name: max(w, _SCHEME + 2) for name, w in widths.items()}, first):
        body = [_line("classifier", [textwrap.wrap(scheme, _SCHEME) for scheme in together])]
        body += [
            _line(name, [cells.get((name, of), ["-"]) for of in together]) for name in classifiers
        ]
        grids.append(table(line for lines in body for line in lines))
    return "\n\n".join(grids)


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


def _cell(row: ContentSchemeRow | PartSchemeRow, leading: Sequence[str]) -> list[str]:
    value = f"{row.value:.4f}"
    if isinstance(row, ContentSchemeRow):
        value += "*" if row.best and row.classifier in leading else ""
        value += "" if row.improvement is None else f" {100 * row.improvement:+.2f} %"
    return [value, *_interval(row.low, row.high)]


def _wins(rows: list[WinnersRow], called: dict[str, str]) -> str:
    body = [
        (
            _category(row.category, called),
            f"{row.lowest} {row.lowest_wins}",
            f"{row.highest} {row.highest_wins}",
            row.combinations,
        )
        for row in rows
    ]
    return table(body, head=("category", "lowest", "highest", "of")) if body else ""


def _correlation(tables: CdsTables) -> str:
    body = [
        (
            wording.SCORES[row.measure],
            row.error,
            *(
                None if value is None else f"{value:.4f}"
                for value in (row.pearson, row.pearson_p, row.spearman, row.spearman_p)
            ),
        )
        for row in where(tables.error_correlation, averaging=tables.averaging)
    ]
    return table(body, head=("measure", "error", "pearson", "p", "spearman", "p")) if body else ""


def _ratios(rows: list[RatioRow]) -> str:
    """How many CL-ratios each index has, and how many of them are small."""
    shares: dict[int, list[float]] = {}
    totals: dict[int, int | None] = {}
    for row in where(rows, classifier=""):
        shares.setdefault(row.index, []).append(row.share or 0)
        totals[row.index] = row.total
    body = [
        (index, totals[index], f"{sum(share[:5]):.3f}", f"{share[9]:.3f}")
        for index, share in shares.items()
    ]
    return table(body, head=("index", "ratios", "below 0.5", "from 0.9")) if body else ""


def _presence(rows: list[PresenceRow], called: dict[str, str]) -> str:
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(row.category, []).append(row.count)
    return table(
        [(_category(name, called), *counts_of_name) for name, counts_of_name in counts.items()]
    )


def _category(name: str, called: dict[str, str]) -> str:
    """A wnid with the word for it; another name as it is."""
    word = called.get(name, name)
    return name if word == name else f"{word} ({name})"


def _galleries(rows: list[HardnessRow]) -> str:
    body = []
    for of in dict.fromkeys(row.of for row in rows):
        easiest, hardest = (
            [_object(row) for row in where(rows, of=of, gallery=gallery)]
            for gallery in ("easiest", "hardest")
        )
        body += _line(of, [easiest, hardest])
    return table(body, head=("of", "easiest", "hardest")) if body else ""


def _captchas(rows: list[CaptchaRow]) -> str:
    body = [
        (
            _object(row),
            row.part_scheme,
            row.content_scheme,
            f"frames {row.first} to {row.last} of {row.frames}",
        )
        for row in rows[:_LISTED]
    ]
    more = f"\n… {len(rows) - _LISTED} more under --json" if len(rows) > _LISTED else ""
    return table(body) + more


def _object(row: HardnessRow | CaptchaRow) -> str:
    return f"{row.image}#{row.object}" if row.object else row.image
