"""Tasks that classify photographs, each a whole number of batches. No Django.

Batches are the same as in a single run, so a photograph is always in the same batch with the same
others, whatever the number of processes.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from evaluation import devices
from evaluation.classifiers import task_networks
from evaluation.classifiers.predicting import decoding
from evaluation.classifiers.predicting.photographs import (
    PhotographEntry,
    PhotographList,
    PhotographSource,
)
from evaluation.classifiers.predicting.pool_files import ClassifierPredictions, PoolInProgress
from evaluation.classifiers.task_networks import Networks
from evaluation.engines.input_files import SHARE_FILES
from evaluation.engines.packing import pack_arrays, unpack_arrays
from evaluation.engines.tasks import Task, map_in_tasks, task
from labeling.files import BadInput

# Photographs per task, rounded down to whole batches: a minute of work for a large network on a
# CPU.
PHOTOGRAPHS = 1024


@dataclass(frozen=True)
class ListStretch:
    """A part of the list of photographs, by byte offsets."""

    start: int
    end: int


def stretches_of(image_list: PhotographList, batch: int) -> list[ListStretch]:
    """Return the list in parts, one per task."""
    stretches = []
    with closing(decoding.batches_of(image_list.path, batch)) as batches:
        while part := list(islice(batches, max(1, PHOTOGRAPHS // batch))):
            stretches.append(ListStretch(part[0].start, part[-1].end))
    return stretches


def tasks_of(
    stretches: Sequence[ListStretch],
    source: PhotographSource,
    image_list: PhotographList,
    networks: Networks,
    batch: int,
    top: int | None,
    processes: int,
) -> list[Task]:
    """Return the tasks that classify these photographs; each file is read once for its SHA-256.

    processes: decoders of each task. Raises BadInput.
    """
    return map_in_tasks(
        predicted_stretch,
        list(_lines(image_list.path, stretches)),
        lambda lines: {
            "photographs": source.sha256(_entries(lines)),
            "networks": networks.arguments,
            "batch": batch,
            "top": top,
        },
        lambda lines: {
            "lines": lines,
            "source": source.as_locations(),
            "opening": networks.locations,
            "processes": processes,
        },
        networks.gpus,
    )


@task(version=1, libraries=("torch", "pillow"))
def predicted_stretch(
    photographs: str,
    networks: Sequence[Mapping[str, Any]],
    batch: int,
    top: int | None,
    lines: Sequence[str],
    source: Mapping[str, str],
    opening: Mapping[str, Any],
    processes: int,
) -> bytes:
    """Return each network's predictions for a part of the list, batch by batch.

    photographs: SHA-256 of the list's lines and of their files.
    """
    from evaluation.classifiers.predicting import predicting

    there = PhotographSource.of_locations(source)
    if there.sha256(_entries(lines)) != photographs:
        raise BadInput(
            "has other photographs here than where the command began", there.path, None, SHARE_FILES
        )
    classifiers = task_networks.opened(networks, opening)
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        list_path = Path(folder) / "list"
        list_path.write_text("".join(lines), encoding="utf-8")
        preparations = tuple(dict.fromkeys(classifier.preparation for classifier in classifiers))
        plan = decoding.DecodingPlan(there, list_path, preparations, batch)
        at_once = {
            classifier.name: devices.BatchSize(batch, "photograph") for classifier in classifiers
        }
        batches = list(
            predicting.predicted_batches(plan, classifiers, top or 1, at_once, processes)
        )
    arrays = {}
    for number, classifier in enumerate(classifiers):
        predictions = [each.predictions[classifier.name] for each in batches if each.images]
        if predictions:
            arrays[f"labels{number}"] = np.concatenate([each.labels for each in predictions])
            arrays[f"confidences{number}"] = np.concatenate(
                [each.confidences for each in predictions]
            )
    return pack_arrays(arrays, [[each.images, each.skipped, each.end] for each in batches])


def add(content: bytes, stretch: ListStretch, pool: PoolInProgress) -> None:
    """Add the batches of a task that the pool lacks."""
    arrays, batches = unpack_arrays(content)
    # Read each array once: every access to a pack decodes it.
    columns = {
        name: (arrays[f"labels{number}"], arrays[f"confidences{number}"])
        for number, name in enumerate(pool.names)
        if f"labels{number}" in arrays
    }
    at = 0
    for images, skipped, end in batches:
        part = slice(at, at + len(images))
        at = part.stop
        if stretch.start + end <= pool.state.start:
            continue
        predictions = {
            name: ClassifierPredictions(labels[part], confidences[part])
            for name, (labels, confidences) in columns.items()
            if images
        }
        pool.add(images, [tuple(row) for row in skipped], predictions, stretch.start + end)


def _lines(path: Path, stretches: Sequence[ListStretch]) -> Iterator[list[str]]:
    with open(path, "rb") as file:
        for stretch in stretches:
            file.seek(stretch.start)
            lines = file.read(stretch.end - stretch.start).splitlines(keepends=True)
            yield [line.decode() for line in lines]


def _entries(lines: Sequence[str]) -> Iterator[PhotographEntry]:
    return (PhotographEntry.of(line.encode()) for line in lines)
