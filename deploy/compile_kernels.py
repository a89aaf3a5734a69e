"""Compile the numba kernels before a command needs them: `python -m deploy.compile_kernels`.

`make setup` runs it, and each worker of compose.yaml in the background. Kernels in the cache are
only loaded. A call with other argument types still compiles its kernel.
"""

from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from labeling import processors

# Package and kernel → types of the arguments: numpy's, `:n` an array of n dimensions, `r` one that
# is read-only; `tree` and `scale` as below.
CELLS = "i8 {key} u1:1 {key}:2 u2:2 {key}:3 i8:3 i4:1 i8 b1 u1:1r i8:1"
SIGNATURES: dict[str, dict[str, tuple[str, ...]]] = {
    "labeling.estimators.kernels": {
        "tally": ("i8:1 u4:1 b1:1 f8:2 f8:2 f8:1",),
        "expect": ("i8:1 u4:1 i4:1 b1:1 f8:1 f8:2 f8:2 f8:2 f8:1",),
        "expect_binary": ("i8:1 u4:1 i4:1 b1:1 f8 f8:1 f8:2 f8:2 f8:1",),
    },
    "labeling.near_duplicates.kernels": {
        "near": ("u8:2 u8:2 i4:2 i8 i4:2 i8:2 i8 i8 i8:1 i8:1 i8:1",),
    },
    "labeling.question_graph.kernels_scenes": {
        "chances": ("tree f8:1 f8:2 i1:2 f8 f8:2",),
        "expect": ("tree f8:1 f8:2 i1:2 f8 f8:1 f8:2",),
        "ask": ("tree f8:1 f8:2 i1:2 f8 f8 f8 i1:2 f8:2",),
        "pick": ("tree f8:1 i1:1 f8 f8 f8 f8:1",),
        "saved": ("f8 f8 f8",),
    },
    "evaluation.metrics.mad.kernels": {
        "scan_lines": ("u1:1r i8:1 i8:1",),
        "hash_lines": ("u1:1r i8 i8 u8:1",),
        "line_start": ("u1:1r i8:1 i8",),
        "best_per_cell": (
            f"i2:1r i2:1r u2:1r u2:1r {CELLS.format(key='u2')}",
            f"i4:1r i4:1r u2:1r u2:1r {CELLS.format(key='u2')}",
            f"i2:1r i2:1r u4:1 u4:1 {CELLS.format(key='u4')}",
        ),
        "clear_below": ("u1:1 i4:2 i8:1 i8:1 i8",),
        "rule_out": ("i4:1 i4:1 i8:1 i8:1 i8 i8 i8 b1:1 i8:1 i8:1",),
    },
    "evaluation.metrics.mad.kernels_bootstrap": {"count_draws": ("u8:1 i8:1 u8:1 i8:1 i8:3",)},
    "evaluation.metrics.wordnet.kernels": {"overlaps": ("i4:1 i8:2 i8:1 i8:1 i8",)},
    "evaluation.metrics.ilsvrc.kernels": {
        "widen": ("i4:1 i4:1 i4:1 i8:1 i8:1",),
        "count_in_sets": ("i8:1 i4:1 i1:1 i8 i8:1 i4:2 i8:1",),
    },
    "evaluation.metrics.cds.kernels": {"medians": ("f8:2 i8:2 i8:1 i4:2 f8:2",)},
    "evaluation.metrics.detection.kernels_matching": {
        "match_greedily": ("i8:1 i8:1 f8:2 f8:2 f8:1 f8",),
    },
    "evaluation.metrics.detection.kernels_precision": {
        "draw_images": ("u8:1 u1:2",),
        "weighted_precisions": ("u1:2 i4:1 b1:1 i8:1 i4:1 i8:1 f8:2",),
    },
    "evaluation.metrics.detection.kernels_scales": {
        "count_alike": ("f8:2 f8:1",),
        "count_touching": ("i8:1 f8:2",),
        "matched_rounds": ("u4:2 i8:1 f8:1 f8:1",),
        "keep": ("f8:1 i8:1 f8",),
    },
    "evaluation.metrics.frames.kernels": {
        "extents": ("i2:2 i8",),
        "squared_distances": ("i2:2 i8 i8:1 i8:1 i4:2",),
        "paint": ("i4:1 i4:1 f4:1 f4:3 u1:1 u1:2",),
    },
    "evaluation.metrics.wsol.kernels_levels": {
        "stretched": ("f4:2 i8 i8",),
        "count_scores": ("f4:1 scale u1:1 i8:2", "f8:1 scale u1:1 i8:2"),
    },
    "evaluation.metrics.wsol.kernels_boxes": {
        "byte_hits": ("f4:2 scale f8:2 f8:1",),
        "step_hits": ("f8:2 scale i8 f8:2 f8:1",),
    },
}


def compile_kernels(module: str) -> None:
    kernels = import_module(module)
    for name, signatures in SIGNATURES[module].items():
        for signature in signatures:
            getattr(kernels, name).compile(tuple(map(numba_type, signature.split())))


def numba_type(code: str) -> Any:
    import numpy as np
    from numba import types
    from numba.np.numpy_support import from_dtype

    from evaluation.metrics.wsol.kernels_levels import Scale

    if code == "tree":
        return types.UniTuple(numba_type("i8:1"), 5)
    if code == "scale":
        return types.NamedUniTuple(types.float64, 2, Scale)
    dtype, _, shape = code.partition(":")
    scalar = from_dtype(np.dtype(dtype))
    return types.Array(scalar, int(shape[0]), "C", shape.endswith("r")) if shape else scalar


def main() -> None:
    # Spawned, because numba's threads must not be forked. The modules that take longest are last in
    # SIGNATURES, so they start first.
    with ProcessPoolExecutor(processors.count(), get_context("spawn")) as pool:
        list(pool.map(compile_kernels, reversed(SIGNATURES)))


if __name__ == "__main__":
    main()
