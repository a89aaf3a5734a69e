"""Kernels compiled ahead: all of them, with the types that commands call them with, and kept."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from deploy import compile_kernels
from evaluation.metrics.wsol.box_scores import PROTOCOLS
from labeling.estimators.dawid_skene import dawid_skene
from labeling.near_duplicates import search
from labeling.question_graph import scenes
from labeling.question_graph.graph import build
from tests.evaluation import commands
from tests.evaluation.pool import mad, make_pool
from tests.evaluation.wsol_folders import Folder

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
# Runs in a process of its own: numba reads its cache folder once.
STATS = """
import sys
from importlib import import_module
from deploy import compile_kernels
for module in sys.argv[1:]:
    compile_kernels.compile_kernels(module)
    for name in compile_kernels.SIGNATURES[module]:
        stats = getattr(import_module(module), name).stats
        print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def hits_and_misses(cache: Path, *modules: str) -> tuple[int, int]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", STATS, *modules],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    counts = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return sum(hits for hits, _ in counts), sum(misses for _, misses in counts)


@pytest.mark.parametrize(
    "modules",
    [
        ("labeling.near_duplicates.kernels", "evaluation.metrics.cds.kernels"),
        pytest.param(tuple(compile_kernels.SIGNATURES), marks=pytest.mark.slow),
    ],
    ids=["two", "all"],
)
def test_what_is_compiled_once_is_loaded_by_the_next_process(tmp_path, modules):
    signatures = [
        signature
        for module in modules
        for kernel in compile_kernels.SIGNATURES[module].values()
        for signature in kernel
    ]

    _, compiled = hits_and_misses(tmp_path, *modules)
    loaded = hits_and_misses(tmp_path, *modules)

    assert compiled > 0
    assert loaded == (len(signatures), 0)


def test_every_kernel_that_python_code_imports_is_compiled():
    called = set()
    for package in ("labeling", "evaluation"):
        for file in (ROOT / package).rglob("*.py"):
            if file.name.startswith("kernels"):
                continue
            text = file.read_text()
            called |= set(re.findall(r"\bkernels(?:_\w+)?\.([a-z]\w+)\(", text))
            for names in re.findall(r"from [\w.]+\.kernels(?:_\w+)? import (.+)", text):
                called |= set(re.findall(r"\b[a-z]\w+", names))
    compiled = {name for kernels in compile_kernels.SIGNATURES.values() for name in kernels}

    assert len(called) > 20
    assert called - compiled == set()


def entries() -> dict[str, set[object]]:
    """The types that each kernel of the list is compiled for."""
    return {
        f"{module}.{name}": set(getattr(import_module(module), name).signatures)
        for module, kernels in compile_kernels.SIGNATURES.items()
        for name in kernels
    }


def select(folder: Path) -> None:
    for kind in ("float16", "float32"):
        pool = make_pool(folder / kind, confidence_types=(kind,))
        assert mad("select", "--predictions", pool, "--out", folder / f"{kind}.jsonl")[0] == 0


def aggregate(folder: Path) -> None:
    for classes in (2, 3):
        rows = np.arange(60)
        sizes = {"n_annotators": 5, "n_items": 12, "n_classes": classes}
        dawid_skene(rows % 5, rows // 5, rows % classes, **sizes)


def compare_images(folder: Path) -> None:
    search.pairs(np.random.default_rng(0).integers(0, 2**64, (50, 8), dtype=np.uint64), 4)


def plan_questions(folder: Path) -> None:
    graph = build({"nodes": [{"id": n, "question": n, "class": n} for n in ("cat", "dog")]})
    known = scenes.independent(graph, 1.0)
    scenes.chances(graph, known, np.full((1, 2), -1, np.int8), 0.1)


def score_maps(folder: Path) -> None:
    files = Folder(folder)
    for protocol in PROTOCOLS:
        assert commands.run("score", "wsol", *files.named, "--protocol", protocol)[0] == 0


@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize(
    ("module", "use"),
    [
        ("evaluation.metrics.mad.kernels", select),
        ("labeling.estimators.kernels", aggregate),
        ("labeling.near_duplicates.kernels", compare_images),
        ("labeling.question_graph.kernels_scenes", plan_questions),
        ("evaluation.metrics.wsol.kernels_levels", score_maps),
    ],
)
def test_commands_call_kernels_with_types_that_are_compiled(tmp_path, module, use):
    compile_kernels.compile_kernels(module)
    if use is score_maps:
        compile_kernels.compile_kernels("evaluation.metrics.wsol.kernels_boxes")
    before = entries()

    use(tmp_path)

    assert {name: types - before[name] for name, types in entries().items()} == {
        name: set() for name in before
    }
