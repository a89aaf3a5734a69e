"""Indexed PNG masks: a palette image for every object, whose indices are its parts.

masks/<image>/<n>.png        0 outside all parts; else the index of the part at the pixel
masks/<image>/<n>.json       {"image", "category", "parts": {"1": "head", …}} and further data
masks/<image>/<n>-2.png, …   parts that overlap others of <n>.png ("over" in the .json)
masks/<image>/<n>-object.png the object's own mask, if it has one ("outline" in the .json)
"""

import re
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeling.files import BadInput
from labeling.formats import sidecar
from labeling.formats.label import ExportContext
from labeling.formats.reading import MAX_PIXELS, LabelReading
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import Mask, box_within, mask_of, polygons_of
from labeling.parts.model import (
    Part,
    PartedObject,
    Photograph,
    Scenes,
    object_details,
    part_details,
    photo_details,
)

FOLDER = "masks"
# In folders that other tools wrote: {"category", "parts"} of all masks.
SHARED = "labels.json"
# VOC's index of object borders.
VOID = 255
MAX_PARTS = 254
# Names of masks that belong to another mask's .json.
EXTRA = re.compile(r"^\d+-(\d+|object)$")
Indices = NDArray[np.uint8]
Slices = tuple[slice, slice]


def write(scenes: Scenes, folder: Path, release_info: ExportContext) -> None:
    """Write masks/ into the folder, with a folder for every image that has objects."""
    (folder / FOLDER).mkdir()
    for photo, objects in scenes:
        goal = folder / FOLDER / sidecar.file_path(photo.name)
        for number, parted in enumerate(objects, 1):
            goal.mkdir(parents=True, exist_ok=True)
            _write_object(goal, str(number), parted, photo, release_info)


def _write_object(
    goal: Path, stem: str, parted: PartedObject, photo: Photograph, release_info: ExportContext
) -> None:
    layers: list[Indices] = []
    names: list[dict[str, str]] = []
    parts = []
    for part in parted.parts:
        row = part_details(part)
        if part.polygons:
            mask, window = _pixels(part.polygons, photo)
            at = _layer_for(mask, window, layers, names, photo)
            index = len(names[at]) + 1
            names[at][str(index)] = part.key
            layers[at][window][mask] = index
            row |= {"layer": at, "index": index}
        parts.append(row)
    if not layers:
        layers, names = [np.zeros((photo.height, photo.width), np.uint8)], [{}]
    files = [f"{stem}-{at}.png" if at > 1 else f"{stem}.png" for at in range(1, len(layers) + 1)]
    for name, layer in zip(files, layers, strict=True):
        _save(goal / name, layer)
    if parted.outline:
        mask, window = _pixels(parted.outline, photo)
        whole = np.zeros((photo.height, photo.width), np.uint8)
        whole[window][mask] = 1
        _save(goal / f"{stem}-object.png", whole)
    content = {
        "image": photo.name,
        **photo_details(photo),
        "category": parted.category,
        "category_name": release_info.classes.get(parted.category, ""),
        "parts": names[0],
        "over": [
            {"file": name, "parts": rows} for name, rows in zip(files[1:], names[1:], strict=True)
        ],
        "outline": f"{stem}-object.png" if parted.outline else None,
        "object": {**object_details(parted), "parts": parts},
    }
    sidecar.write(goal / f"{stem}.json", content)


def _pixels(polygons: Polygons, photo: Photograph) -> tuple[Mask, Slices]:
    """Return the mask of the polygons in their bounding box, and the box as slices (y, x)."""
    x0, y0, x1, y1 = box = box_within(polygons, (photo.width, photo.height))
    return mask_of(polygons, box), (slice(y0, y1), slice(x0, x1))


def _layer_for(
    mask: Mask,
    window: Slices,
    layers: list[Indices],
    names: list[dict[str, str]],
    photo: Photograph,
) -> int:
    """Return the first layer that is free under the mask, or a new one."""
    for at, layer in enumerate(layers):
        if len(names[at]) < MAX_PARTS and not layer[window][mask].any():
            return at
    layers.append(np.zeros((photo.height, photo.width), np.uint8))
    names.append({})
    return len(layers) - 1


