"""Label Studio JSON of objects with parts: a task for every image, everything in per cent of it.

An object is a rectangle labelled with its class; a part is a polygon labelled with its key, whose
`parentID` is the object's rectangle, one for each piece; a hole is a polygon labelled "hole" whose
`parentID` is the piece; the object's own outline is labelled "object". What Label Studio has no
word for stands in the task's own data under `objects`, which it keeps; `image` is the image's
address there, `file_name` its name here. `label_config.xml` is the project's labeling interface.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from labeling.files import StrPath, atomic_write
from labeling.formats import label_studio_project as project
from labeling.formats.json_stream import elements
from labeling.formats.label import About, unique_names
from labeling.formats.label_studio_regions import HOLE, Task
from labeling.formats.reading import (
    OnFault,
    Reading,
    Tell,
    say_nothing,
)
from labeling.formats.sidecar import the_file
from labeling.geometry.polygons import Polygons, Ring
from labeling.parts.model import (
    OUTLINE,
    PartedObject,
    Photograph,
    Scenes,
    object_details,
    part_details,
    photo_details,
)

FILE = "tasks.json"


def write(scenes: Scenes, folder: Path, about: About) -> None:
    """tasks.json and label_config.xml in the folder, tasks written image by image."""
    classes = dict(about.classes)
    # A part is labelled with its key, which several classes may have under several names.
    parts = {key: key for key in (*chain.from_iterable(about.parts.values()), OUTLINE, HOLE)}
    with atomic_write(folder / FILE) as file:
        file.write("[")
        for number, (photo, objects) in enumerate(scenes, 1):
            file.write(",\n" if number > 1 else "\n")
            json.dump(_task(number, photo, objects, about), file, ensure_ascii=False)
            for found in objects:
                classes.setdefault(found.category, found.category)
                parts |= {part.key: part.key for part in found.parts}
        file.write("\n]\n")
    whole = project.control("RectangleLabels", "objects", unique_names(classes))
    project.write_config(folder, whole, project.control("PolygonLabels", "parts", parts))


def _task(
    number: int, photo: Photograph, objects: list[PartedObject], about: About
) -> dict[str, object]:
    result: list[dict[str, object]] = []
    rows = []
    for nth, found in enumerate(objects, 1):
        key = f"o{nth}"
        result.append(_rectangle(key, found, photo, about))
        result += _regions(f"{key}s", key, OUTLINE, found.outline or (), photo)
        parts: list[dict[str, object]] = []
        for place, part in enumerate(found.parts, 1):
            parts.append({"id": f"{key}p{place}", **part_details(part)})
            if part.polygons:
                result += _regions(f"{key}p{place}", key, part.key, part.polygons, photo)
            else:
                parts[-1]["unseen"] = True
        row = {"id": key, "category": found.category, **object_details(found), "parts": parts}
        rows.append(row)
    data = (
        project.image_data(photo.name, about.image_base) | photo_details(photo) | {"objects": rows}
    )
    return project.task(number, data, result)


def _region(key: str, kind: str, photo: Photograph, value: dict[str, object]) -> dict[str, object]:
    return {
        "id": key,
        "type": kind,
        "from_name": "objects" if kind == "rectanglelabels" else "parts",
        "to_name": "image",
        "original_width": photo.width,
        "original_height": photo.height,
        "image_rotation": 0,
        "value": value,
    }


def _rectangle(key: str, found: PartedObject, photo: Photograph, about: About) -> dict[str, object]:
    (x0, y0), (x1, y1) = _per_cent((found.box[:2], found.box[2:]), photo)
    value = {
        "x": x0,
        "y": y0,
        "width": x1 - x0,
        "height": y1 - y0,
        "rotation": 0,
        "rectanglelabels": [found.category],
    }
    words = [word for word in (about.classes.get(found.category, ""), found.name) if word]
    return {**_region(key, "rectanglelabels", photo, value), "meta": {"text": words}}


def _regions(
    key: str, parent: str, label: str, polygons: Polygons, photo: Photograph
) -> Iterator[dict[str, object]]:
    for nth, piece in enumerate(polygons, 1):
        own = f"{key}.{nth}"
        yield _polygon(own, parent, label, piece[0], photo)
        for hole, ring in enumerate(piece[1:], 1):
            yield _polygon(f"{own}h{hole}", own, HOLE, ring, photo)


def _polygon(key: str, parent: str, label: str, ring: Ring, photo: Photograph) -> dict[str, object]:
    value = {"points": _per_cent(ring, photo), "closed": True, "polygonlabels": [label]}
    return {**_region(key, "polygonlabels", photo, value), "parentID": parent}


def _per_cent(points: Iterable[Sequence[float]], photo: Photograph) -> list[list[float]]:
    return [[100 * x / photo.width, 100 * y / photo.height] for x, y in points]


def read(
    path: StrPath,
    *,
    repair: bool = False,
    tell: Tell = say_nothing,
    on_fault: OnFault | None = None,
) -> Iterator[PartedObject]:
    """The objects in a file of tasks, or in the tasks.json of a folder, task by task.

    Of others: rectangles are objects, and so are polygons and brushes that have parts but no
    parent. A part goes to its parentID, else to what a relation joins it with, else to the
    rectangle that it fills most; without any rectangle in the task every region is an object. The
    first annotation that was not cancelled counts. Raises BadInput naming the task and the region;
    with on_fault, what is wrong with one task or one object is told to it instead.
    """
    reading = Reading(the_file(path, FILE), repair, tell, on_fault)
    for number, content in enumerate(elements(reading.file), 1):
        with reading.sparing():
            yield from Task(reading, content, f"task {number}").objects()
