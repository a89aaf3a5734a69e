"""Score maps of a folder against its ground truth, over several threads or on a GPU. No Django."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation import devices
from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.mask_scores import MaskScore
from evaluation.readers import wsol_folders
from evaluation.scoring.wsol.results import BoxResult, MaskResult, intervals
from labeling import processors

Item = TypeVar("Item")
Sums = TypeVar("Sums")
# What belongs to a score map: its image, its truth.
Held = TypeVar("Held")

# Of the maps that torch works on at once: 1,300 of 224 × 224, which take some 10 GB.
BATCH_PIXELS = 1 << 26


def score_boxes(
    metadata: Path,
    scoremaps: Path | None,
    protocol: box_scores.Protocol,
    predictions: Path | None = None,
    curves: bool = False,
    device: str = devices.CPU,
    by_torch: bool | None = None,
) -> BoxResult:
    """The result of `score wsol` for boxes. Without scoremaps: of the center-Gaussian baseline.

    predictions: `id,class` rows of a classifier, for top-1 localization. device: a name that
    devices.checked gave. by_torch: many maps at once, on any device; by default wherever the device
    is not the CPU, for which compiled loops are 8 to 180 times as quick. The result is the same.
    """
    images = wsol_folders.read_boxes(metadata)
    class_right = wsol_folders.read_named(predictions, images) if predictions else {}
    read = reader(scoremaps, protocol, [image.name for image in images])
    total = sums_of_boxes(images, class_right, read, protocol, curves, device, by_torch)
    return box_result(total, images, scoremaps, curves, predictions is not None, device)


def sums_of_boxes(
    images: list[wsol_folders.Image],
    class_right: Mapping[str, bool],
    read: Callable[[str], NDArray[Any]],
    protocol: box_scores.Protocol,
    curves: bool = False,
    device: str = devices.CPU,
    by_torch: bool | None = None,
) -> box_scores.BoxScore:
    """Return the counts of score_boxes. class_right: of read_named; read: of reader()."""

    def score(part: list[wsol_folders.Image]) -> box_scores.BoxScore:
        sums = box_scores.BoxScore(protocol, histograms=curves)
        for image in part:
            sums.add(
                read(image.name),
                image.boxes,
                image.width,
                image.height,
                class_right.get(image.name),
            )
        return sums

    total = box_scores.BoxScore(protocol, histograms=curves)
    if device != devices.CPU if by_torch is None else by_torch:
        _add_boxes(total, images, class_right, read, device)
    else:
        for sums in in_parts(score, images):
            total.join(sums)
    return total


def box_result(
    total: box_scores.BoxScore,
    images: list[wsol_folders.Image],
    scoremaps: Path | None,
    curves: bool,
    top1: bool,
    device: str,
) -> BoxResult:
    """The result of what was counted over all images. top1: whether a classifier named them."""
    result = BoxResult.from_json(
        settings(total.protocol, scoremaps, len(images))
        | {"boxes": sum(len(image.boxes) for image in images)}
        | total.result(curves, top1=top1)
    )
    result.intervals = intervals(result)
    result.device = device
    return result


def score_masks(
    metadata: Path,
    masks: Path,
    scoremaps: Path | None,
    protocol: box_scores.Protocol,
    curves: bool = False,
    device: str = devices.CPU,
    by_torch: bool | None = None,
) -> MaskResult:
    """The result of `score wsol` for masks. Without scoremaps: of the center-Gaussian baseline.

    device, by_torch: as for boxes.
    """
    images = wsol_folders.read_masked(metadata, masks)
    read = reader(scoremaps, protocol, [image.name for image in images])
    total = sums_of_masks(images, metadata, read, protocol, device, by_torch)
    return mask_result(total, images, scoremaps, curves)


def sums_of_masks(
    images: list[wsol_folders.MaskedImage],
    metadata: Path,
    read: Callable[[str], NDArray[Any]],
    protocol: box_scores.Protocol,
    device: str = devices.CPU,
    by_torch: bool | None = None,
) -> MaskScore:
    """What score_masks counts over images. read: as reader gives it."""
    size = protocol.size if protocol.name == "reference" else None

    def truth_of(image: wsol_folders.MaskedImage) -> NDArray[np.uint8]:
        return wsol_folders.read_truth(image, metadata / "localization.txt", size)

    def score(part: list[wsol_folders.MaskedImage]) -> MaskScore:
        sums = MaskScore(protocol)
        for image in part:
            sums.add(read(image.name), truth_of(image), image.label)
        return sums

    total = MaskScore(protocol)
    if device != devices.CPU if by_torch is None else by_torch:
        _add_masks(total, images, truth_of, read, device)
    else:
        for sums in in_parts(score, images):
            total.join(sums)
    return total


def mask_result(
    total: MaskScore,
    images: list[wsol_folders.MaskedImage],
    scoremaps: Path | None,
    curves: bool,
) -> MaskResult:
    """The result of what was counted over all images."""
    return MaskResult.from_json(
        settings(total.protocol, scoremaps, len(images))
        | {"masks": sum(len(image.masks) for image in images)}
        | total.result(curves)
    )


def _add_boxes(
    total: box_scores.BoxScore,
    images: list[wsol_folders.Image],
    class_right: Mapping[str, bool],
    read: Callable[[str], NDArray[Any]],
    device: str,
) -> None:
    """Adds all images to the sums, many at once by torch."""
    from evaluation.metrics.wsol.device import batches

    def add(maps: list[NDArray[Any]], held: list[wsol_folders.Image]) -> None:
        boxes = [image.boxes for image in held]
        sizes = [(image.width, image.height) for image in held]
        rights = [class_right.get(image.name) for image in held]
        batches.add_boxes(total, maps, boxes, sizes, rights, device)

    # Like sizes together: a batch has room for the widest and the highest of its maps.
    images = sorted(images, key=lambda image: (image.height, image.width))
    _in_batches(
        images,
        lambda image: (read(image.name), image),
        lambda scores, image: _scored_pixels(scores, (image.height, image.width), total.protocol),
        add,
    )


def _add_masks(
    total: MaskScore,
    images: list[wsol_folders.MaskedImage],
    truth_of: Callable[[wsol_folders.MaskedImage], NDArray[np.uint8]],
    read: Callable[[str], NDArray[Any]],
    device: str,
) -> None:
    """Adds all images to the counts, many at once by torch."""
    from evaluation.metrics.wsol.device import batches

    def add(
        maps: list[NDArray[Any]], held: list[tuple[NDArray[np.uint8], wsol_folders.MaskedImage]]
    ) -> None:
        labels = [image.label for _, image in held]
        batches.add_masks(total, maps, [truth for truth, _ in held], labels, device)

    _in_batches(
        images,
        lambda image: (read(image.name), (truth_of(image), image)),
        lambda scores, held: _scored_pixels(scores, held[0].shape, total.protocol),
        add,
    )


def _scored_pixels(
    scores: NDArray[Any], shape: tuple[int, ...], protocol: box_scores.Protocol
) -> tuple[int, int]:
    """(height, width) that a map takes of a batch, shape being its image's."""
    if protocol.name == "reference":
        return protocol.size, protocol.size
    return max(scores.shape[0], shape[0]), max(scores.shape[1], shape[1])


