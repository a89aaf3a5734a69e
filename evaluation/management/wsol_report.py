"""`wsol-study report`."""

from dataclasses import dataclass
from pathlib import Path

from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from evaluation.wsol_study.report import making
from evaluation.wsol_study.report.content import StudyContent
from evaluation.wsol_study.report.making import ReportResult
from evaluation.wsol_study.results import StudyFolder
from labeling.management.contract import ContractCommand, verb
from labeling.management.options import argument

REPORT_FILE = "report.html"
STYLE = Path(making.__file__).parent / "report.css"


@dataclass(kw_only=True)
class StudyReportOptions:
    folder: Path = argument("the --out folder of wsol-study run", metavar="DIR")


def _as_text(result: ReportResult) -> str:
    lines = [
        f"{finding.claim} ({finding.backbone}): {finding.verdict}" for finding in result.findings
    ]
    passes = f"{result.test_passes} {'pass' if result.test_passes == 1 else 'passes'} over test"
    return "\n".join([f"wrote {result.page}, tables/ and figures/; {passes}", *lines])


@verb("tables, figures and findings of a study", "report", show=_as_text)
def report(command: ContractCommand, options: StudyReportOptions) -> ReportResult:
    """Write report.html, tables/*.csv and figures/*.svg into the folder of a study."""
    page = options.folder / REPORT_FILE
    study = StudyFolder(options.folder)
    made = making.make(StudyContent(study), page)
    # Inline style: the page is opened as a local file.
    style = mark_safe(f"<style>{STYLE.read_text()}</style>")  # noqa: S308 - a file of this package
    text = render_to_string("evaluation/wsol_study.html", {"report": made, "style": style})
    study.write_text(REPORT_FILE, text)
    return made.result
