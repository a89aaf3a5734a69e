"""Figures of a CDS result, in the style of evaluation/figures.py.

Each takes the result, a theme and the reader's choices; figure_words.py has the alt texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING

from evaluation.benchmarks.kinds.cds import figure_words
from evaluation.figures import (
    ResultFigure,
    Theme,
    blank,
    canvas,
    colours,
    dot,
    finished,
    ink,
    names_down,
    plain,
    short,
    styles,
    ticks,
)
from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.result import CdsResult
from evaluation.scoring.cds.tables import Histogram, ReaderChoice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Draw = Callable[[CdsResult, Theme, ReaderChoice], Figure]
    Words = Callable[[CdsResult, ReaderChoice], str]


def content(measure: str, result: CdsResult, theme: Theme, chosen: ReaderChoice) -> Figure:
    """Draw every classifier's score per content scheme with its interval (Table 2)."""
    rows = tables.classifier_rows(result, measure, chosen.averaging)
    schemes = tables.content_schemes(result)
    figure, axes = canvas(theme, 7.0, 1.5 + max(0.55, 0.16 * len(schemes)) * len(rows))
    step = 0.7 / max(1, len(schemes))
    for index, (scheme, colour, mark) in enumerate(styles(schemes, theme)):
        offset = (index - (len(schemes) - 1) / 2) * step
        label = wording.content_scheme(scheme)
        for at, row in enumerate(rows):
            cell = row.cells[index]
            if cell:
                dot(axes, vars(cell), at + offset, colour, mark, theme)
        axes.plot([], [], mark, color=colour, ms=6, label=label)
    names_down(axes, [row.classifier for row in rows])
    axes.set_xlabel(f"{wording.SCORES[measure]}, lower is better, with 95 % intervals")
    return finished(figure, axes, theme, "x", len(schemes))


def error(result: CdsResult, theme: Theme, chosen: ReaderChoice) -> Figure:
    """Draw every classifier's median error at the last frame with its interval (Table 1)."""
    rows = tables.errors(result)
    figure, axes = canvas(theme, 7.0, 1.1 + 0.36 * max(1, len(rows)))
    for at, row in enumerate(rows):
        if row.error is not None:
            cell = {"value": row.error, "low": row.low, "high": row.high}
            dot(axes, cell, at, theme.mark, "o", theme)
    names_down(axes, [row.classifier for row in rows])
    axes.set_xlim(-0.01, max(0.1, axes.get_xlim()[1]))
    axes.set_xlabel("median error on whole objects, with 95 % intervals")
    return finished(figure, axes, theme, "x")


def part(measure: str, result: CdsResult, theme: Theme, chosen: ReaderChoice) -> Figure:
    """Draw the score per part scheme, a bar per classifier (Supplement C, Fig. 1)."""
    schemes = tables.part_schemes(result)
    rows = tables.by_part_scheme(result, measure, chosen.averaging)
    figure, axes = canvas(theme, 7.0, 3.8)
    width = 0.8 / max(1, len(rows))
    for index, (row, colour) in enumerate(zip(rows, cycle(colours(theme)), strict=False)):
        for at, cell in enumerate(row.cells):
            if not cell:
                continue
            x = at + (index - (len(rows) - 1) / 2) * width
            axes.bar(x, cell.value, width * 0.92, color=colour)
            if cell.low is not None and cell.high is not None:
                axes.plot([x, x], [cell.low, cell.high], color=theme.ink, lw=1.1)
        axes.bar([0], [0], color=colour, label=short(row.classifier))
    axes.set_xticks(range(len(schemes)), [short(name) for name in schemes])
    axes.set_ylabel(f"{wording.SCORES[measure]}, lower is better")
    axes.set_ylim(bottom=0)
    return finished(figure, axes, theme, "y", len(rows))


def wins(result: CdsResult, theme: Theme, chosen: ReaderChoice) -> Figure:
    """Draw how often one classifier had the lowest and the highest CDS of a category."""
    rows = [(row.name, row.cds) for row in tables.winners(result) if row.cds]
    figure, axes = canvas(theme, 7.0, 1.3 + 0.42 * max(1, len(rows)))
    most = max((row.combinations for _, row in rows), default=1) or 1
    for at, (_, row) in enumerate(rows):
        for side, name, count, colour in (
            (-1, row.lowest, row.lowest_wins, theme.mark),
            (1, row.highest, row.highest_wins, theme.second),
        ):
            axes.barh(at, side * count, 0.6, color=colour)
            axes.text(
                side * (count + 0.015 * most),
                at,
                f"{short(name)} {count}",
                ha="left" if side > 0 else "right",
                va="center",
                color=theme.ink,
                size=8.5,
            )
    axes.axvline(0, color=theme.ink, lw=0.8)
    names_down(axes, [name for name, _ in rows])
    axes.set_xlim(-1.45 * most, 1.45 * most)
    axes.set_xticks([])
    axes.set_xlabel(f"← lowest CDS        times out of {most}        highest CDS →")
    return finished(figure, axes, theme, "x")


