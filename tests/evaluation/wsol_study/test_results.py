import dataclasses
import math

import pytest

from evaluation.wsol_study.results import Center, Study, StudyFolder, StudySettings, Trial
from labeling.files import BadInput


def a_trial(**values) -> Trial:
    columns = {field.name: None for field in dataclasses.fields(Trial) if field.name != "unknown"}
    known = {
        "method": "cam",
        "backbone": "small",
        "trial": 0,
        "hyperparameters": {"learning_rate": 0.01},
        "converged": True,
        "epoch": 2,
        "epochs": 2,
        "chosen": False,
        "analysis": False,
    }
    return Trial(**(columns | known | values))


def test_records_are_read_as_they_were_written(tmp_path):
    folder = StudyFolder(tmp_path)
    trials = [a_trial(), a_trial(trial=1, fullsup=0.5, boxes_at={"0.2": 0.25})]

    folder.write("trials.jsonl", trials)
    folder.write("center.json", Center(fullsup=0.4, test=None, fullsup_max=0.4, test_max=None))

    assert folder.trials() == trials
    assert folder.center().fullsup == 0.4
    assert folder.choice() is None
    assert folder.finals() == []


def test_the_keys_of_a_trial_begin_as_the_format_says():
    keys = list(a_trial().to_json())

    assert keys[:7] == [
        "method",
        "backbone",
        "trial",
        "hyperparameters",
        "converged",
        "fullsup",
        "test",
    ]


def test_columns_are_padded_and_read_back(tmp_path):
    folder = StudyFolder(tmp_path)

    folder.write_columns("curves/a.csv", {"threshold": [0.0, 1.0], "box_acc": [0.25]})
    columns = folder.columns("curves/a.csv")

    assert columns["threshold"] == [0.0, 1.0]
    assert columns["box_acc"][0] == 0.25
    assert math.isnan(columns["box_acc"][1])
    assert folder.columns("curves/b.csv") == {}


def test_a_broken_line_is_refused_by_number(tmp_path):
    folder = StudyFolder(tmp_path)
    folder.write("trials.jsonl", [a_trial()])
    with open(tmp_path / "trials.jsonl", "a") as file:
        file.write('{"method": "cam"}\n')

    with pytest.raises(BadInput, match="is not a Trial record") as refusal:
        folder.trials()

    assert refusal.value.line == 2


def test_a_folder_without_a_study_is_refused(tmp_path):
    with pytest.raises(BadInput, match="give the --out folder"):
        StudyFolder(tmp_path).study()


def a_study(**values) -> Study:
    columns = dict.fromkeys(StudySettings.__annotations__)
    settings = StudySettings(**(columns | values))
    return Study(settings=settings, device="cpu", deterministic=False, threads=1, versions={})


def test_another_study_removes_what_was_made_but_not_the_passes(tmp_path):
    folder = StudyFolder(tmp_path)
    made = ("finals.jsonl", "curves/cam-small-0.csv", "test_passes.jsonl")
    folder.begin(a_study(seed=0))
    for name in made:
        folder.write_text(name, "")

    folder.begin(a_study(seed=0))
    same = [(tmp_path / name).exists() for name in made]
    folder.begin(a_study(seed=1))
    changed = [(tmp_path / name).exists() for name in made]

    assert same == [True, True, True]
    assert changed == [False, False, True]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\n"])
def test_a_damaged_study_is_refused(tmp_path, content):
    (tmp_path / "study.json").write_bytes(content)

    with pytest.raises(BadInput):
        StudyFolder(tmp_path).study()
