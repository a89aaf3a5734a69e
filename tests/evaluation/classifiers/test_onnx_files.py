"""What is refused of an ONNX file before a runtime opens it."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.classifiers import model_files
from labeling import onnx_files
from labeling.files import BadInput
from tests.evaluation.classifiers import networks

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
Change = Callable[[Any, Path], object]


def changed(folder: Path, change: Change) -> Path:
    """The toy network's file after a change of its model."""
    path = networks.onnx(folder / "colours.onnx")
    model = onnx.load(path)
    change(model, folder)
    onnx.save(model, path)
    return path


def custom(model: Any, _: Path) -> None:
    model.graph.node[2].domain = "example.org"


def branch(then: Any) -> Any:
    """A node If whose branch is a graph of these nodes and tensors."""
    return onnx.helper.make_node("If", ["axes"], ["x"], then_branch=then)


def custom_in_branch(model: Any, _: Path) -> None:
    node = onnx.helper.make_node("Mul", [], [], domain="example.org")
    model.graph.node.append(branch(onnx.helper.make_graph([node], "then", [], [])))


def large_in_branch(model: Any, _: Path) -> None:
    tensor = onnx.TensorProto(name="t", dims=[1 << 20, 1 << 20], data_type=1)
    model.graph.node.append(branch(onnx.helper.make_graph([], "then", [], [], [tensor])))


def sparse(model: Any, _: Path) -> None:
    values = onnx.numpy_helper.from_array(np.array([1], np.float32), "s")
    indices = onnx.numpy_helper.from_array(np.array([0], np.int64), "i")
    made = onnx.helper.make_sparse_tensor(values, indices, [1 << 20, 1 << 20])
    model.graph.sparse_initializer.append(made)


def negative(model: Any, _: Path) -> None:
    model.graph.initializer[1].dims.append(-1)


def sum_of_many(model: Any, _: Path) -> None:
    for _number in range(5):
        model.graph.initializer.append(onnx.TensorProto(dims=[1 << 28], data_type=1))


def deep(model: Any, _: Path) -> None:
    graph = onnx.helper.make_graph([], "g", [], [])
    for _number in range(20):
        graph = onnx.helper.make_graph([branch(graph)], "g", [], [])
    model.graph.node.extend(graph.node)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (custom, "has the operator 'Mul' of 'example.org', which is not ONNX's"),
        (custom_in_branch, "has the operator 'Mul' of 'example.org'"),
        (large_in_branch, "has tensors of over 4 GiB"),
        (sparse, "has tensors of over 4 GiB"),
        (negative, "has tensors of over 4 GiB"),
        (sum_of_many, "has tensors of over 4 GiB"),
        (deep, "cannot be read as ONNX"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_a_file_must_not_hold_is_refused_by_name(tmp_path, monkeypatch, change, message):
    path = changed(tmp_path, change)
    monkeypatch.setattr(onnx_files, "MAX_NESTING", 10)
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *_, **__: pytest.fail("was opened"))

    with pytest.raises(BadInput, match=message) as refused:
        model_files.load(path, "cpu")

    assert refused.value.file == str(path)


def test_numbers_in_other_files_are_refused(tmp_path):
    with pytest.raises(BadInput, match="has tensors in other files; save it as one file"):
        onnx_files.check(networks.onnx_outside(tmp_path / "colours.onnx"))


def test_functions_of_the_file_itself_are_no_custom_operators(tmp_path):
    def with_function(model: Any, _: Path) -> None:
        body = [onnx.helper.make_node("Mul", ["a", "b"], ["c"])]
        opset = [onnx.helper.make_opsetid("", 18)]
        function = onnx.helper.make_function("own", "Times", ["a", "b"], ["c"], body, opset)
        model.functions.append(function)
        model.graph.node[2].domain, model.graph.node[2].op_type = "own", "Times"
        model.opset_import.append(onnx.helper.make_opsetid("own", 1))

    path = changed(tmp_path, with_function)

    onnx_files.check(path)
    assert model_files.load(path, "cpu").preparation.size == (8, 8)


def test_custom_operators_within_a_function_are_refused(tmp_path):
    def with_function(model: Any, _: Path) -> None:
        body = [onnx.helper.make_node("Mul", ["a", "b"], ["c"], domain="example.org")]
        made = onnx.helper.make_function("own", "Times", ["a", "b"], ["c"], body, [])
        model.functions.append(made)

    with pytest.raises(BadInput, match=r"'example\.org'"):
        onnx_files.check(changed(tmp_path, with_function))


def test_a_file_of_too_many_bytes_or_parts_is_refused_unread(tmp_path, monkeypatch):
    large = tmp_path / "large.onnx"
    with large.open("wb") as file:
        file.truncate((2 << 30) + 1)
    many = networks.onnx(tmp_path / "many.onnx")
    monkeypatch.setattr(onnx_files, "MAX_PARTS", 20)

    with pytest.raises(BadInput, match=r"has 2\.0 GiB, at most 2 are read"):
        onnx_files.check(large)
    with pytest.raises(BadInput, match="has over 20 parts"):
        onnx_files.check(many)


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_file_is_refused_or_passes_and_breaks_nothing(tmp_path, seed):
    whole = networks.onnx(tmp_path / "colours.onnx").read_bytes()
    chance = np.random.default_rng(seed)
    path = tmp_path / "damaged.onnx"
    for _ in range(100):
        content = bytearray(whole[: chance.integers(1, len(whole) + 1)])
        for offset in chance.integers(0, len(content), 3):
            content[offset] = chance.integers(0, 256)
        path.write_bytes(content)

        with suppress(BadInput):
            onnx_files.check(path)
