"""What a Label Studio project needs beside annotations: ids, the address of each image, a labeling
configuration.

Source: Label Studio's task format and the tags Image, Choices, RectangleLabels and PolygonLabels.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as ET

from labeling.files import BadInput
from labeling.formats.pictures import colour

CONFIG = "label_config.xml"
# Where Label Studio serves files of its own machine: a local storage of images.
LOCAL_FILES = "/data/local-files/?d="
BASE = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://|/)[^\s\x00-\x1f\x7f]*")
LONGEST_BASE = 500


def check_base(base: str) -> str:
    """The base of the images' addresses, checked. Raises BadInput."""
    if base and (len(base) > LONGEST_BASE or not BASE.fullmatch(base) or not _has_host(base)):
        raise BadInput(
            f"the image base {base[:80]!r} is no address",
            cure="write one such as https://host/images/, s3://bucket/folder/ or "
            f"{LOCAL_FILES}folder/",
        )
    return base


def _has_host(base: str) -> bool:
    """Whether an address with a scheme names a host, and one without a path of the same host."""
    try:
        parts = urlsplit(base)
        _ = parts.port
    except ValueError:
        # Brackets that do not close, or a port that is none.
        return False
    return bool(parts.hostname) == bool(parts.scheme)


def address(base: str, name: str) -> str:
    """Where Label Studio finds the image.

    >>> address("https://host/images", "birds/a coot.jpg")
    'https://host/images/birds/a%20coot.jpg'
    >>> address("s3://bucket/", "birds/a coot.jpg")
    's3://bucket/birds/a coot.jpg'
    """
    base = base or LOCAL_FILES
    # Stores such as s3:// know their objects by names, not by quoted ones.
    web = base.startswith(("/", "http://", "https://"))
    between = "" if base.endswith(("/", "=")) else "/"
    return f"{base}{between}{quote(name) if web else name}"


def image_data(name: str, base: str) -> dict[str, object]:
    """Of a task's data, what says which image it is about."""
    return {"image": address(base, name), "file_name": name}


def image_of(data: Mapping[str, object]) -> object:
    """The image's name in a task's data: in ours its own, else the address. Raises KeyError."""
    ours = "labels" in data or "objects" in data
    return data["file_name"] if ours and "file_name" in data else data["image"]


def task(
    number: int, data: dict[str, object], result: list[dict[str, object]]
) -> dict[str, object]:
    return {"id": number, "data": data, "annotations": [{"id": number, "result": result}]}


def control(tag: str, name: str, labels: Mapping[str, str], **more: str) -> ET.Element:
    """A tag with a label for each key: people read its name, results have the key."""
    found = ET.Element(tag, {"name": name, "toName": "image", **more})
    for place, (key, words) in enumerate(labels.items()):
        label = {"value": words} | ({"alias": key} if key != words else {})
        if tag == "Choices":
            ET.SubElement(found, "Choice", label)
        else:
            ET.SubElement(found, "Label", label | {"background": colour(place)})
    return found


def write_config(folder: Path, *controls: ET.Element) -> None:
    """The labeling configuration in the folder: the image and what is said of it."""
    root = ET.Element("View")
    ET.SubElement(root, "Image", {"name": "image", "value": "$image"})
    root.extend(controls)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    (folder / CONFIG).write_text(f"{text}\n", encoding="utf-8")
