"""`python -m benchmarks.bench_predict`: the rows as a table, or one action in its process."""

from benchmarks import bench_predict, own_process

own_process.main(
    bench_predict.__doc__, bench_predict.ACTIONS, bench_predict.rows, bench_predict.IMAGES
)
