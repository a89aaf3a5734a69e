import math

import numpy as np
import pytest
import torch

from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.methods.cutmix import rectangle
from tests.cases import for_each, for_seeds
from tests.evaluation.wsol_study.methods.cases import cross_entropy, doubles, model_of, seeded


def plain_loss(model, images, labels, generator):
    """Mix pixel by pixel; the draws are those of the method, in the same order."""
    torch.rand((), generator=generator)
    order = torch.randperm(len(images), generator=generator).tolist()
    rng = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))
    share = rng.beta(model.values["size_prior"], model.values["size_prior"])
    side = int(56 * math.sqrt(1 - share))
    center_y, center_x = int(rng.integers(56)), int(rng.integers(56))
    mixed, pasted = images.clone(), 0
    for y in range(56):
        for x in range(56):
            if (
                -(side // 2) <= y - center_y < side // 2
                and -(side // 2) <= x - center_x < side // 2
            ):
                pasted += 1
                for at, source in enumerate(order):
                    mixed[at, :, y, x] = images[source, :, y, x]
    logits, rest = model.network(mixed), 56 * 56 - pasted
    pasted_labels = torch.tensor([labels[source] for source in order])
    losses = [cross_entropy(logits, labels), cross_entropy(logits, pasted_labels)]
    return (rest * losses[0] + pasted * losses[1]) / (56 * 56)


@for_seeds(3)
def test_the_loss_equals_a_plain_restatement(seed):
    model, (images, labels) = model_of("cutmix", size_prior=1.0, mix_rate=1.0).eval(), doubles()

    loss = METHODS["cutmix"].loss(model, images, labels, seeded(seed))

    expected = plain_loss(model, images, labels, seeded(seed)).item()
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_a_mix_rate_of_zero_is_cam():
    model, (images, labels) = model_of("cutmix", size_prior=1.0, mix_rate=0.0), doubles()

    loss = METHODS["cutmix"].loss(model.eval(), images, labels, seeded())

    assert loss.item() == pytest.approx(cross_entropy(model(images), labels).item(), abs=1e-6)


@for_each(("rate", "seeds"), [(0.25, range(200))])
def test_the_mix_rate_is_the_share_of_mixed_batches(rate, seeds):
    model, (images, labels) = model_of("cutmix", size_prior=1.0, mix_rate=rate).eval(), doubles(2)
    unmixed = METHODS["cutmix"].loss(model, images, torch.tensor([0, 1]), seeded(0))
    model.network.forward = lambda mixed: mixed.mean((2, 3))

    plain = model(images)
    changed = 0
    for seed in seeds:
        seen = []
        model.network.forward = lambda mixed, seen=seen: seen.append(mixed) or plain
        METHODS["cutmix"].loss(model, images, labels, seeded(seed))
        changed += seen[0] is not images

    assert unmixed.isfinite()
    assert changed / len(seeds) == pytest.approx(rate, abs=0.1)


def test_the_mean_area_before_the_cut_is_a_half():
    rectangles = [rectangle(1000, 1000, 1e6, seeded(seed)) for seed in range(20)]

    # λ is one half, so the rectangle has a side of 707 where the edge does not cut it.
    assert max(rows.stop - rows.start for rows, _ in rectangles) <= 707
    uncut = [rows for rows, _ in rectangles if rows.start > 0 and rows.stop < 1000]
    assert all(abs(rows.stop - rows.start - 706) <= 2 for rows in uncut)
    assert uncut


def test_a_size_prior_of_zero_pastes_all_or_nothing():
    sides = set()
    for seed in range(20):
        rows, columns = rectangle(56, 56, 0.0, seeded(seed))
        sides.add((rows.stop - rows.start, columns.stop - columns.start) == (0, 0))

    assert sides == {True, False}
