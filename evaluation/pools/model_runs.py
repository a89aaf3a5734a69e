"""Submissions that registered models make: a job runs the model on a benchmark's images, or reads
its predictions in a pool.

The only writer of ModelRun.
"""

import csv
import io
import json
import os
import shutil
import zipfile
from collections.abc import Collection
from pathlib import Path

from django.core.files.storage import storages
from django.db import transaction

from evaluation.benchmarks import runs
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.model_work import CLASSES, IMAGES, ModelUse
from evaluation.benchmarks.scoring_device import scoring_device
from evaluation.benchmarks.submissions import lock_benchmark
from evaluation.models import Benchmark, ModelRun, Pool
from evaluation.pools import making, registering, uploading, work_folders
from evaluation.readers.pools import read_pool
from labeling.csv_rows import nfc
from labeling.datasets.images import open_original
from labeling.errors import NotYours, Refusal
from labeling.files import BadInput
from labeling.jobs import child, queue
from labeling.models import Dataset, Job, User

KIND = "submit model"
FOLDER = "model_runs"
# Names of images in one query.
STRETCH = 500
# Entries of a command's result that are kept.
RESULT_KEYS = (
    "images",
    "frames",
    "skipped",
    "constant",
    "recipe",
    "preparation",
    "device",
    "versions",
)


def use_of(benchmark: Benchmark) -> ModelUse:
    """Return how models become submissions. Raises Refusal if they cannot."""
    use = kind_of(benchmark).model_use
    if use is None:
        raise Refusal("Benchmarks of this kind take only files. Run the model elsewhere.")
    return use


def pools_of(benchmark: Benchmark) -> list[tuple[Pool, str]]:
    """Return the pools of the benchmark's dataset with each of their models, newest first."""
    if not use_of(benchmark).takes_pools:
        return []
    pools = benchmark.campaign.dataset.pools.exclude(file="")
    return [(pool, name) for pool in pools for name in pool.names]


def request(
    benchmark: Benchmark, actor: User, name: str, *, pool: int | None = None, method: str = ""
) -> ModelRun:
    """Return the queued run of this model, or create one with its job.

    pool: the pool whose predictions are submitted, instead of running the model. method: of score
    maps; required if the kind has several. Raises Refusal with the field.
    """
    use, made = use_of(benchmark), None
    if pool is None:
        [model] = registering.models_named([name], "model")
        if fault := use.fault(model.spec):
            raise Refusal(f"{name} cannot be run here. {fault}", field="model")
    else:
        made = next(
            (row for row, each in pools_of(benchmark) if (row.pk, each) == (pool, name)), None
        )
        if made is None:
            raise Refusal(
                f"Pool {pool} has no predictions of {name} that this benchmark takes.", field="pool"
            )
    if method not in (use.methods or ("",)):
        cure = f"Choose one of {', '.join(use.methods)}." if use.methods else "Give no method here."
        raise Refusal(cure, field="method")
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark)
        waiting = benchmark.model_runs.filter(
            model=name, pool=made, method=method, job__state=Job.State.QUEUED
        ).first()
        if waiting is not None:
            return waiting
        last = ModelRun.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        job = queue.enqueue(
            KIND,
            f"benchmark {benchmark.pk} after {last}",
            {"pool": pool},
            campaign=benchmark.campaign,
        )
        return ModelRun.objects.create(
            benchmark=benchmark, model=name, pool=made, method=method, job=job, created_by=actor
        )


def run_at(benchmark: Benchmark, pk: int) -> ModelRun:
    """Return the benchmark's run of that number. Raises NotYours."""
    run = benchmark.model_runs.select_related("job", "pool", "created_by").filter(pk=pk).first()
    if run is None:
        raise NotYours("The benchmark has no such run of a model.")
    return run