def _save(path: Path, indices: Indices) -> None:
    from PIL import Image

    image = Image.fromarray(indices)
    image.putpalette(PALETTE)
    image.save(path, format="PNG")


def _palette() -> list[int]:
    """Return VOC's colours, three numbers each: bits of the index go to red, green and blue in
    turn.
    """
    palette = []
    for index in range(256):
        colour = [0, 0, 0]
        for bit in range(8):
            colour[bit % 3] |= (index >> bit & 1) << (7 - bit // 3)
        palette += colour
    return palette


PALETTE = _palette()


def read(reading: LabelReading) -> Iterator[PartedObject]:
    """Yield the objects in a folder of masks and its subfolders, by the .json of each mask.

    Masks of other tools need a .json of the same name with "image", "category" and "parts", or a
    labels.json in their folder for all masks without one; "image" defaults to the mask's name.
    Several objects of one mask are listed under "objects". A single mask works too. Raises
    BadInput, which names the file; skips masks without pixels or without a .json.
    """
    root = Path(reading.file)
    has_masks = False
    for mask in sidecar.files_in(root, ".png"):
        file = _sidecar_of(mask)
        if file is None:
            if not EXTRA.search(mask.stem):
                reading.skip("mask", "it has no .json of the same name", mask.name)
            continue
        has_masks = True
        name = mask.relative_to(root if root.is_dir() else root.parent).with_suffix("").as_posix()
        with reading.collecting_faults():
            yield from _Mask(reading.of(file), mask, name).objects()
    # An export of ours may have only images without objects.
    if not has_masks and not (root / FOLDER).is_dir():
        raise reading.bad(
            "has no masks with a .json of the same name",
            "add labels.json with image, category and parts",
        )


def _sidecar_of(mask: Path) -> Path | None:
    """Return the .json of a mask."""
    sibling, shared = mask.with_suffix(".json"), mask.with_name(SHARED)
    if sibling.exists() or EXTRA.search(mask.stem):
        return sibling if sibling.exists() else None
    return shared if shared.exists() else None


class _Mask:
    """Reads the objects of one mask."""

    def __init__(self, reading: LabelReading, mask: Path, name: str) -> None:
        self.reading = reading
        self.content = sidecar.read(Path(reading.file))
        self.path = mask
        self.image = reading.image(self.content.get("image", name), "the image")
        self.indices = self._load(mask, None)
        self.size = (self.indices.shape[1], self.indices.shape[0])

    def objects(self) -> Iterator[PartedObject]:
        object_row = self.content.get("object")
        if isinstance(object_row, dict):
            yield self._exported_object(object_row)
            return
        rows = [self.content]
        if "objects" in self.content:
            rows = sidecar.rows(self.content, "objects", self.reading, "the mask")
        tables = [self._names(row.get("parts")) for row in rows]
        self._check_named(tables)
        for number, (row, names) in enumerate(zip(rows, tables, strict=True), 1):
            entry = f"object {number} of {self.path.name}"
            category = self.reading.name(row.get("category"), f"{entry}'s category")
            parts = list(self._parts(names))
            if parts:
                yield self.reading.parted({}, self.image, category, parts, None, self.size, entry)
            else:
                self.reading.skip("object", "it has no pixels", entry)

    def _names(self, table: object) -> dict[int, str]:
        """Return the part of every index. Raises BadInput for an invalid table."""
        if not isinstance(table, dict) or not table:
            raise self.reading.bad(
                "has no table of parts", 'write {"parts": {"1": "head", "2": "leg"}}'
            )
        names = {}
        for index, name in table.items():
            if not re.fullmatch(r"[0-9]{1,3}", index) or not 0 < int(index) <= VOID:
                raise self.reading.bad(
                    f"names a part for the index {index[:40]!r}", "count from 1 to 255"
                )
            names[int(index)] = self.reading.name(name, f"the part of index {index}")
        return names

    def _check_named(self, tables: list[dict[int, str]]) -> None:
        known = list(chain.from_iterable(tables))
        if len(known) != len(set(known)):
            raise self.reading.bad("uses an index for two objects", "give each its own indices")
        present = set(np.unique(self.indices).tolist()) - {0, *known}
        if VOID in present:
            present.remove(VOID)
            self.reading.skip("index", "255 is the border of objects", self.path.name)
        if present:
            raise self.reading.bad(
                f"does not name the indices {', '.join(map(str, sorted(present)))} "
                f"of {self.path.name}",
                "add them to its parts",
            )

    def _parts(self, names: dict[int, str]) -> Iterator[Part]:
        for index, name in sorted(names.items()):
            polygons = _region(self.indices, index)
            if polygons:
                yield Part(name, polygons)

    def _exported_object(self, row: dict[str, object]) -> PartedObject:
        entry = f"the object of {self.path.name}"
        layers = [self.indices]
        for more in sidecar.rows(self.content, "over", self.reading, entry):
            layers.append(self._load(self._sibling(more.get("file")), self.size))
        parts = []
        for number, part_row in enumerate(sidecar.rows(row, "parts", self.reading, entry), 1):
            polygons: Polygons = ()
            if "index" in part_row:
                layer, index = part_row.get("layer"), part_row["index"]
                if (
                    type(layer) is not int
                    or type(index) is not int
                    or layer not in range(len(layers))
                ):
                    raise self.reading.bad(f"part {number} is in no mask", "export it again")
                polygons = _region(layers[layer], index)
            parts.append(self.reading.part(part_row, polygons, self.size, f"part {number}"))
        outline: Polygons | None = None
        if self.content.get("outline") is not None:
            outline = _region(self._load(self._sibling(self.content["outline"]), self.size), 1)
        category = self.reading.text(self.content.get("category"), f"{entry}'s category")
        return self.reading.parted(row, self.image, category, parts, outline, self.size, entry)

    def _sibling(self, name: object) -> Path:
        """Return a file of the same folder. Raises BadInput for other paths."""
        if not isinstance(name, str) or not re.fullmatch(r"[^/\\\0]+\.png", name):
            raise self.reading.bad("names a mask that is not in its folder", "export it again")
        return self.path.with_name(name)

    def _load(self, path: Path, size: tuple[int, int] | None) -> Indices:
        """Return the indices of a palette or grey PNG, (H, W). Raises BadInput for other files."""
        from PIL import Image

        try:
            with warnings.catch_warnings():
                # The size is checked below, before decoding.
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)
                with Image.open(path, formats=["PNG"]) as image:
                    self._check_image(image.mode, image.size, path, size)
                    indices = np.array(image).astype(np.uint8)
                    # Pillow spreads grey of 2 and 4 bits over 0 to 255.
                    steps = 2 ** _grey_bits(path) - 1
                    return indices // (255 // steps) if 1 < steps < 255 else indices
        except FileNotFoundError:
            raise BadInput("is missing", file=path, cure="export it again") from None
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            # Pillow calls a broken PNG a SyntaxError.
            raise BadInput(
                "is not a PNG file, or a damaged one", file=path, cure="save it again"
            ) from None

    def _check_image(
        self, mode: str, size: tuple[int, int], path: Path, expected: tuple[int, int] | None
    ) -> None:
        if mode not in {"P", "L", "1"}:
            raise BadInput(
                f"has the mode {mode}, not indices",
                file=path,
                cure="save it with a palette or as 8-bit grey",
            )
        if size[0] * size[1] > MAX_PIXELS:
            raise BadInput(f"is {size[0]} × {size[1]} pixels", file=path, cure="save it smaller")
        if expected is not None and size != expected:
            raise BadInput(
                f"is {size[0]} × {size[1]} pixels, {self.path.name} {expected[0]} × {expected[1]}",
                file=path,
                cure="save masks as large as the image",
            )


def _grey_bits(path: Path) -> int:
    """Return the bits per pixel of a grey PNG; 8 for a palette, whose indices Pillow keeps."""
    with open(path, "rb") as file:
        head = file.read(26)
    return head[24] if head[25:] == b"\0" else 8


def _region(indices: Indices, index: int) -> Polygons:
    return polygons_of(indices == index)
