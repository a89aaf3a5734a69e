"""Score maps: SmoothGrad's 50 copies of an image in batches, against one after the other.

`python -m benchmarks attribution`. The network is a small residual one made here, on images of 112
pixels a side; both ways have the same noise and must give the same map. On a GPU too, where there
is one.
"""

import os
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import sized
from evaluation.metrics.attribution.cam import class_activation_maps
from evaluation.metrics.attribution.gradients import gradients, smoothgrad

SAMPLES, NOISE, SIDE = sized(50, 4), 0.15, 112
ROUNDS = sized(2, 1)
Way = Callable[[nn.Module, Tensor, Tensor], Tensor]


class Block(nn.Module):
    """Two convolutions and a shortcut, at half the side."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, 2, padding=1, bias=False)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.shortcut = nn.Conv2d(before, after, 1, 2, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        return (self.second(self.first(images).relu()) + self.shortcut(images)).relu()


def network() -> nn.Module:
    """112 pixels to 4 places; 1000 outputs."""
    torch.manual_seed(0)
    widths = (3, 16, 32, 64, 128, 256)
    blocks = [Block(*pair) for pair in pairwise(widths)]
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], 1000))
    return nn.Sequential(*blocks, *head).eval()


def main() -> list[dict[str, Any]]:
    rows = measure("cpu")
    if torch.cuda.is_available():
        rows += measure("cuda")
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return [*rows, plain_row("this machine: load", load)]


def measure(device: str) -> list[dict[str, Any]]:
    made = network().to(device)
    images = torch.randn((1, 3, SIDE, SIDE), generator=torch.Generator().manual_seed(1)).to(device)
    classes = torch.tensor([7], device=device)
    plain, ours = one_by_one(made, images, classes), batched(made, images, classes)
    assert torch.allclose(ours, plain, atol=1e-4 * float(plain.abs().max())), "they differ"
    # In turns, so that what else runs meets both.
    runs: dict[Way, list[float]] = {one_by_one: [], batched: []}
    for _ in range(ROUNDS):
        for way, held in runs.items():
            held.append(seconds(lambda way=way: way(made, images, classes)))
    slow, fast = min(runs[one_by_one]), min(runs[batched])
    many = images.expand(32, -1, -1, -1).contiguous()
    cam = seconds(lambda: class_activation_maps(made, many, classes.expand(32)))
    return [
        plain_row(f"SmoothGrad, {SAMPLES} copies in batches, {device}", f"{1 / fast:.2f} maps/s"),
        plain_row(
            "… against one copy after the other", f"{slow / fast:.1f} times ({1 / slow:.2f}/s)"
        ),
        plain_row(f"CAM, 32 images at once, {device}", f"{32 / cam:.0f} maps/s"),
    ]


def batched(made: nn.Module, images: Tensor, classes: Tensor) -> Tensor:
    return smoothgrad(made, images, classes, SAMPLES, NOISE, at_once=32)


def one_by_one(made: nn.Module, images: Tensor, classes: Tensor) -> Tensor:
    """One by one: a noised copy, its gradient, the next."""
    chance = torch.Generator().manual_seed(0)
    noises = torch.randn((SAMPLES, *images.shape[1:]), generator=chance).to(images.device)
    deviation = NOISE * (images.max() - images.min())
    total = torch.zeros_like(images)
    for noise in noises:
        total += gradients(made, images + deviation * noise, classes)
    return total / SAMPLES


def seconds(action: Callable[[], Tensor]) -> float:
    start = time.perf_counter()
    # Reading a number waits for the GPU.
    float(action().sum())
    return time.perf_counter() - start


def plain_row(name: str, measured: str) -> dict[str, Any]:
    return {"name": name, "target": "none", "measured": measured, "ok": None}
