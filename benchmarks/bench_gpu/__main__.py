"""`python -m benchmarks.bench_gpu`: the rows alone."""

from benchmarks import bench_gpu
from benchmarks.__main__ import render

print(render(bench_gpu.main()))
