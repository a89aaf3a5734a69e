import math

import pytest
import torch
from torch.nn import functional as F

from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.methods.spg import guided_loss
from tests.cases import for_each
from tests.evaluation.wsol_study.methods.cases import cross_entropy, doubles, model_of, seeded

SPG = METHODS["spg"]
THRESHOLDS = {"low_b1": 0.52, "high_b1": 0.53, "low_b2": 0.3, "high_b2": 0.6}
THRESHOLDS |= {"low_c": 0.525, "high_c": 0.53}


def convolved(values, layer):
    return F.conv2d(values, layer.weight, layer.bias, padding=layer.weight.shape[2] // 2)


def guided_by_loops(logits, scores, low, high):
    losses = []
    for logit, score in zip(logits.flatten().tolist(), scores.flatten().tolist(), strict=True):
        p = 1 / (1 + math.exp(-logit))
        if score < low:
            losses.append(-math.log(1 - p))
        elif score > high:
            losses.append(-math.log(p))
    return sum(losses) / len(losses) if losses else 0.0


def plain_parts(model, images, labels):
    network, added = model.network, model.added
    second = network.conv2(network.conv1(images))
    third = network.conv3(second)
    features = network.conv4(third)
    branches = {}
    for name, values in (("b1", second), ("b2", third)):
        values = convolved(convolved(values, added[name]).relu(), added["shared"][1]).relu()
        branches[name] = convolved(values, added["shared"][3])[:, 0]
    c = convolved(convolved(features, added["c"][0]).relu(), added["c"][2])[:, 0]
    maps = METHODS["cam"].maps(model, images, labels)
    attention = torch.stack([(m - m.min()) / (m.max() - m.min()) for m in maps])
    b1, b2 = branches["b1"], branches["b2"]
    fused = (1 / (1 + (-b1).exp()) + 1 / (1 + (-b2).exp())) / 2
    targets = {"b2": (b2, attention), "b1": (b1, 1 / (1 + (-b2).exp())), "c": (c, fused)}
    return network.classify(features), targets


def test_the_loss_equals_a_plain_restatement():
    model, (images, labels) = model_of("spg", **THRESHOLDS).eval(), doubles()

    loss = SPG.loss(model, images, labels, seeded())

    logits, targets = plain_parts(model, images, labels)
    losses = {
        name: guided_by_loops(output, scores, THRESHOLDS[f"low_{name}"], THRESHOLDS[f"high_{name}"])
        for name, (output, scores) in targets.items()
    }
    expected = cross_entropy(logits, labels).item() + sum(losses.values())
    assert loss.item() == pytest.approx(expected, abs=1e-6)
    assert all(value > 0 for value in losses.values())


@for_each(("low", "high"), [(0.2, 0.7), (0.0, 1.0), (0.5, 0.5)])
def test_scores_between_the_thresholds_are_ignored(low, high):
    logits, scores = torch.randn(2, 5, 5, generator=seeded()), torch.rand(2, 5, 5)

    loss = guided_loss(logits, scores, low, high)

    assert loss.item() == pytest.approx(guided_by_loops(logits, scores, low, high), abs=1e-6)


def test_thresholds_that_ignore_everything_leave_the_classifier():
    """A score is never below 0 or above 1, so these ask nothing of the branches."""
    wide = {f"{end}_{branch}": float(end == "high") for branch in BRANCHES for end in ENDS}
    model, (images, labels) = model_of("spg", **wide).eval(), doubles()

    loss = SPG.loss(model, images, labels, seeded())

    logits = model.network(images)
    assert loss.item() == pytest.approx(cross_entropy(logits, labels).item(), abs=1e-6)


BRANCHES, ENDS = ("b1", "b2", "c"), ("low", "high")


def test_every_layer_learns_but_no_gradient_comes_through_targets():
    model, (images, labels) = model_of("spg", **THRESHOLDS), doubles()

    SPG.loss(model, images, labels, seeded()).backward()

    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
    # fc enters the branches by the targets alone.
    fc_gradient = model.network.fc.weight.grad.clone()
    model.zero_grad()
    F.cross_entropy(model(images), labels).backward()
    torch.testing.assert_close(model.network.fc.weight.grad, fc_gradient)


def test_maps_are_those_of_cam():
    model, (images, labels) = model_of("spg", **THRESHOLDS).eval(), doubles()

    maps = SPG.maps(model, images, labels)

    torch.testing.assert_close(maps, METHODS["cam"].maps(model, images, labels))
