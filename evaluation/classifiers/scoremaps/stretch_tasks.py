"""Tasks that make the score maps of a stretch of the images. No Django.

A stretch is a whole number of batches, so each image is in the same batch as in a single run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.classifiers import task_networks
from evaluation.classifiers.scoremaps import planning, reading
from evaluation.classifiers.scoremaps.planning import ScoremapPlan
from evaluation.classifiers.scoremaps.reading import Size
from evaluation.classifiers.task_networks import Networks
from evaluation.engines.input_files import files_sha256, refuse_others
from evaluation.engines.packing import pack_arrays, unpack_arrays
from evaluation.engines.tasks import Task, map_in_tasks, split, task
from evaluation.metrics.attribution.recipes import Recipe

# Most maps, and most bytes of maps, per task.
MAX_TASK_MAPS, MAX_TASK_BYTES = 1000, 1 << 28


@dataclass(frozen=True)
class ImageFolder:
    """The folder of images. sizes: expected width and height of some images, by id."""

    folder: Path
    orientation: str
    sizes: Mapping[str, Size]


def stretches_of(names: Sequence[str], plan: ScoremapPlan, batch: int) -> list[Sequence[str]]:
    """Return the ids in stretches, one per task."""
    batch_images = planning.images_at_once(plan, batch)
    max_maps = min(MAX_TASK_MAPS, MAX_TASK_BYTES // (4 * plan.side**2))
    step = max(1, max_maps // batch_images) * batch_images
    return split(names, step)


def tasks_of(
    stretches: Sequence[Sequence[str]],
    images: ImageFolder,
    plan: ScoremapPlan,
    networks: Networks,
    batch: int,
    with_classes: bool,
) -> list[Task]:
    """Return the tasks that make the maps of these ids; each image is read once for its SHA-256.

    with_classes: also return the predicted class of each image. Raises BadInput.
    """
    return map_in_tasks(
        packed_maps,
        stretches,
        lambda names: {
            "images": files_sha256(images.folder / name for name in names),
            "orientation": images.orientation,
            "networks": networks.arguments,
            "plan": {
                "recipe": asdict(plan.recipe),
                "labels": plan.labels and [plan.labels[name] for name in names],
                "grid": plan.grid,
                "baseline": plan.baseline,
                "side": plan.side,
                "resize": plan.resize,
            },
            "batch": batch,
            "named": with_classes,
        },
        lambda names: {
            "names": list(names),
            "folder": str(images.folder.absolute()),
            "sizes": {name: images.sizes[name] for name in names if name in images.sizes},
            "opening": networks.locations,
        },
        networks.gpus,
    )


@task(version=1, libraries=("torch", "pillow"))
def packed_maps(
    images: str,
    orientation: str,
    networks: Sequence[Mapping[str, Any]],
    plan: Mapping[str, Any],
    batch: int,
    named: bool,
    names: Sequence[str],
    folder: str,
    sizes: Mapping[str, Sequence[int]],
    opening: Mapping[str, Any],
) -> bytes:
    """Return the packed maps of some images and, if `named`, their likeliest classes, else None.

    images: SHA-256 of the files. names: their ids.
    """
    from evaluation.classifiers.scoremaps import making

    images_folder = Path(folder)
    refuse_others([images_folder / name for name in names], images)
    [classifier] = task_networks.opened(networks, opening)
    labels = plan["labels"] and dict(zip(names, plan["labels"], strict=True))
    task_plan = ScoremapPlan(
        classifier, **{**plan, "recipe": Recipe(**plan["recipe"]), "labels": labels}
    )
    expected_sizes = {name: (width, height) for name, (width, height) in sizes.items()}

    def frames() -> Iterator[making.Frame]:
        return reading.read(images_folder, names, orientation, expected_sizes)

    maps = {
        str(number): scores
        for number, (_, scores) in enumerate(making.maps(frames(), task_plan, batch))
    }
    classes = (
        [label for _, label in making.likeliest_classes(frames(), task_plan, batch)]
        if named
        else None
    )
    return pack_arrays(maps, classes)


def unpack(content: bytes, names: Sequence[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield each id with its map from a task's result."""
    maps, _ = unpack_arrays(content)
    for number, name in enumerate(names):
        yield name, maps[str(number)]


def classes_in(content: bytes, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each id with its likeliest class from a task's result."""
    yield from zip(names, unpack_arrays(content)[1], strict=True)
