"""Score maps of a folder against its ground truth, over several threads. No Django."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from evaluation import devices
from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.mask_scores import MaskScore
from evaluation.readers import wsol_folders
from evaluation.scoring.wsol.results import BoxResult, MaskResult, intervals

Item = TypeVar("Item")
Sums = TypeVar("Sums")


def score_boxes(
    metadata: Path,
    scoremaps: Path | None,
    protocol: box_scores.Protocol,
    predictions: Path | None = None,
    curves: bool = False,
    device: str = devices.CPU,
) -> BoxResult:
    """The result of `score wsol` for boxes. Without scoremaps: of the center-Gaussian baseline.

    predictions: `id,class` rows of a classifier, for top-1 localization. device: one that may be
    used; boxes are found on the CPU whatever it is, and the result says so.
    """
    images = wsol_folders.read_boxes(metadata)
    named = wsol_folders.read_named(predictions, images) if predictions else {}
    names = [image.name for image in images]
    read = reader(scoremaps, protocol, names)

    def score(part: list[wsol_folders.Image]) -> box_scores.BoxScore:
        sums = box_scores.BoxScore(protocol, histograms=curves)
        for image in part:
            sums.add(
                read(image.name), image.boxes, image.width, image.height, named.get(image.name)
            )
        return sums

    total = box_scores.BoxScore(protocol)
    for sums in in_parts(score, images):
        total.join(sums)
    result = BoxResult.from_json(
        settings(protocol, scoremaps, len(images))
        | {"boxes": sum(len(image.boxes) for image in images)}
        | total.result(curves, top1=predictions is not None)
    )
    result.intervals = intervals(result)
    result.device = devices.CPU
    return result


def score_masks(
    metadata: Path,
    masks: Path,
    scoremaps: Path | None,
    protocol: box_scores.Protocol,
    curves: bool = False,
) -> MaskResult:
    """The result of `score wsol` for masks. Without scoremaps: of the center-Gaussian baseline."""
    images = wsol_folders.read_masked(metadata, masks)
    read = reader(scoremaps, protocol, [image.name for image in images])
    size = protocol.size if protocol.name == "reference" else None

    def score(part: list[wsol_folders.MaskedImage]) -> MaskScore:
        sums = MaskScore(protocol)
        for image in part:
            truth = wsol_folders.read_truth(image, metadata / "localization.txt", size)
            sums.add(read(image.name), truth, image.label)
        return sums

    total = MaskScore(protocol)
    for sums in in_parts(score, images):
        total.join(sums)
    return MaskResult.from_json(
        settings(protocol, scoremaps, len(images))
        | {"masks": sum(len(image.masks) for image in images)}
        | total.result(curves)
    )


def settings(
    protocol: box_scores.Protocol, scoremaps: Path | None, images: int
) -> dict[str, object]:
    """How it was scored: what every result begins with."""
    return {
        "protocol": protocol.name,
        "normalize": protocol.normalize,
        "scoremaps": "center-gaussian" if scoremaps is None else "files",
        "images": images,
    }


def reader(
    scoremaps: Path | None, protocol: box_scores.Protocol, names: list[str]
) -> Callable[[str], NDArray[Any]]:
    """What gives the map of an image by its id; the files are looked for at once."""
    if scoremaps is None:
        middle = box_scores.center_gaussian(protocol.size, protocol.size)
        return lambda name: middle
    maps = wsol_folders.ScoreMaps(scoremaps, names)
    size = protocol.size if protocol.name == "reference" else None
    return lambda name: maps.read(name, protocol.normalize, size)


def in_parts(score: Callable[[list[Item]], Sums], items: list[Item]) -> Iterator[Sums]:
    """What score gives for every 32 items, in order, over as many threads as there are cores.

    Counts only are summed, so however it is cut the result is the same. A few parts are worked on
    ahead of the reader, no more.
    """
    threads = os.cpu_count() or 1
    parts = (items[at : at + 32] for at in range(0, len(items), 32))
    with ThreadPoolExecutor(threads) as pool:
        try:
            ahead = deque(pool.submit(score, part) for part in islice(parts, 2 * threads))
            while ahead:
                yield ahead.popleft().result()
                ahead.extend(pool.submit(score, part) for part in islice(parts, 1))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
