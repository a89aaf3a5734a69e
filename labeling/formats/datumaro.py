"""Datumaro's JSON: boxes, polygons and labels of whole images. Written, not read.

A label of Datumaro says that the image has the class. Classes labeled no or unknown are therefore
in the attributes `no` and `unknown` of the image's item.
"""

import json
from itertools import chain
from pathlib import Path

from labeling.files import atomic_write
from labeling.formats.label import ExportContext, Instance, Label, Pages
from labeling.formats.sidecar import file_path
from labeling.formats.voc import ImageStems
from labeling.parts.model import Photograph

IMAGES = "images/default"


def write(pages: Pages, folder: Path, release_info: ExportContext) -> None:
    """Write annotations/default.json into the folder, image by image."""
    numbers = {key: number for number, key in enumerate(sorted(release_info.classes))}
    ids = ImageStems(release_info.images)
    names = [
        {"name": release_info.unique_classes[key], "parent": "", "attributes": []}
        for key in numbers
    ]
    head = {"info": {"description": release_info.title}, "infos": {}} | {
        "categories": {"label": {"labels": names, "attributes": []}}
    }
    (folder / "annotations").mkdir()
    with atomic_write(folder / "annotations" / "default.json") as file:
        file.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "items": [')
        for count, (photo, labels) in enumerate(pages):
            item = _item(ids.of(photo.name), photo, labels, numbers)
            file.write((", " if count else "") + json.dumps(item, ensure_ascii=False))
        file.write("]}\n")


def _item(
    name: str, photo: Photograph, labels: list[Label], numbers: dict[str, int]
) -> dict[str, object]:
    annotations: list[dict[str, object]] = []
    for label in labels:
        if label.value != "yes":
            continue
        label_fields = {"label_id": numbers[label.key], "attributes": {"origin": label.origin}}
        shapes: list[dict[str, object]] = [{"type": "label"}]
        for group, instance in enumerate(label.instances, len(annotations) + 1):
            shapes += [{"group": group, **shape} for shape in _shapes(instance)]
        for shape in shapes:
            annotations.append(
                {"id": len(annotations), "group": 0, "z_order": 0, **label_fields, **shape}
            )
    return {
        "id": name,
        "annotations": annotations,
        "attr": {
            value: " ".join(label.key for label in labels if label.value == value)
            for value in ("no", "unknown")
        },
        "image": {"path": file_path(photo.name), "size": [photo.height, photo.width]},
    }


def _shapes(instance: Instance) -> list[dict[str, object]]:
    """Return the box of an instance, or the outer rings of its polygons."""
    if not instance.polygons:
        x0, y0, x1, y1 = instance.box
        return [{"type": "bbox", "bbox": [x0, y0, x1 - x0, y1 - y0]}]
    return [
        {"type": "polygon", "points": list(chain.from_iterable(piece[0]))}
        for piece in instance.polygons
    ]
