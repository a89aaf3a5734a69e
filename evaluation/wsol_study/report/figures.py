"""Figures 9, 10 and 17 to 20 of Choe et al. 2022; pictures.py has those of images.

A figure is drawn from its table; without rows it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evaluation.figures import Theme, blank, ink, legend, plain, styles
from evaluation.wsol_study.report.content import StudyContent, backbone_title, method_title
from evaluation.wsol_study.results import BOXES, CAM, FSL, Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Bins of Fig 10, and most points of a curve of Fig 9.
BINS, POINTS = 20, 100
# x and y of Fig 18: the hyperparameters that erase. ACoL has only one; its y is the learning rate.
ERASING = {
    "adl": ("drop_rate", "erasing_threshold"),
    "has": ("drop_rate", "drop_area"),
    "acol": ("erasing_threshold", "learning_rate"),
}
NO_TEST = "Test was not scored."
Rows = list[list[str | float | int | None]]
# x, y and the error of y, by method and backbone.
Series = Mapping[tuple[str, str], Sequence[tuple[float, float, float | None]]]


@dataclass(frozen=True)
class StudyFigure:
    """A figure and its table; the last column is a score. missing: the reason for no rows."""

    key: str
    title: str
    note: str
    head: Sequence[str]
    rows: Rows
    draw: Callable[[Theme], Figure]
    missing: str = NO_TEST

    @property
    def short(self) -> str:
        return self.title.partition(":")[0]

    @property
    def alt(self) -> str:
        scored = [row for row in self.rows if isinstance(row[-1], int | float)]
        best = max(scored, key=lambda row: float(row[-1] or 0), default=[])
        cells = ", ".join(f"{name} {cell}" for name, cell in zip(self.head, best, strict=False))
        return f"{self.title}. Highest {self.head[-1]}: {cells or 'none'}."


def figures(content: StudyContent) -> list[StudyFigure]:
    return [
        _by_threshold(content),
        _pixel_values(content),
        _all_trials(content),
        _erasing(content),
        _few_shot(content),
        _attribution(content),
    ]


def _by_threshold(content: StudyContent) -> StudyFigure:
    is_boxes = content.study.settings.metric == BOXES
    x, y = ("threshold", "box_acc") if is_boxes else ("px_rec", "px_prec")
    series = {}
    for pair, columns in _curves(content):
        points = [(at, value, None) for at, value in zip(columns[x], columns[y], strict=True)]
        points = [(at, value, none) for at, value, none in points if value == value]
        series[pair] = points[:: max(1, len(points) // POINTS)]
    names = ("τ", "BoxAcc") if is_boxes else ("PxRec", "PxPrec")
    title = f"Fig 9: Performance by operating threshold, {names[1]} by {names[0]}"
    return _lines("figure09", title, caption(content), names, series)


def _pixel_values(content: StudyContent) -> StudyFigure:
    series = {}
    for pair, columns in _curves(content):
        pixels = np.nan_to_num(np.add(columns["inside"], columns["outside"]))
        counts, _ = np.histogram(columns["threshold"], BINS, (0, 1), weights=pixels)
        shares = counts / max(pixels.sum(), 1)
        series[pair] = [(at / BINS, round(float(x), 5), None) for at, x in enumerate(shares)]
    note = caption(content, "", "the pixels of ")
    names = (f"score (bins of {1 / BINS})", "share of pixels")
    return _lines("figure10", "Fig 10: Pixel value distributions", note, names, series, log=True)


def _few_shot(content: StudyContent) -> StudyFigure:
    groups: dict[tuple[str, str], dict[int, list[float]]] = {}
    for row in content.few_shot:
        if row.test is not None:
            group = groups.setdefault((row.method, row.backbone), {})
            group.setdefault(row.per_class, []).append(row.test)
    for (method, backbone), group in groups.items():
        center = float(content.center_score()[0])
        group[0] = _scores(content.trials_of(CAM, backbone)) if method == CAM else [center]
    series = {
        pair: [
            (count, round(100 * fmean(scores), 3), _standard_error(scores))
            for count, scores in sorted(group.items())
            if scores and scores[0] == scores[0]
        ]
        for pair, group in groups.items()
    }
    samples = f"{content.study.settings.few_shot_samples} samples of train-fullsup, "
    note = caption(
        content, "Bars: standard error. At 0: CAM's random trials, center baseline.", samples
    )
    names = ("images per class", "score on test, %")
    missing = "The configuration has no few_shot."
    return _lines("figure19", "Fig 19: WSOL versus few-shot learning", note, names, series, missing)


def _standard_error(scores: Sequence[float]) -> float | None:
    return round(100 * stdev(scores) / len(scores) ** 0.5, 3) if len(scores) > 1 else None


def _lines(
    key: str,
    title: str,
    note: str,
    names: tuple[str, str],
    series: Series,
    missing: str = NO_TEST,
    log: bool = False,
) -> StudyFigure:
    """Return a figure with a panel for each backbone and a line for each method."""

    def draw(theme: Theme) -> Figure:
        figure, panels = _panels(theme, dict.fromkeys(b for _, b in series), names, log=log)
        methods = list(dict.fromkeys(method for method, _ in series))
        for method, colour, mark in styles(methods, theme):
            for backbone, axes in panels.items():
                points = np.array(series.get((method, backbone), []), float).reshape(-1, 3)
                axes.errorbar(
                    *points.T, color=colour, marker=mark, ms=4, lw=1.4, markevery=0.1, capsize=3
                )
            figure.axes[0].plot([], [], mark, ls="-", color=colour, label=method_title(method))
        legend(figure, theme, len(methods))
        return figure

    rows: Rows = [
        [backbone_title(backbone), method_title(method), x, error, y]
        for (method, backbone), points in series.items()
        for x, y, error in points
    ]
    head = ("backbone", "method", names[0], "standard error", names[1])
    return StudyFigure(key, title, note, head, rows, draw, missing)


def _all_trials(content: StudyContent) -> StudyFigure:
    trials = {
        (method, backbone): content.trials_of(method, backbone)
        for backbone in content.backbones
        for method in content.methods
    }
    failed = {pair: [not trial.converged for trial in of] for pair, of in trials.items() if of}
    center = float(content.center_score()[0])

    def draw(theme: Theme) -> Figure:
        figure, panels = _panels(theme, content.backbones, ("", "score on test, %"), lower=True)
        for at, method in enumerate(content.methods):
            for backbone in content.backbones:
                values = 100 * np.array(_scores(trials[method, backbone]))
                spread = at + np.linspace(-0.2, 0.2, len(values))
                panels[backbone].plot(spread, values, "o", color=theme.mark, ms=4, alpha=0.7)
                best = 100 * content.score(method, backbone)[:1]
                panels[backbone].plot([at], best, "D", color=theme.second, mec=theme.paper, ms=7)
                share = 100 * np.mean(failed.get((method, backbone), [0]))
                panels[f"{backbone} lower"].bar([at], [share], color=theme.mark)
        for name, axes in panels.items():
            titles = [method_title(method) for method in content.methods]
            axes.set_xticks(range(len(titles)), titles, rotation=45)
            if name.endswith(" lower"):
                axes.set(ylim=(0, 100), ylabel="failed, %")
            elif np.isfinite(center):
                axes.axhline(100 * center, color=theme.ink, ls="--", lw=1)
        return figure

    rows: Rows = []
    for (method, backbone), fails in failed.items():
        scores = _scores(trials[method, backbone])
        ends = [round(float(f(scores or [np.nan])), 4) for f in (np.min, np.median, np.max)]
        names = backbone_title(backbone), method_title(method)
        rows.append([*names, len(fails), sum(fails), *(x if x == x else None for x in ends)])
    words = "Diamonds: final models; circles: trials, for analysis only. Dashed: center baseline."
    note = caption(content, words, f"{len(content.trials)} trials, ")
    head = ("backbone", "method", "trials", "not converged", "lowest", "median", "score")
    title = "Fig 17: All trials, and the share that did not converge"
    return StudyFigure("figure17", title, note, head, rows, draw)


def _erasing(content: StudyContent) -> StudyFigure:
    backbone = content.backbones[-1]
    trials = {m: content.trials_of(m, backbone) for m in ERASING if content.trials_of(m, backbone)}
    if not any(map(_scores, trials.values())):
        trials = {}

    def draw(theme: Theme) -> Figure:
        figure, panels = _panels(theme, [method_title(method) for method in trials], ("", ""))
        every = [100 * score for of in trials.values() for score in _scores(of)]
        low, high = min(every), max(every)
        for (method, of), axes in zip(trials.items(), panels.values(), strict=True):
            names = [name.replace("_", " ") for name in ERASING[method]]
            axes.set(xlabel=names[0], ylabel=names[1])
            axes.set_yscale("log" if "rate" in names[1] else "linear")
            x, y, values = _points([trial for trial in of if trial.converged])
            sizes = 20 + 120 * (values - low) / max(high - low, 1e-9)
            points = axes.scatter(x, y, sizes, values, vmin=low, vmax=high, cmap="cividis")
            points.set_edgecolor(theme.ink)
            x, y, _ = _points([trial for trial in of if not trial.converged])
            axes.plot(x, y, "x", color=theme.second, ms=7)
        bar = figure.colorbar(points, ax=list(panels.values()))
        bar.set_label("score on test, %", color=theme.ink)
        bar.ax.tick_params(color=theme.ink, labelcolor=theme.ink)
        return figure

    rows: Rows = []
    for trial in [trial for of in trials.values() for trial in of]:
        x, y = (trial.hyperparameters[name] for name in ERASING[trial.method])
        words = "yes" if trial.converged else "no"
        rows.append([method_title(trial.method), trial.trial, x, y, words, trial.test])
    title = f"Fig 18: Hyperparameters of feature erasing, {backbone_title(backbone)}"
    words = "Larger circles scored higher; crosses did not converge."
    note = caption(content, words, f"{len(rows)} trials, ")
    head = ("method", "trial", "x", "y", "converged", "score")
    missing = "There are no trials of ADL, HaS or ACoL."
    return StudyFigure("figure18", title, note, head, rows, draw, missing)


def _points(trials: Sequence[Trial]) -> NDArray[np.float64]:
    """Return (3, trials): the two hyperparameters of Fig 18, and the score in percent."""
    rows = [[*map(t.hyperparameters.get, ERASING[t.method]), 100 * (t.test or 0)] for t in trials]
    return np.array(rows, float).reshape(-1, 3).T


def _attribution(content: StudyContent) -> StudyFigure:
    backbone = content.backbones[-1]
    cells = {
        (row.method, row.samples, row.smooth): row.value
        for row in content.attribution
        if row.part != "test" and row.backbone == backbone
    }

    def draw(theme: Theme) -> Figure:
        counts = sorted({n for _, n, _ in cells})
        widths = sorted({sigma for _, _, sigma in cells})
        methods = dict.fromkeys(method.upper() for method, _, _ in cells)
        figure, panels = _panels(theme, methods, ("σ", "N"))
        for name, axes in panels.items():
            keys = [[(name.lower(), n, width) for width in widths] for n in counts]
            values = 100 * np.array([[cells.get(key) for key in row] for row in keys], float)
            axes.imshow(values, cmap="cividis", aspect="auto")
            axes.set_xticks(range(len(widths)), [f"{width:g}" for width in widths])
            axes.set_yticks(range(len(counts)), [str(n) for n in counts])
            axes.grid(visible=False)
            middle = (np.nanmin(values) + np.nanmax(values)) / 2
            for (row, column), value in np.ndenumerate(values):
                colour = "#ffffff" if value < middle else "#10151c"
                text = f"{value:.1f}" if value == value else ""
                axes.text(column, row, text, ha="center", va="center", color=colour, size=8)
        return figure

    rows: Rows = [[method.upper(), n, sigma, value] for (method, n, sigma), value in cells.items()]
    title = f"Fig 20: Hyperparameters of saliency methods, {backbone_title(backbone)}"
    note = "n: the images of train-fullsup, one model. Uncertainty: not validated."
    missing = "The configuration has no attribution."
    return StudyFigure("figure20", title, note, ("method", "N", "σ", "score"), rows, draw, missing)


def caption(content: StudyContent, words: str = "", units: str = "") -> str:
    """Return a caption with n and the state of the uncertainty."""
    return f"n: {units}{content.test_images:,} test images. Uncertainty: not validated. {words}"


def _scores(trials: Sequence[Trial]) -> list[float]:
    return [trial.test for trial in trials if trial.converged and trial.test is not None]


def _curves(content: StudyContent) -> Iterator[tuple[tuple[str, str], dict[str, list[float]]]]:
    """Yield (method, backbone) and the by_threshold columns of each final model."""
    for backbone in content.backbones:
        for method in (*content.methods, FSL):
            if columns := content.folder.columns(f"by_threshold/{method}-{backbone}.csv"):
                yield (method, backbone), columns


def _panels(
    theme: Theme,
    titles: Iterable[str],
    names: tuple[str, str],
    log: bool = False,
    lower: bool = False,
) -> tuple[Figure, dict[str, Axes]]:
    """Return a figure with a panel per title; lower: one more panel below each, `TITLE lower`."""
    titles = list(titles)
    figure = blank(max(6.4, 3.2 * len(titles)), 4.6 if lower else 3.6)
    heights = [3, 1] if lower else [1]
    grid = figure.subplots(
        len(heights), len(titles), sharex="col", squeeze=False, height_ratios=heights
    )
    panels = {}
    for title, column in zip(titles, grid.T, strict=True):
        column[0].set(title=backbone_title(title), xlabel=names[0], ylabel=names[1])
        column[0].set_yscale("log" if log else "linear")
        for name, axes in zip((title, f"{title} lower"), column, strict=False):
            panels[name] = axes
            ink(axes, theme)
            axes.tick_params(which="minor", colors=theme.ink, labelsize=8)
            plain(axes, theme, grid="y")
    return figure, panels
