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
from evaluation.engines.packing import pack_arrays, unpack_arrays
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task, task
from evaluation.scoring.wsol.splits import TEST
from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.methods.base import WsolMethod
from evaluation.wsol_study.running.parts import StudyData, StudyPart, seed_of
from evaluation.wsol_study.running.scores import Maps, Scores, center_scores, maps_of, scores_of
from evaluation.wsol_study.running.training import Training, TrialPlan
from labeling.json_text import canonical, parse_json
from labeling.records import Record

WEIGHT, MAP = "weight/", "map/"


@dataclass(kw_only=True)
class TrainedValues(Record):
    """The values of a trained model, besides its weights.

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


@dataclass(kw_only=True)
class StudySite(Record):
    """Where the tasks of a study compute, and where their data and results are.

    seconds: longest time between checkpoints; 0 for one after each epoch only.
    """

    data: StudyData
    device: str
    threads: int
    deterministic: bool
    store: str
    checkpoints: str
    seconds: int

    @property
    def gpus(self) -> int:
        return 0 if self.device == devices.CPU else 1

    def part(self, name: str) -> StudyPart:
        return _part(canonical(self.data.to_json()), name)


@lru_cache(maxsize=8)
def _part(data: bytes, name: str) -> StudyPart:
    """Return a part; kept, since all tasks of a process read the same images."""
    return StudyData.from_json(parse_json(data.decode())).part(name)


def training_task(
    plan: TrialPlan, sha256: str, weights: tuple[str, str] | None, site: StudySite
) -> Task:
    """Return the task of a training.

    sha256: of the two parts for training. weights: a file and its SHA-256.
    """
    arguments = {
        "plan": plan.to_json(),
        "classes": site.data.classes,
        "images": sha256,
        "weights": weights and weights[1],
        "kind": site.device.partition(":")[0],
        "threads": site.threads,
        "deterministic": site.deterministic,
    }
    key = Task.of(trained_model, arguments).key
    checkpoint = Path(site.checkpoints, f"{key.rpartition('/')[2]}.pt").absolute()
    return Task.of(
        trained_model,
        arguments,
        gpus=site.gpus,
        site=site.to_json(),
        weights_file=weights and weights[0],
        checkpoint=str(checkpoint),
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
    site: Mapping[str, Any],
    weights_file: str | None,
    checkpoint: str,
) -> bytes:
    """Return the weights of a trained model, with its losses and scores on train-fullsup."""
    at, goal = StudySite.from_json(site), TrialPlan.from_json(plan)
    parts = {name: at.part(name) for name in goal.part_names}
    with computing(threads, deterministic):
        training = Training(goal, parts, devices.check_device(at.device), weights_file)
        training.run(Path(checkpoint), at.seconds or math.inf)
        scores = [] if training.has_failed else training.scores(goal.subsets)
    progress = training.progress
    values = TrainedValues(
        losses=list(progress.losses),
        curve=progress.fullsup,
        epoch=progress.best_epoch or progress.epoch,
        converged=scores[0].value is not None if scores else not training.has_failed,
        scores=scores,
    )
    state = training.model.state_dict() if values.converged else {}
    arrays = {f"{WEIGHT}{name}": value.cpu().numpy() for name, value in state.items()}
    return pack_arrays(arrays, values.to_json())


def testing_task(
    trained: Task, sha256: str, site: StudySite, samples: int, is_final: bool, keep_maps: bool
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
    plan = trained.arguments["plan"]
    return Task.of(tested_model, arguments, site.gpus, plan=plan, site=site.to_json())


@task(version=2, libraries=("torch",))
def tested_model(
    trained: str,
    images: str,
    samples: int,
    curves: bool,
    keep_maps: bool,
    plan: Mapping[str, Any],
    site: Mapping[str, Any],
) -> bytes:
    """Return the scores of a trained model on test, with the maps of some images, or of all."""
    goal, at = TrialPlan.from_json(plan), StudySite.from_json(site)
    maps, scores = score_part(trained, goal, at, TEST, METHODS[goal.method], curves)
    kept = maps if keep_maps else sample_names(list(maps), samples)
    return pack_arrays({f"{MAP}{name}": maps[name] for name in kept}, scores.to_json())


def score_part(
    trained: str,
    plan: TrialPlan,
    site: StudySite,
    part: str,
    method: WsolMethod,
    curves: bool = False,
) -> tuple[Maps, Scores]:
    """Return the maps of a trained model on a part, and their scores.

    trained: the key of its training. method: makes the maps.
    """
    device, study_part = devices.check_device(site.device), site.part(part)
    arrays, _ = unpack_arrays(Store.at(site.store).get(trained))
    state = {key: torch.from_numpy(arrays[key]) for key in arrays if key.startswith(WEIGHT)}
    with computing(site.threads, site.deterministic):
        model = METHODS[plan.method].model(
            plan.backbone, len(site.data.classes), plan.hyperparameters
        )
        model.load_state_dict({key.removeprefix(WEIGHT): value for key, value in state.items()})
        indices = range(len(study_part.names))
        maps, rights = maps_of(method, model.to(device), study_part, indices, device)
        scores = scores_of(maps, study_part, indices, plan.protocol, device, curves, rights)
    return maps, scores


def sample_names(names: Sequence[str], samples: int) -> list[str]:
    """Return some names, the same for every model."""
    order = np.random.default_rng(seed_of("samples")).permutation(len(names))
    return [names[index] for index in sorted(order[:samples].tolist())]


def center_task(part: str, sha256: str, protocol: str, site: StudySite) -> Task:
    """Return the task that scores the center-Gaussian baseline on a part."""
    arguments = {"part": part, "images": sha256, "protocol": protocol}
    return Task.of(center_baseline, arguments, site=site.to_json())


@task(version=1)
def center_baseline(part: str, images: str, protocol: str, site: Mapping[str, Any]) -> bytes:
    """Return the scores of the center-Gaussian baseline on a part."""
    scores = center_scores(StudySite.from_json(site).part(part), protocol, devices.CPU)
    return pack_arrays({}, scores.to_json())
