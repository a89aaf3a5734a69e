"""Networks in files: TorchScript, exported programs and ONNX. No Django.

Such a file is a program. Torch and onnxruntime are imported inside functions.
"""

import importlib
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.classifiers.preparing import FramePreparation
from labeling import onnx_files
from labeling.files import BadInput, first_line

if TYPE_CHECKING:
    from torch import Tensor

    Network = Callable[[Tensor], Tensor]

TORCHSCRIPT, EXPORTED, WEIGHTS = "TorchScript", "exported program", "weights"
# Entries that identify torch's archives.
MARKS = {"archive_format": EXPORTED, "constants.pkl": TORCHSCRIPT, "data.pkl": WEIGHTS}
# These depend on torch themselves.
LARGE = ("torchvision", "timm")
SEPARATE_ENVIRONMENT = (
    "install it in an environment of its own: pip install -r requirements-models.txt"
)
FORMS = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}


@dataclass(frozen=True)
class Opened:
    """A network before it is moved to its device. weights: their description in results."""

    preparation: FramePreparation
    on: "Callable[[str], Network]"
    weights: str = ""


def load(path: Path, device: str) -> Opened:
    """Return the network in a file, at its stated input size or 224 × 224; colours in [0, 1].

    Raises BadInput for a file of none of the three formats.
    """
    if path.suffix.lower() == ".onnx":
        return _onnx(path, device)
    kind = _kind(path)
    if kind == EXPORTED:
        return _exported(path)
    if kind == TORCHSCRIPT:
        return _torchscript(path)
    raise BadInput(
        "holds weights without a network"
        if kind == WEIGHTS
        else "is not a network that torch saved",
        file=path,
        cure="give a TorchScript, exported-program or ONNX file, or weights with "
        "--model torchvision:NAME --weights FILE",
    )


def _kind(path: Path) -> str:
    """Return the kind of a torch archive; "" for other files."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.partition("/")[2] for name in archive.namelist()}
    # A broken directory also breaks its names and numbers.
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return ""
    return next((kind for mark, kind in MARKS.items() if mark in names), "")


def _torchscript(path: Path) -> Opened:
    import torch

    with warnings.catch_warnings():
        # Torch recommends exported programs; users have files of both kinds.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            module = torch.jit.load(path, map_location="cpu")
        # A broken file raises many kinds of errors.
        except Exception as error:
            raise _unreadable(path, TORCHSCRIPT, error) from None
    return Opened(FramePreparation(), lambda device: module.eval().to(device))


def _exported(path: Path) -> Opened:
    import torch
    from torch.export.passes import move_to_device_pass

    try:
        program = torch.export.load(path)
    # A file of another torch version raises many kinds of errors.
    except Exception as error:
        raise _unreadable(path, EXPORTED, error) from None
    inputs = program.graph_signature.user_inputs
    shape = next(node.meta["val"].shape for node in program.graph.nodes if node.name == inputs[0])
    _refuse_inputs(path, len(inputs), list(shape))
    least, most = _bounds(program, shape[0])

    def on(device: str) -> "Network":
        moved = program if device == "cpu" else move_to_device_pass(program, device)
        return in_batches(moved.module(), least, most)

    return Opened(_sized(shape), on)


def _onnx(path: Path, device: str) -> Opened:
    runtime = import_library("onnxruntime")
    onnx_files.check(path)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    preferred = ["CUDAExecutionProvider"] * device.startswith("cuda") + ["CPUExecutionProvider"]
    providers = [
        provider for provider in preferred if provider in runtime.get_available_providers()
    ]
    try:
        session = runtime.InferenceSession(str(path), options, providers=providers)
    # Its exceptions have no common base class.
    except Exception as error:
        raise _unreadable(path, "ONNX", error) from None
    first = session.get_inputs()[0]
    _refuse_inputs(path, len(session.get_inputs()), first.shape)
    if first.type not in FORMS:
        raise BadInput(
            f"takes {first.type}, expected floating-point numbers",
            file=path,
            cure="export the network without its own conversion of pixels",
        )

    def run(batch: "Tensor") -> "Tensor":
        import torch

        values = batch.cpu().numpy().astype(FORMS[first.type])
        return torch.from_numpy(session.run(None, {first.name: values})[0])

    fixed = first.shape[0] if isinstance(first.shape[0], int) else None
    network = in_batches(run, fixed or 1, fixed)
    return Opened(_sized(first.shape), lambda _: network)


def import_library(library: str, module: str = "") -> Any:
    """Return the module, by default the library itself. Raises BadInput with how to install it."""
    cure = SEPARATE_ENVIRONMENT if library in LARGE else f"install it: pip install {library}"
    try:
        return importlib.import_module(module or library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise BadInput(f"{library} cannot be used: {error}", cure=cure) from None
        raise BadInput(f"{library} is not installed", cure=cure) from None
    # Built for another torch, torchvision raises various errors.
    except (ImportError, RuntimeError, OSError) as error:
        raise BadInput(
            f"{library} cannot be used with this torch ({first_line(error)})",
            cure=cure,
        ) from None


def in_batches(network: "Network", least: int, most: int | None) -> "Network":
    """Return a network for any number of images from one that takes `least` to `most` at once.

    Larger batches are split; smaller ones are filled with black images, whose outputs are dropped.
    """
    import torch

    def run(batch: "Tensor") -> "Tensor":
        collected: list[Any] = []
        for piece in batch.split(most or max(len(batch), 1)):
            lacking = max(least - len(piece), 0)
            filled = torch.cat([piece, piece.new_zeros((lacking, *piece.shape[1:]))])
            outputs = network(filled)
            if isinstance(outputs, tuple | list):
                outputs = outputs[0]
            collected.append(outputs[: len(piece)] if lacking else outputs)
        return collected[0] if len(collected) == 1 else torch.cat(collected)

    return run


def _bounds(program: Any, count: Any) -> tuple[int, int | None]:
    """Return the smallest and largest batch of an exported program; None: any size."""
    if isinstance(count, int):
        return count, count
    bounds = program.range_constraints.get(count.node.expr)
    if bounds is None:
        return 1, None
    # An open bound is an infinity, which is not a sympy Integer.
    return int(bounds.lower), int(bounds.upper) if bounds.upper.is_Integer else None


def _sized(shape: Any) -> FramePreparation:
    """Return the preparation with the input size that the file states, else the default."""
    height, width = shape[2:]
    fixed = isinstance(height, int) and isinstance(width, int)
    return FramePreparation(size=(height, width)) if fixed else FramePreparation()


def _refuse_inputs(path: Path, inputs: int, shape: list[Any]) -> None:
    channels = shape[1] if len(shape) == 4 else None
    if inputs != 1 or len(shape) != 4 or (isinstance(channels, int) and channels != 3):
        actual = f"{inputs} inputs" if inputs != 1 else f"({', '.join(map(str, shape))})"
        raise BadInput(
            f"takes {actual}, expected (images, 3, height, width)",
            file=path,
            cure="export the network with channels before pixels and one input",
        )


def _unreadable(path: Path, kind: str, error: Exception) -> BadInput:
    return BadInput(
        f"cannot be read as {kind} ({first_line(error)})",
        file=path,
        cure="save it again, with the version of the library that is installed here",
    )
