"""COCO JSON of objects with parts: an annotation for every object and every part.

An object's annotation has the class's category. A part's has its own ("cat head", or "head" for
plain names), whose `supercategory` is the class, and `part_of` with the id of the object's
annotation. `segmentation` is the mask by the pixel-centre rule, as rings along pixel edges that
COCO rasterizes back exactly, or as RLE with holes. `polygons` has the drawing, exact to a tenth;
see docs/reference/label-formats.md. The rest that no part covers is derived from these, and written
as a mask on request.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import chain, groupby
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TypedDict

import numpy as np

from labeling.files import atomic_write
from labeling.formats.coco_masks import (
    Canvas,
    Placed,
    Rings,
    compressed,
    cropped,
    rings,
    run_lengths,
)
from labeling.formats.coco_objects import FILE, read
from labeling.formats.label import ExportContext, unique_names
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import Mask, PixelBox, box_of
from labeling.parts.model import (
    REST_BACKGROUND,
    REST_OBJECT,
    Box,
    Part,
    PartedObject,
    Photograph,
    Scenes,
    object_details,
    part_details,
    photo_details,
)

__all__ = ["read", "write"]

# This format computes what no part covers, as pixels: a fifth of the work of exact polygons.
MAKES_REST = True
# Pixels of the canvas on which parts are rasterized together.
MAX_BATCH_PIXELS = 500_000


def write(scenes: Scenes, folder: Path, release_info: ExportContext) -> None:
    """Write parts.json into the folder, image by image."""
    with (
        atomic_write(folder / FILE) as file,
        TemporaryFile("w+", encoding="utf-8", dir=folder) as kept,
    ):
        writer = _PartsWriter(kept, release_info)
        file.write(
            json.dumps({"info": {"description": release_info.title}}, ensure_ascii=False)[:-1]
        )
        file.write(', "images": [')
        for number, (photo, objects) in enumerate(scenes, 1):
            file.write(",\n" if number > 1 else "\n")
            row = {"id": number, "file_name": photo.name, **photo_details(photo)}
            json.dump(row, file, ensure_ascii=False)
            for parted in objects:
                writer.add(parted, photo, number)
        file.write('\n], "annotations": [')
        kept.seek(0)
        while chunk := kept.read(1 << 16):
            file.write(chunk)
        file.write('\n], "categories": ')
        json.dump(writer.named_categories(), file, ensure_ascii=False)
        file.write("}\n")


class CocoCategoryRow(TypedDict):
    id: int
    name: str


class RunLengths(TypedDict):
    """size: (height, width)."""

    size: list[int]
    counts: str


class Segmentation(TypedDict):
    """The mask of an annotation."""

    area: int
    iscrowd: int
    segmentation: Rings | RunLengths


class _PartsWriter:
    """The annotations so far, and their categories."""

    def __init__(self, kept: IO[str], release_info: ExportContext) -> None:
        self.kept = kept
        self.release_info = release_info
        self.count = 0
        self.categories: dict[tuple[str, str], CocoCategoryRow] = {}

    def add(self, parted: PartedObject, photo: Photograph, image: int) -> None:
        size = (photo.width, photo.height)
        drawn = [part for part in parted.parts if part.polygons]
        outline = [parted.outline] if parted.outline else []
        regions = [*(part.polygons for part in drawn), *outline]
        masks, segmentations = _rasters(regions, size)
        self.count += 1
        number = self.count
        self._put(
            {
                "id": number,
                "image_id": image,
                "category_id": self._category(parted),
                "object_id": number,
                "bbox": _xywh(parted.box),
                **_whole(drawn, masks, segmentations, size),
                "polygons": parted.outline,
                **self._about_object(parted),
            }
        )

        def add_part(part: Part, bbox: list[float], segmentation: Mapping[str, object]) -> None:
            self.count += 1
            self._put(
                {
                    "id": self.count,
                    "image_id": image,
                    "category_id": self._category(parted, part),
                    "object_id": number,
                    "part_of": number,
                    "bbox": bbox,
                    **segmentation,
                    **part_details(part),
                }
            )

        for part, shape in zip(drawn, segmentations, strict=False):
            exact = {"polygons": part.polygons}
            add_part(part, _xywh(_bounds(part.polygons)), {**shape, **exact})
        if not self.release_info.makes_rest:
            return
        for key, placed in _rest(parted, masks[: len(drawn)], masks[len(drawn) :], size):
            (x, y), (height, width) = placed[1], placed[0].shape
            # It surrounds the parts and has holes: use run lengths.
            shape = _segmentation(placed, None, size)
            add_part(Part(key, origin="made"), [x, y, width, height], shape)

    def _put(self, row: dict[str, object]) -> None:
        self.kept.write((",\n" if self.count > 1 else "\n") + json.dumps(row, ensure_ascii=False))

    def _about_object(self, parted: PartedObject) -> dict[str, object]:
        unseen = [
            {"at": at, **part_details(part)}
            for at, part in enumerate(parted.parts)
            if not part.polygons
        ]
        return {**object_details(parted), "unseen": unseen}

    def _category(self, parted: PartedObject, part: Part | None = None) -> int:
        """Return the id of the category of the object, or of a part of it."""
        key = (parted.category, part.key if part else "")
        name = (part.name or part.key) if part else self.release_info.classes.get(parted.category)
        fresh = CocoCategoryRow(id=len(self.categories) + 1, name=name or parted.category)
        return self.categories.setdefault(key, fresh)["id"]

    def named_categories(self) -> list[dict[str, object]]:
        """Return the categories for the file under the requested names."""
        names = {key: row["name"] for key, row in self.categories.items()}
        if self.release_info.names == "unique":
            # All classes, so that names do not depend on the images.
            plain = {key: name for (key, part), name in names.items() if not part}
            whole = unique_names(self.release_info.classes | plain)
            full = {
                (key, part): f"{whole[key]} {name}" if part else whole[key]
                for (key, part), name in names.items()
            }
            names = unique_names(full, lambda key: key[1] or key[0])
        return [
            {
                "id": row["id"],
                "name": names[key, part],
                **({"supercategory": names[key, ""], "part": part} if part else {}),
                "wnid": key,
            }
            for (key, part), row in self.categories.items()
        ]


def _xywh(box: Box) -> list[float]:
    x0, y0, x1, y1 = box
    return [x0, y0, round(x1 - x0, 6), round(y1 - y0, 6)]


def _bounds(polygons: Polygons) -> Box:
    # Holes lie inside.
    xs, ys = zip(*chain.from_iterable(piece[0] for piece in polygons), strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _rasters(
    regions: list[Polygons], size: tuple[int, int]
) -> tuple[list[Placed], list[Segmentation]]:
    """Return the mask and the segmentation of every region."""
    rasters: dict[int, tuple[Placed, Segmentation]] = {}
    for batch in _canvas_batches(regions):
        canvas = Canvas([regions[at] for at in batch], size)
        masks = canvas.masks()
        # Regions with holes need run lengths.
        edges = [None] * len(batch) if _has_hole(regions[batch[0]]) else canvas.rings()
        for at, mask, ring in zip(batch, masks, edges, strict=True):
            rasters[at] = mask, _segmentation(mask, ring, size)
    rows = [rasters[at] for at in range(len(regions))]
    return [mask for mask, _ in rows], [segmentation for _, segmentation in rows]


def _has_hole(region: Polygons) -> bool:
    return any(len(piece) > 1 for piece in region)


def _canvas_batches(regions: list[Polygons]) -> Iterator[list[int]]:
    """Yield the indices of regions in batches that fit on a canvas of a cache-friendly size.

    Regions with holes are separate.
    """
    order = sorted(range(len(regions)), key=lambda at: _has_hole(regions[at]))
    for _, together in groupby(order, key=lambda at: _has_hole(regions[at])):
        batch: list[int] = []
        wide = high = 0
        for at in together:
            x0, y0, x1, y1 = box_of(regions[at])
            if batch and (wide + x1 - x0) * max(high, y1 - y0) > MAX_BATCH_PIXELS:
                yield batch
                batch, wide, high = [], 0, 0
            batch.append(at)
            wide, high = wide + x1 - x0, max(high, y1 - y0)
        yield batch


def _whole(
    drawn: list[Part], masks: list[Placed], segmentations: list[Segmentation], size: tuple[int, int]
) -> Segmentation:
    """Return the mask of an object: its outline and all parts except the background's.

    masks, segmentations: of the drawn parts, then of the outline.
    """
    keys = [part.key for part in drawn] + [""] * (len(masks) - len(drawn))
    foreground = [placed for key, placed in zip(keys, masks, strict=True) if key != REST_BACKGROUND]
    if not foreground:
        return _segmentation((np.zeros((0, 0), bool), (0, 0)), [], size)
    frame = _bounding_box(foreground)
    whole = _stamped(foreground, frame)
    if len(masks) > len(drawn) and np.count_nonzero(whole) == segmentations[-1]["area"]:
        # No part exceeds the outline, whose rings are known.
        return segmentations[-1]
    placed = (whole, frame[:2])
    return _segmentation(placed, rings(*placed), size)


def _rest(
    parted: PartedObject, parts: list[Placed], outline: list[Placed], size: tuple[int, int]
) -> list[tuple[str, Placed]]:
    """Return the pixels that no part covers: those in the object's outline, if it has one, and
    the others in its crop.
    """
    x0, y0, x1, y1 = parted.crop or parted.box
    corners: Polygons = ((((x0, y0), (x1, y0), (x1, y1), (x0, y1)),),)
    crop = Canvas([corners], size).masks()
    frame = _bounding_box([*crop, *outline])
    covered, whole, inside = (_stamped(placed, frame) for placed in (parts, outline, crop))
    shares = ((REST_OBJECT, whole & ~covered), (REST_BACKGROUND, inside & ~whole & ~covered))
    return [(key, _cropped(mask, frame)) for key, mask in shares if mask.any()]


def _bounding_box(placed: list[Placed]) -> PixelBox:
    """Return the smallest box around all masks."""
    x0, y0 = (min(origin[axis] for _, origin in placed) for axis in (0, 1))
    x1 = max(x + mask.shape[1] for mask, (x, _) in placed)
    y1 = max(y + mask.shape[0] for mask, (_, y) in placed)
    return x0, y0, x1, y1


def _stamped(placed: list[Placed], frame: PixelBox) -> Mask:
    """Return the union of all masks, clipped to the frame."""
    x0, y0, x1, y1 = frame
    union = np.zeros((y1 - y0, x1 - x0), bool)
    for mask, (x, y) in placed:
        left, top = max(x, x0), max(y, y0)
        seen = mask[top - y : max(y1 - y, 0), left - x : max(x1 - x, 0)]
        union[top - y0 : top - y0 + seen.shape[0], left - x0 : left - x0 + seen.shape[1]] |= seen
    return union


def _cropped(mask: Mask, frame: PixelBox) -> Placed:
    small, (x, y) = cropped(mask)
    return small, (x + frame[0], y + frame[1])


def _segmentation(placed: Placed, outlines: Rings | None, size: tuple[int, int]) -> Segmentation:
    """Return rings if possible.

    Run lengths for regions with holes, and for empty ones: pycocotools rejects an empty list of
    rings.
    """
    mask, origin = placed
    segmentation = outlines or RunLengths(
        size=[size[1], size[0]], counts=compressed(run_lengths(mask, origin, size))
    )
    return {"area": int(np.count_nonzero(mask)), "iscrowd": 0, "segmentation": segmentation}
