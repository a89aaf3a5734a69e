"""An epoch of the WSOL study's training against a plain loop.

`python -m benchmarks wsol_study`: CAM on the images of `--preset small`, by the small network; on a
GPU, where there is one, by ResNet50 at 224 px. The plain loop crops and mirrors the same decoded
images, a batch at a time; it keeps no losses and seeds nothing.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from benchmarks import Row, row, sized
from benchmarks.bench_wsol_study.made import BATCH, made_training
from evaluation.wsol_study.running.scores import normal
from evaluation.wsol_study.running.training import Training

ROUNDS = sized(8, 1)


def main() -> list[Row]:
    device, backbone = ("cuda", "resnet50") if torch.cuda.is_available() else ("cpu", "small")
    with tempfile.TemporaryDirectory() as folder:
        training = made_training(Path(folder), backbone, device)
        full = 8 * training.side // 7
        images = np.stack([training.part.pixels(i, full) for i in range(len(training.indices))])
        times = []
        # Take turns, so that other load affects both.
        for _ in range(ROUNDS):
            training.plan.epochs += 1
            start = time.perf_counter()
            training.run()
            middle = time.perf_counter()
            plain_epoch(training, images)
            times.append((middle - start, time.perf_counter() - middle))
    ours, plain = (min(column) for column in zip(*times, strict=True))
    name = f"an epoch of {len(images)} images, {backbone} on {device}"
    measured = f"{ours / plain:.2f} × ({ours:.2f} s; plain {plain:.2f} s)"
    return [row(name, measured, "≤ 1.25 × a plain loop's", ours <= 1.25 * plain)]


def plain_epoch(training: Training, images: np.ndarray) -> None:
    side, margin, rng = training.side, images.shape[1] - training.side, np.random.default_rng(0)
    labels = torch.tensor(training.part.labels)
    training.model.train()
    for indices in torch.randperm(len(images)).split(BATCH):
        crops = []
        for image in images[indices.numpy()]:
            y, x = rng.integers(0, margin + 1, 2)
            crop = image[y : y + side, x : x + side]
            crops.append(crop[:, ::-1] if rng.random() < 0.5 else crop)
        batch = normal(torch.from_numpy(np.stack(crops)).to(training.device))
        training.optimizer.zero_grad()
        loss = F.cross_entropy(training.model(batch), labels[indices].to(training.device))
        loss.backward()
        training.optimizer.step()
    # Waits for the GPU.
    loss.item()
