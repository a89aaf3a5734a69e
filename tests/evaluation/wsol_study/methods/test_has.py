import pytest
import torch

from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.methods.has import hide
from tests.cases import for_each
from tests.evaluation.wsol_study.methods.cases import cross_entropy, doubles, model_of, seeded


def hidden_by_loops(images, patch, rate, generator):
    count, _, height, width = images.shape
    rows, columns = (height + patch - 1) // patch, (width + patch - 1) // patch
    draws = torch.rand(count, 1, rows, columns, generator=generator)
    result = images.clone()
    for at in range(count):
        for y in range(height):
            for x in range(width):
                if draws[at, 0, y // patch, x // patch] < rate:
                    result[at, :, y, x] = 0
    return result


@for_each(("area", "patch"), [(0.01, 1), (0.25, 14), (0.4, 22), (1.0, 56)])
def test_patches_of_the_grid_are_hidden(area, patch):
    images, _ = doubles()

    hidden = hide(images, area, 0.4, seeded(3))

    assert torch.equal(hidden, hidden_by_loops(images, patch, 0.4, seeded(3)))


def test_no_grid_and_no_drops_leave_the_images_unchanged():
    images, _ = doubles()

    assert torch.equal(hide(images, 0.005, 1.0, seeded()), images)
    assert torch.equal(hide(images, 0.3, 0.0, seeded()), images)
    assert not hide(images, 0.3, 1.0, seeded()).any()


def test_the_loss_is_the_cross_entropy_of_the_hidden_images():
    model, (images, labels) = model_of("has", drop_area=0.3, drop_rate=0.5).eval(), doubles()

    loss = METHODS["has"].loss(model, images, labels, seeded(2))

    logits = model.network(hidden_by_loops(images, 17, 0.5, seeded(2)))
    assert loss.item() == pytest.approx(cross_entropy(logits, labels).item(), abs=1e-6)
