"""Pools of predictions made elsewhere: from a zip, or from a pool.jsonl in a bucket."""

import secrets
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.core.files import File
from django.core.files.storage import storages

from evaluation.benchmarks.uploads import refusing
from evaluation.models import Pool
from evaluation.pools import making
from evaluation.pools.registering import check_name
from evaluation.readers.pools import (
    CLASSES,
    IMAGES,
    PredictionPool,
    classifiers_in,
    read_pool,
)
from evaluation.readers.selections import MAX_CLASS_LENGTH
from evaluation.selection.stored_pools import S3, pool_at
from labeling.campaigns.access import check_administrator, check_may_open
from labeling.datasets.archives import ZipLimits, unpack
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal, TooLarge
from labeling.files import BadInput, is_storable
from labeling.models import Dataset, User

MAX_CLASSIFIERS = 100
MAX_LISTED = 5
BATCH = 100_000
# Limits the memory of a plan, which counts labels by class for each pair of classifiers.
MAX_CLASSES = 100_000
MAX_CLASSES_BYTES = 16 << 20
# Most bytes of a label with its confidence.
BYTES_EACH = 8
ARRAY_SUFFIXES = (".labels.npy", ".confidences.npy")


def from_zip(dataset: Dataset, actor: User, file: Any) -> Pool:
    """Return a new pool of the zipped predictions folder. Raises Refusal, NotAllowed."""
    check_may_open(actor)
    most = settings.ASSAY_MAX_UPLOAD_BYTES
    if file.size > most:
        raise TooLarge(f"The file is larger than {most >> 20:,} MiB.", field="file")
    limits = ZipLimits(
        (".npy", ".txt"),
        # A pool.zip that the site made also has a CSV per model.
        3 * MAX_CLASSIFIERS + 3,
        most,
        "Send fewer classifiers.",
    )
    with converting_disk_full(), tempfile.TemporaryDirectory(prefix="pool-") as scratch:
        folder = Path(scratch, "pool")
        unpack(file, folder, limits)
        return _stored(dataset, actor, folder, "file")


def from_bucket(dataset: Dataset, actor: User, address: str) -> Pool:
    """Return a new pool of the shards beside s3://…/pool.jsonl. Raises Refusal, NotAllowed."""
    check_administrator(actor)
    if not address.startswith(S3):
        raise Refusal("Give the address as s3://BUCKET/PREFIX/pool.jsonl.", field="address")
    with converting_disk_full(), tempfile.TemporaryDirectory(prefix="pool-") as scratch:
        with refusing("address"):
            _fetch(address, Path(scratch))
        return _stored(dataset, actor, Path(scratch), "address")


def _fetch(address: str, folder: Path) -> None:
    """Write the shards as one predictions folder."""
    sharded = pool_at(address)
    most = settings.ASSAY_MAX_UPLOAD_BYTES
    if sharded.images * BYTES_EACH * len(sharded.classifiers) > most:
        raise TooLarge(f"The pool takes over {most >> 20:,} MiB.", field="address")
    arrays = defaultdict(list)
    with (folder / IMAGES).open("wb") as images:
        for pool in sharded.open_all(None, None):
            images.writelines(name + b"\n" for name in ids_of(pool))
            for name, values in pool.predictions.items():
                arrays[name + ARRAY_SUFFIXES[0]].append(np.array(values.labels))
                arrays[name + ARRAY_SUFFIXES[1]].append(np.array(values.confidences))
            classes = pool.classes
    (folder / CLASSES).write_text("".join(f"{name}\n" for name in classes), encoding="utf-8")
    for file, parts in arrays.items():
        np.save(folder / file, np.concatenate(parts))


def _stored(dataset: Dataset, actor: User, folder: Path, field: str) -> Pool:
    with refusing(field):
        result = _checked(dataset, folder, field)
    packed = folder / "pool.zip"
    files = [CLASSES, IMAGES, *(name + end for name in result for end in ARRAY_SUFFIXES)]
    making.pack(packed, {file: folder / file for file in files})
    with packed.open("rb") as file:
        stored = storages["data"].save(f"pools/{secrets.token_hex(8)}.zip", File(file))
    return Pool.objects.create(
        dataset=dataset, names=[*result], file=stored, result=result, created_by=actor
    )


def _checked(dataset: Dataset, folder: Path, field: str) -> dict[str, dict[str, int]]:
    """Return the counts of each classifier. Raises BadInput, Refusal."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            raise Refusal(
                f"The zip has a folder, {path.name[:80]!r}. Pack the files alone.", field=field
            )
        if path.suffix == ".npy":
            end = next((end for end in ARRAY_SUFFIXES if path.name.endswith(end)), "")
            if not end:
                raise BadInput(
                    "is neither labels nor confidences",
                    path.name,
                    None,
                    "name it NAME.labels.npy or NAME.confidences.npy",
                )
            check_name(path.name.removesuffix(end))
    classes = folder / CLASSES
    if classes.is_file() and classes.stat().st_size > MAX_CLASSES_BYTES:
        raise BadInput(
            f"is larger than {MAX_CLASSES_BYTES >> 20} MiB", classes, None, "list one class a line"
        )
    if len(classifiers_in(folder)) > MAX_CLASSIFIERS:
        raise TooLarge(f"Send at most {MAX_CLASSIFIERS} classifiers.", field=field)
    pool = read_pool(folder, None, None)
    if len(pool.classes) > MAX_CLASSES:
        raise BadInput(
            f"has {len(pool.classes):,} classes, at most {MAX_CLASSES:,} are taken",
            CLASSES,
            None,
            "leave out those that no classifier names",
        )
    for line, name in enumerate(pool.classes, 1):
        if len(name) > MAX_CLASS_LENGTH:
            raise BadInput(
                f"{name[:80]!r} has over {MAX_CLASS_LENGTH} characters", CLASSES, line, "shorten it"
            )
        if not is_storable(name):
            raise BadInput(f"{name!r} is not valid text", CLASSES, line, "remove the NUL")
    known = set(dataset.images.values_list("name", flat=True))
    unknown = Counter(name.decode() in known for name in ids_of(pool))[False]
    if unknown:
        names = (name.decode() for name in ids_of(pool))
        examples = ", ".join(islice((name for name in names if name not in known), MAX_LISTED))
        more = ", …" if unknown > MAX_LISTED else ""
        raise Refusal(
            f"{unknown:,} of {pool.total:,} images are not in {dataset.name}: {examples}{more}. "
            "Add them first, or name them in images.txt as the dataset does.",
            field=field,
        )
    counts = {"images": pool.total, "missing": len(known) - pool.total}
    return dict.fromkeys(pool.predictions, counts)


def ids_of(pool: PredictionPool) -> Iterator[bytes]:
    """Yield the name of each image, in order."""
    for start in range(0, len(pool.images), BATCH):
        yield from pool.images.take(np.arange(start, min(start + BATCH, len(pool.images))))
