"""A network that finds colours, and a WSOL folder of images with one coloured box each."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

CLASSES = ("red", "green", "blue")
# Whole cells of the 28 × 28 grid.
BOXES = [(16, 24, 120, 200), (80, 8, 216, 104), (56, 56, 168, 168),
         (8, 96, 104, 216), (112, 120, 208, 216), (24, 16, 200, 64)]  # fmt: skip


class Colours(nn.Module):
    """How much of the image is red, green and blue: a mean over cells of 8 × 8 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.Conv2d(3, 3, 8, stride=8, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.last = nn.Linear(3, 3)
        with torch.no_grad():
            apart = 2 * torch.eye(3) - 1
            self.cells.weight.copy_(apart[:, :, None, None].expand(3, 3, 8, 8) / 64)
            self.last.weight.copy_(torch.eye(3) * 3)
            self.last.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))

    def forward(self, images: Tensor) -> Tensor:
        return self.last(self.relu(self.cells(images)).mean((2, 3)))


class Strided(nn.Module):
    """14 × 14 places of 224 pixels, and 28 × 28 with the last stride lowered; random weights."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 4, 7, stride=8, padding=3), nn.ReLU(), nn.Conv2d(4, 4, 3, 2, padding=1)
        )
        self.last = nn.Linear(4, 3)

    def forward(self, images: Tensor) -> Tensor:
        return self.last(self.body(images).relu().mean((2, 3)))


class Tokens(nn.Module):
    """No mean over a map before its class weights, and no ReLU."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(3 * 28 * 28, 3)

    def forward(self, images: Tensor) -> Tensor:
        return self.last(nn.functional.avg_pool2d(images, 8).tanh().flatten(1))


class Blind(Colours):
    """Its gradient is cut off."""

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images.detach())


class Broken(Colours):
    """Right in value, and nothing in gradient: the root of a clipped 0."""

    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images) + (images * 0).abs().sqrt().mean((2, 3)) * 0


def failing() -> nn.Module:
    raise KeyError("no such configuration")


def world(folder: Path) -> Path:
    """images/ and metadata/ of six images; each has a box of its class's colour on grey."""
    images, metadata = folder / "images", folder / "metadata"
    metadata.mkdir(parents=True)
    lines: dict[str, list[str]] = {"image_ids": [], "class_labels": [], "image_sizes": [],
                                   "localization": []}  # fmt: skip
    chance = np.random.default_rng(0)
    for n, (x0, y0, x1, y1) in enumerate(BOXES):
        label = CLASSES[n % 3]
        name = f"{label}/{n}.png"
        pixels = chance.integers(100, 110, (224, 224, 3)).astype(np.uint8)
        pixels[y0:y1, x0:x1] = [(200 if colour == label else 20) for colour in CLASSES]
        (images / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(images / name)
        lines["image_ids"].append(name)
        lines["class_labels"].append(f"{name},{label}")
        lines["image_sizes"].append(f"{name},224,224")
        lines["localization"].append(f"{name},{x0},{y0},{x1},{y1}")
    for file, rows in lines.items():
        (metadata / f"{file}.txt").write_text("\n".join(rows) + "\n")
    (folder / "classes.txt").write_text("\n".join(CLASSES) + "\n")
    return folder
