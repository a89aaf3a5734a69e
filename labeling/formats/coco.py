"""COCO JSON. Boxes and outlines are `annotations`; everything COCO lacks is in extra keys.

Labels without a shape, and the source of every label, are in `labels` of the image: {"category_id",
"value", "origin", "probability", "source"}, with "votes" and "interval" if the probability is a
share of votes. Readers of COCO ignore it.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from labeling.files import atomic_write
from labeling.formats import coco_rows
from labeling.formats.coco_masks import compressed, run_lengths
from labeling.formats.coco_rows import CocoFile, Id
from labeling.formats.label import ExportContext, Instance, Label, Pages
from labeling.formats.reading import LabelReading, is_number
from labeling.geometry.polygons import to_shapely
from labeling.geometry.regions import box_within, mask_of
from labeling.parts.model import Photograph


def write(pages: Pages, folder: Path, release_info: ExportContext) -> None:
    """Write labels.json into the folder, image by image."""
    ids = {key: number for number, key in enumerate(sorted(release_info.classes), 1)}
    names = release_info.classes if release_info.names == "plain" else release_info.unique_classes
    categories = [{"id": ids[key], "name": names[key], "wnid": key} for key in ids]
    annotations = folder / "annotations.part"
    with atomic_write(folder / "labels.json") as file, open(annotations, "w+") as kept:
        file.write(json.dumps({"info": {"description": release_info.title}})[:-1])
        file.write(f', "categories": {json.dumps(categories, ensure_ascii=False)}, "images": [')
        count = 0
        for number, (photo, labels) in enumerate(pages, 1):
            image = {
                "id": number,
                "file_name": photo.name,
                "width": photo.width,
                "height": photo.height,
                "license_name": photo.licence,
                "sha256": photo.sha256,
                "labels": [
                    {"category_id": ids[label.key], **label.statement, "source": label.source}
                    for label in labels
                ],
            }
            file.write((", " if number > 1 else "") + json.dumps(image, ensure_ascii=False))
            for annotation in _annotations(photo, labels, ids):
                count += 1
                row = {"id": count, "image_id": number, "iscrowd": 0, **annotation}
                kept.write((", " if count > 1 else "") + json.dumps(row))
        file.write('], "annotations": [')
        kept.seek(0)
        while part := kept.read(1 << 20):
            file.write(part)
        file.write("]}\n")
    annotations.unlink()


def _annotations(
    photo: Photograph, labels: list[Label], ids: dict[str, int]
) -> Iterator[dict[str, object]]:
    for label in labels:
        for instance in label.instances:
            x0, y0, x1, y1 = instance.box
            yield {
                "category_id": ids[label.key],
                "bbox": [x0, y0, x1 - x0, y1 - y0],
                **_segmentation(instance, photo),
                "source": label.source,
                **({} if instance.flags is None else _flagged(instance.flags)),
            }


def _segmentation(instance: Instance, photo: Photograph) -> dict[str, object]:
    """Return rings and their area; run lengths for regions with holes, which rings cannot
    express.
    """
    polygons, size = instance.polygons, (photo.width, photo.height)
    if not polygons:
        x0, y0, x1, y1 = instance.box
        return {"area": (x1 - x0) * (y1 - y0), "segmentation": []}
    if all(len(piece) == 1 for piece in polygons):
        rings = [list(chain.from_iterable(piece[0])) for piece in polygons]
        return {"area": to_shapely(polygons).area, "segmentation": rings}
    box = box_within(polygons, size)
    mask = mask_of(polygons, box)
    counts = compressed(run_lengths(mask, box[:2], size))
    rle = {"size": [photo.height, photo.width], "counts": counts}
    return {"area": int(mask.sum()), "segmentation": rle}


def _flagged(flags: tuple[str, ...]) -> dict[str, object]:
    """Return flags: iscrowd for a group, PASCAL VOC's names for the others."""
    others = {flag: flag in flags for flag in ("truncated", "occluded", "difficult")}
    return {"iscrowd": int("group" in flags), **others}


def read(reading: LabelReading) -> Pages:
    """Yield the images of a COCO file with a label for each class and source.

    A class is named by its category's `wnid`, else by its name. Raises BadInput, which names the
    annotation.
    """
    with coco_rows.opened(reading) as file:
        check_names(file)
        for key in file.images:
            yield page(file, key)


def check_names(file: CocoFile) -> None:
    """Raise BadInput if two categories have the same name."""
    numbers: dict[str, int] = {}
    for number, category in enumerate(file.categories.values(), 1):
        if numbers.setdefault(category.key, number) != number:
            raise file.reading.bad(
                f"category {number}: {category.key!r} occurs twice",
                "use one category per class, or give each category its own wnid",
            )


def page(file: CocoFile, image: Id) -> tuple[Photograph, list[Label]]:
    """Return an image of the file with its labels. Raises BadInput, which names the annotation."""
    row = file.images[image]
    width, height = row.size or (0, 0)
    labels: dict[tuple[str, str], Label] = {}
    for stated in _exported_labels(file, image):
        labels[stated.key, stated.source] = stated
    drawn: dict[tuple[str, str], list[Instance]] = {}
    for annotation in file.rows(image):
        key, source = annotation.category.key, annotation.raw.get("source")
        if source is None:
            # Annotations without a source belong to the only stated source of their class.
            source = next((known for of, known in labels if of == key), "")
        instance = annotation.instance()
        if instance is not None:
            drawn.setdefault((key, str(source)), []).append(instance)
            name = annotation.category.name
            labels.setdefault(
                (key, str(source)), Label(row.name, key, name=name, source=str(source))
            )
    entry = f"Image {image}"
    return Photograph(row.name, width, height), [
        file.reading.checked(replace(label, instances=tuple(drawn.get(of, ())), entry=entry))
        for of, label in labels.items()
    ]


def _exported_labels(file: CocoFile, image: Id) -> Iterator[Label]:
    """Yield the `labels` of an image in our own exports."""
    name, rows = file.images[image].name, file.labels(image) or []
    fault = file.reading.bad(f"image {name!r} has odd labels", "export the file again")
    if not isinstance(rows, list):
        raise fault
    for row in rows:
        if not isinstance(row, dict):
            raise fault
        key: Any = row.get("category_id")
        if not isinstance(key, int | str) or key not in file.categories:
            raise file.reading.bad(
                f"image {name!r} has a label of the unknown category {key!r}", "add the category"
            )
        category, probability = file.categories[key], row.get("probability")
        if probability is not None and not is_number(probability):
            raise fault
        yield Label(
            image=name,
            key=category.key,
            value=str(row.get("value", "yes")),
            origin=str(row.get("origin", "given")),
            probability=probability,
            name=category.name,
            source=str(row.get("source", "")),
        )
