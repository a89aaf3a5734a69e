"""Figures of a ranking, in the style of evaluation/figures.py."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evaluation.figures import ResultFigure, Theme, canvas, finished, short, ticks
from evaluation.metrics.mad.results import Ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heatmap(result: Ranking, theme: Theme) -> Figure:
    """Draw the accuracy matrix: row against column, on the images of their pair."""
    from matplotlib import colormaps

    names = [short(name) for name in result.classifiers]
    count = len(names)
    # As wide as the other figures, so that text has the same size on the page.
    figure, axes = canvas(theme, 7.0, min(1.6 + 0.48 * count, 7.0))
    values = [
        [math.nan if i == j or value is None else float(value) for j, value in enumerate(row)]
        for i, row in enumerate(result.accuracy)
    ]
    colors = colormaps["cividis"].with_extremes(bad=(0, 0, 0, 0))
    picture = axes.imshow(values, cmap=colors, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(count), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(count), names)
    axes.set_xlabel("against")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    size = max(6.5, 11 - 0.3 * count)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if not math.isnan(value):
                ink = "#ffffff" if value < 0.55 else "#10151c"
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=ink, size=size)
    bar = figure.colorbar(picture, ax=axes, fraction=0.045, pad=0.03)
    bar.set_label("accuracy on the pair's images", color=theme.ink)
    bar.ax.tick_params(color=theme.ink, labelcolor=theme.ink)
    bar.outline.set_visible(False)
    return figure


def ranks(result: Ranking, theme: Theme) -> Figure:
    """Draw every classifier's rank and the ranks that are confirmed for it, best first."""
    order = result.by_rank()
    figure, axes = canvas(theme, 7.0, 1.2 + 0.36 * len(order))
    for row, ((low, high), index) in enumerate(zip(result.sure_order().places, order, strict=True)):
        rank = result.ranks[index]
        axes.plot([low, high], [row, row], color=theme.mark, lw=2.5, solid_capstyle="round")
        axes.plot([rank], [row], "o", color=theme.mark, ms=8, mec=theme.paper, mew=1.2)
    axes.set_yticks(range(len(order)), [short(result.classifiers[i]) for i in order])
    axes.invert_yaxis()
    axes.set_xlim(0.5, len(order) + 0.5)
    axes.set_xticks(range(1, len(order) + 1))
    axes.set_xlabel("rank (1 is best), and the confirmed range")
    return finished(figure, axes, theme, "x")


def ablation(result: Ranking, theme: Theme) -> Figure:
    """Draw the correlation of the ranks with fewer images per pair with those from all images."""
    points = _ablation(result)
    figure, axes = canvas(theme, 7.0, 3.4)
    axes.plot(
        [k for k, _ in points],
        [value for _, value in points],
        color=theme.mark,
        marker="o",
        ms=4,
        lw=1.6,
    )
    low = min((value for _, value in points), default=0.0)
    axes.set_ylim(min(0.0, low - 0.05), 1.05)
    axes.axhline(0.9, color=theme.second, lw=1, ls="--")
    axes.text(
        0.99,
        0.9,
        "0.9",
        color=theme.second,
        ha="right",
        va="top",
        transform=axes.get_yaxis_transform(),
    )
    axes.xaxis.set_major_locator(ticks(integer=True))
    axes.set_xlabel("k, images per pair")
    axes.set_ylabel("Spearman correlation with all images")
    return finished(figure, axes, theme, "y")


def heatmap_words(result: Ranking) -> str:
    names = result.classifiers
    cells = [
        (value, i, j)
        for i, row in enumerate(result.accuracy)
        for j, value in enumerate(row)
        if i != j and value is not None
    ]
    if not cells:
        return "Accuracy matrix: no data yet."
    low, high = min(cells), max(cells)
    return (
        f"Accuracy matrix of {len(names)} classifiers. Highest: {names[high[1]]} against "
        f"{names[high[2]]}, {high[0]:.2f}. Lowest: {names[low[1]]} against "
        f"{names[low[2]]}, {low[0]:.2f}."
    )


def ranks_words(result: Ranking) -> str:
    ranked = ", ".join(f"{result.ranks[i]:g} {result.classifiers[i]}" for i in result.by_rank())
    return f"Ranks: {ranked}. {result.sure_order().words}".strip()


def ablation_words(result: Ranking) -> str:
    points = _ablation(result)
    if not points:
        return "Ablation over the images per pair: no data yet."
    return (
        f"Spearman correlation of the rank with k images per pair and the rank with all: "
        f"{points[0][1]:.2f} at k = {points[0][0]}, {points[-1][1]:.2f} at k = {points[-1][0]}."
    )


def _ablation(result: Ranking) -> list[tuple[int, float]]:
    """Return (k, correlation) of every k that has a correlation."""
    rows = result.ablation or []
    return [(row.k, row.spearman) for row in rows if row.spearman is not None]


FIGURES = {
    "heatmap": ResultFigure(heatmap, lambda _: True, heatmap_words),
    "ranks": ResultFigure(ranks, lambda _: True, ranks_words),
    "ablation": ResultFigure(ablation, lambda result: result.ablation, ablation_words),
}