def execute(job: Job) -> None:
    """Make the submission, and request a score.

    May run twice: it continues the work of a dead worker on the same machine.
    """
    sweep()
    run = (
        ModelRun.objects.select_related(
            "benchmark__campaign__dataset", "benchmark__release", "created_by", "pool"
        )
        .filter(job=job)
        .first()
    )
    if run is None or run.result:
        return
    if run.pool is None and job.payload.get("pool"):
        raise Refusal(f"Pool {job.payload['pool']} was removed. Choose another one.")
    benchmark, actor, name = run.benchmark, run.created_by, f"{run.model} {run.method}".strip()
    with work_folders.working(FOLDER, run.pk, job) as folder:
        result: dict[str, object] = {"classifier": name}
        if run.pool is not None:
            path = _pool_rows(run, run.pool, folder)
        else:
            path = _predicted(job, run, folder, result)
        queue.renew(job)
        try:
            changed = runs.submit(benchmark, actor, path, f"{run.model}.csv", name)
        except BadInput as bad:
            raise Refusal(f"{bad}.") from bad
        if not changed and runs.has_changed(benchmark):
            # An earlier attempt may have ended before it requested the score.
            runs.request(benchmark, actor)
    ModelRun.objects.filter(pk=run.pk).update(result=result)


def sweep() -> None:
    """Remove the work of runs that no job continues."""
    work_folders.sweep(FOLDER, ModelRun.objects.all())


def _predicted(job: Job, run: ModelRun, folder: Path, result: dict[str, object]) -> Path:
    """Return the output of the kind's command, and add what it printed to the result."""
    [model] = registering.models_named([run.model], "model")
    registering.write_classes(model, folder / CLASSES)
    kind = kind_of(run.benchmark)
    work = kind.model_work(run.benchmark, folder, run.method, model.classes)
    _write_images(job, run.benchmark.campaign.dataset, work.images, folder / IMAGES)
    printed = child.manage(
        job,
        folder,
        *work.command,
        f"--model={model.name}={registering.spec_in(model, folder)}",
        *(flag for flag in model.options if work.may_crop or not flag.startswith("--fit=")),
        f"--device={scoring_device()}",
        "--json",
        environment=registering.wordnet_variables(),
    )
    result |= {key: value for key, value in json.loads(printed).items() if key in RESULT_KEYS}
    result["sha256"] = model.source.get("sha256")
    # A pool is a folder with a file for each model.
    file = work.output / f"{model.name}.csv"
    return file if file.is_file() else work.output


def _write_images(job: Job, dataset: Dataset, names: Collection[str], folder: Path) -> None:
    """Write the original photographs that the folder lacks, under their names."""
    ordered, done = sorted(names), 0
    for start in range(0, len(ordered), STRETCH):
        for image in dataset.images.filter(name__in=ordered[start : start + STRETCH]):
            goal = folder / image.name
            done += 1
            queue.renew(job, done, len(ordered))
            if goal.exists():
                continue
            goal.parent.mkdir(parents=True, exist_ok=True)
            part = folder.parent / "photograph.part"
            with open_original(image) as source, part.open("wb") as file:
                shutil.copyfileobj(source, file)
            os.replace(part, goal)


def _pool_rows(run: ModelRun, pool: Pool, folder: Path) -> Path:
    """Return a file of the pool's rows for the images of the benchmark. Raises Refusal."""
    work = kind_of(run.benchmark).model_work(run.benchmark, folder, run.method, ())
    images, goal = set(map(nfc, work.images)), folder / f"{run.model}.csv"
    if pool.job_id is None:
        return _uploaded_rows(pool, run.model, images, goal)
    with (
        storages["data"].open(pool.file) as file,
        zipfile.ZipFile(file) as archive,
        archive.open(goal.name) as member,
        goal.open("w", encoding="utf-8", newline="") as out,
    ):
        rows = csv.reader(io.TextIOWrapper(member, encoding="utf-8", newline=""))
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(next(rows))
        writer.writerows(row for row in rows if nfc(row[0]) in images)
    return goal


def _uploaded_rows(pool: Pool, name: str, images: Collection[str], goal: Path) -> Path:
    """Write the one class per image of an uploaded pool; return the path."""
    with making.unpack_pool(pool) as folder, goal.open("w", encoding="utf-8", newline="") as out:
        read = read_pool(folder, None, None)
        ids = (nfc(each.decode()) for each in uploading.ids_of(read))
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("image", "rank", "wnid"))
        writer.writerows(
            (image, 1, read.classes[label])
            for image, label in zip(ids, read.predictions[name].labels, strict=True)
            if image in images
        )
    return goal
