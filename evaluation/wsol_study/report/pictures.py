"""Figures of images: Fig 8 (boxes at a fixed τ and at τ*), and Figs 12, 14 and 16 (score maps)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.figures import Theme, blank
from evaluation.metrics.wsol.box_scores import Protocol, normalized
from evaluation.metrics.wsol.threshold_boxes import ThresholdedMap
from evaluation.wsol_study.report.content import StudyContent, backbone_title, method_title
from evaluation.wsol_study.report.figures import Rows, StudyFigure, caption
from evaluation.wsol_study.results import FSL
from labeling.csv_rows import rows as csv_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIXED, STEPS = 0.2, 1000
MAX_IMAGES = 6
NUMBERS = {"imagenet": "12", "cub": "14", "openimages": "16"}
TRUE, AT_FIXED, AT_BEST = "#f0e442", "#ff8c42", "#35e07f"
Maps = dict[tuple[str, str], NDArray[Any]]


def pictures(content: StudyContent) -> list[StudyFigure]:
    """Return Fig 8 and the figure of score maps, of the last backbone."""
    folder, backbone = content.folder.path / "samples", content.backbones[-1]
    images, maps = {}, {}
    for path in sorted((folder / "images").rglob("*.png"))[:MAX_IMAGES]:
        # Image names may contain folders.
        name = path.relative_to(folder / "images").as_posix().removesuffix(".png")
        images[name] = np.asarray(Image.open(path).convert("RGB"))
        for method in (*content.methods, FSL):
            scores = folder / f"{method}-{backbone}" / f"{name}.npy"
            if scores.is_file():
                maps[name, method] = np.load(scores, allow_pickle=False)
    return [_boxes(content, images, maps), _score_maps(content, images, maps)]


def _boxes(content: StudyContent, images: dict[str, NDArray[np.uint8]], maps: Maps) -> StudyFigure:
    backbone, path = content.backbones[-1], content.folder.path / "samples" / "boxes.csv"
    truth: dict[str, list[list[float]]] = {}
    if maps and path.is_file():
        for _, (name, *sides) in csv_rows(path, ("id", "x0", "y0", "x1", "y1")):
            truth.setdefault(name, []).append([float(side) for side in sides])
    boxes, rows = {}, Rows()
    for (name, method), scores in maps.items():
        final = content.final(method, backbone)
        if name in truth and final and final.threshold_test is not None:
            height, width = images[name].shape[:2]
            protocol = Protocol(thresholds=STEPS)
            scored = ThresholdedMap(scores, np.array(truth[name]), width, height, protocol)
            fixed, best = (scored.largest(round(x * STEPS)) for x in (FIXED, final.threshold_test))
            boxes[name, method] = ((fixed, AT_FIXED, ":"), (best, AT_BEST, "--"))
            tau = round(final.threshold_test, 3)
            rows.append([name, method_title(method), round(fixed.iou, 3), tau, round(best.iou, 3)])

    def cell(axes: Axes, name: str, method: str) -> None:
        axes.imshow(images[name])
        for box in truth[name]:
            _outline(axes, box, TRUE, "-")
        for drawn, colour, line in boxes.get((name, method), ()):
            _outline(axes, drawn.box, colour, line)

    words = f"Yellow: truth; orange, dotted: at {FIXED}; green, dashed: at τ*, the best on test."
    note = caption(content, words, f"{len(images)} of ")
    title = f"Fig 8: Boxes at τ = {FIXED} and at τ*, {backbone_title(backbone)}"
    head = ("image", "method", f"IoU at {FIXED}", "τ*", "IoU at τ*")
    missing = "Test was not scored, or has masks instead of boxes."
    return StudyFigure(
        "figure08", title, note, head, rows, partial(_grid, boxes, [], cell), missing
    )


def _score_maps(
    content: StudyContent, images: dict[str, NDArray[np.uint8]], maps: Maps
) -> StudyFigure:
    def cell(axes: Axes, name: str, method: str) -> None:
        height, width = images[name].shape[:2]
        axes.imshow(images[name])
        if (name, method) in maps:
            axes.imshow(
                normalized(maps[name, method]),
                extent=(-0.5, width - 0.5, height - 0.5, -0.5),
                cmap="cividis",
                alpha=0.75,
                interpolation="bilinear",
            )

    rows: Rows = [
        [
            name,
            method_title(method),
            float(scores.min()),
            float(scores.max()),
            round(float((normalized(scores) >= FIXED).mean()), 4),
        ]
        for (name, method), scores in maps.items()
    ]
    number = NUMBERS.get(content.study.settings.dataset, "12, 14, 16")
    title = f"Fig {number}: Score maps side by side, {backbone_title(content.backbones[-1])}"
    note = caption(content, "Maps are min-max normalized; yellow is high.", f"{len(images)} of ")
    head = ("image", "method", "lowest score", "highest score", f"share of s ≥ {FIXED}")
    return StudyFigure("figure12", title, note, head, rows, partial(_grid, maps, ["image"], cell))


def _grid(
    cells: Iterable[tuple[str, str]],
    before: list[str],
    cell: Callable[[Axes, str, str], None],
    theme: Theme,
) -> Figure:
    """Return a figure with a row for each image and a column for each method."""
    names = list(dict.fromkeys(name for name, _ in cells))
    columns = before + list(dict.fromkeys(method for _, method in cells))
    figure = blank(1.3 * len(columns), 1.3 * len(names) + 0.3)
    grid = figure.subplots(len(names), len(columns), squeeze=False)
    for row, name in zip(grid, names, strict=True):
        for axes, column in zip(row, columns, strict=True):
            cell(axes, name, column)
            axes.set_axis_off()
    for axes, column in zip(grid[0], columns, strict=True):
        title = column if column in before else method_title(column)
        axes.set_title(title, color=theme.ink, size=9)
    return figure


def _outline(axes: Axes, box: list[float] | None, colour: str, line: str) -> None:
    if box is not None:
        x0, y0, x1, y1 = (side - 0.5 for side in box)
        axes.plot([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], line, color=colour, lw=1.6)
