"""Figures of a result on released labels, in the style of evaluation/figures.py."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evaluation.benchmarks.kinds.labeled import rows, wording
from evaluation.benchmarks.kinds.labeled.label_sets import figure as label_set_figure
from evaluation.benchmarks.kinds.labeled.label_sets import rows as label_set_rows
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.rows import MeasureCell
from evaluation.figures import (
    ResultFigure,
    Theme,
    blank,
    canvas,
    dot,
    finished,
    ink,
    legend,
    names_down,
    plain,
    short,
    styles,
    ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Most classes drawn by name; more are drawn as a curve.
NAMED_CLASSES = 30
BINS = 20


def lead(result: LabeledResult, theme: Theme) -> Figure:
    """Draw the main numbers of every submission with their intervals, one panel each."""
    entries, measures = rows.submission_rows(result), rows.measures(result)
    figure, panels = _panels(1, len(measures), 1.1 + 0.36 * len(entries), sharey=True)
    for axes, column in zip(panels, range(len(measures)), strict=True):
        ink(axes, theme)
        for at, row in enumerate(entries):
            dot(axes, vars(row.cells[column]), at, theme.mark, "o", theme)
        measure = measures[column]
        side = "less" if measure.less_is_better else "more"
        axes.set_xlabel(f"{measure.words}\n({side} is better)")
        names_down(axes, [row.name for row in entries])
        axes.xaxis.set_major_locator(ticks((5, 5, 4, 3, 2)[min(4, len(measures))]))
        axes.tick_params(axis="y", length=0)
        axes.margins(x=0.12)
        plain(axes, theme, grid="x")
    return figure


def at_k(result: LabeledResult, theme: Theme) -> Figure:
    """Draw hp@k and hit@k against k, a line with intervals per submission."""
    entries = rows.at_k(result)
    keys = [key for key in wording.AT_K if any(row.measure == key for row in entries)]
    figure, panels = _panels(1, len(keys), 3.7, sharey=True)
    for axes, key in zip(panels, keys, strict=True):
        ink(axes, theme)
        measure_rows = [row for row in entries if row.measure == key]
        for column, (name, colour, mark) in enumerate(styles(rows.names(result), theme)):
            cells = [(x, row.cells[column]) for x, row in enumerate(measure_rows)]
            known = [(x, cell.value) for x, cell in cells if cell.value is not None]
            label = short(name) if axes is panels[0] else None
            xs, ys = [x for x, _ in known], [value for _, value in known]
            axes.plot(xs, ys, f"{mark}-", color=colour, lw=1.6, ms=5, label=label)
            for x, cell in cells:
                if cell.low is not None and cell.high is not None:
                    axes.plot([x, x], [cell.low, cell.high], color=colour, lw=1.1)
        axes.set_xticks(range(len(measure_rows)), [str(row.k) for row in measure_rows])
        axes.set_xlabel("k")
        axes.set_title(wording.AT_K[key], size=10, color=theme.ink)
        axes.set_ylim(0, 1.02)
        plain(axes, theme, grid="y")
    legend(figure, theme, len(rows.names(result)))
    return figure


def per_class(result: LabeledResult, theme: Theme) -> Figure:
    """Draw every class's value, easiest first: by name if there are few, else as a curve."""
    classes = [row for row in rows.per_class(result) if row.mean is not None]
    is_named = len(classes) <= NAMED_CLASSES
    figure, axes = canvas(theme, 7.0, 1.5 + 0.26 * len(classes) if is_named else 3.6)
    submissions = styles(rows.names(result), theme)
    for column, (name, colour, mark) in enumerate(submissions):
        values = [row.cells[column].value for row in classes]
        if is_named:
            there = [(value, at) for at, value in enumerate(values) if value is not None]
            axes.plot(
                [value for value, _ in there],
                [at for _, at in there],
                mark,
                color=colour,
                ms=6.5,
                mec=theme.paper,
                mew=0.7,
                label=short(name),
            )
        else:
            known = sorted((value for value in values if value is not None), reverse=True)
            axes.plot(range(1, len(known) + 1), known, color=colour, lw=1.8, label=short(name))
    if is_named:
        names_down(axes, [row.name for row in classes])
        axes.set_xlabel(wording.PER_CLASS[result.kind])
        axes.set_xlim(-0.02, 1.02)
    else:
        axes.set_xlabel("classes, easiest first")
        axes.set_ylabel(wording.PER_CLASS[result.kind])
        axes.set_ylim(0, 1.02)
    return finished(figure, axes, theme, "x" if is_named else "y", len(submissions))


