"""Tasks of a study: one model is trained, or one trained model is tested."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evaluation import devices
from evaluation.engines.packing import packed, unpacked
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task, task
from evaluation.scoring.wsol.splits import TEST
from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.methods.base import Localizer
from evaluation.wsol_study.networks import image_side
from evaluation.wsol_study.running.parts import StudyData, StudyPart, seed_of
from evaluation.wsol_study.running.scores import Scores, center_scores, maps_of, scores_of
from evaluation.wsol_study.running.training import Training, TrialPlan
from labeling.json_text import canonical, parsed
from labeling.records import Record

WEIGHT, MAP = "weight/", "map/"


@dataclass(kw_only=True)
class TrainedValues(Record):
    """What is known of a trained model, beside its weights.

    losses, curve: of each epoch; null where it is not a number, or was not measured. epoch: of the
    weights. scores: on validation, then on its subsets.
    """

    losses: list[float | None]
    curve: list[float | None]
    epoch: int
    converged: bool
    scores: list[Scores]


@contextmanager
def computing(threads: int, deterministic: bool) -> Iterator[None]:
    """Set torch's threads and determinism, and set them back at the end."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    # cuBLAS reads it when it starts.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)
    try:
        with torch.random.fork_rng():
            yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


@lru_cache(maxsize=8)
def _part(data: bytes, name: str) -> StudyPart:
    """Return a part; kept, since all tasks of a process read the same images."""
    return StudyData.from_json(parsed(data.decode())).part(name)


def training_task(
    plan: TrialPlan,
    data: StudyData,
    sha256: str,
    weights: tuple[str, str] | None,
    machine: Mapping[str, Any],
    checkpoints: Path,
    seconds: int,
) -> Task:
    """Return the task of a training.

    sha256: of the two parts for training. weights: a file and its SHA-256. machine: the device, its
    number of threads, and whether algorithms are deterministic.
    """
    device = machine["device"]
    arguments = {
        "plan": plan.to_json(),
        "classes": data.classes,
        "images": sha256,
        "weights": weights and weights[1],
        "kind": device.partition(":")[0],
        "threads": machine["threads"],
        "deterministic": machine["deterministic"],
    }
    key = Task.of(trained_model, arguments).key
    return Task.of(
        trained_model,
        arguments,
        gpus=_gpus(device),
        data=data.to_json(),
        device=device,
        weights_file=weights and weights[0],
        checkpoint=str((checkpoints / f"{key.rpartition('/')[2]}.pt").absolute()),
        seconds=seconds,
    )


@task(version=1, libraries=("torch",))
def trained_model(
    plan: Mapping[str, Any],
    classes: Sequence[str],
    images: str,
    weights: str | None,
    kind: str,
    threads: int,
    deterministic: bool,
    data: Mapping[str, Any],
    device: str,
    weights_file: str | None,
    checkpoint: str,
    seconds: int,
) -> bytes:
    """Return the weights of a trained model, with its losses and scores on train-fullsup."""
    device, goal = devices.checked(device), TrialPlan.from_json(plan)
    names = {goal.training.part, (goal.validation or goal.training).part}
    parts = {name: _part(canonical(data), name) for name in names}
    with computing(threads, deterministic):
        training = Training(goal, parts, device, Path(weights_file) if weights_file else None)
        training.run(Path(checkpoint), seconds or math.inf)
        scores = None if training.has_failed else _validated(training)
    progress = training.progress
    converged = not training.has_failed
    if scores:
        converged = scores[0].value is not None
    values = TrainedValues(
        losses=list(progress.losses),
        curve=progress.fullsup,
        epoch=progress.best_epoch or progress.epoch,
        converged=converged,
        scores=scores or [],
    )
    state = training.model.state_dict() if converged else {}
    arrays = {f"{WEIGHT}{name}": value.cpu().numpy() for name, value in state.items()}
    return packed(arrays, values.to_json())


