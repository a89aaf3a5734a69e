"""Training of one model. Killed at any step and resumed, it gives the same weights.

Random numbers are seeded for each step, so a checkpoint holds only weights, the state of the
optimizer and sums. The same device, torch and number of threads are needed; on CUDA also
--deterministic.
"""

import io
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evaluation.scoring.wsol.scoring import in_parts
from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.methods.base import Localizer
from evaluation.wsol_study.networks import load_weights
from evaluation.wsol_study.results import FSL
from evaluation.wsol_study.running.parts import StudyPart, Subset, seed_of
from evaluation.wsol_study.running.scores import Scores, maps_of, normal, scores_of
from labeling.files import atomic_write
from labeling.records import Record

MOMENTUM, WEIGHT_DECAY, CLASSIFIER_RATE, DECAY = 0.9, 1e-4, 10, 0.1
# Random crops of 224 px from images of 256 px, and so for other sides.
MARGIN = 8 / 7


@dataclass(kw_only=True)
class TrialPlan(Record):
    """Everything that one training depends on, except the images.

    seed: of the study. best: keep the checkpoint that is best on validation, not the last.
    validation: None if nothing is validated. subsets: smaller parts of validation that are scored
    too.
    """

    method: str
    backbone: str
    trial: int
    hyperparameters: dict[str, float | int]
    seed: int
    epochs: int
    batch: int
    decay_every: int
    best: bool
    protocol: str
    targets: str
    training: Subset
    validation: Subset | None
    subsets: list[Subset] = field(default_factory=list)

    @property
    def part_names(self) -> set[str]:
        return {subset.part for subset in (self.training, self.validation) if subset}


@dataclass
class Progress:
    """The progress of a training: all that a checkpoint holds besides model and optimizer.

    best: the weights with the best score, with the convention reference.
    """

    epoch: int = 0
    step: int = 0
    total: float = 0.0
    losses: list[float] = field(default_factory=list)
    fullsup: list[float | None] = field(default_factory=list)
    best: dict[str, torch.Tensor] | None = None
    best_epoch: int = 0


