"""Shared pieces of the figures of results, with matplotlib; pages and papers use the same figures.

Each figure is drawn on its own `Figure` and returned as SVG or PNG bytes; equal results give equal
bytes. Colours: Okabe and Ito's set and cividis, both safe for colour-blind readers.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

# Imported inside functions: matplotlib takes 160 MB in every web process.
if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

# Web threads draw one at a time: matplotlib has circular imports, so two
# threads importing it at once fail, and it is not thread-safe.
DRAWING = threading.Lock()
FORMS = {"svg": "image/svg+xml", "png": "image/png"}
# Based on Okabe and Ito's; "light" has no yellow, which is invisible on paper. Text uses Theme.ink.
COLOURS = {
    "light": ("#0072b2", "#b14d00", "#007a5a", "#a3457f", "#56b4e9", "#8a6d00", "#5b5b5b"),
    "dark": ("#56b4e9", "#e69f00", "#2fc79a", "#e08fc0", "#9ecae9", "#f0e442", "#b5b5b5"),
}
MARKS = "osD^vPXd"
# Long names keep their beginning and end, where variants differ.
NAME_LENGTH = 22


@dataclass(frozen=True)
class Theme:
    ink: str
    faint: str
    mark: str
    second: str
    paper: str


THEMES = {
    # For papers and light pages; the background is transparent in both themes.
    "light": Theme("#1f2933", "#c3cad3", "#0072b2", "#b14d00", "#ffffff"),
    "dark": Theme("#dfe6ee", "#48525f", "#56b4e9", "#e69f00", "#13171f"),
}


@dataclass(frozen=True)
class ResultFigure:
    """A figure of a result.

    draw: takes the result, a theme and the kind's figure_options. rows: the result's rows that the
    figure shows; without any it is left out. words: alt text, from the result and the options.
    """

    draw: Callable[..., Figure]
    rows: Callable[[Any], object]
    words: Callable[..., str]


def as_file(figure: Figure, form: str) -> bytes:
    """Return the bytes of a file in one of FORMS. A PNG has 200 dots per inch."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    # Fixed ids and no date, so that equal figures have equal bytes.
    mpl.rcParams["svg.hashsalt"] = "assay"
    stream = io.BytesIO()
    if form == "svg":
        FigureCanvasSVG(figure).print_svg(stream, metadata={"Date": None, "Creator": "Assay"})
    else:
        figure.set_dpi(200)
        FigureCanvasAgg(figure).print_png(stream, metadata={"Software": "Assay"})
    return stream.getvalue()


def short(name: str) -> str:
    """Return the name for matplotlib, shortened in the middle if it is long.

    >>> short("resnext101_32x48d_wsl.fb_wsl_ig1b_ft_in1k")
    'resnext101_…1b_ft_in1k'
    """
    if len(name) > NAME_LENGTH:
        half = (NAME_LENGTH - 1) // 2
        name = f"{name[: NAME_LENGTH - 1 - half]}…{name[-half:]}"
    # matplotlib parses $…$ as formulas, and legends skip names that begin with an underscore.
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name


def canvas(theme: Theme, width: float, height: float) -> tuple[Figure, Axes]:
    """Return a transparent figure of this size in inches with one pair of axes."""
    figure = blank(width, height)
    axes = figure.add_subplot()
    ink(axes, theme)
    return figure, axes


def blank(width: float, height: float) -> Figure:
    """Return a transparent figure of this size in inches without axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    return figure


def ticks(*bins: int, integer: bool = False) -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(*bins, integer=integer)


def ink(axes: Axes, theme: Theme) -> None:
    """Draw text in the theme's colour, without a background."""
    axes.patch.set_alpha(0)
    axes.tick_params(colors=theme.ink, labelsize=9)
    axes.xaxis.label.set_color(theme.ink)
    axes.yaxis.label.set_color(theme.ink)
    axes.title.set_color(theme.ink)


def plain(axes: Axes, theme: Theme, grid: str) -> None:
    """Draw only the bottom spine, and a grid along one axis."""
    axes.set_axisbelow(True)
    axes.grid(axis=grid, color=theme.faint, lw=0.6)  # type: ignore[arg-type]
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(theme.faint)


def colours(theme: Theme) -> tuple[str, ...]:
    """Return the theme's colours for lines and bars."""
    return COLOURS["dark" if theme == THEMES["dark"] else "light"]


def styles(names: Sequence[str], theme: Theme) -> list[tuple[str, str, str]]:
    """Return every name with a colour and a marker, so that colour alone is not needed."""
    return list(zip(names, cycle(colours(theme)), cycle(MARKS), strict=False))


def dot(
    axes: Axes, cell: Mapping[str, Any], y: float, colour: str, mark: str, theme: Theme
) -> None:
    """Draw a cell's value with its interval; nothing if it has no value."""
    if cell["value"] is None:
        return
    if cell["low"] is not None:
        axes.plot([cell["low"], cell["high"]], [y, y], color=colour, lw=2, solid_capstyle="round")
    axes.plot([cell["value"]], [y], mark, color=colour, ms=6.5, mec=theme.paper, mew=0.8)


def names_down(axes: Axes, names: Sequence[str]) -> None:
    """Label the y axis with the names, the first at the top."""
    axes.set_yticks(range(len(names)), [short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


def legend(figure: Figure, theme: Theme, count: int) -> None:
    """Place the legend above the axes, where it covers nothing."""
    figure.legend(
        loc="outside upper center",
        ncols=min(4, max(1, count)),
        frameon=False,
        labelcolor=theme.ink,
        fontsize=8.5,
    )


def finished(
    figure: Figure, axes: Axes, theme: Theme, grid: str, entries: int | None = None
) -> Figure:
    """Return the figure of `canvas` with a legend of so many entries, if any, and plain axes."""
    if entries is not None:
        legend(figure, theme, entries)
    plain(axes, theme, grid)
    return figure
