"""Score maps, objects of parts, predictions and a network, made of random numbers by numpy."""

import numpy as np
import torch
from numpy.typing import NDArray

from evaluation.metrics.frames.sequences import PartSequence, sequence
from evaluation.metrics.mad.selection import PoolPredictions

SIZE, SMOOTH = 224, 14
GRIDS = {"14 × 14": SMOOTH, "28 × 28": 28, "noise": SIZE}
HEIGHT, WIDTH, PARTS = 375, 500, 9
Maps = list[NDArray[np.float32]]
Boxes = list[NDArray[np.float64]]
Pool = tuple[PoolPredictions, PoolPredictions]


def maps(grid: int, count: int) -> tuple[Maps, Boxes]:
    """Return maps of grid × grid random numbers, resized like a network's, and their boxes."""
    rng = np.random.default_rng(grid)
    numbers = torch.from_numpy(rng.random((count, 1, grid, grid), np.float32))
    scores = torch.nn.functional.interpolate(numbers, (SIZE, SIZE), mode="bilinear")
    boxes = [
        np.sort(rng.integers(0, SIZE, (rng.integers(1, 4), 2, 2)), axis=1).reshape(-1, 4)
        for _ in range(count)
    ]
    return list(scores[:, 0].numpy()), [box.astype(np.float64) for box in boxes]


def part_object(seed: int) -> tuple[NDArray[np.uint8], PartSequence]:
    """Return a photograph of blocks of noise, and its parts."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (HEIGHT // 5, WIDTH // 5, 3), dtype=np.uint8)
    return np.kron(blocks, np.ones((5, 5, 1), np.uint8)), round_parts(rng)


def round_parts(rng: np.random.Generator) -> PartSequence:
    """Return nine round parts in an order."""
    y, x = np.mgrid[:HEIGHT, :WIDTH] / np.array([[[HEIGHT]], [[WIDTH]]])
    masks = {}
    for part in range(PARTS):
        middle, extent = rng.uniform(0.2, 0.8, 2), rng.uniform(0.05, 0.15, 2)
        masks[f"part {part}"] = (
            np.hypot((y - middle[0]) / extent[0], (x - middle[1]) / extent[1]) < 1
        )
    return sequence(list(masks), masks)


def pool(images: int, classes: int) -> Pool:
    """Return predictions of two classifiers that err on 20 % and are less sure there."""
    rng = np.random.default_rng(images)
    truth = rng.integers(0, classes, images, dtype=np.int16)
    predictions = []
    for _ in range(2):
        wrong = rng.random(images) < 0.2
        labels = np.where(wrong, rng.integers(0, classes, images, dtype=np.int16), truth)
        confidences = 1 - rng.random(images) ** np.where(wrong, 0.5, 2) / 2
        predictions.append(PoolPredictions(labels, confidences.astype(np.float16)))
    return predictions[0], predictions[1]


def distances(classes: int) -> NDArray[np.float64]:
    """Return distances of the classes: differences of their numbers."""
    number = np.arange(classes)
    return np.abs(number[:, None] - number).astype(np.float64)


def network() -> torch.nn.Module:
    """Return four strided convolutions and a layer for 1,000 classes, with random weights."""
    torch.manual_seed(0)
    layers: list[torch.nn.Module] = []
    for first, second in ((3, 32), (32, 64), (64, 128), (128, 256)):
        layers += [torch.nn.Conv2d(first, second, 3, stride=2, padding=1), torch.nn.ReLU()]
    head = (torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(256, 1000))
    return torch.nn.Sequential(*layers, *head).eval()
