"""Tasks that choose from a pool, each reading one part of it; see evaluation/engines."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluation import devices
from evaluation.engines.tasks import Task, map_in_tasks, task
from evaluation.metrics.wordnet.distances import WORDNET_DISTANCES
from evaluation.metrics.wordnet.nouns import load
from evaluation.readers.pools import CLASSES, IMAGES, classifiers_in, read_pool
from evaluation.readers.sharded_pools import CONFIDENCES, LABELS
from evaluation.selection import selecting, shards
from evaluation.selection.distance_files import read_distances
from evaluation.selection.stored_pools import Source, pool_at, source_of
from labeling.files import file_sha256

# Images per task where the pool is one folder: 0.5 s of work for ten classifiers.
MAX_IMAGES = 1 << 18


def tasks_of(
    source: Source,
    sharded: bool,
    names: Sequence[str] | None,
    settings: selecting.SelectionSettings,
    order: str,
    added: str | None = None,
    device: str | None = None,
) -> list[Task]:
    """Return the tasks that reduce a pool: one per shard of a pool.jsonl, or per stretch of the
    folder.

    names: classifiers in the wanted order, by default all, sorted. order, added: as in the meta
    line. device: a torch device to sort on. The inputs' SHA-256 come from pool.jsonl; the files of
    a folder are read for them. Raises BadInput.
    """
    if sharded:
        pool = pool_at(source)
        count = len(pool.shards)
        chosen = list(names) if names else pool.classifiers
        inputs: Mapping[str, Any] = {"shards": [shard.to_json() for shard in pool.shards]}
    else:
        source = Path(source)
        chosen = list(names) if names else classifiers_in(source)
        files = [CLASSES, IMAGES, *(name + end for name in chosen for end in (LABELS, CONFIDENCES))]
        inputs = {file: file_sha256(source / file) for file in files}
        images = len(np.load(source / files[2], mmap_mode="r", allow_pickle=False))
        count = max(1, -(-images // MAX_IMAGES))
    shared = {
        "settings": settings.to_json(),
        "names": chosen,
        "order": order,
        "added": added,
        "inputs": inputs,
    }
    location = source if isinstance(source, str) else str(source.absolute())
    distances = settings.distances and str(settings.distances.path.absolute())
    locations = {"source": location, "sharded": sharded, "device": device, "distances": distances}
    gpus = 0 if device is None else 1
    return map_in_tasks(
        reduced_part,
        range(1, count + 1),
        lambda number: {**shared, "number": number, "count": count},
        lambda _: locations,
        gpus,
    )


@task(version=1)
def reduced_part(
    settings: Mapping[str, Any],
    names: Sequence[str],
    order: str,
    added: str | None,
    inputs: Mapping[str, Any],
    number: int,
    count: int,
    source: str,
    sharded: bool,
    device: str | None,
    distances: str | None = None,
) -> bytes:
    """Return one of the parts of a pool, as shards.write_part writes it."""
    device = device and devices.check_device(device)
    rules, path = selecting.settings_of(settings), source_of(source)
    if distances is not None:
        rules = replace(rules, distances=read_distances(Path(distances)))
    wordnet = load() if rules.distance in WORDNET_DISTANCES else None
    if sharded:
        # Keep a reference: fetched files are removed with the object.
        whole = pool_at(path)
        pool = whole.open(number, names, wordnet)
    else:
        pool = read_pool(Path(path), names, wordnet, (number, count))
    meta = selecting.meta_of(pool, rules, names, order, wordnet)
    meta.added = added
    levels = rules.levels(pool.classes, wordnet, pool.path_in_messages(CLASSES))
    reduced = selecting.reduce_pairs(
        pool, selecting.pairs_in(meta), levels, rules.rule, device=device
    )
    file = io.BytesIO()
    shards.write_part(file, pool, meta, (number, count), reduced, levels)
    return file.getvalue()
