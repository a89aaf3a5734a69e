import math

import pytest
import torch

from evaluation.wsol_study.methods import METHODS
from tests.cases import for_each
from tests.evaluation.wsol_study.methods.cases import doubles, model_of, seeded

FSL = METHODS["fsl"]


def masks(ignored):
    targets = (torch.rand(4, 56, 56, generator=seeded(1)) < 0.4).long()
    if ignored:
        targets[:, :20, 5:30] = -1
        targets[1] = -1
    return targets


def plain_loss(logits, targets):
    """Return the mean over cells of −t log p − (1 − t) log(1 − p), by loops."""
    losses, cell = [], 56 // logits.shape[1]
    for at in range(len(logits)):
        for row in range(logits.shape[1]):
            for column in range(logits.shape[2]):
                ys, xs = (
                    slice(row * cell, (row + 1) * cell),
                    slice(column * cell, (column + 1) * cell),
                )
                pixels = [value for value in targets[at, ys, xs].flatten().tolist() if value >= 0]
                if pixels:
                    target = sum(pixels) / len(pixels)
                    p = 1 / (1 + math.exp(-logits[at, row, column].item()))
                    losses.append(-target * math.log(p) - (1 - target) * math.log(1 - p))
    return sum(losses) / len(losses)


@for_each(("resolution", "ignored"), [(14, False), (14, True), (28, False)])
def test_loss_and_maps_equal_a_plain_restatement(resolution, ignored):
    model, (images, _) = model_of("fsl", resolution=resolution).eval(), doubles()
    targets = masks(ignored)

    loss = FSL.loss(model, images, targets, seeded())

    features, last = model.network.feature_maps(images), model.added["last"]
    logits = torch.einsum("bkhw,k->bhw", features, last.weight[0, :, 0, 0]) + last.bias
    assert loss.item() == pytest.approx(plain_loss(logits.detach(), targets), abs=1e-6)
    maps = FSL.maps(model, images, torch.zeros(4, dtype=torch.long))
    torch.testing.assert_close(maps, 1 / (1 + (-logits).exp()))


def test_a_batch_of_ignored_pixels_has_no_loss():
    model, (images, _) = model_of("fsl"), doubles()

    assert FSL.loss(model, images, torch.full((4, 56, 56), -1), seeded()).item() == 0
