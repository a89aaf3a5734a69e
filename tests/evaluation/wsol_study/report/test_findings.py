"""Findings of a study, with intervals and verdicts."""

import pytest

from evaluation.wsol_study.report.content import StudyContent
from evaluation.wsol_study.report.findings import PaperFinding, findings
from evaluation.wsol_study.results import FewShot
from tests.evaluation.wsol_study.report import made_study
from tests.evaluation.wsol_study.report.made_study import trial


def findings_of(study) -> list[PaperFinding]:
    return findings(StudyContent(study))


def test_four_findings_of_a_study_with_their_numbers(tmp_path):
    center, has, acol, tau, few_shot = findings_of(made_study.write_whole(tmp_path))

    assert center.value == pytest.approx(0.21)
    assert center.verdict == "reproduced"
    assert has.value == pytest.approx(-0.06)
    assert has.verdict.startswith("not reproduced")
    assert acol.value == pytest.approx(-0.01)
    assert tau.value == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert tau.verdict == "reproduced; the interval includes 0.7"
    # At one image per class fsl is .1 below CAM, at three .1 above.
    assert few_shot.value == pytest.approx(0.1)
    assert few_shot.measure == "FSL minus CAM at 3 per class"
    assert few_shot.n == "3 samples of train-fullsup"


def test_a_study_of_nothing_measures_nothing(tmp_path):
    made = findings_of(made_study.write(tmp_path, [], []))

    assert [finding.verdict for finding in made] == ["not measured"] * 5
    assert [finding.value for finding in made] == [None] * 5


def test_fsl_that_never_exceeds_cam_is_compared_at_the_most_images(tmp_path):
    study = made_study.write(tmp_path, [trial("cam", 0, 0.3, 0.4)], [])
    scores = [
        ("cam", 1, 0.5),
        ("fsl", 1, 0.3),
        ("cam", 10, 0.5),
        ("fsl", 10, 0.4),
        ("fsl", 20, 0.9),
    ]
    study.write(
        "few_shot.jsonl",
        [
            FewShot(
                method=method,
                backbone="small",
                per_class=count,
                sample=0,
                trial=0,
                fullsup=None,
                test=score,
            )
            for method, count, score in scores
        ],
    )

    *_, few_shot = findings_of(study)

    assert few_shot.measure == "FSL minus CAM at 10 per class"
    assert few_shot.value == pytest.approx(-0.1)
    assert few_shot.verdict == "not reproduced; no interval"
