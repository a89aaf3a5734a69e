"""Scores a folder of maps against its ground truth, in several threads or on a GPU. No Django."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation import devices
from evaluation.metrics.wsol.box_scores import BoxScore, Protocol, center_gaussian
from evaluation.metrics.wsol.mask_scores import MaskScore
from evaluation.readers import wsol_folders
from evaluation.readers.wsol_folders import MaskedImage, WsolImage
from evaluation.scoring.wsol.results import BoxResult, MaskResult, intervals
from labeling import processors
from labeling.csv_rows import nfc

Item = TypeVar("Item")
Part = TypeVar("Part")
Row = TypeVar("Row", WsolImage, MaskedImage)
# Truth: the truth of one image. Sums: counts over images.
Truth = TypeVar("Truth")
Sums = TypeVar("Sums", BoxScore, MaskScore)
Result = TypeVar("Result", BoxResult, MaskResult)
Maps = list[NDArray[Any]]
Read = Callable[[str], NDArray[Any]]

# Maximum number of pixels that torch processes at once: 1,300 maps of 224 × 224, some 10 GB.
BATCH_PIXELS = 1 << 26


class Scoring(ABC, Generic[Row, Truth, Sums, Result]):
    """Compares the score map of each image with its truth; one subclass per kind of truth."""

    def __init__(self, images: list[Row], protocol: Protocol) -> None:
        self.images: list[Row] = images
        self.left_out: list[str] = []
        self.protocol = protocol

    def score(
        self, scoremaps: Path | None, device: str = devices.CPU, by_torch: bool | None = None
    ) -> Result:
        """Return the result of `score wsol`. Without scoremaps, score the center-Gaussian baseline.

        device: a name from devices.check_device. by_torch: whether torch scores many maps at once;
        by default on every device except the CPU, where compiled loops are 8 to 180 times as fast.
        The result is the same.
        """
        read = self.reader(scoremaps)
        return self.result(self.sums(read, device, by_torch), scoremaps, device)

    def sums(self, read: Read, device: str = devices.CPU, by_torch: bool | None = None) -> Sums:
        """Return the counts over all images. read: from self.reader()."""
        total = self.empty()
        if device != devices.CPU if by_torch is None else by_torch:
            self._add_in_batches(total, read, device)
        else:
            for part in in_parts(partial(self._sums_of, read), self.images):
                total.join(part)
        return total

    @abstractmethod
    def result(self, total: Sums, scoremaps: Path | None, device: str) -> Result:
        """Return the result that these counts over all images give."""

    @abstractmethod
    def empty(self) -> Sums:
        """Return sums that are all 0."""

    @abstractmethod
    def truth_of(self, image: Row) -> Truth:
        """Return the truth of an image."""

    @abstractmethod
    def add(self, sums: Sums, scores: NDArray[Any], image: Row) -> None:
        """Add an image to the sums."""

    @abstractmethod
    def add_batch(
        self, sums: Sums, maps: Maps, truths: list[tuple[Row, Truth]], device: str
    ) -> None:
        """Add many images at once with torch."""

    @abstractmethod
    def shape_of(self, image: Row, truth: Truth) -> tuple[int, ...]:
        """Return (height, width) of the pixels that the protocol "paper" compares."""

    def reader(self, scoremaps: Path | None) -> Read:
        """Return a function from an image id to its map. Check the files of all images first."""
        names = [image.name for image in self.images]
        return reader(scoremaps, self.protocol, names, self.left_out)

    def keep(self, names: Container[str] | None) -> None:
        """Score only the images with these names, which are in NFC; all if it is None."""
        if names is None:
            return
        self.left_out = [image.name for image in self.images if nfc(image.name) not in names]
        self.images = [image for image in self.images if nfc(image.name) in names]

    def in_order(self) -> list[Row]:
        """Return the images in the order of the batches."""
        return self.images

    def _sums_of(self, read: Read, images: list[Row]) -> Sums:
        sums = self.empty()
        for image in images:
            self.add(sums, read(image.name), image)
        return sums

    def _add_in_batches(self, total: Sums, read: Read, device: str) -> None:
        """Add all images to the sums.

        Several threads load while a batch is computed. A batch has at most BATCH_PIXELS, or a
        single larger map. It is halved if it does not fit into the GPU's memory.
        """
        batch = devices.BatchSize(max(1, len(self.images)), "score map")
        waiting: list[tuple[NDArray[Any], tuple[Row, Truth]]] = []
        high, wide = 0, 0

        def load(part: list[Row]) -> list[tuple[NDArray[Any], tuple[Row, Truth]]]:
            return [(read(image.name), (image, self.truth_of(image))) for image in part]

        def work(part: slice) -> None:
            maps, truths = zip(*waiting[part], strict=True)
            self.add_batch(total, list(maps), list(truths), device)

        for scores, truth in chain.from_iterable(in_parts(load, self.in_order())):
            size = _scored_pixels(scores, self.shape_of(*truth), self.protocol)
            high, wide = max(high, size[0]), max(wide, size[1])
            if waiting and (len(waiting) + 1) * high * wide > BATCH_PIXELS:
                deque(batch.run(len(waiting), work), maxlen=0)
                waiting, (high, wide) = [], size
            waiting.append((scores, truth))
        deque(batch.run(len(waiting), work), maxlen=0)


class BoxScoring(Scoring[WsolImage, None, BoxScore, BoxResult]):
    """Maps against boxes. class_right: whether a classifier is right on each image, for top-1."""

    def __init__(
        self,
        images: list[WsolImage],
        protocol: Protocol,
        class_right: Mapping[str, bool] | None = None,
        curves: bool = False,
    ) -> None:
        super().__init__(images, protocol)
        self.class_right, self.curves = class_right, curves

    @classmethod
    def read(
        cls,
        metadata: Path,
        protocol: Protocol,
        predictions: Path | None = None,
        curves: bool = False,
    ) -> "BoxScoring":
        """Return the scoring of a metadata folder. predictions: `id,class` rows of a classifier."""
        images = wsol_folders.read_boxes(metadata)
        class_right = wsol_folders.read_named(predictions, images) if predictions else None
        return cls(images, protocol, class_right, curves)

    def result(self, total: BoxScore, scoremaps: Path | None, device: str) -> BoxResult:
        result = BoxResult.from_json(
            settings(self.protocol, scoremaps, len(self.images))
            | {"boxes": sum(len(image.boxes) for image in self.images)}
            | total.result(self.curves, top1=self.class_right is not None)
        )
        result.intervals = intervals(result)
        result.device = device
        return result

    def empty(self) -> BoxScore:
        return BoxScore(self.protocol, histograms=self.curves)

    def truth_of(self, image: WsolImage) -> None:
        return None

    def add(self, sums: BoxScore, scores: NDArray[Any], image: WsolImage) -> None:
        sums.add(scores, image.boxes, image.width, image.height, self._right(image))

    def add_batch(
        self, sums: BoxScore, maps: Maps, truths: list[tuple[WsolImage, None]], device: str
    ) -> None:
        from evaluation.metrics.wsol.device import batches

        images = [image for image, _ in truths]
        sizes = [(image.width, image.height) for image in images]
        rights = [self._right(image) for image in images]
        batches.add_boxes(sums, maps, [image.boxes for image in images], sizes, rights, device)

    def shape_of(self, image: WsolImage, truth: None) -> tuple[int, ...]:
        return image.height, image.width

    def in_order(self) -> list[WsolImage]:
        # Group images of similar size: a batch is as wide and high as its largest maps.
        return sorted(self.images, key=lambda image: (image.height, image.width))

    def _right(self, image: WsolImage) -> bool | None:
        return (self.class_right or {}).get(image.name)


class MaskScoring(Scoring[MaskedImage, NDArray[np.uint8], MaskScore, MaskResult]):
    """Maps against masks. metadata: the folder whose localization.txt names the masks."""

    def __init__(
        self, images: list[MaskedImage], protocol: Protocol, metadata: Path, curves: bool = False
    ) -> None:
        super().__init__(images, protocol)
        self.localization, self.curves = metadata / "localization.txt", curves

    @classmethod
    def read(
        cls, metadata: Path, masks: Path, protocol: Protocol, curves: bool = False
    ) -> "MaskScoring":
        """Return the scoring of a metadata folder. masks: the folder that mask paths start from."""
        return cls(wsol_folders.read_masked(metadata, masks), protocol, metadata, curves)

    def result(self, total: MaskScore, scoremaps: Path | None, device: str) -> MaskResult:
        return MaskResult.from_json(
            settings(self.protocol, scoremaps, len(self.images))
            | {"masks": sum(len(image.masks) for image in self.images)}
            | total.result(self.curves)
        )

    def empty(self) -> MaskScore:
        return MaskScore(self.protocol)

    def truth_of(self, image: MaskedImage) -> NDArray[np.uint8]:
        size = self.protocol.size if self.protocol.name == "reference" else None
        return wsol_folders.read_truth(image, self.localization, size)

    def add(self, sums: MaskScore, scores: NDArray[Any], image: MaskedImage) -> None:
        sums.add(scores, self.truth_of(image), image.label)

    def add_batch(
        self,
        sums: MaskScore,
        maps: Maps,
        truths: list[tuple[MaskedImage, NDArray[np.uint8]]],
        device: str,
    ) -> None:
        from evaluation.metrics.wsol.device import batches

        labels = [image.label for image, _ in truths]
        batches.add_masks(sums, maps, [truth for _, truth in truths], labels, device)

    def shape_of(self, image: MaskedImage, truth: NDArray[np.uint8]) -> tuple[int, ...]:
        return truth.shape


def _scored_pixels(
    scores: NDArray[Any], shape: tuple[int, ...], protocol: Protocol
) -> tuple[int, int]:
    """Return the (height, width) that a map takes in a batch. shape: that of its image."""
    if protocol.name == "reference":
        return protocol.size, protocol.size
    return max(scores.shape[0], shape[0]), max(scores.shape[1], shape[1])


def settings(protocol: Protocol, scoremaps: Path | None, images: int) -> dict[str, object]:
    """Return the scoring settings, which every result begins with."""
    return {
        "protocol": protocol.name,
        "normalize": protocol.normalize,
        "scoremaps": "center-gaussian" if scoremaps is None else "files",
        "images": images,
    }


def reader(
    scoremaps: Path | None,
    protocol: Protocol,
    names: list[str] | None,
    besides: Collection[str] = (),
) -> Read:
    """Return a function from an image id to its map. Check the files of all `names` first.

    besides: ids whose maps are not needed.
    """
    if scoremaps is None:
        middle = center_gaussian(protocol.size, protocol.size)
        return lambda name: middle
    maps = wsol_folders.ScoreMaps(scoremaps, names, besides)
    size = protocol.size if protocol.name == "reference" else None
    return lambda name: maps.read(name, protocol.normalize, size)


def in_parts(
    score: Callable[[list[Item]], Part], items: list[Item], size: int = 32
) -> Iterator[Part]:
    """Yield score(part) for every `size` items in order, computed in one thread per core.

    Results are sums of counts, so the split does not matter. Only a few parts are computed ahead.
    """
    threads = processors.count()
    parts = (items[at : at + size] for at in range(0, len(items), size))
    with ThreadPoolExecutor(threads) as pool:
        try:
            ahead = deque(pool.submit(score, part) for part in islice(parts, 2 * threads))
            while ahead:
                yield ahead.popleft().result()
                ahead.extend(pool.submit(score, part) for part in islice(parts, 1))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
