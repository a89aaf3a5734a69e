"""PASCAL-Part: a MATLAB file per image, with a mask for every object and every part.

    anno.imname            the image, without its extension
    anno.objects(i)        class, class_ind (VOC's index of the class), bbox, mask, parts
    anno.objects(i).parts  part_name, mask; [] where there are none

Masks are as large as the image. A .json beside the file has everything else.
Source: Chen et al., Detect What You Can (2014).
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeling.formats import matfiles, sidecar
from labeling.formats.label import ExportContext
from labeling.formats.matfiles import Value
from labeling.formats.reading import MAX_PIXELS, LabelReading
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import Mask, box_within, mask_of, polygons_of
from labeling.parts.model import (
    REST_BACKGROUND,
    Part,
    PartedObject,
    Photograph,
    Scenes,
    object_details,
    part_details,
    photo_details,
)
from labeling.plurals import count_of

FOLDER = "Annotations_Part"
# VOC's classes in its order; class_ind counts from 1.
CLASSES = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)
HEAD = b"MATLAB 5.0 MAT-file, PASCAL-Part".ljust(116)


def write(scenes: Scenes, folder: Path, release_info: ExportContext) -> None:
    """Write Annotations_Part/<image>.mat into the folder, and a .json beside each."""
    (folder / FOLDER).mkdir()
    taken: set[str] = set()
    classes = {name: number for number, name in enumerate(CLASSES, 1)}
    for photo, objects in scenes:
        stem = _stem(photo.name, taken)
        goal = folder / FOLDER / f"{stem}.mat"
        goal.parent.mkdir(parents=True, exist_ok=True)
        names = [release_info.classes.get(parted.category) or parted.category for parted in objects]
        object_rows = [
            # A class outside VOC gets its own number.
            _object(parted, name, classes.setdefault(name, len(classes) + 1), photo)
            for parted, name in zip(objects, names, strict=True)
        ]
        _save(goal, {"imname": stem, "objects": _struct(object_rows)})
        row = {
            "image": photo.name,
            **photo_details(photo),
            "objects": [_row(parted) for parted in objects],
        }
        sidecar.write(goal.with_name(f"{goal.name}.json"), row)


def _stem(name: str, taken: set[str]) -> str:
    """Return the image's name as a path without extension; with it, if two would collide."""
    path = sidecar.file_path(name)
    stem = path.rpartition(".")[0] if "." in path.rpartition("/")[2][1:] else path
    if stem.casefold() in taken:
        stem = path
    taken.add(stem.casefold())
    return stem


def _object(parted: PartedObject, name: str, number: int, photo: Photograph) -> dict[str, object]:
    drawn = [part for part in parted.parts if part.polygons]
    masks = [_mask(part.polygons, photo) for part in drawn]
    if parted.outline:
        whole = _mask(parted.outline, photo)
    else:
        foreground = [
            mask for part, mask in zip(drawn, masks, strict=True) if part.key != REST_BACKGROUND
        ]
        whole = (
            np.any(foreground, axis=0)
            if foreground
            else np.zeros((photo.height, photo.width), bool)
        )
    x0, y0, x1, y1 = parted.box
    return {
        "class": name,
        "class_ind": float(number),
        # Counted from 1, both ends inside.
        "bbox": np.array([[x0 + 1, y0 + 1, x1, y1]], dtype=float),
        "mask": whole,
        "parts": _struct(
            [{"part_name": part.key, "mask": mask} for part, mask in zip(drawn, masks, strict=True)]
        ),
    }


def _mask(polygons: Polygons, photo: Photograph) -> Mask:
    """Return a mask as large as the photograph, computed only in the polygons' bounding box."""
    mask = np.zeros((photo.height, photo.width), bool)
    x0, y0, x1, y1 = box = box_within(polygons, (photo.width, photo.height))
    mask[y0:y1, x0:x1] = mask_of(polygons, box)
    return mask


