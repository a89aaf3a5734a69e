"""The protocol on a tiny study: two trials of one epoch on a few drawn images."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.engines.store import Store
from evaluation.scoring.wsol.splits import FULL, TEST
from evaluation.wsol_study.results import StudyFolder
from evaluation.wsol_study.running import attributions, protocol
from evaluation.wsol_study.running.config import StudyConfig
from evaluation.wsol_study.running.protocol import StudyRun
from labeling.csv_rows import rows
from labeling.json_text import canonical_sha256
from tests.evaluation.wsol_study.running.conftest import data_of

TINY = StudyConfig(
    images=Path(),
    methods=["cam", "fsl"],
    backbones=["small"],
    trials=2,
    epochs=1,
    fsl_epochs=2,
    threads=1,
    few_shot=[1],
    few_shot_samples=2,
    few_shot_trials=2,
    samples=3,
)


def run(config, data, out) -> StudyFolder:
    store, folder = Store.at(str(out / "work")), StudyFolder(out)

    def make(tasks, purpose):
        for each in tasks:
            each.make(store)
            yield store.get(each.key)

    StudyRun(config, data, folder, store, make, "cpu").run()
    return folder


@pytest.fixture(scope="module")
def whole(drawn, tmp_path_factory):
    """The folder of a complete tiny study."""
    return run(TINY, data_of(drawn), tmp_path_factory.mktemp("whole"))


def test_a_study_writes_every_file_of_its_folder(whole):
    trials, finals = whole.trials(), {final.method: final for final in whole.finals()}

    assert [(trial.method, trial.trial) for trial in trials] == [
        ("cam", 0),
        ("cam", 1),
        ("fsl", 0),
        ("fsl", 1),
    ]
    assert all(trial.test is not None and trial.fullsup is not None for trial in trials)
    assert [trial.chosen for trial in trials].count(True) == 2
    assert all(trial.analysis is not trial.chosen for trial in trials)
    assert finals["cam"].test == next(trial.test for trial in trials if trial.chosen)
    assert finals["fsl"].fullsup is None
    assert finals["cam"].accuracy is not None
    assert 0 <= finals["cam"].top1 <= finals["cam"].accuracy
    assert finals["cam"].boxes_at.keys() == {"0.15", "0.2"}
    assert whole.center().test > 0
    assert {(row.method, row.per_class, row.sample) for row in whole.few_shot()} == {
        (method, 1, sample) for method in ("cam", "fsl") for sample in (0, 1)
    }
    assert whole.columns("curves/cam-small-0.csv").keys() == {"epoch", "loss", "fullsup"}
    curve = whole.columns("by_threshold/cam-small.csv")
    assert max(curve["box_acc_v2_0.5"][:-1]) == pytest.approx(
        curve["box_acc_v2_0.5"][round(1000 * finals["cam"].threshold_test)]
    )
    maps = sorted((whole.path / "samples" / "cam-small").rglob("*.npy"))
    assert len(maps) == 3
    assert np.load(maps[0]).ndim == 2
    assert len(list((whole.path / "samples" / "images").rglob("*.png"))) == 3
    assert (whole.path / "samples" / "boxes.csv").read_text().startswith("id,x0,y0,x1,y1\ntest/")


def test_the_choice_is_the_best_on_fullsup_and_hashed(whole):
    choice, trials = whole.choice(), whole.trials()

    best = max((t for t in trials if t.method == "cam"), key=lambda t: (t.fullsup, -t.trial))
    assert choice.chosen["cam-small"] == best.trial
    assert choice.chosen.keys() == {
        "cam-small",
        "fsl-small",
        *(f"{method}-small/1/{sample}" for method in ("cam", "fsl") for sample in (0, 1)),
    }


def test_the_choice_is_written_before_anything_of_test_is_read(drawn, tmp_path):
    # Without the truth and the images of test, whatever reads them fails.
    shutil.copytree(drawn, tmp_path / "drawn")
    (tmp_path / "drawn" / "metadata" / TEST / "localization.txt").unlink()
    for image in (tmp_path / "drawn" / "images" / TEST).iterdir():
        image.write_bytes(b"")
    out = tmp_path / "out"

    with pytest.raises(FileNotFoundError):
        run(replace(TINY, methods=["cam"], few_shot=[]), data_of(tmp_path / "drawn"), out)

    choice, trials = StudyFolder(out).choice(), StudyFolder(out).trials()
    before = [trial.to_json() for trial in trials]
    assert choice.sha256 == canonical_sha256([before, choice.chosen])
    assert all(trial.test is None for trial in trials)
    assert StudyFolder(out).passes() == []


def test_a_further_pass_over_test_is_counted_and_the_same_is_not(whole, data):
    def numbers():
        return [each.number for each in whole.passes()]

    assert numbers() == [1]
    run(TINY, data, whole.path)
    assert numbers() == [1]
    run(replace(TINY, trials=3), data, whole.path)
    assert numbers() == [1, 2]


def test_a_trial_whose_loss_is_no_number_is_not_chosen(data, tmp_path, monkeypatch):
    rates = iter([1e30, 0.01])
    monkeypatch.setattr(
        protocol, "draw", lambda *_: {"learning_rate": next(rates), "resolution": 14}
    )
    config = replace(TINY, methods=["cam"], few_shot=[], epochs=2)

    folder = run(config, data, tmp_path)

    failed, good = folder.trials()
    assert (failed.converged, failed.fullsup, failed.test, failed.loss) == (False, *[None] * 3)
    assert good.converged
    assert folder.choice().chosen == {"cam-small": 1}


def test_after_a_search_on_a_proxy_the_chosen_is_trained_on_all(data, tmp_path):
    config = replace(TINY, methods=["cam"], few_shot=[], proxy=0.5)

    folder = run(config, data, tmp_path)

    assert folder.study().settings.proxy == 0.5
    [final] = folder.finals()
    chosen = next(trial for trial in folder.trials() if trial.chosen)
    assert final.hyperparameters == chosen.hyperparameters
    assert final.loss != chosen.loss
    assert final.fullsup is not None


def test_all_maps_are_kept_where_the_configuration_asks(data, tmp_path):
    config = replace(TINY, methods=["cam"], few_shot=[], keep_maps=True, samples=0)

    folder = run(config, data, tmp_path)

    assert len(list((folder.path / "maps" / "cam-small").rglob("*.npy"))) == 16


def test_gradients_of_the_chosen_cam_fill_table_ix_and_figure_20(data, tmp_path, monkeypatch):
    for name, value in (("SAMPLES", 2), ("GRID_SAMPLES", (2,)), ("GRID_SMOOTH", (31.0, 127.0))):
        monkeypatch.setattr(attributions, name, value)
    config = replace(TINY, methods=["cam"], few_shot=[], attribution=True)

    rows = run(config, data, tmp_path).attribution()

    assert [row.method for row in rows if row.part == TEST] == list(attributions.METHODS)
    grid = [row for row in rows if row.part == FULL]
    assert len(grid) == 4 * 2
    assert {row.method for row in grid} == {"sg-vb", "sg-gb", "ig-vb", "ig-gb"}
    assert all(0 <= row.value <= 1 for row in rows)
    assert len({row.value for row in rows}) > 1


def test_boxes_of_an_id_with_commas_are_read_back(drawn, tmp_path):
    shutil.copytree(drawn, tmp_path / "drawn")
    name = 'test/a,"b.png'
    (tmp_path / "drawn" / "images" / TEST / "0000.png").rename(tmp_path / "drawn" / "images" / name)
    for file in (tmp_path / "drawn" / "metadata" / TEST).iterdir():
        file.write_text(file.read_text().replace(f"{TEST}/0000.png", name))
    config = replace(TINY, methods=["cam"], trials=1, few_shot=[], samples=16)

    run(config, data_of(tmp_path / "drawn"), tmp_path / "out")

    path = tmp_path / "out" / "samples" / "boxes.csv"
    assert name in {cells[0] for _, cells in rows(path, ("id", "x0", "y0", "x1", "y1"))}
