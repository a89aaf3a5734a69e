"""COCO JSON. Boxes and polygons are `annotations`; what COCO has no word for stands beside them.

An image's labels without geometry, and where every label comes from, are in `labels` of the image:
{"category_id", "value", "origin", "probability", "source"}, with "votes" and "interval" where the
probability is a share of votes. Readers of COCO leave it alone.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labeling.files import BadInput, StrPath, atomic_write
from labeling.formats.label import About, Box, Label, Pages, check, read_json

# [x, y, x, y, …]
Ring = tuple[float, ...]


def write(pages: Pages, folder: Path, about: About) -> None:
    """labels.json in the folder, written image by image."""
    ids = {key: number for number, key in enumerate(sorted(about.classes), 1)}
    names = about.classes if about.names == "plain" else about.unique_classes
    categories = [{"id": ids[key], "name": names[key], "wnid": key} for key in ids]
    annotations = folder / "annotations.part"
    with atomic_write(folder / "labels.json") as file, open(annotations, "w+") as kept:
        file.write(json.dumps({"info": {"description": about.title}})[:-1])
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
                    {"category_id": ids[one.key], **one.statement, "source": one.source}
                    for one in labels
                ],
            }
            file.write((", " if number > 1 else "") + json.dumps(image, ensure_ascii=False))
            for annotation in _annotations(labels, ids):
                count += 1
                row = {"id": count, "image_id": number, "iscrowd": 0, **annotation}
                kept.write((", " if count > 1 else "") + json.dumps(row))
        file.write('], "annotations": [')
        kept.seek(0)
        while part := kept.read(1 << 20):
            file.write(part)
        file.write("]}\n")
    annotations.unlink()


def _annotations(labels: list[Label], ids: dict[str, int]) -> Iterator[dict[str, object]]:
    for label in labels:
        flags = label.flags or [None] * len(label.boxes)
        shapes: list[tuple[Box, float, list[list[float]], tuple[str, ...] | None]] = [
            (box, (box[2] - box[0]) * (box[3] - box[1]), [], said)
            for box, said in zip(label.boxes, flags, strict=True)
        ]
        shapes += [(_bounds(ring), _area(ring), [list(ring)], None) for ring in label.polygons]
        for (x0, y0, x1, y1), area, segmentation, said in shapes:
            yield {
                "category_id": ids[label.key],
                "bbox": [x0, y0, x1 - x0, y1 - y0],
                "area": area,
                "segmentation": segmentation,
                "source": label.source,
                **({} if said is None else _flagged(said)),
            }


def _flagged(said: tuple[str, ...]) -> dict[str, object]:
    """What is said of a box: a group as COCO has it, the rest as PASCAL VOC calls it."""
    others = {flag: flag in said for flag in ("truncated", "occluded", "difficult")}
    return {"iscrowd": int("group" in said), **others}


def _bounds(ring: Ring) -> Box:
    return (min(ring[0::2]), min(ring[1::2]), max(ring[0::2]), max(ring[1::2]))


def _area(ring: Ring) -> float:
    xs, ys = ring[0::2], ring[1::2]
    pairs = zip(range(len(xs)), [*range(1, len(xs)), 0], strict=True)
    return float(abs(sum(xs[i] * ys[j] - xs[j] * ys[i] for i, j in pairs)) / 2)


def read(path: StrPath) -> Iterator[Label]:
    """The labels of a COCO file: one for every image and class, with its boxes and polygons.

    A class is named by its category's `wnid` where there is one, else by its name. Segmentations
    as RLE are kept by their box alone. Raises BadInput naming the annotation.
    """
    try:
        yield from _read(path)
    except (TypeError, AttributeError):
        # A list where an id belongs, a number where a list belongs: of hand-made files.
        raise BadInput(
            "is not as COCO has it", file=path, cure="write ids as numbers and lists as lists"
        ) from None


def _read(path: StrPath) -> Iterator[Label]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise BadInput("is no COCO file", file=path, cure="it needs images and categories")
    try:
        keys = {
            row["id"]: (str(row.get("wnid") or row["name"]), str(row["name"]))
            for row in content["categories"]
        }
        names = {row["id"]: str(row["file_name"]) for row in content["images"]}
    except (KeyError, TypeError, AttributeError):
        raise BadInput(
            "is no COCO file",
            file=path,
            cure="it needs images (id, file_name) and categories (id, name)",
        ) from None
    shapes = _read_shapes(content.get("annotations", []), keys, names, path)
    for row in content["images"]:
        yield from _read_image(row, keys, shapes.get(row["id"], {}), path)


# By image and category, of whatever type their ids are, the annotations.
Shapes = dict[Any, dict[Any, list[Any]]]


def _read_shapes(
    rows: Any, keys: dict[Any, tuple[str, str]], names: dict[Any, str], path: StrPath
) -> Shapes:
    shapes: Shapes = defaultdict(lambda: defaultdict(list))
    for number, row in enumerate(rows if isinstance(rows, list) else [], 1):
        image, category = (
            (row.get("image_id"), row.get("category_id")) if isinstance(row, dict) else (None, None)
        )
        if image not in names or category not in keys:
            raise BadInput(
                f"annotation {number} names the image {image!r} and the category {category!r}, "
                "which are not both in the file",
                file=path,
                cure="add them to images and categories, or take the annotation out",
            )
        shapes[image][category].append(row)
    return shapes


def _read_image(
    image: Any,
    keys: dict[Any, tuple[str, str]],
    shapes: dict[Any, list[Any]],
    path: StrPath,
) -> Iterator[Label]:
    said = [row for row in image.get("labels") or [] if isinstance(row, dict)]
    known = {row.get("category_id") for row in said}
    rows = said + [
        {"category_id": category, "source": found[0].get("source", "")}
        for category, found in shapes.items()
        if category not in known
    ]
    for row in rows:
        category = row.get("category_id")
        if category not in keys:
            raise BadInput(
                f"image {image['file_name']!r} has a label of the unknown category {category!r}",
                file=path,
                cure="add the category",
            )
        key, name = keys[category]
        mine = [
            s
            for s in shapes.get(category, [])
            if s.get("source", row.get("source", "")) == row.get("source", "")
        ]
        try:
            label = Label(
                image=str(image["file_name"]),
                key=key,
                value=row.get("value", "yes"),
                origin=row.get("origin", "given"),
                probability=row.get("probability"),
                boxes=tuple(_corners(shape["bbox"]) for shape in mine if not _rings(shape)),
                polygons=tuple(ring for shape in mine for ring in _rings(shape)),
                name=name,
                source=str(row.get("source", "")),
                place=f"Image {image['id']}",
            )
        except (TypeError, ValueError, KeyError):
            raise BadInput(
                f"image {image['file_name']!r} has an annotation without a proper bbox",
                file=path,
                cure="write bbox as [x, y, width, height]",
            ) from None
        yield check(label, path)


def _corners(bbox: Any) -> Box:
    x, y, width, height = (float(part) for part in bbox)
    return (x, y, x + width, y + height)


def _rings(shape: Any) -> list[Ring]:
    rings = shape.get("segmentation") or []
    if not isinstance(rings, list):
        return []
    return [tuple(float(part) for part in ring) for ring in rings]