def spread(result: LabeledResult, theme: Theme) -> Figure:
    """Draw a histogram of class values in twenty bins, a line per submission."""
    spreads = rows.spread(result)
    figure, axes = canvas(theme, 7.0, 3.4)
    for row, (_, colour, _) in zip(spreads, styles([r.name for r in spreads], theme), strict=True):
        counts = [0] * BINS
        for value in row.values:
            counts[min(BINS - 1, max(0, int(value * BINS)))] += 1
        edges = [at / BINS for at in range(BINS + 1)]
        axes.stairs(counts, edges, color=colour, lw=1.8, label=short(row.name))
        if len(spreads) == 1:
            axes.stairs(counts, edges, color=colour, alpha=0.3, fill=True)
    axes.set_xlabel(wording.PER_CLASS[result.kind])
    axes.set_ylabel("classes")
    axes.set_xlim(0, 1)
    axes.yaxis.set_major_locator(ticks(integer=True))
    return finished(figure, axes, theme, "y", len(spreads))


def scale(result: LabeledResult, theme: Theme) -> Figure:
    """Draw a dot per class: the share of the image that its objects cover, against its value."""
    from matplotlib.ticker import LogLocator, NullLocator

    scales = rows.scale(result)
    figure, axes = canvas(theme, 7.0, 4.0)
    for row, (name, colour, mark) in zip(
        scales, styles([row.name for row in scales], theme), strict=True
    ):
        points = [point for point in row.points if point[0] > 0]
        axes.plot(
            [100 * at for at, _, _ in points],
            [value for _, value, _ in points],
            mark,
            color=colour,
            ms=5,
            alpha=0.8,
            mec="none",
            label=short(name),
        )
    shares = [100 * at for row in scales for at, _, _ in row.points if at > 0] or [1.0]
    axes.set_xscale("log")
    # Wide enough to contain a tick at 1, 2 or 5.
    axes.set_xlim(min(shares) / 1.6, max(shares) * 1.6)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("mean share of the image covered by an object of the class")
    axes.set_ylabel(wording.PER_CLASS[result.kind])
    axes.set_ylim(-0.02, 1.02)
    return finished(figure, axes, theme, "y", len(scales))


def comparison(result: LabeledResult, theme: Theme) -> Figure:
    """Draw the difference in error of every pair with its interval; 0 means no difference."""
    pairs = rows.pairs(result)
    figure, axes = canvas(theme, 7.0, 1.2 + 0.36 * max(1, len(pairs)))
    for at, row in enumerate(pairs):
        dot(axes, vars(rows.cell_of(row.difference)), at, theme.mark, "o", theme)
    axes.axvline(0, color=theme.second, lw=1, ls="--")
    names_down(axes, [f"{short(row.first)} − {short(row.second)}" for row in pairs])
    axes.set_xlabel("difference in error: below 0 the first is better")
    return finished(figure, axes, theme, "x")


def classes_won(result: LabeledResult, theme: Theme) -> Figure:
    """Draw in how many classes each submission is the best."""
    winners = rows.classes_won(result)
    figure, axes = canvas(theme, 7.0, 1.1 + 0.34 * max(1, len(winners)))
    axes.barh(range(len(winners)), [row.classes for row in winners], 0.6, color=theme.mark)
    names_down(axes, [row.name for row in winners])
    axes.set_xlabel("classes in which it is the best")
    axes.xaxis.set_major_locator(ticks(integer=True))
    return finished(figure, axes, theme, "x")


def thresholds(result: LabeledResult, theme: Theme) -> Figure:
    """Draw the box accuracy of every submission by required IoU."""
    number_rows = [row for row in rows.numbered(result) if row.number != "px_acc"]
    names = rows.names(result)
    figure, axes = canvas(theme, 7.0, 1.5 + 0.6 * len(names))
    step = 0.7 / max(1, len(number_rows))
    drawn_as = styles([row.name for row in number_rows], theme)
    for index, (row, (words, colour, mark)) in enumerate(zip(number_rows, drawn_as, strict=True)):
        for at, cell in enumerate(row.cells):
            # Offset each measure, so that equal values do not overlap.
            y = at + (index - (len(number_rows) - 1) / 2) * step
            dot(axes, vars(cell), y, colour, mark, theme)
        axes.plot([], [], mark, color=colour, ms=6, label=words)
    names_down(axes, names)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("accuracy at its best threshold, higher is better")
    return finished(figure, axes, theme, "x", min(2, len(number_rows)))


