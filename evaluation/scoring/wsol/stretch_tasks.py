"""Tasks that score a part of the images of `score wsol`.

They count integers, so their sums equal those of a single run; see evaluation/engines.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evaluation import devices
from evaluation.engines import input_files
from evaluation.engines.input_files import files_sha256, refuse_others
from evaluation.engines.packing import pack_arrays, unpack_arrays
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task, map_in_tasks, split, task
from evaluation.metrics.wsol.box_scores import BoxScore, Protocol
from evaluation.metrics.wsol.mask_scores import MaskScore
from evaluation.readers.wsol_folders import MaskedImage, ScoreMaps, WsolImage
from evaluation.scoring.wsol import scoring

# Images per task: a second of work for small ones.
IMAGES = 1000
BOX_ARRAYS = ("hits", "largest", "named_largest", "pixels")
Row = TypeVar("Row", WsolImage, MaskedImage)


def stretches_of(images: Sequence[Row]) -> list[Sequence[Row]]:
    """Return the images in parts, one per task."""
    return split(images, IMAGES)


def box_tasks(
    boxes: scoring.BoxScoring,
    stretches: Sequence[Sequence[WsolImage]],
    scoremaps: Path | None,
    device: str,
) -> list[Task]:
    """Return the tasks that count the BoxScore over parts of the images.

    Each score map is read once for its SHA-256. Raises BadInput.
    """
    class_right = boxes.class_right or {}
    return map_in_tasks(
        counted_boxes,
        stretches,
        lambda stretch: {
            "images": [
                [image.width, image.height, image.boxes.tolist(), class_right.get(image.name)]
                for image in stretch
            ],
            "maps": _maps_sha256(stretch, scoremaps),
            "protocol": asdict(boxes.protocol),
            "curves": boxes.curves,
        },
        lambda stretch: {
            "names": [image.name for image in stretch],
            "scoremaps": _absolute(scoremaps),
            "device": device,
        },
        _gpus(device),
    )


@task(version=1)
def counted_boxes(
    images: Sequence[tuple[int, int, list[list[float]], bool | None]],
    maps: str | None,
    protocol: Mapping[str, Any],
    curves: bool,
    names: Sequence[str],
    scoremaps: str | None,
    device: str,
) -> bytes:
    """Return the BoxScore of some images as numpy arrays. maps: SHA-256 of the score maps."""
    device, rule = devices.check_device(device), Protocol(**protocol)
    read = _reader(scoremaps, maps, rule, names)
    stretch_images = [
        WsolImage(name, "", width, height, np.array(boxes, np.float64))
        for name, (width, height, boxes, _) in zip(names, images, strict=True)
    ]
    class_right = {
        name: is_right
        for name, (*_, is_right) in zip(names, images, strict=True)
        if is_right is not None
    }
    sums = scoring.BoxScoring(stretch_images, rule, class_right, curves).sums(read, device)
    arrays = {name: getattr(sums, name) for name in BOX_ARRAYS}
    return pack_arrays(arrays, [sums.images, sums.class_hits], compressed=True)


def joined_boxes(boxes: scoring.BoxScoring, objects: Iterable[bytes]) -> BoxScore:
    """Return the sum of the tasks' counts."""
    total = boxes.empty()
    for content in objects:
        counted, (images, class_hits) = unpack_arrays(content)
        task_sums = replace(boxes.empty(), images=images, class_hits=class_hits)
        for name in BOX_ARRAYS:
            setattr(task_sums, name, counted[name])
        total.join(task_sums)
    return total


def mask_tasks(
    masks: scoring.MaskScoring,
    stretches: Sequence[Sequence[MaskedImage]],
    scoremaps: Path | None,
    device: str,
    store: Store | None = None,
) -> list[Task]:
    """Return the tasks that count the MaskScore over parts of the images.

    Each map and mask is read for its SHA-256. store: keeps the masks for machines that lack the
    files. Raises BadInput.
    """
    return map_in_tasks(
        counted_masks,
        stretches,
        lambda stretch: {
            "images": [[image.label, len(image.masks), len(image.ignore)] for image in stretch],
            "maps": _maps_sha256(stretch, scoremaps),
            "masks": files_sha256(_masks_of(stretch)),
            "protocol": asdict(masks.protocol),
        },
        lambda stretch: {
            "files": [
                [image.name, _locations(image.masks), _locations(image.ignore)] for image in stretch
            ],
            "metadata": str(masks.localization.parent.absolute()),
            "scoremaps": _absolute(scoremaps),
            "device": device,
            "kept": store and [store.address, input_files.keep(store, _masks_of(stretch))],
        },
        _gpus(device),
    )


