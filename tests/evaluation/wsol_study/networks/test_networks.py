import pytest
import torch

from evaluation.wsol_study.networks import BACKBONES, build, load_weights
from labeling.files import BadInput
from tests.cases import for_each

GRIDS = [(backbone, side) for backbone in BACKBONES for side in (14, 28)]


@for_each(("backbone", "resolution"), GRIDS)
def test_features_have_the_grid_of_the_resolution(backbone, resolution):
    # Shapes alone: nothing is computed.
    with torch.device("meta"):
        network = build(backbone, 5, resolution)
        features = network.feature_maps(torch.zeros(1, 3, network.side, network.side))

    assert features.shape == (1, network.channels, resolution, resolution)


@for_each("backbone", BACKBONES)
def test_a_change_between_stages_reaches_the_features(backbone):
    torch.manual_seed(0)
    network = build(backbone, 5, 14).eval()
    channels = {}

    def between(stage, values):
        channels[stage] = values.shape[1]
        return values if stage != network.guided[0][0] else values * 0

    images = torch.rand(2, 3, 56, 56)
    with torch.no_grad():
        changed, features = network.feature_maps(images, between), network.feature_maps(images)

    assert channels["top"] == network.channels
    assert set(network.attended) <= channels.keys()
    assert all(channels[stage] == count for stage, count in network.guided)
    assert torch.equal(changed[0], changed[1])
    assert not torch.equal(features[0], features[1])


def test_weights_of_another_number_of_classes_fill_the_body(tmp_path):
    before, after = build("small", 5, 14), build("small", 3, 28)
    torch.save(before.state_dict(), tmp_path / "w.pth")
    kept = after.fc.weight.clone()

    load_weights(after, tmp_path / "w.pth")

    assert torch.equal(after.conv3[0].weight, before.conv3[0].weight)
    assert torch.equal(after.fc.weight, kept)


@for_each(
    ("change", "message"),
    [
        (lambda state: state.pop("conv2.0.weight"), "conv2.0.weight is missing"),
        (lambda state: state.update({"conv2.0.weight": torch.zeros(1)}), r"conv2.0.weight is \(1,"),
    ],
)
def test_weights_that_do_not_fit_the_body_are_refused(tmp_path, change, message):
    state = build("small", 5, 14).state_dict()
    change(state)
    torch.save(state, tmp_path / "w.pth")

    with pytest.raises(BadInput, match=message):
        load_weights(build("small", 5, 14), tmp_path / "w.pth")


def test_a_file_that_holds_code_is_refused(tmp_path):
    torch.save(build("small", 5, 14), tmp_path / "w.pth")

    with pytest.raises(BadInput, match="is not a file of weights alone"):
        load_weights(build("small", 5, 14), tmp_path / "w.pth")
