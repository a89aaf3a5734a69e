"""Writes a report's `tables/*.csv` and `figures/*.svg`; returns the content of its page."""

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
from labeling.records import Record


@dataclass(kw_only=True)
class ReportResult(Record):
    """What `wsol-study report` prints. left_out: figure → why it has no data."""

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
    """The content of a report's page."""

    content: StudyContent
    result: ReportResult
    drawn: list[PageFigure]


def make(content: StudyContent, page: Path) -> Report:
    """Write the CSV and SVG files of a report, and return the content of its page."""
    folder, drawn = content.folder, []
    all_figures = sorted([*figures(content), *pictures(content)], key=lambda figure: figure.key)
    made = tables(content)
    for table in made:
        folder.write_rows(f"tables/{table.file}", _safe(table.content()))
    for figure in all_figures:
        if figure.rows:
            folder.write_rows(f"tables/{figure.key}.csv", _safe([figure.head, *figure.rows]))
            light, dark = (as_file(figure.draw(theme), "svg") for theme in THEMES.values())
            folder.write_text(f"figures/{figure.key}.svg", light.decode())
            drawn.append(PageFigure(figure, b64encode(light).decode(), b64encode(dark).decode()))
    result = ReportResult(
        page=str(page),
        test_passes=content.passes,
        not_converged=sum(not trial.converged for trial in content.trials),
        findings=findings(content),
        tables=made,
        figures=[each.figure.key for each in drawn],
        left_out={figure.title: figure.missing for figure in all_figures if not figure.rows},
    )
    return Report(content, result, drawn)


def _safe(rows: Iterable[Sequence[object]]) -> list[list[object]]:
    return [[safe_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
