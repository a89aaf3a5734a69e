"""The report of a WSOL study, opened as a file."""

import pytest

from evaluation.management.wsol_report import StudyReportOptions, report
from tests.evaluation.wsol_study.report import made_study

pytestmark = pytest.mark.browser


def test_report_of_a_study_looks_right(contexts, tmp_path, looked_at, axe):
    made_study.write_whole(tmp_path)
    report(None, StudyReportOptions(folder=tmp_path))
    page = contexts().new_page()

    page.goto((tmp_path / "report.html").as_uri())
    looked_at(page, "wsol-report")

    page.set_viewport_size({"width": 1920, "height": 1080})
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1920
    loaded = page.evaluate(
        "[...document.images].map((image) => image.complete && image.naturalWidth)"
    )
    assert len(loaded) == 8
    assert all(loaded)
