"""Label Studio JSON of objects with parts: a task for every image, everything in per cent of it.

An object is a rectangle labelled with its class; a part is a polygon labelled with its key, whose
`parentID` is the object's rectangle, one for each piece; a hole is a polygon labelled "hole" whose
`parentID` is the piece; the object's own outline is labelled "object". What Label Studio has no
word for stands in the task's own data under `objects`, which it keeps; `image` is the image's
address there, `file_name` its name here. `label_config.xml` is the project's labeling interface.
"""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from labeling.files import atomic_write
from labeling.formats import label_studio_project as project
from labeling.formats.json_stream import elements
from labeling.formats.label import About, unique_names
from labeling.formats.label_studio_regions import HOLE, Task
from labeling.formats.reading import Reading
from labeling.formats.sidecar import the_file
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
        result += project.regions(f"{key}s", OUTLINE, found.outline or (), photo, parent=key)
        parts: list[dict[str, object]] = []
        for place, part in enumerate(found.parts, 1):
            parts.append({"id": f"{key}p{place}", **part_details(part)})
            if part.polygons:
                result += project.regions(
                    f"{key}p{place}", part.key, part.polygons, photo, parent=key
                )
            else:
                parts[-1]["unseen"] = True
        row = {"id": key, "category": found.category, **object_details(found), "parts": parts}
        rows.append(row)
    data = (
        project.image_data(photo.name, about.image_base) | photo_details(photo) | {"objects": rows}
    )
    return project.task(number, data, result)


def _rectangle(key: str, found: PartedObject, photo: Photograph, about: About) -> dict[str, object]:
    words = [word for word in (about.classes.get(found.category, ""), found.name) if word]
    return project.rectangle(key, "objects", found.category, found.box, photo, {"text": words})


def read(reading: Reading) -> Iterator[PartedObject]:
    """Yield the objects in a file of tasks, or in the tasks.json of a folder, task by task.

    Of others: rectangles are objects, and so are other shapes that have parts but no parent. A part
    goes to its parentID, else to what a relation joins it with, else to the rectangle that it fills
    most; without any rectangle in the task every region is an object. The first annotation that was
    not cancelled counts. Raise BadInput naming the task and the region.
    """
    reading = reading.of(the_file(reading.file, FILE))
    for number, content in enumerate(elements(reading.file), 1):
        with reading.sparing():
            yield from Task(reading, content, f"task {number}").objects()