def curves(result: LabeledResult, theme: Theme) -> Figure:
    """Draw every measure against the score map's threshold, a panel each, a line per submission."""
    curve_rows = rows.curves(result)
    titles = list(dict.fromkeys(row.words for row in curve_rows))
    figure, panels = _grid(len(titles), 0.8, 2.1)
    drawn_as = dict(zip(rows.names(result), styles(rows.names(result), theme), strict=True))
    for axes, words in zip(panels, titles, strict=True):
        ink(axes, theme)
        for row in curve_rows:
            if row.words == words:
                _line(axes, row, drawn_as[row.name], is_named=words == titles[0])
        axes.set_title(words, size=9.5, color=theme.ink)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        plain(axes, theme, grid="y")
    figure.supxlabel("threshold of the score map", color=theme.ink, size=9)
    legend(figure, theme, len(drawn_as))
    return figure


def _line(axes: Axes, row: rows.Curve, style: tuple[str, str, str], *, is_named: bool) -> None:
    name, colour, mark = style
    points = [(x, y) for x, y in zip(row.thresholds, row.values, strict=False) if y is not None]
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        f"{mark}-",
        color=colour,
        lw=1.5,
        ms=4,
        markevery=max(1, len(points) // 6),
        label=short(name) if is_named else None,
    )


def scores(result: LabeledResult, theme: Theme) -> Figure:
    """Draw a histogram of the maps' scores, a panel per submission."""
    histograms = rows.score_histograms(result)
    names = list(dict.fromkeys(row.name for row in histograms))
    kinds = list(dict.fromkeys(row.words for row in histograms))
    figure, panels = _grid(len(names), 1.1, 1.9)
    drawn_as = dict(zip(kinds, styles(kinds, theme), strict=True))
    for axes, name in zip(panels, names, strict=True):
        ink(axes, theme)
        for row in histograms:
            if row.name == name:
                words, colour, _ = drawn_as[row.words]
                dash = "-" if words == kinds[0] else ("--" if words == kinds[-1] else ":")
                label = words if name == names[0] else None
                shares = [value or 0.0 for value in row.shares]
                axes.stairs(shares, row.edges, color=colour, lw=1.6, ls=dash, label=label)
        axes.set_yscale("log")
        axes.set_title(short(name), size=9.5, color=theme.ink)
        axes.set_xlim(0, 1)
        plain(axes, theme, grid="y")
    figure.supxlabel("score of a pixel", color=theme.ink, size=9)
    figure.supylabel("share of the pixels", color=theme.ink, size=9)
    legend(figure, theme, len(kinds))
    return figure


def lead_words(result: LabeledResult) -> str:
    parts = []
    for column, measure in enumerate(rows.measures(result)):
        values = [
            f"{row.name} {row.cells[column].value:.3f}"
            for row in rows.submission_rows(result)
            if row.cells[column].value is not None
        ]
        parts.append(f"{measure.words}: {', '.join(values)}")
    return f"{'; '.join(parts)}."


def at_k_words(result: LabeledResult) -> str:
    parts = []
    for key, words in wording.AT_K.items():
        entries = [row for row in rows.at_k(result) if row.measure == key]
        for column, name in enumerate(rows.names(result)):
            known = [row for row in entries if row.cells[column].value is not None]
            if known:
                first, last = known[0], known[-1]
                parts.append(
                    f"{words} of {name} from {first.cells[column].value:.3f} at k ="
                    f" {first.k} to {last.cells[column].value:.3f} at k = {last.k}"
                )
    return f"{'; '.join(parts)}."


def per_class_words(result: LabeledResult) -> str:
    parts = [
        f"{row.name} from {row.lowest:.3f} to {row.highest:.3f} over {row.classes}"
        for row in rows.spread(result)
    ]
    return f"{wording.PER_CLASS[result.kind]} by class: {'; '.join(parts)} classes."


def spread_words(result: LabeledResult) -> str:
    parts = [
        f"{row.name}: {sum(value >= 0.5 for value in row.values)} of {row.classes}"
        for row in rows.spread(result)
    ]
    return f"Classes with at least one half. {'; '.join(parts)}."


def scale_words(result: LabeledResult) -> str:
    parts = [
        f"{row.name} {row.spearman:.2f}" for row in rows.scale(result) if row.spearman is not None
    ]
    return f"Value against object scale. Spearman correlation: {', '.join(parts) or 'unknown'}."


