import pytest

from evaluation.wsol_study.running.config import read_config
from labeling.files import BadInput
from tests.cases import for_each

SHORTEST = "images: photos\nmetadata: meta\nmethods: [cam]\nbackbones: [small]\n"


def test_what_is_left_out_follows_from_the_data_set_and_the_convention(tmp_path):
    path = tmp_path / "birds.yaml"
    path.write_text(SHORTEST + "dataset: cub\nconvention: reference\n")

    config = read_config(path)

    assert (config.name, config.epochs, config.decay_every) == ("birds", 50, 15)
    assert (config.protocol, config.trials, config.batch) == ("reference", 30, 32)
    assert config.images == tmp_path / "photos"


@for_each(
    ("line", "fault", "number"),
    [
        ("trails: 3", "has an unknown key 'trails'", 5),
        ("trials: 0", "trials is 0, expected 1 to", 5),
        ("few_shot: [1, 1]", "expected images per class", 5),
        ("trials: true", "trials is True, expected 1 to", 5),
        ("proxy: 10", "expected a share of each class", 5),
        ('name: "a\\0b"', "expected a text", 5),
        ('name: "\\ud800"', "expected a text", 5),
        ("seed: 1\nseed: 2", "cannot be read as YAML", 6),
        ("release: r", "does not say where the truth lies", None),
        ("metric: mpxap", "needs masks", None),
        ("targets: masks", "the truth has boxes", None),
        ("few_shot: [1]", "few_shot needs the method fsl", None),
        ("weights: {small: weights.pth}", "the file is missing", None),
        ("weights: {vgg16: weights.pth}", "the weights of vgg16 are not used", None),
        ("masks: masks", "masks is not used", None),
    ],
)
def test_a_wrong_line_is_refused(tmp_path, line, fault, number):
    path = tmp_path / "config.yaml"
    path.write_text(SHORTEST + line + "\n")

    with pytest.raises(BadInput) as refusal:
        read_config(path)

    assert fault in refusal.value.message
    assert refusal.value.line == number
    assert refusal.value.cure


def test_gc_net_is_refused_as_not_built(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(SHORTEST.replace("[cam]", "[cam, gcnet]"))

    with pytest.raises(BadInput, match="GC-Net is not built") as refusal:
        read_config(path)

    assert refusal.value.line == 3


def test_a_missing_key_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("images: photos\nmetadata: meta\n")

    with pytest.raises(BadInput, match="lacks methods"):
        read_config(path)
