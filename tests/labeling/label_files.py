"""Uploads of labels for tests, and a release on the small graph to take labels out of."""

import io
import json
import zipfile
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from labeling.exchange import prior_labels
from labeling.follow_ups import following
from labeling.models import Dataset, GivenLabel, Release, User
from labeling.releases import freezing
from tests import factories
from tests.labeling.hierarchies import follow, make

CAT, DOG, CUP = "n02121620", "n02084071", "n03147509"
BOX = {"boxes": [[1.0, 2.0, 5.0, 7.5]]}


def upload(content: str | bytes, name: str = "labels.csv") -> SimpleUploadedFile:
    raw = content.encode() if isinstance(content, str) else content
    return SimpleUploadedFile(name, raw, "application/octet-stream")


def rows(*lines: str, head: str = "image,class,value") -> SimpleUploadedFile:
    return upload("\n".join((head, *lines)) + "\n")


def zipped(files: dict[str, str | bytes], name: str = "voc.zip") -> SimpleUploadedFile:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return upload(stream.getvalue(), name)


def voc_xml(name: str, key: str = DOG) -> str:
    return (
        f"<annotation><filename>{name}</filename><object><name>{key}</name><bndbox><xmin>1</xmin>"
        "<ymin>1</ymin><xmax>10</xmax><ymax>20</ymax></bndbox></object></annotation>"
    )


def coco(*images: str) -> str:
    return json.dumps(
        {
            "images": [{"id": n, "file_name": name} for n, name in enumerate(images, 1)],
            "categories": [{"id": 18, "name": "dog", "wnid": DOG}],
            "annotations": [
                {"id": n, "image_id": n, "category_id": 18, "bbox": [0, 0, 10, 20]}
                for n, _ in enumerate(images, 1)
            ],
        }
    )


def tasks(*images: str) -> str:
    result = [{"type": "choices", "value": {"choices": [DOG]}}]
    return json.dumps(
        [{"data": {"image": name}, "annotations": [{"result": result}]} for name in images]
    )


def home_release(owner: User, dataset: Dataset) -> Release:
    """0.png: a dog, no cat. 1.png: a cup that was given, with its box. 2.png: nothing yet."""
    campaign = make(owner, dataset, images=3, opened=False)
    prior_labels.add(dataset, [{"image": "1.png", "key": CUP, "geometry": BOX}], "a list of cups")
    following.open_images(campaign)
    follow(campaign, animal="yes", kitchen="no", electric="no", person="no")
    follow(campaign, cat="no", dog="yes")
    return freezing.freeze(campaign, owner)


def elsewhere(owner: User, images: int = 3) -> Dataset:
    """Another dataset with images of the same names."""
    goal = factories.make_dataset(owner, "elsewhere")
    for index in range(images):
        factories.make_image(goal, f"{index}.png")
    return goal


def kept(dataset: Dataset) -> list[tuple[Any, ...]]:
    labels = GivenLabel.objects.filter(item__image__dataset=dataset)
    return sorted(labels.values_list("item__image__name", "key", "value", "source"))
