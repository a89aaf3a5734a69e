"""The folder layout of WSOL, from the images of a release. No database.

Boxes: image_ids.txt, class_labels.txt, image_sizes.txt, localization.txt. Masks, if people drew
parts: the same files below masks/, and masks/png/<n>.png. An object's mask is its outline with all
its parts. If its outline is unknown, the rest of its box may be object or background and is
ignored; so are the boxes of objects whose parts were asked but not settled.
"""

from pathlib import Path

import numpy as np
from PIL import Image

from evaluation.benchmarks.kinds.labeled.truth.csv_writer import Sheets
from evaluation.benchmarks.kinds.labeled.truth.scenes import Box, LabeledScene
from evaluation.readers.wsol_folders import MAX_BOXES, MAX_PIXELS
from labeling.errors import Refusal
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import Mask, box_within, mask_of

IDS, CLASSES, SIZES = "image_ids.txt", "class_labels.txt", "image_sizes.txt"
BOXES_FILE = "localization.txt"
MASKS = "masks"
PNG = "png"
# Longest part of a path, because score maps are files named after images.
MAX_NAME_BYTES = 255 - len(".npy")


class WsolFolder:
    """The folder while images are added. masked: with masks. folder: None writes nothing."""

    def __init__(self, sheets: Sheets, folder: Path | None, masked: bool) -> None:
        self.sheets, self.folder, self.masked = sheets, folder, masked
        self.places = ["", f"{MASKS}/"] if masked else [""]
        self.number = 0
        if folder is not None and masked:
            (folder / MASKS / PNG).mkdir(parents=True)

    def add(self, scene: LabeledScene, key: str) -> int:
        """Add an image of one class with boxes; return its number of masks."""
        _check(scene, key)
        photo = scene.photo
        for prefix in self.places:
            self.sheets.line(prefix + IDS, photo.name)
            self.sheets.line(prefix + CLASSES, photo.name, key)
            self.sheets.line(prefix + SIZES, photo.name, photo.width, photo.height)
        for box in scene.boxes[key]:
            self.sheets.line(BOXES_FILE, photo.name, *box)
        if self.masked:
            self._add_masks(scene)
        self.number += 1
        return int(self.masked)

    def _add_masks(self, scene: LabeledScene) -> None:
        if self.folder is None:
            return
        mask, ignore = masks_of(scene)
        names = [f"{PNG}/{self.number:06}.png", ""]
        _save(self.folder / MASKS / names[0], mask)
        if ignore.any():
            names[1] = f"{PNG}/{self.number:06}-ignore.png"
            _save(self.folder / MASKS / names[1], ignore)
        self.sheets.line(f"{MASKS}/{BOXES_FILE}", scene.photo.name, *names)


def masks_of(scene: LabeledScene) -> tuple[Mask, Mask]:
    """Return two (height, width) masks, True inside: the objects, and what to ignore."""
    size = (scene.photo.width, scene.photo.height)
    mask, ignore = np.zeros((2, size[1], size[0]), np.bool_)
    for thing in scene.objects:
        drawn = [part.polygons for part in thing.parts]
        if thing.outline is None:
            _fill(ignore, thing.box)
        else:
            drawn.append(thing.outline)
        for polygons in drawn:
            _draw(mask, polygons, size)
    for boxes in scene.unsettled.values():
        for box in boxes:
            _fill(ignore, box)
    return mask, ignore & ~mask


def _draw(mask: Mask, polygons: Polygons, size: tuple[int, int]) -> None:
    x0, y0, x1, y1 = box = box_within(polygons, size)
    mask[y0:y1, x0:x1] |= mask_of(polygons, box)


def _fill(mask: Mask, box: Box) -> None:
    """Set every pixel that the box touches."""
    height, width = mask.shape
    x0, y0 = (max(0, int(np.floor(edge))) for edge in box[:2])
    x1, y1 = min(width, int(np.ceil(box[2]))), min(height, int(np.ceil(box[3])))
    mask[y0:y1, x0:x1] = True


def _save(path: Path, mask: Mask) -> None:
    Image.fromarray(mask).save(path, "PNG", compress_level=3)


def _check(scene: LabeledScene, key: str) -> None:
    """Raise Refusal for values that the file format cannot represent."""
    photo = scene.photo
    if "," in key or key != key.strip():
        raise Refusal(
            f"The class {key!r} cannot stand in a WSOL folder: it has a comma, or a space at its "
            "end. Choose another kind of benchmark.",
            field="kind",
        )
    if max(len(part.encode()) for part in photo.name.split("/")) > MAX_NAME_BYTES:
        raise Refusal(
            f"The image {photo.name[:40]}… has too long a name for its score map to be a file. "
            "Choose another kind of benchmark.",
            field="kind",
        )
    if len(scene.boxes[key]) > MAX_BOXES:
        raise Refusal(
            f"{photo.name} has more than {MAX_BOXES:,} boxes. Choose another kind of benchmark.",
            field="kind",
        )
    if photo.width * photo.height > MAX_PIXELS:
        raise Refusal(
            f"{photo.name} has more than {MAX_PIXELS:,} pixels. Choose another kind of benchmark.",
            field="kind",
        )
