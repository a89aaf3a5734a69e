"""A made-up promptable network in two small ONNX files, with the names and shapes of SAM's exports.

The embedding is the image, made smaller. The decoder marks what is of a colour like that under a
click, less what is more like what lies beside it, within the box where there is one. A stroke's
points are clicks.
"""

from pathlib import Path
from typing import Any

import numpy as np

SIZE, GRID = 256, 64
# Of prepared colours, summed over red, green and blue: what is as like as this is marked.
LIKENESS = 0.9


def files(folder: Path, size: int = SIZE, grid: int = GRID) -> tuple[Path, Path]:
    """encoder.onnx and decoder.onnx in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return encoder(folder / "encoder.onnx", size, grid), decoder(
        folder / "decoder.onnx", size, grid
    )


def encoder(path: Path, size: int = SIZE, grid: int = GRID, **changed: Any) -> Path:
    """changed: "shape" and "type" of the input."""
    from onnx import TensorProto, helper

    shape = changed.get("shape", [1, 3, size, size])
    step = size // grid
    pooled = {"kernel_shape": [step, step], "strides": [step, step]}
    # An image of three axes is for tests that open it alone.
    operator, attributes = ("AveragePool", pooled) if len(shape) == 4 else ("Identity", {})
    nodes = [helper.make_node(operator, ["image"], ["image_embeddings"], **attributes)]
    image = helper.make_tensor_value_info("image", changed.get("type", TensorProto.FLOAT), shape)
    out = helper.make_tensor_value_info("image_embeddings", image.type.tensor_type.elem_type, None)
    return _saved(path, nodes, [image], [out], [])


def decoder(path: Path, size: int = SIZE, grid: int = GRID) -> Path:
    from onnx import TensorProto, helper, numpy_helper

    constants: dict[str, Any] = {}

    def const(name: str, value: Any, kind: Any = np.float32) -> str:
        constants[name] = np.asarray(value, kind)
        return name

    nodes: list[Any] = []

    def node(operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    cells = grid * grid
    flat = node("Reshape", ["image_embeddings", const("flat_shape", [3, cells], np.int64)], "flat")
    labels = node("Reshape", ["point_labels", const("minus", [-1], np.int64)], "labels")
    points = node("Reshape", ["point_coords", const("pairs", [-1, 2], np.int64)], "points")
    # A box without a click: its middle is one.
    kinds = {kind: const(f"kind_{kind}", kind) for kind in (0, 1, 2, 3)}
    ones, zero = const("one", 1.0), const("zero", 0.0)

    def chosen(kind: int) -> str:
        same = node("Equal", [labels, kinds[kind]], f"is_{kind}")
        return node("Cast", [same], f"weight_{kind}", to=TensorProto.FLOAT)

    weights = {kind: chosen(kind) for kind in (0, 1, 2, 3)}
    axis0, axis1 = const("axis0", [0], np.int64), const("axis1", [1], np.int64)
    boxed = node("ReduceSum", [weights[2], axis0], "boxed", keepdims=1)
    clicked = node("ReduceSum", [weights[1], axis0], "clicked", keepdims=1)

    def corner(kind: int) -> str:
        column = node("Unsqueeze", [weights[kind], axis1], f"column_{kind}")
        return node(
            "ReduceSum",
            [node("Mul", [points, column], f"those_{kind}"), axis0],
            f"corner_{kind}",
            keepdims=1,
        )

    start, end = corner(2), corner(3)
    middle = node("Mul", [node("Add", [start, end], "both"), const("half", 0.5)], "middle")
    no_click = node("Sub", [ones, node("Min", [clicked, ones], "any_click")], "no_click")
    needed = node("Mul", [boxed, no_click], "needed")
    all_points = node("Concat", [points, middle], "all_points", axis=0)
    positive = node("Concat", [weights[1], needed], "positive", axis=0)
    negative = node("Concat", [weights[0], const("none", [0.0])], "negative", axis=0)
    # The cell under each point, and its colours.
    scaled = node("Mul", [all_points, const("scale", grid / size)], "scaled")
    bounded = node("Clip", [scaled, zero, const("last", grid - 1.0)], "bounded")
    whole = node("Cast", [bounded], "whole", to=TensorProto.INT64)
    steps = node("Mul", [whole, const("steps", [1, grid], np.int64)], "steps_of")
    index = node("ReduceSum", [steps, axis1], "index", keepdims=0)
    colours = node(
        "Unsqueeze",
        [node("Gather", [flat, index], "found", axis=1), const("axis2", [2], np.int64)],
        "colours",
    )
    pixels = node("Unsqueeze", [flat, axis1], "pixels")
    apart = node(
        "ReduceSum",
        [node("Abs", [node("Sub", [pixels, colours], "less")], "size_of"), axis0],
        "apart",
        keepdims=0,
    )

    def nearest(weight: str, name: str) -> str:
        column = node("Unsqueeze", [weight, axis1], f"{name}_column")
        far = node(
            "Mul",
            [node("Sub", [ones, column], f"{name}_not"), const(f"{name}_far", 1000.0)],
            f"{name}_away",
        )
        return node(
            "ReduceMin", [node("Add", [apart, far], f"{name}_all"), axis0], name, keepdims=0
        )

    on, beside = nearest(positive, "on"), nearest(negative, "beside")
    most = node("Min", [beside, const("likeness", LIKENESS)], "most")
    logits = node("Sub", [most, on], "logits")
    # Outside the box nothing is marked.
    centres = (np.arange(grid) + 0.5) * size / grid
    xs, ys = np.meshgrid(centres, centres)

    def within(name: str, values: Any, at: int) -> str:
        low = node("Gather", [start, const(f"{name}_at", at, np.int64)], f"{name}_low", axis=1)
        high = node("Gather", [end, const(f"{name}_at2", at, np.int64)], f"{name}_high", axis=1)
        values_name = const(f"{name}_values", values.ravel())
        above = node("Sub", [values_name, low], f"{name}_above")
        below = node("Sub", [high, values_name], f"{name}_below")
        return node("Min", [above, below], f"{name}_inside")

    inside = node("Min", [within("x", xs, 0), within("y", ys, 1)], "inside")
    outside = node(
        "Cast", [node("Less", [inside, zero], "is_outside")], "outside", to=TensorProto.FLOAT
    )
    fine = node("Mul", [node("Mul", [outside, boxed], "off"), const("much", 10.0)], "fine")
    kept = node("Sub", [logits, fine], "kept")
    square = node("Reshape", [kept, const("square_shape", [1, 1, grid, grid], np.int64)], "square")
    four = const("four", [1.0, 1.0, 4.0, 4.0])
    node("Resize", [square, "", four], "low_res_masks", mode="linear")
    by = const("by", [1.0, 1.0, size / grid, size / grid])
    large = node("Resize", [square, "", by], "large", mode="linear")
    ends = node("Cast", ["orig_im_size"], "ends", to=TensorProto.INT64)
    node(
        "Slice",
        [large, const("starts", [0, 0], np.int64), ends, const("axes", [2, 3], np.int64)],
        "masks",
    )
    node("Constant", [], "iou_predictions", value=numpy_helper.from_array(np.float32([[0.9]])))
    # Named by the contract, and of no use here.
    node("Identity", ["mask_input"], "ignored_mask")
    node("Identity", ["has_mask_input"], "ignored_flag")
    tensors = [
        ("image_embeddings", [1, 3, grid, grid]),
        ("point_coords", [1, "n", 2]),
        ("point_labels", [1, "n"]),
        ("mask_input", [1, 1, 4 * grid, 4 * grid]),
        ("has_mask_input", [1]),
        ("orig_im_size", [2]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in tensors
    ]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in ("masks", "iou_predictions", "low_res_masks")
    ]
    initial = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    return _saved(path, nodes, inputs, outputs, initial)


def _saved(
    path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], initial: list[Any]
) -> Path:
    import onnx
    from onnx import helper

    graph = helper.make_graph(nodes, "made_up", inputs, outputs, initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
    return path
