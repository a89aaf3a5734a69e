"""Formats of objects with parts, one module each.

Every format has `read(reading) -> Iterator[PartedObject]`, which checks as it reads, and
`write(scenes, folder, release_info)`, which writes whole files. `scenes` yields
(Photograph, its objects). docs/reference/label-formats.md says what each format can express.

| format | what is written | geometry |
|---|---|---|
| coco | parts.json | exact polygons, and masks |
| pascal-part | Annotations_Part/<image>.mat, a .json beside each | masks |
| png | masks/<image>/<n>.png, a .json beside each | masks |
| label-studio | tasks.json | exact polygons |
"""

from types import ModuleType

from labeling.formats import coco_parts, indexed_png, label_studio_parts, pascal_part

PART_FORMATS: dict[str, ModuleType] = {
    "coco": coco_parts,
    "pascal-part": pascal_part,
    "png": indexed_png,
    "label-studio": label_studio_parts,
}
