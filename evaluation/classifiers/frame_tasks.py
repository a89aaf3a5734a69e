"""Tasks that classify frames, each a whole number of batches. No Django."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.classifiers import classifying, task_networks
from evaluation.classifiers.likeliest_classes import Row, batch_rows
from evaluation.classifiers.task_networks import Networks
from evaluation.engines.input_files import files_sha256, refuse_others
from evaluation.engines.tasks import Task, map_in_tasks, task
from evaluation.sequences import release_tasks

if TYPE_CHECKING:
    from torch import Tensor

# Frames per task, rounded down to whole batches.
FRAMES = 1024
Files = Sequence[tuple[str, Path]]


def frames_in(batch: int) -> int:
    """Return the number of frames per task."""
    return max(1, FRAMES // batch) * batch


def of_files(stretches: Sequence[Files], networks: Networks, batch: int) -> list[Task]:
    """Return the tasks that classify frames in files; each file is read once for its SHA-256."""
    return map_in_tasks(
        named_files,
        stretches,
        lambda files: {
            "names": [name for name, _ in files],
            "frames": files_sha256(path for _, path in files),
            "networks": networks.arguments,
            "batch": batch,
        },
        lambda files: {
            "paths": [str(path.absolute()) for _, path in files],
            "opening": networks.locations,
        },
        networks.gpus,
    )


def of_release(
    stretches: Sequence[release_tasks.FrameStretch],
    revealing: release_tasks.Revealing,
    open_image: release_tasks.Open,
    photographs: Path,
    networks: Networks,
    batch: int,
) -> list[Task]:
    """Return the tasks that render and classify frames of a release."""
    return map_in_tasks(
        named_frames,
        stretches,
        lambda stretch: {
            "revealed": revealing.arguments(stretch, open_image),
            "networks": networks.arguments,
            "batch": batch,
        },
        lambda _: {"photographs": str(photographs.absolute()), "opening": networks.locations},
        networks.gpus,
    )


@task(version=1, libraries=("torch", "pillow"))
def named_files(
    names: Sequence[str],
    frames: str,
    networks: Sequence[Mapping[str, Any]],
    batch: int,
    paths: Sequence[str],
    opening: Mapping[str, Any],
) -> bytes:
    """Return the rows of frames in files, by batch. frames: SHA-256 of the files."""
    files = [(name, Path(path)) for name, path in zip(names, paths, strict=True)]
    refuse_others([path for _, path in files], frames)
    return _rows(classifying.read_frames(files), networks, batch, opening)


@task(version=1, libraries=("torch", "pillow"))
def named_frames(
    revealed: Mapping[str, Any],
    networks: Sequence[Mapping[str, Any]],
    batch: int,
    photographs: str,
    opening: Mapping[str, Any],
) -> bytes:
    """Return the rows of frames of a release, by batch. revealed: from Revealing.arguments."""
    frames = release_tasks.revealed_frames(revealed, Path(photographs), opening["device"])
    return _rows(frames, networks, batch, opening)


def rows_in(content: bytes) -> Iterable[list[Row]]:
    """Return the rows of each batch of a task."""
    batches: list[list[Row]] = json.loads(content)
    return batches


def _rows(
    frames: "Iterable[tuple[str, Tensor]]",
    networks: Sequence[Mapping[str, Any]],
    batch: int,
    opening: Mapping[str, Any],
) -> bytes:
    [classifier] = task_networks.opened(networks, opening)
    return json.dumps(list(batch_rows(frames, classifier, batch))).encode()