def correlation(result: CdsResult, theme: Theme, chosen: ReaderChoice) -> Figure:
    """Draw a dot per content scheme: error against CDS and, if present, B-CDS."""
    correlations = tables.where(
        result.tables.error_correlation, averaging=chosen.averaging, error="frames"
    )
    figure, axes = canvas(theme, 7.0, 4.2)
    for row, (measure, colour, mark) in zip(
        correlations, styles([row.measure for row in correlations], theme), strict=True
    ):
        axes.plot(row.errors, row.scores, mark, color=colour, ms=8, label=wording.SCORES[measure])
        for x, y, name in zip(row.errors, row.scores, row.content_schemes, strict=True):
            axes.annotate(
                wording.content_scheme(name),
                (x, y),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                color=theme.ink,
                size=8,
            )
    axes.margins(0.18)
    axes.set_xlabel("share of frames named wrongly, mean over part schemes and classifiers")
    axes.set_ylabel("score, mean over part schemes and classifiers")
    return finished(figure, axes, theme, "both", len(correlations))


def ratio(result: CdsResult, theme: Theme, chosen: ReaderChoice) -> Figure:
    """Draw the CL-ratios: number of sequences by index j and ten bins of the ratio."""
    rows = tables.ratios(result, chosen.of)
    figure, axes = canvas(theme, 7.0, 3.9)
    counts = [[row.counts[at] for row in rows] for at in range(10)]
    if rows:
        picture = axes.imshow(
            counts, origin="lower", aspect="auto", cmap="cividis", extent=_extent(rows)
        )
        bar = figure.colorbar(picture, ax=axes, fraction=0.045, pad=0.03)
        bar.set_label("sequences", color=theme.ink)
        bar.ax.tick_params(color=theme.ink, labelcolor=theme.ink)
        bar.outline.set_visible(False)
        axes.xaxis.set_major_locator(ticks(integer=True))
    axes.set_xlabel("index j of the first right frame")
    axes.set_ylabel("CL-ratio")
    plain(axes, theme, grid="y")
    axes.grid(False)
    return figure


def _extent(rows: Sequence[Histogram]) -> tuple[float, float, float, float]:
    return int(rows[0].name) - 0.5, int(rows[-1].name) + 0.5, 0.0, 1.0


def presence(result: CdsResult, theme: Theme, chosen: ReaderChoice) -> Figure:
    """Draw a histogram per category: the share of its parts that an object has."""
    rows = tables.presence(result)
    wide = min(4, max(1, len(rows)))
    high = -(-len(rows) // wide) or 1
    figure = blank(7.0, 0.5 + 1.5 * high)
    grid = figure.subplots(high, wide, sharex=True, squeeze=False)
    for axes, row in zip(grid.flat, rows, strict=False):
        ink(axes, theme)
        axes.bar([0.05 + 0.1 * at for at in range(10)], row.counts, 0.092, color=theme.mark)
        axes.set_title(f"{short(row.name)} ({row.total})", size=9, color=theme.ink)
        axes.tick_params(labelsize=7.5)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        axes.yaxis.set_major_locator(ticks(3, integer=True))
        plain(axes, theme, grid="y")
    for axes in list(grid.flat)[len(rows) :]:
        axes.set_visible(False)
    figure.supxlabel("share of the category's parts present", color=theme.ink, size=9)
    figure.supylabel("objects", color=theme.ink, size=9)
    return figure


def hardness(result: CdsResult, theme: Theme, chosen: ReaderChoice) -> Figure:
    """Draw the semantic hardness of every object, easiest first: a curve per content scheme, and
    one per classifier.
    """
    figure = blank(7.0, 3.8)
    grid = figure.subplots(1, 2, sharey=True, squeeze=False)
    for axes, form in zip(grid.flat, wording.HARDNESS, strict=True):
        ink(axes, theme)
        of = tables.by_of(result, form)
        for name, colour, mark in styles(list(of), theme):
            rows = of[name]
            label = short(wording.content_scheme(name))
            ranks = [row.rank for row in rows]
            spread = max(1, len(rows) // 6)
            axes.plot(
                ranks,
                [row.hardness for row in rows],
                mark + "-",
                color=colour,
                lw=1.6,
                ms=4.5,
                markevery=spread,
                label=label,
            )
        axes.set_xlabel(f"objects by {wording.HARDNESS[form]}, easiest first")
        axes.xaxis.set_major_locator(ticks(5, integer=True))
        plain(axes, theme, grid="y")
        axes.legend(frameon=False, labelcolor=theme.ink, fontsize=8)
    grid.flat[0].set_ylabel("semantic hardness")
    return figure


def _figure(draw: Draw, words: Words, table: str, binary: bool = False) -> ResultFigure:
    """Return a figure of one of the result's tables. binary: needs a mapping of classes."""

    def rows(result: CdsResult) -> object:
        return (not binary or "b_cds" in tables.measures(result)) and getattr(result.tables, table)

    return ResultFigure(draw, rows, words)


FIGURES = {
    "content": _figure(
        partial(content, "cds"), partial(figure_words.content, "cds"), "by_content_scheme"
    ),
    "content-b": _figure(
        partial(content, "b_cds"),
        partial(figure_words.content, "b_cds"),
        "by_content_scheme",
        binary=True,
    ),
    "error": _figure(error, figure_words.error, "error"),
    "part": _figure(partial(part, "cds"), partial(figure_words.part, "cds"), "by_part_scheme"),
    "part-b": _figure(
        partial(part, "b_cds"), partial(figure_words.part, "b_cds"), "by_part_scheme", binary=True
    ),
    "wins": _figure(wins, figure_words.wins, "best_and_worst"),
    "correlation": _figure(correlation, figure_words.correlation, "error_correlation"),
    "cl-ratio": _figure(ratio, figure_words.ratio, "cl_ratio"),
    "presence": _figure(presence, figure_words.presence, "part_presence"),
    "hardness": _figure(hardness, figure_words.hardness, "hardness"),
}
