"""Labels in the formats of other tools, a module for each.

Every format is a module with `read(reading) -> Pages`, which checks as it reads, and
`write(pages, folder, release_info)`, which writes whole files. A page is (Photograph, its labels);
an image may have several pages.

| format | what is written | what carries an image's labels |
|---|---|---|
| csv | labels.csv | a row for every label, or for each of its boxes |
| jsonl | labels.jsonl | an object for every label |
| coco | labels.json | `annotations` where there are boxes; `labels` of an image for all of them |
| voc | Annotations/, ImageSets/Main/ | an XML per image; per class a list of 1, -1 and 0 |
| label-studio | tasks.json | choices for yes; `no` and `unknown` in the task's data |

YOLO and Datumaro (yolo.py, datumaro.py) are written and not read.

Objects with parts have formats of their own (part_formats.py: coco is coco_parts.py, which writes
parts.json).
"""

from types import ModuleType

from labeling.formats import coco, label_studio, lines, table, voc
from labeling.formats.label import Label

FORMATS: dict[str, ModuleType] = {
    "csv": table,
    "label-studio": label_studio,
    "jsonl": lines,
    "coco": coco,
    "voc": voc,
}

__all__ = ["FORMATS", "Label"]
