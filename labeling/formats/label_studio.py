"""Label Studio JSON: a task for every image. Choices say yes, rectangles are boxes in per cent.

Label Studio has no word for no and unknown, nor for where a label comes from: those stand in the
task's own data under `labels`, which it keeps and shows; `image` is the image's address there,
`file_name` its name here. `label_config.xml` is the project's labeling interface, whose classes are
read by name and stored by key.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from labeling.files import BadInput, StrPath, atomic_write
from labeling.formats import label_studio_project as project
from labeling.formats.label import About, Box, Label, Pages, check, read_json
from labeling.parts.model import Photograph


def write(pages: Pages, folder: Path, about: About) -> None:
    """tasks.json and label_config.xml in the folder."""
    with atomic_write(folder / "tasks.json") as file:
        file.write("[")
        for number, (photo, labels) in enumerate(pages, 1):
            data = project.image_data(photo.name, about.image_base)
            rows = [
                {
                    "class": label.key,
                    "name": about.classes.get(label.key, label.name),
                    **label.statement,
                    "source": label.source,
                }
                for label in labels
            ]
            task = project.task(
                number,
                data | {"labels": rows},
                _results(photo, labels),
            )
            file.write((",\n" if number > 1 else "\n") + json.dumps(task, ensure_ascii=False))
        file.write("\n]\n")
    names = about.unique_classes
    classes = project.control("Choices", "classes", names, choice="multiple")
    boxes = project.control("RectangleLabels", "boxes", names)
    project.write_config(folder, classes, boxes)


def _results(photo: Photograph, labels: list[Label]) -> list[dict[str, object]]:
    common: dict[str, object] = {
        "to_name": "image",
        "original_width": photo.width,
        "original_height": photo.height,
        "image_rotation": 0,
    }
    yes = [label.key for label in labels if label.value == "yes"]
    found = [
        {
            **common,
            "id": "classes",
            "from_name": "classes",
            "type": "choices",
            "value": {"choices": yes},
        }
    ]
    for label in labels:
        for box in label.boxes:
            found.append(
                {
                    **common,
                    "id": f"box{len(found)}",
                    "from_name": "boxes",
                    "type": "rectanglelabels",
                    "value": {**_per_cent(box, photo), "rectanglelabels": [label.key]},
                    "meta": {"source": label.source},
                }
            )
    return found


def _per_cent(box: Box, photo: Photograph) -> dict[str, float]:
    return {
        "x": 100 * box[0] / photo.width,
        "y": 100 * box[1] / photo.height,
        "width": 100 * (box[2] - box[0]) / photo.width,
        "height": 100 * (box[3] - box[1]) / photo.height,
        "rotation": 0,
    }


def read(path: StrPath) -> Iterator[Label]:
    """The labels of a file of tasks: choices, rectangles, and what our own exports add.

    The first annotation of a task that was not cancelled counts. Raises BadInput naming the task.
    """
    content = read_json(path)
    if not isinstance(content, list):
        raise BadInput("is no list of tasks", file=path, cure="export it as JSON")
    for number, task in enumerate(content, 1):
        try:
            labels = list(_read_task(task))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise BadInput(
                f"task {number} is not as Label Studio exports it",
                file=path,
                cure="export it again as JSON (not JSON-MIN), with data.image",
            ) from None
        for label in labels:
            yield replace(check(label, path), place=f"Task {number}")


def _read_task(task: Any) -> Iterator[Label]:
    image = project.image_of(task["data"])
    if not isinstance(image, str):
        raise TypeError
    annotations = [one for one in task.get("annotations", []) if not one.get("was_cancelled")]
    results = annotations[0]["result"] if annotations else []
    boxes: dict[tuple[str, str], list[Box]] = {}
    chosen: list[str] = []
    for result in results:
        value = result["value"]
        if result["type"] == "choices":
            chosen += [str(choice) for choice in value["choices"]]
        elif result["type"] == "rectanglelabels":
            source = str(result.get("meta", {}).get("source", ""))
            for key in value["rectanglelabels"]:
                boxes.setdefault((str(key), source), []).append(_pixels(value, result))
    said: set[str] = set()
    for row in task["data"].get("labels", []):
        key, source = str(row["class"]), str(row.get("source", ""))
        said.add(key)
        yield Label(
            image=image,
            key=key,
            value=str(row["value"]),
            origin=str(row["origin"]),
            probability=row.get("probability"),
            boxes=tuple(boxes.pop((key, source), ())),
            name=str(row.get("name", "")),
            source=source,
        )
    for (key, source), found in boxes.items():
        said.add(key)
        yield Label(image, key, boxes=tuple(found), source=source)
    for key in dict.fromkeys(chosen):
        if key not in said:
            yield Label(image, key)


def _pixels(value: Any, result: Any) -> Box:
    width, height = result["original_width"] / 100, result["original_height"] / 100
    x0, y0 = value["x"] * width, value["y"] * height
    # What was written in per cent comes back to the hundredth of a pixel.
    edges = (x0, y0, x0 + value["width"] * width, y0 + value["height"] * height)
    return (round(edges[0], 2), round(edges[1], 2), round(edges[2], 2), round(edges[3], 2))
