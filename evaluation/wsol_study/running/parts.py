"""The images, classes and truth of the three parts of a study."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.classifiers.scoremaps import reading
from evaluation.metrics.wsol.mask_scores import FOREGROUND, IGNORED
from evaluation.readers import wsol_folders
from evaluation.readers.wsol_folders import MaskedImage, WsolImage
from evaluation.scoring.wsol.splits import FULL, TEST, WEAK
from labeling.files import BadInput
from labeling.geometry.regions import tight
from labeling.json_text import canonical_sha256
from labeling.records import Record

# Decoded images that a process keeps, in bytes.
KEPT_BYTES = 4 * 1024**3
VALIDATION = 0.2
# Placeholder for the name of the part in the folder of masks.
PART = "{part}"
Pixels = NDArray[np.uint8]
Truth = WsolImage | MaskedImage


def seed_of(*words: object) -> int:
    """Return a seed of 63 bits that depends on the words alone."""
    return int(canonical_sha256([str(word) for word in words])[:15], 16)


@dataclass(kw_only=True)
class Subset(Record):
    """Some images of a part.

    share: of each class; count: images of each class, instead. sample: which random sample. fold:
    "search" for four fifths of these, "validation" for the other fifth, None for all.
    """

    part: str
    share: float = 1.0
    count: int | None = None
    sample: int = 0
    fold: str | None = None

    def of(self, labels: Sequence[int], seed: int) -> list[int]:
        """Return the indices of the images, ascending. labels: of all images of the part."""
        rng = np.random.default_rng(seed_of("subset", seed, self.part, self.sample))
        by_class = defaultdict(list)
        for index in rng.permutation(len(labels)).tolist():
            by_class[labels[index]].append(index)
        chosen = [
            index
            for label in sorted(by_class)
            for index in by_class[label][: self._most(len(by_class[label]))]
        ]
        if self.fold is not None:
            chosen = rng.permutation(chosen).tolist()
            cut = max(1, round(VALIDATION * len(chosen)))
            chosen = chosen[:cut] if self.fold == "validation" else chosen[cut:]
        return sorted(chosen)

    def _most(self, images: int) -> int:
        return max(1, round(self.share * images)) if self.count is None else self.count


@dataclass(kw_only=True)
class StudyData(Record):
    """The places of the images and the truth.

    masks: None if the truth is boxes; may contain PART.
    """

    images: str
    metadata: str
    masks: str | None
    classes: list[str]

    def part(self, name: str) -> "StudyPart":
        return StudyPart(self, name)

    def sha256(self, *parts: str) -> str:
        """Return one hash of the metadata of parts, and of the names and sizes of their images."""
        digest = hashlib.sha256()
        for part in parts:
            folder = Path(self.metadata, part)
            for path in sorted(folder.glob("*.txt")):
                digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
            for name in wsol_folders.read_ids(folder):
                digest.update(f"{name} {Path(self.images, name).stat().st_size}\n".encode())
        return digest.hexdigest()

    def counts(self) -> dict[str, int]:
        """Return the number of images of each part. Raises BadInput for a missing image."""
        by_part = {}
        for part in (WEAK, FULL, TEST):
            names = list(wsol_folders.read_ids(Path(self.metadata, part)))
            reading.refuse_missing(Path(self.images), names)
            by_part[part] = len(names)
        return by_part

    def check(self, with_fsl: bool, few_shot: Sequence[int]) -> list[str]:
        """Check that parts share no image and have enough, before anything is trained.

        Of test only ids and classes are read. few_shot: numbers of images per class. Returns
        warnings.
        """
        part_of: dict[str, str] = {}
        for each in (self.part(part) for part in (WEAK, FULL, TEST)):
            for name in each.names:
                if part_of.setdefault(name, each.name) != each.name:
                    fault = f"{name} is in {part_of[name]}, too"
                    cure = "leave it out of one of the parts"
                    raise BadInput(fault, each.folder / "image_ids.txt", None, cure)
        full = self.part(FULL)
        # A fault in its boxes or masks would show only after a training.
        assert full.truth
        return full.check_shots(with_fsl, few_shot)


@dataclass
class StudyPart:
    """A part. Its labels are read at once, its truth and images when they are needed."""

    data: StudyData
    name: str
    labels: list[int] = field(init=False)
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.folder = Path(self.data.metadata, self.name)
        number = {label: index for index, label in enumerate(self.data.classes)}
        labels = wsol_folders.read_labels(self.folder)
        for name, label in labels.items():
            if label not in number:
                fault = f"{name} is of the class {label}, which {WEAK} lacks"
                cure = "leave it out, or add images of the class"
                raise BadInput(fault, self.folder / "class_labels.txt", None, cure)
        self.names = list(labels)
        self.labels = [number[label] for label in labels.values()]
        self._kept: dict[tuple[int, int], Pixels] = {}

    @cached_property
    def truth(self) -> Sequence[Truth]:
        """Return the boxes or masks of every image."""
        if self.data.masks is None:
            return wsol_folders.read_boxes(self.folder)
        folder = Path(self.data.masks.replace(PART, self.name))
        return wsol_folders.read_masked(self.folder, folder)

    def check_shots(self, with_fsl: bool, few_shot: Sequence[int]) -> list[str]:
        """Check that there are enough images; return a warning for what some classes lack."""
        path, images = self.folder / "image_ids.txt", Counter(self.labels)
        if (most := max(images.values())) < max(few_shot, default=0):
            fault = f"few_shot is {max(few_shot)}, but a class has at most {most} images"
            raise BadInput(fault, path, None, f"give at most {most}")
        for count in [None, *few_shot] if with_fsl else []:
            if not Subset(part=FULL, count=count, fold="search").of(self.labels, 0):
                raise BadInput("fsl needs two images", path, None, "add images, or leave out fsl")
        classes = len(self.data.classes)
        lacking = {n: sum(images[label] < n for label in range(classes)) for n in few_shot}
        return [
            f"few_shot {n}: {count} of {classes} classes have fewer images in {self.name}"
            for n, count in lacking.items()
            if count
        ]

    def pixels(self, index: int, side: int) -> Pixels:
        """Return an image as (side, side, 3); kept in memory while there is room."""
        key = (index, side)
        if key in self._kept:
            return self._kept[key]
        path = Path(self.data.images, self.names[index])
        full = reading.pixels_of(path, "upright")
        image = None if self.name == WEAK else self.truth[index]
        if isinstance(image, WsolImage) and full.shape[:2] != (image.height, image.width):
            fault = f"is {full.shape[1]} × {full.shape[0]}, expected {image.width} × {image.height}"
            raise BadInput(fault, path, None, "correct image_sizes.txt of its part, and its boxes")
        small = np.array(Image.fromarray(full).resize((side, side), Image.Resampling.BILINEAR))
        if (len(self._kept) + 1) * small.nbytes <= KEPT_BYTES:
            self._kept[key] = small
        return small

    def target(self, index: int, side: int, targets: str) -> NDArray[np.int8]:
        """Return (side, side): 1 on the object, 0 elsewhere, -1 where it is ignored.

        targets: boxes or masks; the box of a mask is the tightest around it.
        """
        image = self.truth[index]
        if isinstance(image, WsolImage):
            scale = np.array([side / image.width, side / image.height] * 2)
            return _filled(image.boxes * scale, side)
        localization = self.folder / "localization.txt"
        drawn = wsol_folders.read_truth(image, localization, side)
        if targets == "masks":
            return np.where(drawn == IGNORED, -1, drawn).astype(np.int8)
        alone = [MaskedImage(image.name, image.label, [file], []) for file in image.masks]
        masks = [wsol_folders.read_truth(mask, localization, side) for mask in alone]
        boxes = [box for mask in masks if (box := tight(mask == FOREGROUND))]
        return _filled(np.array(boxes, np.float64).reshape(-1, 4), side)


def _filled(boxes: NDArray[np.float64], side: int) -> NDArray[np.int8]:
    inside = np.zeros((side, side), np.int8)
    for x0, y0, x1, y1 in np.rint(boxes).astype(np.int64):
        inside[y0:y1, x0:x1] = 1
    return inside
