"""Tiny networks for tests, and files of them."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

DOG, CAT, COOT = "n02084071", "n02121620", "n02018207"
CLASSES = [DOG, CAT, COOT]


class Colours(nn.Module):
    """Logits that are the mean red, green and blue, times a factor."""

    def __init__(self, factor: float = 4.0) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, images: Tensor) -> Tensor:
        return images.mean((2, 3)) * self.factor


class Sure(nn.Module):
    """Probabilities already: softmax of the colours."""

    def forward(self, images: Tensor) -> Tensor:
        return images.mean((2, 3)).softmax(1)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        # Torch would have us export programs; people have files of both.
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def scripted(path: Path, network: nn.Module | None = None) -> Path:
    """A TorchScript file."""
    with _quiet():
        torch.jit.save(torch.jit.script((network or Colours()).eval()), path)
    return path


def with_classes(folder: Path) -> None:
    """colours.pt, and wnids.txt of its classes."""
    scripted(folder / "colours.pt")
    (folder / "wnids.txt").write_text("".join(f"{wnid}\n" for wnid in CLASSES))


def frame(red: int, green: int, blue: int, height: int = 6, width: int = 9) -> Tensor:
    """A frame of one colour."""
    return torch.tensor([red, green, blue], dtype=torch.uint8).expand(height, width, 3).clone()


def exported(path: Path, count: int | None = None, size: int = 8) -> Path:
    """An exported program, for so many images at once; None: any number from 2."""
    shape = (count or 2, 3, size, size)
    anyhow = None if count else {"images": {0: torch.export.Dim.AUTO}}
    program = torch.export.export(Colours().eval(), (torch.zeros(shape),), dynamic_shapes=anyhow)
    torch.export.save(program, path)
    return path


def onnx(path: Path, count: int | str = "n", size: int | str = 8, form: str = "FLOAT") -> Path:
    """An ONNX file of the same network."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save

    kind = getattr(TensorProto, form)
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["images"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMean", ["numbers", "axes"], ["means"], keepdims=0),
            helper.make_node("Mul", ["means", "factor"], ["logits"]),
        ],
        "colours",
        [helper.make_tensor_value_info("images", kind, [count, 3, size, size])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [count, 3])],
        [
            numpy_helper.from_array(np.array([2, 3], np.int64), "axes"),
            numpy_helper.from_array(np.array(4, np.float32), "factor"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    made.ir_version = 9
    save(made, path)
    return path


def onnx_outside(path: Path) -> Path:
    """The same file with numbers that lie in another one."""
    from onnx import load, save
    from onnx.external_data_helper import set_external_data

    model = load(onnx(path))
    set_external_data(model.graph.initializer[1], "/etc/passwd")
    model.graph.initializer[1].ClearField("raw_data")
    save(model, path)
    return path
