"""Parts of a Label Studio project besides annotations: ids, image addresses, labeling
configuration.

Source: Label Studio's task format and the tags Image, Choices, RectangleLabels and PolygonLabels.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree as ET

from labeling.files import BadInput
from labeling.formats.pictures import colour
from labeling.geometry.polygons import Polygons
from labeling.parts.model import Box, Photograph

# The label of a hole in the polygon that is its parent.
HOLE = "hole"
CONFIG = "label_config.xml"
# Address of Label Studio's local file storage.
LOCAL_FILES = "/data/local-files/?d="
BASE = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://|/)[^\s\x00-\x1f\x7f]*")
MAX_BASE_LENGTH = 500


def check_base(base: str) -> str:
    """Return the base of image addresses. Raises BadInput if it is invalid."""
    if base and (len(base) > MAX_BASE_LENGTH or not BASE.fullmatch(base) or not _has_host(base)):
        raise BadInput(
            f"the image base {base[:80]!r} is not an address",
            cure="use an address such as https://host/images/, s3://bucket/folder/ or "
            f"{LOCAL_FILES}folder/",
        )
    return base


def _has_host(base: str) -> bool:
    """Return whether an address with a scheme has a host, and one without has a path."""
    try:
        parts = urlsplit(base)
        _ = parts.port
    except ValueError:
        # Unbalanced brackets or an invalid port.
        return False
    return bool(parts.hostname) == bool(parts.scheme)


def address(base: str, name: str) -> str:
    """Return the image's address for Label Studio.

    >>> address("https://host/images", "birds/a coot.jpg")
    'https://host/images/birds/a%20coot.jpg'
    >>> address("s3://bucket/", "birds/a coot.jpg")
    's3://bucket/birds/a coot.jpg'
    """
    base = base or LOCAL_FILES
    # Stores such as s3:// use unquoted names.
    web = base.startswith(("/", "http://", "https://"))
    between = "" if base.endswith(("/", "=")) else "/"
    return f"{base}{between}{quote(name) if web else name}"


def image_data(name: str, base: str) -> dict[str, object]:
    """Return the part of a task's data that identifies its image."""
    return {"image": address(base, name), "file_name": name}


def image_of(data: Mapping[str, object]) -> object:
    """Return the image's name in a task's data: explicit in ours, else the path in its address.

    >>> image_of({"image": "/data/local-files/?d=birds/a%20coot.jpg"})
    'birds/a coot.jpg'
    """
    is_own_export = "labels" in data or "objects" in data
    if is_own_export and "file_name" in data:
        return data["file_name"]
    image = data["image"]
    if not isinstance(image, str) or not (image.startswith("/data/") or "://" in image):
        return image
    path = image.rpartition("?d=")[2] if "?d=" in image else image.partition("://")[2] or image
    return unquote(path.partition("?")[0].lstrip("/"))


def task(
    number: int, data: dict[str, object], result: list[dict[str, object]]
) -> dict[str, object]:
    return {"id": number, "data": data, "annotations": [{"id": number, "result": result}]}


def rectangle(
    key: str, control: str, label: str, box: Box, photo: Photograph, meta: Mapping[str, object]
) -> dict[str, object]:
    """Return the result of a box drawn with the control."""
    (x0, y0), (x1, y1) = _per_cent((box[:2], box[2:]), photo)
    value = {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0, "rotation": 0}
    kind = "rectanglelabels"
    return {**result(key, kind, control, photo, value | {kind: [label]}), "meta": meta}


def regions(
    key: str,
    label: str,
    polygons: Polygons,
    photo: Photograph,
    parent: str = "",
    control: str = "parts",
    meta: Mapping[str, object] | None = None,
) -> Iterator[dict[str, object]]:
    """Yield the results of polygons: a region for each piece and each hole."""
    for nth, piece in enumerate(polygons, 1):
        for hole, ring in enumerate(piece):
            points = {"points": _per_cent(ring, photo), "closed": True}
            value = points | {"polygonlabels": [HOLE if hole else label]}
            above = {"parentID": f"{key}.{nth}" if hole else parent}
            number = f"{key}.{nth}h{hole}" if hole else f"{key}.{nth}"
            row = result(number, "polygonlabels", control, photo, value)
            yield row | (above if above["parentID"] else {}) | ({"meta": meta} if meta else {})


def result(
    key: str, kind: str, control: str, photo: Photograph, value: Mapping[str, object]
) -> dict[str, object]:
    return {
        "id": key,
        "type": kind,
        "from_name": control,
        "to_name": "image",
        "original_width": photo.width,
        "original_height": photo.height,
        "image_rotation": 0,
        "value": value,
    }


def _per_cent(points: Iterable[Sequence[float]], photo: Photograph) -> list[list[float]]:
    return [[100 * x / photo.width, 100 * y / photo.height] for x, y in points]


def control(tag: str, name: str, labels: Mapping[str, str], **more: str) -> ET.Element:
    """Return a tag with a label for each key; names are shown, keys stored."""
    element = ET.Element(tag, {"name": name, "toName": "image", **more})
    for index, (key, words) in enumerate(labels.items()):
        label = {"value": words} | ({"alias": key} if key != words else {})
        if tag == "Choices":
            ET.SubElement(element, "Choice", label)
        else:
            ET.SubElement(element, "Label", label | {"background": colour(index)})
    return element


def write_config(folder: Path, *controls: ET.Element) -> None:
    """Write the labeling configuration into the folder."""
    root = ET.Element("View")
    ET.SubElement(root, "Image", {"name": "image", "value": "$image"})
    root.extend(controls)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    (folder / CONFIG).write_text(f"{text}\n", encoding="utf-8")