def comparison_words(result: LabeledResult) -> str:
    parts = [
        f"{row.first} minus {row.second} {row.difference.value:+.3f}"
        for row in rows.pairs(result)
        if row.difference.value is not None
    ]
    return f"Difference of the errors: {', '.join(parts) or 'unknown'}."


def classes_won_words(result: LabeledResult) -> str:
    parts = [f"{row.name} {row.classes}" for row in rows.classes_won(result)]
    return f"Classes won: {', '.join(parts)}."


def thresholds_words(result: LabeledResult) -> str:
    parts = []
    for row in rows.numbered(result):
        values = [
            f"{name} {cell.value:.3f}"
            for name, cell in zip(rows.names(result), row.cells, strict=True)
            if cell.value is not None
        ]
        parts.append(f"{row.name}: {', '.join(values)}")
    return f"{'; '.join(parts)}."


def curves_words(result: LabeledResult) -> str:
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


def scores_words(result: LabeledResult) -> str:
    parts = []
    for row in rows.score_histograms(result):
        half = len(row.shares) // 2
        low = sum(share or 0.0 for share in row.shares[:half])
        parts.append(f"{row.name}, {row.words}: {low:.0%} below one half")
    return f"Scores of pixels. {'; '.join(parts)}."


def truth_versions(result: LabeledResult, theme: Theme) -> Figure:
    """Draw the first main number of each submission by the first and by the newest labels."""
    shown_rows, newest = rows.effects(result), result.newest
    assert newest is not None, "it has rows"
    figure, axes = canvas(theme, 7.0, 3.6)
    for row, (_, colour, mark) in zip(
        shown_rows, styles([row.name for row in shown_rows], theme), strict=True
    ):
        cells = [MeasureCell(None) if cell is None else cell for cell in row.cells]
        values = [math.nan if cell.value is None else cell.value for cell in cells]
        axes.plot(range(3), values, f"{mark}-", color=colour, label=short(row.name))
    labels = ["first labels", "newest, same images", "newest, all images"]
    counts = [result.truth.images, newest.opening_images.images, newest.images]
    words = [f"{label}\nn = {count:,}" for label, count in zip(labels, counts, strict=True)]
    axes.set_xticks(range(3), words)
    axes.set_xlim(-0.3, 2.3)
    axes.set_ylabel(rows.measures(result)[0].words)
    return finished(figure, axes, theme, "y", len(shown_rows))


def truth_versions_words(result: LabeledResult) -> str:
    parts = [
        f"{row.name} "
        + ", ".join(
            "–" if cell is None or cell.value is None else f"{cell.value:.3f}" for cell in row.cells
        )
        for row in rows.effects(result)
    ]
    lead = rows.measures(result)[0].words
    columns = "the first labels, the newest on the same images, the newest on all images"
    return f"{lead} by {columns}: {'; '.join(parts)}."


FIGURES = {
    "truth-versions": ResultFigure(truth_versions, rows.effects, truth_versions_words),
    "lead": ResultFigure(lead, rows.measures, lead_words),
    "at-k": ResultFigure(at_k, rows.at_k, at_k_words),
    "per-class": ResultFigure(per_class, rows.spread, per_class_words),
    "spread": ResultFigure(spread, rows.spread, spread_words),
    "scale": ResultFigure(scale, rows.scale, scale_words),
    "comparison": ResultFigure(comparison, rows.pairs, comparison_words),
    "classes-won": ResultFigure(classes_won, rows.classes_won, classes_won_words),
    "thresholds": ResultFigure(thresholds, rows.numbered, thresholds_words),
    "curves": ResultFigure(curves, rows.curves, curves_words),
    "scores": ResultFigure(scores, rows.score_histograms, scores_words),
    "label-sets": ResultFigure(
        label_set_figure.draw, label_set_rows.submissions, label_set_figure.words
    ),
}


def _panels(
    high: int, wide: int, inches: float, *, sharex: bool = False, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    figure = blank(7.0, inches)
    grid = figure.subplots(high, wide, sharex=sharex, sharey=sharey, squeeze=False)
    return figure, list(grid.flat)


def _grid(count: int, first: float, each: float) -> tuple[Figure, list[Axes]]:
    """Return `count` panels in two columns. first, each: inches of the frame and of a row."""
    wide = 2 if count > 1 else 1
    high = -(-count // wide) or 1
    figure, panels = _panels(high, wide, first + each * high, sharex=True, sharey=True)
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure, panels[:count]
