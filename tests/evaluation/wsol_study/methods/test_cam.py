import pytest
import torch

from evaluation.wsol_study.methods import METHODS
from tests.evaluation.wsol_study.methods.cases import cross_entropy, doubles, model_of, seeded

CAM = METHODS["cam"]


def test_loss_and_maps_equal_a_plain_restatement():
    model, (images, labels) = model_of("cam").eval(), doubles()

    features = model.network.feature_maps(images)
    weight, bias = model.network.fc.weight, model.network.fc.bias
    expected_maps = torch.zeros(4, 14, 14, dtype=torch.double)
    for at, label in enumerate(labels.tolist()):
        for channel in range(features.shape[1]):
            expected_maps[at] += weight[label, channel] * features[at, channel]
        expected_maps[at] += bias[label]
    pooled = features.sum((2, 3)) / 196

    logits = pooled @ weight.T + bias
    torch.testing.assert_close(CAM.maps(model, images, labels), expected_maps)
    torch.testing.assert_close(CAM.logits(model, images), logits)
    loss = CAM.loss(model, images, labels, seeded())
    assert loss.item() == pytest.approx(cross_entropy(logits, labels).item(), abs=1e-6)


def test_the_mean_of_a_map_is_the_logit_of_its_class():
    model, (images, labels) = model_of("cam", resolution=28).eval(), doubles()

    maps = CAM.maps(model, images, labels)

    assert maps.shape == (4, 28, 28)
    logits = CAM.logits(model, images)[torch.arange(4), labels]
    torch.testing.assert_close(maps.mean((1, 2)), logits)