def _in_batches(
    items: list[Item],
    load: Callable[[Item], tuple[NDArray[Any], Held]],
    size_of: Callable[[NDArray[Any], Held], tuple[int, int]],
    add: Callable[[list[NDArray[Any]], list[Held]], None],
) -> None:
    """Calls add with the maps of a batch and what belongs to each, until all are added.

    load: by several threads, while a batch is worked on. A batch has BATCH_PIXELS at most, or one
    map; it is halved where a GPU's memory does not hold it.
    """
    batch = devices.Batch(max(1, len(items)), "score map")

    waiting: list[tuple[NDArray[Any], Held]] = []
    high, wide = 0, 0

    def work(part: slice) -> None:
        maps, held = zip(*waiting[part], strict=True)
        add(list(maps), list(held))

    for scores, content in chain.from_iterable(in_parts(lambda part: list(map(load, part)), items)):
        size = size_of(scores, content)
        high, wide = max(high, size[0]), max(wide, size[1])
        if waiting and (len(waiting) + 1) * high * wide > BATCH_PIXELS:
            deque(batch.run(len(waiting), work), maxlen=0)
            waiting, (high, wide) = [], size
        waiting.append((scores, content))
    deque(batch.run(len(waiting), work), maxlen=0)


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
    scoremaps: Path | None, protocol: box_scores.Protocol, names: list[str] | None
) -> Callable[[str], NDArray[Any]]:
    """What gives the map of an image by its id; the files of names are looked for at once."""
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
    threads = processors.count()
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
