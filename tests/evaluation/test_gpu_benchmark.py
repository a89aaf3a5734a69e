"""`python -m benchmarks gpu` on a machine that has torch and numpy alone."""

import os
import subprocess
import sys

import pytest

from benchmarks import SMALLEST

# The CPU stands for the GPU. Larger grids take half a minute.
BARE = """
import sys
for name in ("django", "numba", "scipy", "shapely", "PIL", "nltk", "yaml", "pytest"):
    sys.modules[name] = None
from benchmarks.__main__ import main
from benchmarks.bench_gpu import made
made.GRIDS = {"14 × 14": 14}
sys.exit(main(["gpu"], smallest=True))
"""


@pytest.mark.ci
def test_the_gpu_benchmark_needs_only_torch_and_numpy():
    # The sizes are read when the modules are imported.
    environment = os.environ | {"ASSAY_BENCHMARK_DEVICE": "cpu", SMALLEST: "1"}

    done = subprocess.run(
        [sys.executable, "-c", BARE], capture_output=True, text=True, env=environment, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "NOT EQUAL" not in done.stdout
    for row in ("hits of maps, 14 × 14, paper", "candidates of a pair", "numba is not installed"):
        assert row in done.stdout
