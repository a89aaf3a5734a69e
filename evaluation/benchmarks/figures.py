"""Figures of results, the same on the page and in a paper, with matplotlib.

Each draws on a `Figure` of its own (no global state: web threads draw at once) and gives back SVG
or PNG bytes, equal for equal results. `alt()` tells each in words for those who cannot see it.
Colours: Okabe and Ito's set and cividis, which colour-blind people tell apart.
"""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evaluation.metrics.mad.ranking import sure_order

# Once, for all threads: with random ids and a date, equal figures would have different bytes.
mpl.rcParams["svg.hashsalt"] = "assay"

Result = dict[str, Any]
FORMS = {"svg": "image/svg+xml", "png": "image/png"}
# Okabe and Ito's, without the yellow, which is lost on paper; black and white take the ink.
COLOURS = {
    "light": ("#0072b2", "#b14d00", "#007a5a", "#a3457f", "#56b4e9", "#8a6d00", "#5b5b5b"),
    "dark": ("#56b4e9", "#e69f00", "#2fc79a", "#e08fc0", "#9ecae9", "#f0e442", "#b5b5b5"),
}
MARKS = "osD^vPXd"
# Long names keep their beginning and their end, where variants differ.
NAME_LENGTH = 22


@dataclass(frozen=True)
class Theme:
    ink: str
    faint: str
    mark: str
    second: str
    paper: str


THEMES = {
    # Papers and light pages; the ground is transparent in both.
    "light": Theme("#1f2933", "#c3cad3", "#0072b2", "#b14d00", "#ffffff"),
    "dark": Theme("#dfe6ee", "#48525f", "#56b4e9", "#e69f00", "#13171f"),
}


def heatmap(result: Result, theme: Theme) -> Figure:
    """The accuracy matrix: row against column, on the images chosen for the two."""
    names = [short(name) for name in result["classifiers"]]
    count = len(names)
    # As wide as the other figures, so that letters have one size on the page; as high as it needs.
    figure, axes = canvas(theme, 7.0, min(1.6 + 0.48 * count, 7.0))
    values = [
        [math.nan if i == j or value is None else float(value) for j, value in enumerate(row)]
        for i, row in enumerate(result["accuracy"])
    ]
    colors = mpl.colormaps["cividis"].with_extremes(bad=(0, 0, 0, 0))
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


def ranks(result: Result, theme: Theme) -> Figure:
    """Every classifier's rank and the places between which it surely is, best on top."""
    order = by_rank(result)
    figure, axes = canvas(theme, 7.0, 1.2 + 0.36 * len(order))
    for row, ((low, high), index) in enumerate(zip(sure_order(result).places, order, strict=True)):
        rank = result["ranks"][index]
        axes.plot([low, high], [row, row], color=theme.mark, lw=2.5, solid_capstyle="round")
        axes.plot([rank], [row], "o", color=theme.mark, ms=8, mec=theme.paper, mew=1.2)
    axes.set_yticks(range(len(order)), [short(result["classifiers"][i]) for i in order])
    axes.invert_yaxis()
    axes.set_xlim(0.5, len(order) + 0.5)
    axes.set_xticks(range(1, len(order) + 1))
    axes.set_xlabel("rank (1 is best), and the places that are sure")
    plain(axes, theme, grid="x")
    return figure


def ablation(result: Result, theme: Theme) -> Figure:
    """How far the rank with fewer images per pair agrees with the rank with all of them."""
    rows = [row for row in result.get("ablation", []) if row["spearman"] is not None]
    figure, axes = canvas(theme, 7.0, 3.4)
    axes.plot(
        [row["k"] for row in rows],
        [row["spearman"] for row in rows],
        color=theme.mark,
        marker="o",
        ms=4,
        lw=1.6,
    )
    low = min((row["spearman"] for row in rows), default=0.0)
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
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("k, images per pair")
    axes.set_ylabel("Spearman correlation with all images")
    plain(axes, theme, grid="y")
    return figure


FIGURES: dict[str, Callable[[Result, Theme], Figure]] = {
    "heatmap": heatmap,
    "ranks": ranks,
    "ablation": ablation,
}


def draw(name: str, result: Result, form: str = "svg", theme: str = "light") -> bytes:
    """A figure of FIGURES as a file of FORMS."""
    return as_file(FIGURES[name](result, THEMES[theme]), form)