class Training:
    """A training in progress."""

    def __init__(
        self, plan: TrialPlan, parts: dict[str, StudyPart], device: str, weights: str | None
    ) -> None:
        self.plan, self.parts, self.device = plan, parts, device
        self.words = (plan.seed, plan.method, plan.backbone, plan.trial, plan.training)
        self.method = METHODS[plan.method]
        part = self.part = parts[plan.training.part]
        self.indices = plan.training.of(part.labels, plan.seed)
        torch.manual_seed(seed_of("weights", *self.words))
        classes = len(part.data.classes)
        self.model: Localizer = self.method.model(plan.backbone, classes, plan.hyperparameters)
        if weights is not None:
            load_weights(self.model.network, Path(weights))
        self.model.to(device)
        self.side = self.model.network.side
        self.rate = float(plan.hyperparameters["learning_rate"])
        body = self.model.pretrained_parameters()
        known = {id(parameter) for parameter in body}
        rest = [each for each in self.model.parameters() if id(each) not in known]
        self.optimizer = torch.optim.SGD(
            [{"params": body, "times": 1}, {"params": rest, "times": CLASSIFIER_RATE}],
            lr=self.rate,
            momentum=MOMENTUM,
            weight_decay=WEIGHT_DECAY,
            nesterov=True,
        )
        self.progress = Progress()

    @property
    def steps(self) -> int:
        """Return the number of steps of an epoch."""
        return math.ceil(len(self.indices) / self.plan.batch)

    def run(self, checkpoint: Path | None = None, seconds: float = math.inf) -> None:
        """Run the training to its end.

        checkpoint: the file to resume from and to write. seconds: longest time between checkpoints.
        """
        if checkpoint is not None and checkpoint.is_file():
            self.restore(checkpoint)
        progress = self.progress
        saved = time.monotonic()
        while progress.epoch < self.plan.epochs and not self.has_failed:
            for group in self.optimizer.param_groups:
                decayed = DECAY ** (progress.epoch // self.plan.decay_every)
                group["lr"] = self.rate * group["times"] * decayed
            self.model.train()
            # On the device: a Python number would wait for the GPU at each step.
            total = torch.tensor(progress.total, dtype=torch.float64, device=self.device)
            for images, labels in self.batches():
                total += self.step(images, labels) * len(images)
                progress.step += 1
                if checkpoint is not None and time.monotonic() - saved >= seconds:
                    progress.total = float(total)
                    self.save(checkpoint)
                    saved = time.monotonic()
            self._end_epoch(float(total) / len(self.indices))
            if checkpoint is not None:
                self.save(checkpoint)
                saved = time.monotonic()
        if progress.best is not None:
            self.model.load_state_dict(progress.best)

    @property
    def has_failed(self) -> bool:
        """Return whether the last loss is NaN: all later ones would be NaN, too."""
        return bool(self.progress.losses) and math.isnan(self.progress.losses[-1])

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Change the weights by one batch and return its mean loss."""
        seed = seed_of("step", *self.words, self.progress.epoch, self.progress.step)
        # Dropout layers draw from torch's global generator.
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.method.loss(self.model, normal(images), labels, generator)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def batches(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield the images and labels of the steps that this epoch still has, on the device."""
        epoch = self.progress.epoch
        order = np.random.default_rng(seed_of("order", *self.words, epoch)).permutation(
            self.indices
        )

        def load(steps: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
            [step] = steps
            rng = np.random.default_rng(seed_of("crops", *self.words, epoch, step))
            start = step * self.plan.batch
            batch = [self._crop(int(i), rng) for i in order[start : start + self.plan.batch]]
            images, labels = (np.stack(values) for values in zip(*batch, strict=True))
            return torch.from_numpy(images), torch.from_numpy(labels)

        for images, labels in in_parts(load, list(range(self.progress.step, self.steps)), 1):
            yield images.to(self.device), labels.to(self.device)

    def _crop(self, index: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return a random crop, half of them mirrored, and its label or target mask."""
        full = round(self.side * MARGIN)
        y, x = rng.integers(0, full - self.side + 1, 2)
        crop = (slice(y, y + self.side), slice(x, x + self.side))
        turn = slice(None, None, -1 if rng.random() < 0.5 else 1)
        pixels = self.part.pixels(index, full)[crop][:, turn]
        if self.plan.method != FSL:
            return pixels, np.int64(self.part.labels[index])
        return pixels, self.part.target(index, full, self.plan.targets)[crop][:, turn]

    def _end_epoch(self, loss: float) -> None:
        progress = self.progress
        progress.losses.append(loss)
        progress.epoch, progress.step, progress.total = progress.epoch + 1, 0, 0.0
        is_last = progress.epoch == self.plan.epochs
        value = self.scores()[0].value if self.plan.best and not self.has_failed else None
        progress.fullsup.append(value)
        earlier = [score for score in progress.fullsup[:-1] if score is not None]
        if not self.plan.best and (is_last or self.has_failed):
            progress.best_epoch = progress.epoch
        if value is not None and value > max(earlier, default=-math.inf):
            state = self.model.state_dict()
            progress.best = {name: each.detach().cpu().clone() for name, each in state.items()}
            progress.best_epoch = progress.epoch

    def scores(self, subsets: Sequence[Subset] = ()) -> list[Scores]:
        """Return the scores of the model as it is now, on validation and on subsets of it."""
        if self.plan.validation is None:
            return []
        part = self.parts[self.plan.validation.part]
        indices = [
            each.of(part.labels, self.plan.seed) for each in (self.plan.validation, *subsets)
        ]
        maps, _ = maps_of(self.method, self.model, part, indices[0], self.device)
        return [scores_of(maps, part, each, self.plan.protocol, self.device) for each in indices]

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        state = (self.model.state_dict(), self.optimizer.state_dict(), vars(self.progress))
        torch.save(state, content)
        with atomic_write(path, "wb") as file:
            file.write(content.getvalue())

    def restore(self, path: Path) -> None:
        model, optimizer, progress = torch.load(path, map_location=self.device, weights_only=True)
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        vars(self.progress).update(progress)
