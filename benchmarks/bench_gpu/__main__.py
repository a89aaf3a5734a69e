"""`python -m benchmarks.bench_gpu`: the rows alone, or a step of them in a process of its own."""

from benchmarks import bench_gpu, own_process
from benchmarks.bench_gpu.demand import held

own_process.main(__doc__, {"held": held}, lambda _: bench_gpu.main(), 0)
