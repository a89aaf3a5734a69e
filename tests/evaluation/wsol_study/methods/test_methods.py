"""What holds for every method."""

import pytest
import torch

from evaluation.wsol_study.hyperparameters import SPACES, draw
from evaluation.wsol_study.methods import METHODS
from evaluation.wsol_study.networks import BACKBONES
from tests.cases import for_each
from tests.evaluation.wsol_study.methods.cases import CLASSES, batch, seeded

RESOLUTIONS = (14, 28)
ADDING = ("acol", "spg", "adl")


def drawn_model(name, resolution=14):
    torch.manual_seed(0)
    values = {**draw(SPACES[name], [0, name]), "resolution": resolution}
    return METHODS[name].model("small", CLASSES, values)


def targets_of(name, labels):
    if name != "fsl":
        return labels
    masks = torch.zeros(len(labels), 56, 56)
    masks[:, 10:30, 20:50] = 1
    return masks


def test_methods_are_in_the_order_of_their_spaces():
    assert list(METHODS) == list(SPACES)


@for_each(("name", "resolution"), [(name, side) for name in METHODS for side in RESOLUTIONS])
def test_shapes_of_loss_logits_and_maps(name, resolution):
    method, model = METHODS[name], drawn_model(name, resolution)
    images, labels = batch()

    loss = method.loss(model, images, targets_of(name, labels), seeded())
    with torch.no_grad():
        logits = method.logits(model.eval(), images)
        maps = method.maps(model, images, labels)

    assert loss.shape == ()
    assert loss.isfinite()
    assert logits is None if name == "fsl" else logits.shape == (4, CLASSES)
    assert maps.shape == (4, resolution, resolution)
    assert maps.isfinite().all()


@for_each(("name", "backbone"), [(name, net) for name in ADDING for net in BACKBONES])
@pytest.mark.ci
def test_methods_that_add_layers_fit_every_backbone(name, backbone):
    """On the meta device, where only shapes are computed; a tensor left on the CPU would fail."""
    method = METHODS[name]
    with torch.device("meta"):
        model = method.model(backbone, CLASSES, draw(SPACES[name], [1, name, backbone]))
    side = model.network.side
    images = torch.zeros(2, 3, side, side, device="meta")
    labels = torch.zeros(2, dtype=torch.long, device="meta")

    loss = method.loss(model, images, labels, seeded())

    grid = model.values["resolution"]
    assert loss.shape == ()
    assert method.maps(model, images, labels).shape == (2, grid, grid)


@for_each("name", METHODS)
def test_chance_comes_only_from_the_generator(name):
    images, labels = batch()
    losses = []
    for global_seed in range(8):
        model = drawn_model(name)
        model.values |= {"drop_rate": 0.5, "mix_rate": 0.5}
        torch.manual_seed(global_seed)
        losses.append(METHODS[name].loss(model, images, targets_of(name, labels), seeded(5)).item())

    assert len(set(losses)) == 1


@for_each("name", METHODS)
def test_the_training_loss_falls(name):
    images, labels = batch()
    images[torch.arange(4), labels] += 2
    model, generator = drawn_model(name), seeded()
    model.values |= EASY.get(name, {})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = METHODS[name].loss(model, images, targets_of(name, labels), generator)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    assert sum(losses[-3:]) < 0.8 * sum(losses[:3])


# Values with which the few images can be learned by heart.
EASY = {
    "has": {"drop_rate": 0.2, "drop_area": 0.2},
    "acol": {"erasing_threshold": 0.9},
    "adl": {"drop_rate": 0.2, "erasing_threshold": 0.9},
    "cutmix": {"mix_rate": 0.2, "size_prior": 1.0},
}


def test_the_classifier_is_everything_but_the_pretrained_layers():
    model = drawn_model("cam")

    pretrained = {id(parameter) for parameter in model.pretrained_parameters()}
    rest = {name for name, value in model.named_parameters() if id(value) not in pretrained}

    assert rest == {"network.fc.weight", "network.fc.bias"}
    assert len(pretrained) == 4 * 3


def test_layer4_of_resnet50_learns_as_the_classifier():
    with torch.device("meta"):
        model = METHODS["acol"].model("resnet50", CLASSES, {"resolution": 14})

    pretrained = {id(parameter) for parameter in model.pretrained_parameters()}
    rest = {name for name, value in model.named_parameters() if id(value) not in pretrained}

    assert {".".join(name.split(".")[:2]) for name in rest} == {
        "network.layer4",
        "network.fc",
        "added.first",
        "added.second",
    }


def test_maps_differ_between_classes():
    model, (images, _) = drawn_model("cam").eval(), batch()

    first, second = (METHODS["cam"].maps(model, images, torch.full((4,), c)) for c in (0, 1))

    assert (first - second).abs().max() > 1e-3