def as_file(figure: Figure, form: str) -> bytes:
    """The bytes of a file of FORMS. A PNG has 200 dots per inch."""
    stream = io.BytesIO()
    if form == "svg":
        FigureCanvasSVG(figure).print_svg(stream, metadata={"Date": None, "Creator": "Assay"})
    else:
        figure.set_dpi(200)
        FigureCanvasAgg(figure).print_png(stream, metadata={"Software": "Assay"})
    return stream.getvalue()


def alt(name: str, result: Result) -> str:
    """What a figure shows, in a sentence; the numbers are in the table beside it."""
    names = result["classifiers"]
    if name == "heatmap":
        cells = [
            (value, i, j)
            for i, row in enumerate(result["accuracy"])
            for j, value in enumerate(row)
            if i != j and value is not None
        ]
        if not cells:
            return "Accuracy matrix, empty so far."
        low, high = min(cells), max(cells)
        return (
            f"Accuracy matrix of {len(names)} classifiers. Highest: {names[high[1]]} against "
            f"{names[high[2]]}, {high[0]:.2f}. Lowest: {names[low[1]]} against "
            f"{names[low[2]]}, {low[0]:.2f}."
        )
    if name == "ranks":
        told = ", ".join(f"{result['ranks'][i]:g} {names[i]}" for i in by_rank(result))
        return f"Ranks: {told}. {sure_order(result).words}".strip()
    rows = [row for row in result.get("ablation", []) if row["spearman"] is not None]
    if not rows:
        return "Ablation over the images per pair, empty so far."
    return (
        f"Spearman correlation of the rank with k images per pair and the rank with all: "
        f"{rows[0]['spearman']:.2f} at k = {rows[0]['k']}, {rows[-1]['spearman']:.2f} at "
        f"k = {rows[-1]['k']}."
    )


def by_rank(result: Result) -> list[int]:
    """The classifiers' places in the matrices, best first; ties by name."""
    names = result["classifiers"]
    return sorted(range(len(names)), key=lambda i: (result["ranks"][i], names[i]))


def short(name: str) -> str:
    """The name as matplotlib writes it, cut in its middle when it is long.

    >>> short("resnext101_32x48d_wsl.fb_wsl_ig1b_ft_in1k")
    'resnext101_…1b_ft_in1k'
    """
    if len(name) > NAME_LENGTH:
        half = (NAME_LENGTH - 1) // 2
        name = f"{name[: NAME_LENGTH - 1 - half]}…{name[-half:]}"
    # Between dollars it reads formulas, and a legend leaves out what begins with an underscore.
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name


def canvas(theme: Theme, width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of that many inches with one pair of axes, its ground transparent."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    ink(axes, theme)
    return figure, axes


def ink(axes: Axes, theme: Theme) -> None:
    """Letters in the theme's ink on no ground."""
    axes.patch.set_alpha(0)
    axes.tick_params(colors=theme.ink, labelsize=9)
    axes.xaxis.label.set_color(theme.ink)
    axes.yaxis.label.set_color(theme.ink)
    axes.title.set_color(theme.ink)


def plain(axes: Axes, theme: Theme, grid: str) -> None:
    """Nothing but a base line, and a grid along one axis."""
    axes.set_axisbelow(True)
    axes.grid(axis=grid, color=theme.faint, lw=0.6)  # type: ignore[arg-type]
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(theme.faint)


def colours(theme: Theme) -> tuple[str, ...]:
    """The theme's colours for lines and bars."""
    return COLOURS["dark" if theme == THEMES["dark"] else "light"]


def styles(names: Sequence[str], theme: Theme) -> list[tuple[str, str, str]]:
    """Every name with a colour and a mark of its own: colour alone tells nothing."""
    return list(zip(names, cycle(colours(theme)), cycle(MARKS), strict=False))


def dot(
    axes: Axes, cell: Mapping[str, Any], y: float, colour: str, mark: str, theme: Theme
) -> None:
    """A cell's value with its interval from low to high; nothing where it has none."""
    if cell["value"] is None:
        return
    if cell["low"] is not None:
        axes.plot([cell["low"], cell["high"]], [y, y], color=colour, lw=2, solid_capstyle="round")
    axes.plot([cell["value"]], [y], mark, color=colour, ms=6.5, mec=theme.paper, mew=0.8)


def names_down(axes: Axes, names: Sequence[str]) -> None:
    """The names down the side, the first on top."""
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


def legend(figure: Figure, theme: Theme, count: int) -> None:
    """Above the axes, where it covers nothing."""
    figure.legend(
        loc="outside upper center",
        ncols=min(4, max(1, count)),
        frameon=False,
        labelcolor=theme.ink,
        fontsize=8.5,
    )
