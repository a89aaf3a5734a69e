"""How registered models make submissions to benchmarks on released labels."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluation.benchmarks.kinds.labeled.truth.ground_truth import CLASSIFICATION, WSOL
from evaluation.benchmarks.kinds.labeled.versions import TruthHistory
from evaluation.benchmarks.model_work import CLASSES, IMAGES, ModelUse, ModelWork
from evaluation.metrics.attribution.recipes import METHODS
from evaluation.models import Benchmark
from evaluation.readers.wsol_folders import read_labels

# Number of likeliest classes per image in a submission.
TOP = 5
USES: Mapping[str, ModelUse] = {
    CLASSIFICATION: ModelUse(takes_pools=True),
    WSOL: ModelUse(
        METHODS,
        onnx_fault="An ONNX file gives no gradients and hides its feature maps, so it makes no "
        "score maps. Register the network as TorchScript, exported program or by name.",
    ),
}


def work(benchmark: Benchmark, folder: Path, method: str, classes: Sequence[str]) -> ModelWork:
    """Return `predict` or `scoremaps` on the images of the newest truth. Raises Refusal."""
    history = TruthHistory.of(benchmark)
    truth = history.at(history.newest)
    if benchmark.kind == CLASSIFICATION:
        command = ["predict", IMAGES, f"--classes={CLASSES}", f"--top={TOP}", "--out=out"]
        return ModelWork(truth.images, command, folder / "out", may_crop=True)
    metadata = folder / "metadata"
    # An earlier attempt may have left it half written.
    shutil.rmtree(metadata, ignore_errors=True)
    metadata.mkdir()
    truth.write(metadata)
    labels = set(read_labels(metadata).values())
    command = [
        "scoremaps",
        f"--method={method}",
        f"--images={IMAGES}",
        "--metadata=metadata",
        f"--classes={CLASSES}",
        "--out=maps",
        # Maps of the predicted class if the model lacks a class of the truth.
        f"--target={'true' if labels <= set(classes) else 'predicted'}",
    ]
    return ModelWork(truth.images, command, folder / "maps")
