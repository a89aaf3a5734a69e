"""A dataset whose photograph has a cow in pieces, and files that tell of it, for imports."""

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image as Pillow

from labeling.datasets import vocabulary_store
from labeling.exchange import part_imports
from labeling.formats.label import ExportContext
from labeling.formats.part_formats import PART_FORMATS
from labeling.models import Dataset, Image, Job, User
from labeling.parts.model import Part, PartedObject, Photograph
from tests import factories
from tests.labeling.label_files import upload, zipped

SIZE = (200, 150)
COW = "n02403454"


def image(dataset: Dataset, name: str = "2008_000585.jpg", size: tuple[int, int] = SIZE) -> Image:
    """An image that is as large as its row says."""
    stream = io.BytesIO()
    Pillow.new("RGB", size, (90, 120, 60)).save(stream, "PNG")
    made = Image(
        dataset=dataset,
        name=name,
        sha256=f"{name:0>64}"[-64:],
        media_type="image/png",
        bytes=len(stream.getvalue()),
        width=size[0],
        height=size[1],
    )
    made.file.save("cow.png", ContentFile(stream.getvalue()), save=False)
    made.save()
    return made


def meadow(owner: User, *names: str, vocabulary: bool = True) -> Dataset:
    """A dataset with images of these names, and the shipped vocabulary."""
    dataset = factories.make_dataset(owner, "meadow")
    for name in names or ("2008_000585.jpg",):
        image(dataset, name)
    if vocabulary:
        vocabulary_store.start(dataset, owner)
    return dataset


def box(x0: float, y0: float, x1: float, y1: float) -> Any:
    return ((((x0, y0), (x1, y0), (x1, y1), (x0, y1)),),)


def cow(image: str = "2008_000585.jpg", x: int = 20, **fields: Any) -> PartedObject:
    """A cow from x on, with a head and the two pieces of its left front leg, a gap between."""
    parts = (
        Part("head", box(x, 30, x + 20, 50)),
        Part("lfuleg", box(x + 30, 60, x + 40, 80)),
        Part("lflleg", box(x + 31, 83, x + 39, 100)),
    )
    values = {"category": "cow", "box": (x, 25, x + 60, 105), "parts": parts} | fields
    return PartedObject(image=image, **values)


def coco(
    *objects: PartedObject,
    size: tuple[int, int] = SIZE,
    categories: Sequence[str] = ("cow", "zebra"),
) -> str:
    """COCO as others write it: the parts name their object."""
    images = list(dict.fromkeys(parted.image for parted in objects))
    names = sorted({part.key for parted in objects for part in parted.parts})
    rows: list[dict[str, Any]] = []
    for parted in objects:
        at = len(rows) + 1
        x0, y0, x1, y1 = parted.box
        row = {
            "id": at,
            "image_id": images.index(parted.image) + 1,
            "category_id": categories.index(parted.category) + 1,
            "bbox": [x0, y0, x1 - x0, y1 - y0],
        }
        rows.append(row)
        for part in parted.parts:
            rows.append(
                {
                    "id": len(rows) + 1,
                    "image_id": row["image_id"],
                    "category_id": 10 + names.index(part.key),
                    "part_of": at,
                    "segmentation": [
                        [edge for point in piece[0] for edge in point] for piece in part.polygons
                    ],
                }
            )
    return json.dumps(
        {
            "images": [
                {"id": n, "file_name": name, "width": size[0], "height": size[1]}
                for n, name in enumerate(images, 1)
            ],
            "categories": [
                *({"id": n, "name": name} for n, name in enumerate(categories, 1)),
                *(
                    {"id": n, "name": name, "supercategory": categories[0]}
                    for n, name in enumerate(names, 10)
                ),
            ],
            "annotations": rows,
        }
    )


def sent(*objects: PartedObject, name: str = "cows.json") -> SimpleUploadedFile:
    return upload(coco(*(objects or (cow(),))), name)


def folder_zipped(folder: Path, name: str) -> SimpleUploadedFile:
    files: dict[str, str | bytes] = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return zipped(files, name)


def written(format_name: str, folder: Path, *objects: PartedObject) -> Path:
    """The folder with these objects in one of our formats."""
    folder.mkdir(parents=True, exist_ok=True)
    scenes = [
        (Photograph(name, *SIZE), [parted for parted in objects if parted.image == name])
        for name in dict.fromkeys(parted.image for parted in objects)
    ]
    PART_FORMATS[format_name].write(iter(scenes), folder, ExportContext("Cows", {COW: "cow"}))
    return folder


def brought(dataset: Dataset, run_jobs: Any, file: Any, **more: Any) -> Job:
    """The job of an upload, run to its end."""
    job = part_imports.import_upload(dataset, dataset.owner, file, **more)
    run_jobs()
    job.refresh_from_db()
    return job


def stray(archive_name: str) -> SimpleUploadedFile:
    """A zip whose one entry has this path."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(archive_name, "{}")
    return upload(stream.getvalue(), "stray.zip")