def _struct(rows: list[dict[str, object]]) -> NDArray[Any]:
    """Return a 1 × N struct array; [] for none, as in the dataset."""
    if not rows:
        return np.zeros((0, 0))
    made = np.empty((1, len(rows)), dtype=[(name, object) for name in rows[0]])
    for number, row in enumerate(rows):
        made[0, number] = tuple(row.values())
    return made


def _save(goal: Path, anno: dict[str, object]) -> None:
    from scipy.io import savemat

    made = io.BytesIO()
    savemat(made, {"anno": anno}, do_compression=True)
    # Remove the time from the header, so that equal labels give equal bytes.
    goal.write_bytes(HEAD + made.getvalue()[len(HEAD) :])


def _row(parted: PartedObject) -> dict[str, object]:
    """Return an object's data for the .json. mask: the number of a part's mask in the file."""
    parts, count = [], 0
    for part in parted.parts:
        row = part_details(part)
        if part.polygons:
            count += 1
            row["mask"] = count
        parts.append(row)
    return {
        "category": parted.category,
        **object_details(parted),
        "outlined": parted.outline is not None,
        "parts": parts,
    }


def read(reading: LabelReading) -> Iterator[PartedObject]:
    """Yield the objects in a folder of .mat files and its subfolders, or in one file.

    An image is named by imname, which has no extension, or in full by our own .json. Raises
    BadInput, which names the file and the object; skips empty masks.
    """
    root = Path(reading.file)
    files = list(sidecar.files_in(root, ".mat"))
    # An export of ours may have only images without objects.
    if not files and not (root / FOLDER).is_dir():
        raise reading.bad("has no .mat files", "give the folder Annotations_Part")
    seen: dict[str, Path] = {}
    for file in files:
        with reading.collecting_faults():
            image = _PascalImage(file, reading.of(file))
            if image.name in seen:
                raise image.reading.bad(
                    f"is of the image {image.name!r}, as {seen[image.name].name} is",
                    "keep one of them",
                )
            seen[image.name] = file
            yield from image.objects()


