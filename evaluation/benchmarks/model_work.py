"""What a kind of benchmark needs to run a registered model for a submission."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ModelUse:
    """How the benchmarks of a kind use models.

    methods: the choices; empty if there is no choice. takes_pools: whether the predictions of a
    pool may be a submission. onnx_fault: why an ONNX file cannot be run, or "".
    """

    methods: Sequence[str] = ()
    takes_pools: bool = False
    onnx_fault: str = ""

    def fault(self, spec: str) -> str:
        """Return why the model of this spec cannot be run, or ""."""
        return self.onnx_fault if spec.lower().endswith(".onnx") else ""


@dataclass(frozen=True)
class ModelWork:
    """A command that runs a model for a benchmark.

    images: names of the photographs, which it reads from the folder IMAGES. command: arguments of
    manage.py without the model. output: its result, as `accept` takes it. may_crop: whether images
    may be cropped.
    """

    images: Collection[str]
    command: Sequence[str]
    output: Path
    may_crop: bool = False


# Names in the folder of the work.
IMAGES, CLASSES = "photographs", "classes.txt"