def _validated(training: Training) -> list[Scores]:
    """Return the scores on validation, then on its subsets; none without validation."""
    plan = training.plan
    if plan.validation is None:
        return []
    part = training.parts[plan.validation.part]
    made: list[Scores] = []
    for subset in (plan.validation, *plan.subsets):
        indices = subset.of(part.labels, plan.seed)
        if not made:
            maps, _ = maps_of(
                training.method, training.model, part, indices, training.side, training.device
            )
        chosen = {part.names[index]: maps[part.names[index]] for index in indices}
        made.append(scores_of(chosen, part, indices, plan.protocol, training.device))
    return made


def testing_task(
    trained: Task,
    data: StudyData,
    sha256: str,
    store: Store,
    samples: int,
    is_final: bool,
    keep_maps: bool,
) -> Task:
    """Return the task that tests a trained model. sha256: of test.

    is_final: also returns its numbers by threshold and the maps of some images.
    """
    arguments = {
        "trained": trained.key,
        "images": sha256,
        "samples": samples if is_final else 0,
        "curves": is_final,
        "keep_maps": keep_maps and is_final,
    }
    locations = {
        "plan": trained.arguments["plan"],
        "data": data.to_json(),
        "device": trained.locations["device"],
        "threads": trained.arguments["threads"],
        "deterministic": trained.arguments["deterministic"],
        "store": store.address,
    }
    return Task.of(tested_model, arguments, gpus=trained.gpus, **locations)


@task(version=2, libraries=("torch",))
def tested_model(
    trained: str,
    images: str,
    samples: int,
    curves: bool,
    keep_maps: bool,
    plan: Mapping[str, Any],
    data: Mapping[str, Any],
    device: str,
    threads: int,
    deterministic: bool,
    store: str,
) -> bytes:
    """Return the scores of a trained model on test, with the maps of some images, or of all."""
    device = devices.checked(device)
    with computing(threads, deterministic):
        content = Store.at(store).get(trained)
        model, goal, part, side = opened_model(plan, canonical(data), TEST, content, device)
        indices, method = list(range(len(part.names))), METHODS[goal.method]
        maps, rights = maps_of(method, model, part, indices, side, device)
        scores = scores_of(maps, part, indices, goal.protocol, device, curves, rights)
    kept = part.names if keep_maps else sample_names(part, samples)
    return packed({f"{MAP}{name}": maps[name] for name in kept}, scores.to_json())


def opened_model(
    plan: Mapping[str, Any], data: bytes, part: str, trained: bytes, device: str
) -> tuple[Localizer, TrialPlan, StudyPart, int]:
    """Return a trained model on the device, its plan, a part of the data, and the side of images.

    data: a StudyData as canonical JSON. trained: the object of its training.
    """
    goal, study_part = TrialPlan.from_json(plan), _part(data, part)
    classes = len(study_part.data.classes)
    model = METHODS[goal.method].model(goal.backbone, classes, goal.hyperparameters)
    arrays, _ = unpacked(trained)
    keys = [key for key in arrays if key.startswith(WEIGHT)]
    model.load_state_dict({key.removeprefix(WEIGHT): torch.from_numpy(arrays[key]) for key in keys})
    return model.to(device), goal, study_part, image_side(goal.backbone)


def sample_names(part: StudyPart, samples: int) -> list[str]:
    """Return the names of some images, the same for every model."""
    order = np.random.default_rng(seed_of("samples")).permutation(len(part.names))
    return [part.names[index] for index in sorted(order[:samples].tolist())]


def center_task(part: str, data: StudyData, sha256: str, protocol: str) -> Task:
    """Return the task that scores the center-Gaussian baseline on a part."""
    arguments = {"part": part, "images": sha256, "protocol": protocol}
    return Task.of(center_baseline, arguments, data=data.to_json())


@task(version=1)
def center_baseline(part: str, images: str, protocol: str, data: Mapping[str, Any]) -> bytes:
    """Return the scores of the center-Gaussian baseline on a part."""
    scores = center_scores(_part(canonical(data), part), protocol, devices.CPU)
    return packed({}, scores.to_json())


def _gpus(device: str) -> int:
    return 0 if device == devices.CPU else 1