class _PascalImage:
    """Reads the objects of one file."""

    def __init__(self, file: Path, reading: LabelReading) -> None:
        self.reading = reading
        anno = matfiles.load(file, "anno")
        rows = self._structs(anno, "anno")
        if len(rows) != 1:
            raise reading.bad(f"anno has {len(rows)} elements", "save one anno for each image")
        self.name = reading.image(self._text(rows[0], "imname", "anno"), "the image")
        self.rows = self._structs(self._field(rows[0], "objects", "anno"), "anno.objects")
        self.size: tuple[int, int] | None = None
        beside = file.with_name(f"{file.name}.json")
        self.beside: list[dict[str, object]] | None = None
        if beside.exists():
            # Faults of one file do not affect others.
            self.reading = reading.of(beside)
            content = sidecar.read(beside)
            self.name = self.reading.image(content.get("image"), "the image")
            self.beside = sidecar.rows(content, "objects", self.reading, "the image")
            if len(self.beside) != len(self.rows):
                raise self.reading.bad(
                    f"describes {count_of(len(self.beside), 'object')}; {file.name} has "
                    f"{len(self.rows)}",
                    "remove it to read only the masks",
                )

    def objects(self) -> Iterator[PartedObject]:
        for number, row in enumerate(self.rows, 1):
            made = None
            with self.reading.collecting_faults():
                made = self._object(number, row)
            if made is not None:
                yield made

    def _object(self, number: int, row: dict[str, Value]) -> PartedObject | None:
        entry = f"anno.objects({number})"
        mask = self._mask(row, entry)
        parts = self._structs(self._field(row, "parts", entry), f"{entry}.parts")
        named_masks = [
            self._part(part_row, f"{entry}.parts({n})") for n, part_row in enumerate(parts, 1)
        ]
        if self.beside is not None:
            return self._exported_object(
                self.beside[number - 1], mask, named_masks, f"object {number}"
            )
        return self._foreign_object(self._text(row, "class", entry), mask, named_masks, entry)

    def _foreign_object(
        self, category: str, mask: Polygons, named_masks: list[tuple[str, Polygons]], entry: str
    ) -> PartedObject | None:
        for number, (name, polygons) in enumerate(named_masks, 1):
            if not polygons:
                self.reading.skip("part", "its mask is empty", f"{entry}.parts({number}), {name}")
        parts = [Part(name, polygons) for name, polygons in named_masks if polygons]
        if not mask and not parts:
            self.reading.skip("object", "its mask is empty", f"{entry}, {category}")
            return None
        return self.reading.parted({}, self.name, category, parts, mask, self._size(), entry)

    def _exported_object(
        self,
        row: dict[str, object],
        mask: Polygons,
        named_masks: list[tuple[str, Polygons]],
        entry: str,
    ) -> PartedObject:
        parts = []
        for number, part_row in enumerate(sidecar.rows(row, "parts", self.reading, entry), 1):
            where = f"{entry}, part {number}"
            polygons: Polygons = ()
            if "mask" in part_row:
                at = part_row["mask"]
                if type(at) is not int or not 0 < at <= len(named_masks):
                    raise self.reading.bad(f"{where} has no mask {at!r}", "take the .json away")
                name, polygons = named_masks[at - 1]
                if name != part_row.get("part"):
                    raise self.reading.bad(f"{where} is {name!r} there", "take the .json away")
            parts.append(self.reading.part(part_row, polygons, self._size(), where))
        category = self.reading.text(row.get("category"), f"{entry}'s category")
        outline = mask if row.get("outlined") is True else None
        return self.reading.parted(row, self.name, category, parts, outline, self._size(), entry)

    def _size(self) -> tuple[int, int]:
        assert self.size is not None
        return self.size

    def _part(self, row: dict[str, Value], entry: str) -> tuple[str, Polygons]:
        name = self.reading.text(self._text(row, "part_name", entry), f"{entry}.part_name")
        return name, self._mask(row, entry)

    def _structs(self, value: Value, entry: str) -> list[dict[str, Value]]:
        """Return the elements of a struct array; none for MATLAB's []."""
        if isinstance(value, matfiles.Struct):
            return value.rows
        if isinstance(value, np.ndarray) and value.size == 0:
            return []
        raise self.reading.bad(f"{entry} is not a struct", "save it as PASCAL-Part does")

    def _field(self, row: dict[str, Value], name: str, entry: str) -> Value:
        if name not in row:
            raise self.reading.bad(f"{entry} lacks {name}", "save it as PASCAL-Part does")
        return row[name]

    def _text(self, row: dict[str, Value], name: str, entry: str) -> str:
        value = self._field(row, name, entry)
        if isinstance(value, str):
            return self.reading.text(value, f"{entry}.{name}", most=400)
        raise self.reading.bad(f"{entry}.{name} is not text", "save it as PASCAL-Part does")

    def _mask(self, row: dict[str, Value], entry: str) -> Polygons:
        value = self._field(row, "mask", entry)
        if not (isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "buif"):
            raise self.reading.bad(
                f"{entry}.mask is not a matrix of numbers", "save a logical mask"
            )
        size = (value.shape[1], value.shape[0])
        if self.size is None:
            if not 0 < value.size <= MAX_PIXELS:
                raise self.reading.bad(f"{entry}.mask is {size[0]} × {size[1]}", "save a mask")
            self.size = size
        if size != self.size:
            raise self.reading.bad(
                f"{entry}.mask is {size[0]} × {size[1]} pixels, "
                f"the first mask {self.size[0]} × {self.size[1]}",
                "save masks as large as the image",
            )
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise self.reading.bad(f"{entry}.mask has NaN or infinity", "save a logical mask")
        return polygons_of(value != 0)