@task(version=1)
def counted_masks(
    images: Sequence[tuple[str, int, int]],
    maps: str | None,
    masks: str,
    protocol: Mapping[str, Any],
    files: Sequence[tuple[str, list[tuple[str, int]], list[tuple[str, int]]]],
    metadata: str,
    scoremaps: str | None,
    device: str,
    kept: tuple[str, str] | None,
) -> bytes:
    """Return the MaskScore of some images as numpy arrays. maps, masks: SHA-256 of the files.

    kept: the store that has the masks, and their key in it.
    """
    device, rule = devices.check_device(device), Protocol(**protocol)
    stretch_images = [
        MaskedImage(name, label, _paths(drawn), _paths(ignore))
        for (label, *_), (name, drawn, ignore) in zip(images, files, strict=True)
    ]
    read = _reader(scoremaps, maps, rule, [image.name for image in stretch_images])
    with _fetched(stretch_images, kept) as local_images:
        refuse_others(_masks_of(local_images), masks)
        sums = scoring.MaskScoring(local_images, rule, Path(metadata)).sums(read, device)
    counts = np.array(list(sums.classes.values()))
    return pack_arrays({"counts": counts}, [sums.images, list(sums.classes)], compressed=True)


def joined_masks(masks: scoring.MaskScoring, objects: Iterable[bytes]) -> MaskScore:
    """Return the sum of the tasks' counts."""
    total = masks.empty()
    for content in objects:
        counted, (images, labels) = unpack_arrays(content)
        classes = dict(zip(labels, counted["counts"], strict=True))
        total.join(MaskScore(masks.protocol, images, classes))
    return total


def _maps_sha256(stretch: Sequence[WsolImage | MaskedImage], scoremaps: Path | None) -> str | None:
    """Return the SHA-256 of these images' score maps; None for the baseline, which has no files."""
    if scoremaps is None:
        return None
    maps = ScoreMaps(scoremaps, None)
    return files_sha256(maps.path(image.name) for image in stretch)


def _reader(
    scoremaps: str | None, sha256: str | None, protocol: Protocol, names: Sequence[str]
) -> Callable[[str], Any]:
    folder = None if scoremaps is None else Path(scoremaps)
    if folder is not None and sha256 is not None:
        maps = ScoreMaps(folder, None)
        refuse_others([maps.path(name) for name in names], sha256)
    return scoring.reader(folder, protocol, None)


@contextmanager
def _fetched(
    images: list[MaskedImage], kept: tuple[str, str] | None
) -> Iterator[list[MaskedImage]]:
    """Yield the images with paths of masks on this machine."""
    if kept is None:
        yield images
        return
    store, key = Store.at(kept[0]), kept[1]
    with input_files.fetch_files(store, key, _masks_of(images)) as files:
        paths = iter(files)
        yield [
            replace(
                image,
                masks=[(next(paths), line) for _, line in image.masks],
                ignore=[(next(paths), line) for _, line in image.ignore],
            )
            for image in images
        ]


def _masks_of(images: Iterable[MaskedImage]) -> list[Path]:
    return [path for image in images for path, _ in chain(image.masks, image.ignore)]


def _paths(files: Iterable[tuple[str, int]]) -> list[tuple[Path, int]]:
    return [(Path(path), line) for path, line in files]


def _locations(files: Iterable[tuple[Path, int]]) -> list[list[str | int]]:
    return [[str(path.absolute()), line] for path, line in files]


def _absolute(folder: Path | None) -> str | None:
    return None if folder is None else str(folder.absolute())


def _gpus(device: str) -> int:
    return 0 if device == "cpu" else 1
