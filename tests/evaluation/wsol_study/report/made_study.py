"""A study folder of made numbers, as `wsol-study run` writes it."""

from pathlib import Path

import numpy as np
from PIL import Image

from evaluation.wsol_study.results import (
    Attribution,
    Center,
    FewShot,
    Study,
    StudyFolder,
    StudySettings,
    TestPass,
    Trial,
)

BOX_COLUMNS = (
    "threshold",
    "box_acc",
    "box_acc_v2_0.3",
    "box_acc_v2_0.5",
    "box_acc_v2_0.7",
    "inside",
    "outside",
)
MASK_COLUMNS = ("threshold", "px_prec", "px_rec", "px_acc", "inside", "outside")
ATTRIBUTIONS = ("vb", "gb", "sg-vb", "sg-gb", "ig-vb", "ig-gb")


def settings(**changes) -> StudySettings:
    values = {
        "name": "made",
        "dataset": "made birds",
        "convention": "paper",
        "metric": "maxboxaccv2",
        "protocol": "paper",
        "backbones": ["small"],
        "methods": ["cam", "has", "acol", "fsl"],
        "trials": 4,
        "epochs": 2,
        "batch": 8,
        "seed": 0,
        "proxy": 1.0,
        "weights": {"small": "from scratch"},
        "targets": "boxes",
        "few_shot": [1, 3],
        "few_shot_samples": 3,
        "classes": ["finch", "owl"],
        "images": {"train-weaksup": 40, "train-fullsup": 10, "test": 600},
    }
    return StudySettings.from_json(values | changes)


def trial(method: str, number: int, fullsup: float | None, test: float | None, **changes) -> Trial:
    values = {
        "method": method,
        "backbone": "small",
        "trial": number,
        "hyperparameters": {
            "learning_rate": 0.01 * (number + 1),
            "resolution": 14,
            "drop_rate": 0.2 * number,
            "drop_area": 0.1,
            "erasing_threshold": 0.3,
        },
        "converged": fullsup is not None,
        "fullsup": fullsup,
        "test": test,
        "fullsup_max": fullsup,
        "test_max": test,
        "accuracy": None if method == "fsl" else 0.5,
        "area": test,
        "threshold_fullsup": 0.3,
        "threshold_test": 0.4,
        "boxes_at": {"0.2": 0.4},
        "loss": 1.0,
        "epoch": 2,
        "epochs": 2,
        "chosen": False,
        "analysis": True,
        "top1": None if test is None else 0.25,
    }
    return Trial.from_json(values | changes)


def scored_pass(number: int) -> TestPass:
    """The record of a pass over test."""
    values = {"number": number, "choice": "0" * 64, "truth": "1" * 64, "images": 600}
    return TestPass.from_json(values)


def write(folder: Path, trials: list[Trial], finals: list[Trial], **changes) -> StudyFolder:
    """Write the settings, trials, finals and one pass over test."""
    study = StudyFolder(folder)
    made = settings(**changes)
    versions = {"torch": "2.8"}
    study.write(
        "study.json",
        Study(settings=made, device="cpu", deterministic=False, threads=2, versions=versions),
    )
    study.write("trials.jsonl", trials)
    study.write("finals.jsonl", finals)
    study.write("test_passes.jsonl", [scored_pass(1)])
    study.write("center.json", Center(fullsup=0.3, test=0.3, fullsup_max=0.3, test_max=0.3))
    return study


def write_whole(folder: Path) -> StudyFolder:
    """Write a small study in which every figure has data."""
    trials = [
        *(trial("cam", at, 0.3 + at / 10, 0.31 + at / 10) for at in range(3)),
        trial("cam", 3, None, None),
        *(trial("has", at, 0.4 - at / 20, 0.45 - at / 20) for at in range(4)),
        *(trial("acol", at, (0.3, 0.5, 0.4)[at], (0.2, 0.5, 0.6)[at]) for at in range(3)),
        trial("acol", 3, None, None),
        *(trial("fsl", at, 0.6, 0.62) for at in range(4)),
    ]
    finals = [trials[2], trials[4], trials[9], trial("fsl", 0, 0.6, 0.7)]
    study = write(folder, trials, finals)
    taus = [at / 20 for at in range(21)]
    for method, top in (("cam", 0.5), ("has", 0.45), ("acol", 0.4), ("fsl", 0.7)):
        accuracy = [max(0.0, top - abs(tau - 0.4)) for tau in taus[:-1]] + [float("nan")]
        pixels = [100.0 * (21 - at) for at in range(21)]
        columns = [taus, accuracy, accuracy, accuracy, accuracy, pixels, pixels]
        study.write_columns(
            f"by_threshold/{method}-small.csv", dict(zip(BOX_COLUMNS, columns, strict=True))
        )
    study.write(
        "few_shot.jsonl",
        [
            FewShot(
                method=method,
                backbone="small",
                per_class=count,
                sample=sample,
                trial=0,
                fullsup=None,
                test=score + sample / 100,
            )
            for method, count, score in [
                ("cam", 1, 0.5),
                ("cam", 3, 0.5),
                ("fsl", 1, 0.4),
                ("fsl", 3, 0.6),
            ]
            for sample in range(3)
        ],
    )
    study.write(
        "attribution.jsonl",
        [
            Attribution(
                method=method,
                backbone="small",
                part=part,
                samples=n,
                smooth=width,
                value=0.4 + n / 500,
            )
            for part, sizes in (("test", [(50, 127.0)]), ("train-fullsup", [(1, 7.0), (50, 127.0)]))
            for method in (ATTRIBUTIONS if part == "test" else ATTRIBUTIONS[2:6])
            for n, width in sizes
        ],
    )
    write_samples(folder)
    return study


def write_samples(folder: Path) -> None:
    samples = folder / "samples"
    (samples / "images").mkdir(parents=True)
    rows = ["id,x0,y0,x1,y1"]
    for at in range(2):
        pixels = np.full((56, 56, 3), 90 + 60 * at, np.uint8)
        pixels[10:30, 8:40] = 220
        Image.fromarray(pixels).save(samples / "images" / f"bird{at}.png")
        rows.append(f"bird{at},8,10,40,30")
    (samples / "boxes.csv").write_text("\n".join([*rows, ""]))
    for method in ("cam", "has", "acol", "fsl"):
        (samples / f"{method}-small").mkdir()
        for at in range(2):
            scores = np.zeros((14, 14), np.float32)
            scores[3:7, 2:10] = np.linspace(0.5, 1, 8)
            np.save(samples / f"{method}-small" / f"bird{at}.npy", scores)
