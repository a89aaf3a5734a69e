import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from evaluation.scoring.wsol.splits import FULL, WEAK
from evaluation.wsol_study.running.parts import Subset
from evaluation.wsol_study.running.training import Training, TrialPlan
from evaluation.wsol_study.running.trials import computing
from labeling.json_text import canonical

ROOT = Path(__file__).resolve().parents[4]
# Trains, and kills itself when the n-th checkpoint is complete.
KILLED = """
import os, signal, sys
from pathlib import Path
from evaluation.wsol_study.running.parts import StudyData
from evaluation.wsol_study.running.training import Training, TrialPlan
from evaluation.wsol_study.running.trials import computing
from labeling.json_text import parse_json
plan, data, checkpoint, saves = sys.argv[1:]
data = StudyData.from_json(parse_json(data))
parts = {name: data.part(name) for name in ("train-weaksup", "train-fullsup")}
class Killed(Training):
    left = int(saves)
    def save(self, path):
        super().save(path)
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
with computing(1, False):
    Killed(TrialPlan.from_json(parse_json(plan)), parts, "cpu", None).run(Path(checkpoint), 0)
"""


def plan(**values) -> TrialPlan:
    known = {
        "method": "has",
        "backbone": "small",
        "trial": 0,
        "hyperparameters": {
            "learning_rate": 0.01,
            "resolution": 14,
            "drop_rate": 0.3,
            "drop_area": 0.2,
        },
        "seed": 0,
        "epochs": 3,
        "batch": 16,
        "decay_every": 2,
        "best": False,
        "protocol": "paper",
        "targets": "boxes",
        "training": Subset(part=WEAK),
        "validation": Subset(part=FULL),
    }
    return TrialPlan(**(known | values))


@pytest.fixture
def parts(data):
    return {name: data.part(name) for name in (WEAK, FULL)}


def trained(goal, parts, **values) -> Training:
    with computing(1, False):
        training = Training(goal, parts, "cpu", None)
        training.run(**values)
    return training


def bytes_of(training: Training) -> list[bytes]:
    return [value.numpy().tobytes() for value in training.model.state_dict().values()]


@pytest.mark.ci
def test_a_training_killed_at_several_steps_gives_the_same_bytes(data, parts, tmp_path):
    goal, checkpoint = plan(), tmp_path / "checkpoint.pt"

    for saves in (1, 3):
        words = [canonical(each.to_json()).decode() for each in (goal, data)]
        command = [sys.executable, "-c", KILLED, *words, str(checkpoint), str(saves)]
        killed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        assert killed.returncode == -9, killed.stderr.decode()
    resumed = Training(goal, parts, "cpu", None)
    resumed.restore(checkpoint)
    # A save after each of two steps, and one at the end of each epoch.
    assert (resumed.progress.epoch, resumed.progress.step) == (1, 1)
    resumed = trained(goal, parts, checkpoint=checkpoint)

    whole = trained(goal, parts)
    assert bytes_of(resumed) == bytes_of(whole)
    assert resumed.progress.losses == whole.progress.losses
    assert bytes_of(trained(plan(trial=1), parts)) != bytes_of(whole)


def test_the_classifier_learns_ten_times_as_fast_and_rates_decay(parts):
    training = trained(plan(method="cam"), parts)

    rates = [group["lr"] for group in training.optimizer.param_groups]

    # The last of three epochs is after the first decay.
    assert np.allclose(rates, [0.001, 0.01])


def test_a_loss_that_is_no_number_ends_the_training(parts):
    goal = plan(method="cam", hyperparameters={"learning_rate": 1e30, "resolution": 14})

    training = trained(goal, parts)

    assert training.has_failed
    assert len(training.progress.losses) < goal.epochs


def test_the_best_checkpoint_is_kept_with_the_convention_reference(parts):
    training = trained(plan(best=True), parts)

    scores = training.progress.fullsup
    assert training.progress.best_epoch == 1 + scores.index(max(scores))
    assert training.scores()[0].value == max(scores)


def test_fsl_learns_from_masks_of_fullsup(parts):
    goal = plan(
        method="fsl",
        training=Subset(part=FULL, fold="search"),
        validation=Subset(part=FULL, fold="validation"),
        epochs=8,
    )

    training = trained(goal, parts)

    assert training.progress.losses[-1] < training.progress.losses[0]


def test_threads_and_determinism_are_set_back():
    before = torch.get_num_threads()

    with computing(1, True):
        assert torch.are_deterministic_algorithms_enabled()

    assert torch.get_num_threads() == before
    assert not torch.are_deterministic_algorithms_enabled()
