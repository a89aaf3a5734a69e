"""A training of the study on the images of `--preset small`."""

from pathlib import Path

from evaluation.scoring.wsol.splits import WEAK
from evaluation.wsol_study.running import made_data
from evaluation.wsol_study.running.parts import StudyData, Subset
from evaluation.wsol_study.running.training import Training, TrialPlan

BATCH = 32
VALUES = {"learning_rate": 0.01, "resolution": 14}
SETTINGS = {"seed": 0, "epochs": 0, "batch": BATCH, "decay_every": 100, "best": False}


def made_training(folder: Path, backbone: str, device: str) -> Training:
    made_data.write(folder)
    classes = [f"class{number}" for number in range(made_data.CLASSES)]
    paths = {"images": str(folder / "images"), "metadata": str(folder / "metadata")}
    part = StudyData(**paths, masks=None, classes=classes).part(WEAK)
    model = {"method": "cam", "backbone": backbone, "trial": 0, "hyperparameters": VALUES}
    scoring = {"protocol": "paper", "targets": "boxes", "validation": None}
    plan = TrialPlan(**model, **SETTINGS, **scoring, training=Subset(part=WEAK))
    return Training(plan, {WEAK: part}, device, None)
