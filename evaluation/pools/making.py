"""Makes pools by a job: `predict` as a child process, on the engine in the settings.

Requests contain only names of models. The registered models and the settings define which networks
these are, where tasks run and where results are kept. uploading.py also writes Pool.
"""

import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files import File
from django.core.files.storage import storages
from django.db import transaction

from evaluation.benchmarks.scoring_device import scoring_device
from evaluation.models import Pool, RegisteredModel
from evaluation.pools import registering, work_folders
from labeling.campaigns.access import check_may_open
from labeling.errors import Conflict, NotYours, Refusal
from labeling.jobs import child, queue
from labeling.models import Dataset, Job, User

KIND = "predict"
FOLDER = "pools"
MAX_MODELS = 20
TOP = 5
# Environment variables that engines and stores need.
CLUSTER_VARIABLES = r"RAY_\w+"
STORE_VARIABLES = r"AWS_\w+"
NOT_MADE = "The pool is not made yet. Try again when its job is done."
SHARED = ("classes.txt", "images.txt", "skipped.csv")


def request(dataset: Dataset, actor: User, names: Sequence[str]) -> Pool:
    """Return the queued pool of these models, or create one with its job.

    names: of registered models. Raises NotAllowed, Refusal, Conflict.
    """
    check_may_open(actor)
    chosen = sorted(set(names))
    _models(chosen)
    with transaction.atomic():
        Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
        if not dataset.images.exists():
            raise Conflict(f"{dataset.name} has no images yet. Add some first.")
        waiting = dataset.pools.filter(names=chosen, job__state=Job.State.QUEUED).first()
        if waiting is not None:
            return waiting
        last = Pool.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        job = queue.enqueue(KIND, f"dataset {dataset.pk} after pool {last}", {"models": chosen})
        return Pool.objects.create(dataset=dataset, names=chosen, job=job, created_by=actor)


def pool_for(dataset: Dataset, pk: int) -> Pool:
    """Return the dataset's pool of that number. Raises NotYours."""
    pool = dataset.pools.select_related("job", "dataset", "created_by").filter(pk=pk).first()
    if pool is None:
        raise NotYours("The dataset has no such pool.")
    return pool


def open_file(pool: Pool) -> IO[bytes]:
    """Return the zip of a pool, for the caller to close. Raises NotYours until the pool is done."""
    if not pool.file:
        raise NotYours(NOT_MADE)
    return storages["data"].open(pool.file)


@contextmanager
def unpack_pool(pool: Pool) -> Iterator[Path]:
    """Yield a temporary folder with the predictions as `mad select` reads them."""
    with open_file(pool) as file, tempfile.TemporaryDirectory(prefix="pool-") as folder:
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                if not name.endswith(".csv"):
                    archive.extract(name, folder)
        yield Path(folder)


def execute(job: Job) -> None:
    """Predict with one model after the other, and save the pool.

    May run twice: it continues the work of a dead worker on the same machine.
    """
    sweep()
    pool = Pool.objects.select_related("dataset").filter(job=job).first()
    if pool is None or pool.file:
        return
    with work_folders.working(FOLDER, pool.pk, job) as folder:
        _make(job, pool, _models(pool.names), folder)


def sweep() -> None:
    """Remove the work of pools that no job continues."""
    work_folders.sweep(FOLDER, Pool.objects.all())


def _make(job: Job, pool: Pool, models: Sequence[RegisteredModel], folder: Path) -> None:
    images = folder / "images.zip"
    _write_images(job, pool.dataset, images)
    registering.write_classes(models[0], folder / "classes.txt")
    results = {}
    for model in models:
        results[model.name] = _predict(job, model, images, folder)
    packed = folder / "pool.zip"
    pack(packed, _files_of(folder, [model.name for model in models]))
    queue.renew(job)
    with packed.open("rb") as file:
        stored = storages["data"].save(f"pools/{pool.pk}.zip", File(file))
    # Write only while this worker holds the job.
    queue.renew_child(job, job.last_line, job.exit_code)
    Pool.objects.filter(pk=pool.pk).update(file=stored, result=results)


def _predict(job: Job, model: RegisteredModel, images: Path, folder: Path) -> dict[str, object]:
    """Return the JSON of `predict --json` for the model."""
    arguments = [
        "predict",
        str(images),
        f"--model={model.name}={registering.spec_in(model, folder)}",
        f"--classes={folder / 'classes.txt'}",
        f"--out={folder / 'out' / model.name}",
        f"--top={TOP}",
        f"--device={scoring_device()}",
        *model.options,
    ]
    needed = []
    if settings.ASSAY_ENGINE:
        arguments += ["--on", settings.ASSAY_ENGINE]
        needed += [CLUSTER_VARIABLES] * settings.ASSAY_ENGINE.startswith("ray:")
    if settings.ASSAY_WORK:
        arguments += ["--work", settings.ASSAY_WORK]
        needed += [STORE_VARIABLES] * settings.ASSAY_WORK.startswith("s3://")
    further = {
        name: value for name, value in os.environ.items() if re.fullmatch("|".join(needed), name)
    }
    further |= registering.wordnet_variables()
    (folder / "out").mkdir(exist_ok=True)
    printed = child.manage(job, folder, *arguments, "--json", environment=further)
    result: dict[str, object] = json.loads(printed)
    return {key: result[key] for key in ("images", "skipped", "device", "versions")} | {
        "sha256": model.source.get("sha256")
    }


def _models(names: Sequence[str]) -> list[RegisteredModel]:
    """Return the registered models. Raises Refusal for a missing model, and for models whose
    classes differ: a pool has one list of classes.
    """
    if not 1 <= len(names) <= MAX_MODELS:
        raise Refusal(f"Choose 1 to {MAX_MODELS} models.", field="models")
    models = registering.models_named(names, "models")
    if different := next((each for each in models if each.classes != models[0].classes), None):
        raise Refusal(
            f"{different.name} has other classes than {models[0].name}. Make a pool for each.",
            field="models",
        )
    return models


def _write_images(job: Job, dataset: Dataset, goal: Path) -> None:
    """Write a zip of the original photographs under their names in the dataset."""
    total = dataset.images.count()
    with zipfile.ZipFile(goal, "w", zipfile.ZIP_STORED) as archive:
        for number, image in enumerate(dataset.images.order_by("name").iterator(), 1):
            # A fixed date, so that writing the zip again gives the same bytes.
            entry = zipfile.ZipInfo(image.name)
            with image.file.open("rb") as source, archive.open(entry, "w") as out:
                shutil.copyfileobj(source, out)
            queue.renew(job, number, total)


def pack(goal: Path, files: Mapping[str, Path]) -> None:
    """Write the zip of a pool: once unpacked, `mad select --predictions` reads it."""
    with zipfile.ZipFile(goal, "w", zipfile.ZIP_STORED) as archive:
        for name, path in files.items():
            archive.write(path, name)


def _files_of(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the files that all models share, and each model's arrays and likeliest classes."""
    files = {name: folder / "out" / names[0] / name for name in SHARED}
    for name in names:
        for end in (".labels.npy", ".confidences.npy", ".csv"):
            files[f"{name}{end}"] = folder / "out" / name / f"{name}{end}"
    return files
