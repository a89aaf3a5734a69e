"""Label Studio JSON of objects with parts: a task per image, coordinates in per cent.

An object is a rectangle labelled with its class. A part is one polygon per piece, labelled with its
key, whose `parentID` is the object's rectangle; a hole is a polygon "hole" whose `parentID` is the
piece; the object's outline is labelled "object". Anything else is in the task's data under
`objects`, which Label Studio keeps. `image` is the image's address there, `file_name` its name
here. `label_config.xml` is the project's labeling interface.
"""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from labeling.files import atomic_write
from labeling.formats import label_studio_project as project
from labeling.formats.json_stream import elements
from labeling.formats.label import ExportContext, unique_names
from labeling.formats.label_studio_regions import HOLE, LabelStudioTask
from labeling.formats.reading import LabelReading
from labeling.formats.sidecar import single_file
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


def write(scenes: Scenes, folder: Path, release_info: ExportContext) -> None:
    """Write tasks.json and label_config.xml into the folder, task by task."""
    classes = dict(release_info.classes)
    # A part is labelled with its key, which several classes may have under several names.
    parts = {key: key for key in (*chain.from_iterable(release_info.parts.values()), OUTLINE, HOLE)}
    with atomic_write(folder / FILE) as file:
        file.write("[")
        for number, (photo, objects) in enumerate(scenes, 1):
            file.write(",\n" if number > 1 else "\n")
            json.dump(_task(number, photo, objects, release_info), file, ensure_ascii=False)
            for parted in objects:
                classes.setdefault(parted.category, parted.category)
                parts |= {part.key: part.key for part in parted.parts}
        file.write("\n]\n")
    whole = project.control("RectangleLabels", "objects", unique_names(classes))
    project.write_config(folder, whole, project.control("PolygonLabels", "parts", parts))


def _task(
    number: int, photo: Photograph, objects: list[PartedObject], release_info: ExportContext
) -> dict[str, object]:
    result: list[dict[str, object]] = []
    rows = []
    for nth, parted in enumerate(objects, 1):
        key = f"o{nth}"
        result.append(_rectangle(key, parted, photo, release_info))
        result += project.regions(f"{key}s", OUTLINE, parted.outline or (), photo, parent=key)
        parts: list[dict[str, object]] = []
        for part_number, part in enumerate(parted.parts, 1):
            parts.append({"id": f"{key}p{part_number}", **part_details(part)})
            if part.polygons:
                result += project.regions(
                    f"{key}p{part_number}", part.key, part.polygons, photo, parent=key
                )
            else:
                parts[-1]["unseen"] = True
        row = {"id": key, "category": parted.category, **object_details(parted), "parts": parts}
        rows.append(row)
    data = (
        project.image_data(photo.name, release_info.image_base)
        | photo_details(photo)
        | {"objects": rows}
    )
    return project.task(number, data, result)


def _rectangle(
    key: str, parted: PartedObject, photo: Photograph, release_info: ExportContext
) -> dict[str, object]:
    words = [word for word in (release_info.classes.get(parted.category, ""), parted.name) if word]
    return project.rectangle(key, "objects", parted.category, parted.box, photo, {"text": words})


def read(reading: LabelReading) -> Iterator[PartedObject]:
    """Yield the objects in a file of tasks, or in the tasks.json of a folder, task by task.

    In files of others, rectangles are objects, and so are other shapes with parts but no parent. A
    part belongs to its parentID, else to its relation, else to the rectangle that it fills most; in
    a task without rectangles every region is an object. Uses the first annotation that was not
    cancelled. Raises BadInput, which names the task and the region.
    """
    reading = reading.of(single_file(reading.file, FILE))
    for number, content in enumerate(elements(reading.file), 1):
        with reading.collecting_faults():
            yield from LabelStudioTask(reading, content, f"task {number}").objects()
