"""Writes a report beside its study: `tables/*.csv`, `figures/*.svg`, and what its page shows."""

import csv
import io
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.figures import THEMES, as_file
from evaluation.wsol_study.report.content import StudyContent
from evaluation.wsol_study.report.figures import StudyFigure, figures
from evaluation.wsol_study.report.findings import PaperFinding, findings
from evaluation.wsol_study.report.pictures import pictures
from evaluation.wsol_study.report.tables import PaperTable, tables
from labeling.csv_rows import safe_cell
from labeling.files import atomic_write
from labeling.records import Record


@dataclass(kw_only=True)
class ReportResult(Record):
    """What `wsol-study report` prints. left_out: figure → why there are no data for it."""

    page: str
    test_passes: int
    not_converged: int
    findings: list[PaperFinding]
    tables: list[PaperTable]
    figures: list[str]
    left_out: dict[str, str]


@dataclass(frozen=True)
class PageFigure:
    """A drawn figure; light and dark: SVG in base64."""

    figure: StudyFigure
    light: str
    dark: str


@dataclass(frozen=True)
class Report:
    """Everything on the page of a report."""

    content: StudyContent
    result: ReportResult
    drawn: list[PageFigure]


def make(content: StudyContent, page: Path) -> Report:
    """Write the CSV and SVG files of the report, and return the values of its page."""
    folder, drawn = content.folder.path, []
    every = sorted([*figures(content), *pictures(content)], key=lambda figure: figure.key)
    made = tables(content)
    for table in made:
        _write(folder / "tables" / table.file, _csv(table.content()))
    for figure in every:
        if figure.rows:
            _write(folder / "tables" / f"{figure.key}.csv", _csv([figure.head, *figure.rows]))
            light, dark = (as_file(figure.draw(theme), "svg") for theme in THEMES.values())
            _write(folder / "figures" / f"{figure.key}.svg", light.decode())
            drawn.append(PageFigure(figure, b64encode(light).decode(), b64encode(dark).decode()))
    result = ReportResult(
        page=str(page),
        test_passes=content.passes,
        not_converged=sum(not trial.converged for trial in content.trials),
        findings=findings(content),
        tables=made,
        figures=[each.figure.key for each in drawn],
        left_out={figure.title: figure.missing for figure in every if not figure.rows},
    )
    return Report(content, result, drawn)


def _csv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    cells = ([safe_cell(c) if isinstance(c, str) else c for c in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text)
