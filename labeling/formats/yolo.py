"""YOLO as Ultralytics reads it: a file of boxes for each image. Written, not read.

A line is `class x y width height`: the class's number in data.yaml, then the box's centre and size
as fractions of the image. Outlines become their boxes. Images of subfolders are beside the others,
because readers such as Datumaro and supervision ignore subfolders.
"""

from pathlib import Path, PurePosixPath

import yaml

from labeling.files import BadInput
from labeling.formats.label import ExportContext, Pages
from labeling.formats.sidecar import file_name

IMAGES = "images/train"
LABELS = "labels/train"


def write(pages: Pages, folder: Path, release_info: ExportContext) -> None:
    """Write data.yaml and labels/train/ into the folder.

    Raises BadInput if two images differ only in their extension: their labels would share a file.
    """
    numbers = {key: number for number, key in enumerate(sorted(release_info.classes))}
    names = {number: release_info.unique_classes[key] for key, number in numbers.items()}
    (folder / LABELS).mkdir(parents=True)
    for photo, labels in pages:
        path = folder / LABELS / PurePosixPath(file_name(photo.name)).with_suffix(".txt")
        if path.exists():
            raise BadInput(
                f"{photo.name} and another image differ only in their extension, but YOLO has one "
                "file for both",
                cure="export as coco, or rename one",
            )
        with open(path, "w", encoding="utf-8") as file:
            for label in labels:
                for instance in label.instances:
                    x0, y0, x1, y1 = instance.box
                    fractions = (
                        (x0 + x1) / 2 / photo.width,
                        (y0 + y1) / 2 / photo.height,
                        (x1 - x0) / photo.width,
                        (y1 - y0) / photo.height,
                    )
                    cells = " ".join(f"{fraction:.9g}" for fraction in fractions)
                    file.write(f"{numbers[label.key]} {cells}\n")
    # Ultralytics requires the key val. It would count the images twice if val listed them too.
    head = {"path": ".", "train": IMAGES, "val": None, "nc": len(names), "names": names}
    text = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    (folder / "data.yaml").write_text(text, encoding="utf-8")
