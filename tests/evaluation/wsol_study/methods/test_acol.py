import pytest
import torch
from torch.nn import functional as F

from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.methods.acol import erasing_mask
from tests.cases import for_each
from tests.evaluation.wsol_study.methods.cases import cross_entropy, doubles, model_of, seeded

ACOL = METHODS["acol"]


def convolved(features, layers):
    for layer in (0, 2, 4):
        weight, bias = layers[layer].weight, layers[layer].bias
        features = F.conv2d(features, weight, bias, padding=weight.shape[2] // 2)
        features = features if layer == 4 else torch.where(features > 0, features, 0.0)
    return features


def plain(model, images, labels, threshold):
    """Return both heads' maps and the fused score maps, by loops."""
    features = images
    for name in ("conv1", "conv2", "conv3", "conv4"):
        features = getattr(model.network, name)(features)
    first = convolved(features, model.added["first"])
    erased = features.clone()
    for at, label in enumerate(labels.tolist()):
        one_map = first[at, label]
        low, high = one_map.min(), one_map.max()
        for y in range(one_map.shape[0]):
            for x in range(one_map.shape[1]):
                if (one_map[y, x] - low) / (high - low) >= threshold:
                    erased[at, :, y, x] = 0
    second = convolved(erased, model.added["second"])
    fused = []
    for at, label in enumerate(labels.tolist()):
        pair = [maps[at, label] for maps in (first, second)]
        pair = [(m - m.min()) / (m.max() - m.min()) for m in pair]
        fused.append(torch.where(pair[0] > pair[1], pair[0], pair[1]))
    return first, second, torch.stack(fused)


@for_each("threshold", [0.3, 0.7])
def test_loss_and_maps_equal_a_plain_restatement(threshold):
    model, (images, labels) = model_of("acol", erasing_threshold=threshold).eval(), doubles()

    loss = ACOL.loss(model, images, labels, seeded())

    first, second, fused = plain(model, images, labels, threshold)
    pooled = [maps.sum((2, 3)) / 196 for maps in (first, second)]
    expected = sum(cross_entropy(logits, labels) for logits in pooled)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    torch.testing.assert_close(ACOL.maps(model, images, labels), fused)
    torch.testing.assert_close(ACOL.logits(model, images), pooled[0])


def test_the_threshold_decides_how_much_is_erased():
    maps = torch.tensor([[[0.0, 1.0], [2.0, 4.0]]])

    assert erasing_mask(maps, 0.0).sum() == 0
    assert erasing_mask(maps, 0.5).tolist() == [[[[1, 1], [0, 0]]]]
    assert erasing_mask(maps, 1.0).tolist() == [[[[1, 1], [1, 0]]]]
    assert erasing_mask(torch.ones(1, 2, 2), 0.5).sum() == 4


def test_both_heads_and_the_body_learn_but_the_mask_does_not():
    model, (images, labels) = model_of("acol", erasing_threshold=0.5), doubles()
    first, second = (model.added[name][0].weight for name in ("first", "second"))

    ACOL.loss(model, images, labels, seeded()).backward()
    with_both = model.network.conv1[0].weight.grad.clone()
    model.zero_grad()
    features = model.network.body(images)
    maps = model.added["first"](features)
    F.cross_entropy(maps.mean((2, 3)), labels).backward()

    # The first head's gradient is that of its loss alone: none comes through the mask.
    assert first.grad.abs().sum() > 0
    first_alone = first.grad.clone()
    body_alone = model.network.conv1[0].weight.grad.clone()
    assert not torch.allclose(with_both, body_alone)
    model.zero_grad()
    model.eval().train()
    ACOL.loss(model, images, labels, seeded()).backward()
    torch.testing.assert_close(first.grad, first_alone)
    assert second.grad.abs().sum() > 0
