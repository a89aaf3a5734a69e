"""Figure of the versions of label sets: every submission by version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluation.benchmarks.kinds.labeled.label_sets import rows
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.figures import Theme, canvas, finished, short, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Offset, so that intervals of several submissions do not overlap.
STEP = 0.04


def draw(result: LabeledResult, theme: Theme) -> Figure:
    """Draw accuracy by version with its interval; hollow: on the last review's images only."""
    submissions, versions = rows.submissions(result), rows.versions(result)
    figure, axes = canvas(theme, 7.0, 3.8)
    places = range(len(versions))
    for at, (row, (_, colour, mark)) in enumerate(
        zip(submissions, styles([row.name for row in submissions], theme), strict=True)
    ):
        shift = STEP * (at - (len(submissions) - 1) / 2) if len(submissions) * STEP < 0.5 else 0
        cells = [score.cell for score in row.by_version]
        there = [(x + shift, cell) for x, cell in zip(places, cells, strict=True)]
        known = [(x, cell.value) for x, cell in there if cell.value is not None]
        xs, ys = [x for x, _ in known], [value for _, value in known]
        axes.plot(xs, ys, f"{mark}-", color=colour, lw=1.4, ms=5.5, label=short(row.name))
        if row.estimated and row.estimated.cell.value is not None:
            there.append((len(versions) + shift, row.estimated.cell))
            axes.plot(
                [len(versions) + shift],
                [row.estimated.cell.value],
                mark,
                color=colour,
                ms=5.5,
                mfc="none",
            )
        for x, cell in there:
            if cell.low is not None and cell.high is not None:
                axes.plot([x, x], [cell.low, cell.high], color=colour, lw=1.1)
    labels = [f"version {version.version}\n{version.images:,} images" for version in versions]
    axes.set_xticks(range(len(versions) + 1), [*labels, "estimated by\nreviewed images"])
    axes.set_xlim(-0.5, len(versions) + 0.5)
    axes.set_ylabel("multi-label accuracy (more is better)")
    return finished(figure, axes, theme, "y", len(submissions))


def words(result: LabeledResult) -> str:
    parts = []
    versions = rows.versions(result)
    for row in rows.submissions(result):
        values = [
            f"{score.cell.value:.3f} by version {version.version}"
            for score, version in zip(row.by_version, versions, strict=True)
            if score.cell.value is not None
        ]
        parts.append(f"{row.name} {', '.join(values)}")
    return f"Multi-label accuracy: {'; '.join(parts)}."
