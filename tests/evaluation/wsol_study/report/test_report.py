"""The report of a study: page, tables and figures as files."""

import base64
import csv
import re
import xml.etree.ElementTree as ElementTree

import pytest

from evaluation.management.wsol_report import StudyReportOptions, report
from evaluation.wsol_study.report.content import StudyContent
from evaluation.wsol_study.report.figures import figures
from evaluation.wsol_study.report.making import ReportResult
from evaluation.wsol_study.report.pictures import pictures
from labeling.files import BadInput
from tests.evaluation.wsol_study.report import made_study
from tests.evaluation.wsol_study.report.made_study import MASK_COLUMNS, trial

KEYS = [f"figure{number}" for number in ("08", "09", "10", "12", "17", "18", "19", "20")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study with everything, its report and its page."""
    folder = tmp_path_factory.mktemp("study")
    made_study.write_whole(folder)
    result = report(None, StudyReportOptions(folder=folder))
    return folder, result, (folder / "report.html").read_text()


def test_every_table_and_figure_is_a_file(whole):
    folder, result, _ = whole

    assert result.figures == KEYS
    assert result.left_out == {}
    for key in KEYS:
        ElementTree.parse(folder / "figures" / f"{key}.svg")
        with open(folder / "tables" / f"{key}.csv", newline="") as file:
            head, *rows = csv.reader(file)
        assert rows
        assert {len(row) for row in rows} == {len(head)}
    names = {path.name for path in (folder / "tables").glob("table_*.csv")}
    assert names == {f"table_{key}.csv" for key in ("iii", "v", "vi", "vii", "viii", "ix")}


def test_the_page_holds_all_it_needs(whole):
    _, result, page = whole

    assert not re.search(r"<script|https?://(?!www\.w3\.org)|@import|url\(", page)
    pictures = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)
    assert len(pictures) == 2 * len(KEYS)
    for picture in pictures:
        ElementTree.fromstring(base64.b64decode(picture))
    assert len(re.findall(r'alt="[^"]{30,}"', page)) == len(KEYS)
    assert "small: from scratch" in page
    assert "2 of 16 trials did not converge" in " ".join(page.split())
    assert page.count("Uncertainty: not validated") == len(KEYS)
    for finding in result.findings:
        assert finding.verdict in page
    assert "not built" in page


def test_the_result_is_a_record_that_json_gives_back(whole):
    _, result, _ = whole

    assert ReportResult.from_json(result.to_json()) == result


def test_passes_over_test_are_counted_and_a_second_is_warned_of(tmp_path):
    study = made_study.write_whole(tmp_path)
    passes = [made_study.scored_pass(number) for number in (1, 2)]
    study.write("test_passes.jsonl", passes)

    result = report(None, StudyReportOptions(folder=tmp_path))

    assert result.test_passes == 2
    assert "2 passes over test were made" in " ".join(
        (tmp_path / "report.html").read_text().split()
    )


def test_figures_without_data_are_left_out_with_a_sentence(tmp_path):
    made_study.write(tmp_path, [], [])

    result = report(None, StudyReportOptions(folder=tmp_path))

    page = (tmp_path / "report.html").read_text()
    assert result.figures == []
    assert len(result.left_out) == len(KEYS)
    for sentence in result.left_out.values():
        assert sentence in page
    assert not (tmp_path / "figures").exists()


def test_a_folder_that_is_no_study_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"study\.json"):
        report(None, StudyReportOptions(folder=tmp_path))


def test_masks_have_precision_by_recall_and_no_boxes(tmp_path):
    cam = trial("cam", 0, 0.3, 0.4, threshold_test=None)
    study = made_study.write(tmp_path, [cam], [cam], metric="mpxap")
    column = [0.0, 0.5, 1.0]
    values = [column, [0.4, 0.6, 1.0], [1.0, 0.5, 0.1], column, [5.0, 3.0, 1.0], [9.0, 2.0, 0.0]]
    study.write_columns("by_threshold/cam-small.csv", dict(zip(MASK_COLUMNS, values, strict=True)))
    made_study.write_samples(tmp_path)
    (tmp_path / "samples" / "boxes.csv").unlink()

    content = StudyContent(study)
    by_key = {figure.key: figure for figure in [*figures(content), *pictures(content)]}

    assert by_key["figure08"].rows == []
    curve = by_key["figure09"]
    assert curve.title.endswith("PxPrec by PxRec")
    assert [(row[2], row[4]) for row in curve.rows] == [(1.0, 0.4), (0.5, 0.6), (0.1, 1.0)]
    pixels = by_key["figure10"].rows
    assert sum(row[-1] for row in pixels) == pytest.approx(1, abs=1e-3)


def test_boxes_at_a_fixed_threshold_and_at_the_best(tmp_path):
    content = StudyContent(made_study.write_whole(tmp_path))

    [boxes] = [figure for figure in pictures(content) if figure.key == "figure08"]

    row = next(row for row in boxes.rows if row[:2] == ["bird0", "CAM"])
    assert row[3] == 0.4
    assert 0.5 < row[2] <= 1
    assert 0.5 < row[4] <= 1


def test_the_few_shot_curve_begins_with_random_hyperparameters_and_the_center(tmp_path):
    content = StudyContent(made_study.write_whole(tmp_path))

    [curve] = [figure for figure in figures(content) if figure.key == "figure19"]

    points = {(row[1], row[2]): row[3:] for row in curve.rows}
    assert points["CAM", 0] == [pytest.approx(5.774, abs=1e-3), pytest.approx(41.0)]
    assert points["FSL", 0] == [None, 30.0]
    # Three samples, a hundredth apart.
    assert points["FSL", 3] == [pytest.approx(0.577, abs=1e-3), pytest.approx(61.0)]


def test_all_trials_are_counted_with_those_that_did_not_converge(tmp_path):
    content = StudyContent(made_study.write_whole(tmp_path))

    [every] = [figure for figure in figures(content) if figure.key == "figure17"]

    assert every.rows[0] == ["small", "CAM", 4, 1, 0.31, 0.41, 0.51]
    assert every.rows[1] == ["small", "HaS", 4, 0, 0.3, 0.375, 0.45]


def test_a_study_that_was_stopped_before_its_pass_over_test_has_a_report(tmp_path):
    before = [trial("has", at, at / 10, None, accuracy=None, area=None) for at in range(3)]
    study = made_study.write(tmp_path, before, [])
    study.write("test_passes.jsonl", [])
    (tmp_path / "center.json").unlink()

    result = report(None, StudyReportOptions(folder=tmp_path))

    assert result.figures == ["figure17"]
    assert "Test was not scored yet" in (tmp_path / "report.html").read_text()
