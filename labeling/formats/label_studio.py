"""Label Studio JSON: a task per image; choices mean yes, regions are instances in per cent.

Label Studio cannot express no, unknown or a label's source: those are in the task's data under
`labels`, which it keeps and shows. `image` is the image's address there, `file_name` its name here.
`label_config.xml` is the project's labeling interface; classes are shown by name and stored by key.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from labeling.files import atomic_write
from labeling.formats import label_studio_project as project
from labeling.formats.json_stream import elements
from labeling.formats.label import ExportContext, Instance, Label, Pages
from labeling.formats.label_studio_project import HOLE
from labeling.formats.label_studio_regions import LabelStudioTask, Region
from labeling.formats.reading import LabelReading, is_number
from labeling.formats.sidecar import rows
from labeling.parts.model import Photograph

# The control whose choices are classes, in our exports and in files with several controls.
CLASSES = "classes"


def write(pages: Pages, folder: Path, release_info: ExportContext) -> None:
    """Write tasks.json and label_config.xml into the folder."""
    outlined = holed = False
    with atomic_write(folder / "tasks.json") as file:
        file.write("[")
        for number, (photo, labels) in enumerate(pages, 1):
            data = project.image_data(photo.name, release_info.image_base)
            rows = [
                {
                    "class": label.key,
                    "name": release_info.classes.get(label.key, label.name),
                    **label.statement,
                    "source": label.source,
                }
                for label in labels
            ]
            task = project.task(number, data | {"labels": rows}, _results(photo, labels))
            drawn = [
                instance.polygons
                for label in labels
                for instance in label.instances
                if instance.polygons
            ]
            outlined = outlined or bool(drawn)
            holed = holed or any(len(piece) > 1 for polygons in drawn for piece in polygons)
            file.write((",\n" if number > 1 else "\n") + json.dumps(task, ensure_ascii=False))
        file.write("\n]\n")
    names = release_info.unique_classes
    classes = project.control("Choices", CLASSES, names, choice="multiple")
    boxes = project.control("RectangleLabels", "boxes", names)
    outlines = project.control("PolygonLabels", "outlines", names | ({HOLE: HOLE} if holed else {}))
    project.write_config(folder, classes, boxes, *([outlines] if outlined else []))


def _results(photo: Photograph, labels: list[Label]) -> list[dict[str, object]]:
    yes = [label.key for label in labels if label.value == "yes"]
    results = [project.result("classes", "choices", CLASSES, photo, {"choices": yes})]
    number = 0
    for label in labels:
        for instance in label.instances:
            number += 1
            meta: dict[str, object] = {"source": label.source}
            if instance.flags:
                meta["flags"] = list(instance.flags)
            shape = (f"object{number}", label.key)
            results += (
                project.regions(*shape, instance.polygons, photo, control="outlines", meta=meta)
                if instance.polygons
                else [project.rectangle(shape[0], "boxes", shape[1], instance.box, photo, meta)]
            )
    return results


def read(reading: LabelReading) -> Pages:
    """Yield the images of a file of tasks with their labels: choices, and shapes as instances.

    Uses the first annotation of a task that was not cancelled. Raises BadInput, which names the
    task.
    """
    classes = _controls_of_classes(reading)
    for number, content in enumerate(elements(reading.file), 1):
        entry = f"task {number}"
        task = LabelStudioTask(reading, content, entry)
        labels = [
            reading.checked(replace(label, entry=f"Task {number}"))
            for label in _labels(task, classes)
        ]
        size = next((region.size for region in task.regions.values()), (0, 0))
        yield Photograph(task.image, *size), labels


def _controls_of_classes(reading: LabelReading) -> set[str]:
    """Return the control whose choices are classes: `classes`, else the file's only one.

    If shapes have labels, choices of another control, such as a quality, are not classes.
    """
    quiet = replace(reading, skip=lambda *_: None, tell=lambda _: None)
    controls: set[str] = set()
    has_shapes = False
    for number, content in enumerate(elements(reading.file), 1):
        task = LabelStudioTask(quiet, content, f"task {number}")
        controls.update(control for control, _ in task.choices)
        has_shapes = has_shapes or bool(task.regions)
    class_controls = controls & {CLASSES, ""}
    return class_controls or (controls if len(controls) == 1 and not has_shapes else set())


def _labels(task: LabelStudioTask, classes: set[str]) -> Iterator[Label]:
    reading, image = task.reading, task.image
    drawn: dict[tuple[str, str], list[Instance]] = {}
    for pieces in _objects(task):
        instance = task.instance(pieces)
        if instance is None:
            continue
        source = str(pieces[0].meta.get("source", ""))
        for key in pieces[0].labels:
            drawn.setdefault((key, source), []).append(instance)
    stated: set[str] = set()
    for label in _exported_labels(task):
        stated.add(label.key)
        yield replace(label, instances=tuple(drawn.pop((label.key, label.source), ())))
    for (key, source), instances in drawn.items():
        stated.add(key)
        yield Label(image, key, instances=tuple(instances), source=source)
    for control, key in dict.fromkeys(task.choices):
        if control not in classes:
            why = f"the control {control!r} has no classes; call it {CLASSES!r} if it has"
            reading.skip("choice", why, task.entry)
        elif key not in stated:
            stated.add(key)
            yield Label(image, key)


def _objects(task: LabelStudioTask) -> Iterator[list[Region]]:
    """Yield the regions of each instance: the pieces in our exports, else one region."""
    pieces: dict[str, list[Region]] = {}
    for region in task.regions.values():
        if not region.is_hole:
            is_own_part = region.key.startswith("object") and "." in region.key
            pieces.setdefault(
                region.key.partition(".")[0] if is_own_part else region.key, []
            ).append(region)
    yield from pieces.values()


def _exported_labels(task: LabelStudioTask) -> Iterator[Label]:
    """Yield the `labels` in a task's data in our own exports."""
    if "labels" not in task.data:
        return
    for row in rows(task.data, "labels", task.reading, task.entry):
        probability = row.get("probability")
        if "class" not in row or not (probability is None or is_number(probability)):
            raise task.reading.bad(f"{task.entry} has odd labels", "export the file again")
        yield Label(
            image=task.image,
            key=str(row["class"]),
            value=str(row.get("value")),
            origin=str(row.get("origin")),
            probability=probability,
            name=str(row.get("name", "")),
            source=str(row.get("source", "")),
        )
