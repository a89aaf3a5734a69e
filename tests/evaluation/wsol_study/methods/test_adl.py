import math

import pytest
import torch

from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.methods.adl import attended
from tests.cases import for_each, for_seeds
from tests.evaluation.wsol_study.methods.cases import cross_entropy, doubles, model_of, seeded

ADL = METHODS["adl"]


def attended_by_loops(features, drops, threshold):
    result = torch.empty_like(features)
    for at, image in enumerate(features):
        attention = sum(image) / len(image)
        limit = threshold * attention.max().item()
        for y in range(attention.shape[0]):
            for x in range(attention.shape[1]):
                value = attention[y, x].item()
                factor = float(value < limit) if drops else 1 / (1 + math.exp(-value))
                result[at, :, y, x] = image[:, y, x] * factor
    return result


@for_each(("drops", "threshold"), [(True, 0.8), (True, 0.0), (True, 1.0), (False, 0.8)])
def test_a_layer_equals_a_plain_restatement(drops, threshold):
    features = torch.rand(2, 5, 6, 6, generator=seeded(), dtype=torch.double)

    result = attended(features, torch.tensor(drops), threshold)

    torch.testing.assert_close(result, attended_by_loops(features, drops, threshold))


@for_seeds(4)
def test_the_loss_equals_a_plain_restatement(seed):
    model, (images, labels) = model_of("adl", drop_rate=0.5, erasing_threshold=0.9), doubles()
    model.eval()

    loss = ADL.loss(model, images, labels, seeded(seed))

    generator, network = seeded(seed), model.network
    features = network.conv2(network.conv1(images))
    for layer in (network.conv3, network.conv4):
        drops = torch.rand((), generator=generator).item() < 0.5
        features = attended_by_loops(layer(features), drops, 0.9)
    logits = features.sum((2, 3)) / 196 @ network.fc.weight.T + network.fc.bias
    assert loss.item() == pytest.approx(cross_entropy(logits, labels).item(), abs=1e-6)


def test_maps_and_logits_are_those_of_the_backbone_alone():
    model, (images, labels) = model_of("adl", drop_rate=1.0, erasing_threshold=0.0), doubles()
    model.eval()

    torch.testing.assert_close(ADL.logits(model, images), model.network(images))
    maps = METHODS["cam"].maps(model, images, labels)
    torch.testing.assert_close(ADL.maps(model, images, labels), maps)
    assert maps.abs().max() > 0


def test_the_importance_map_learns_and_the_drop_mask_does_not():
    features = torch.rand(1, 3, 4, 4, generator=seeded()).requires_grad_()

    [dropped] = torch.autograd.grad(attended(features, torch.tensor(True), 0.9).sum(), features)
    [weighed] = torch.autograd.grad(attended(features, torch.tensor(False), 0.9).sum(), features)

    assert set(dropped.flatten().tolist()) == {0.0, 1.0}
    attention = features.detach().mean(1, keepdim=True)
    slope = attention.sigmoid() * (1 - attention.sigmoid()) * attention
    torch.testing.assert_close(weighed, (attention.sigmoid() + slope).expand_as(weighed))
