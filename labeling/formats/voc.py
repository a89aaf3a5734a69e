"""PASCAL VOC: an XML file for every image, and for every class a list of images with 1, -1 or 0.

`Annotations/<id>.xml` has an <object> for every box, as VOC has them (pixels counted from 1, both
ends inside), named as people read it, with its <wnid>; and a <label> for every class, which VOC has
no word for and its readers pass over. An image's id is its name without the ending, as VOC has it,
where no other image has the same. `ImageSets/Main/trainval.txt` lists the ids,
`<class>_trainval.txt` is VOC's own way to say yes, no and unknown, `classes.csv` has the wnids.
"""

import contextlib
import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree as ET

from labeling.files import BadInput, StrPath
from labeling.formats.label import About, Box, Label, Pages, check
from labeling.formats.sidecar import file_name, file_path
from labeling.parts.model import Photograph

# What VOC says of every object, and what is said where people were asked for boxes.
FLAGS = ("difficult",)
SAID_FLAGS = ("truncated", "occluded", "difficult", "group")
SIGNS = {"yes": "1", "no": "-1", "unknown": "0"}
EDGES = ("xmin", "ymin", "xmax", "ymax")


def write(pages: Pages, folder: Path, about: About) -> None:
    """Annotations/, ImageSets/Main/ and classes.csv in the folder."""
    lists = folder / "ImageSets" / "Main"
    lists.mkdir(parents=True, exist_ok=True)
    ids = _Ids(about.images)
    names = about.unique_classes
    with contextlib.ExitStack() as open_files:
        files = _Lists(lists, open_files)
        for photo, labels in pages:
            own = ids.of(photo.name)
            _write_image(folder / "Annotations" / f"{own}.xml", photo, labels, about)
            files.add("trainval", f"{own}\n")
            for label in labels:
                name = names.get(label.key) or label.key
                # Readers split these lines at spaces.
                cell = own.replace(" ", "%20")
                files.add(f"{name}_trainval", f"{cell} {SIGNS[label.value]:>2}\n")
    with open(folder / "classes.csv", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([("name", "wnid"), *((name, key) for key, name in names.items())])


class _Ids:
    """What images are called: by their stem, or with their ending where that is not theirs alone:
    cat.png and cat.jpg are two images."""

    def __init__(self, images: Iterable[str]) -> None:
        count: Counter[str] = Counter()
        for name in images:
            # Of cat.png, an image cat.png.jpg may not take the place.
            count.update({_stem(name).casefold(), name.casefold()})
        self.taken = {name for name, times in count.items() if times > 1}
        self.known = bool(count)

    def of(self, name: str) -> str:
        stem = _stem(name)
        return file_path(stem if self.known and stem.casefold() not in self.taken else name)


def _stem(name: str) -> str:
    """The name without its ending.

    >>> _stem("birds/a.coot.jpg")
    'birds/a.coot'
    """
    return name.removesuffix(PurePosixPath(name).suffix)


class _Lists:
    """A growing list for every class: a thousand files cannot all be open at once."""

    def __init__(self, folder: Path, open_files: contextlib.ExitStack) -> None:
        self.folder = folder
        self.waiting: dict[str, list[str]] = {}
        open_files.callback(self.flush)

    def add(self, key: str, line: str) -> None:
        rows = self.waiting.setdefault(key, [])
        rows.append(line)
        if len(rows) >= 1_000:
            self.flush()

    def flush(self) -> None:
        for key, rows in self.waiting.items():
            with open(self.folder / f"{file_name(key)}.txt", "a", encoding="utf-8") as file:
                file.writelines(rows)
        self.waiting.clear()


def _write_image(goal: Path, photo: Photograph, labels: list[Label], about: About) -> None:
    root = ET.Element("annotation")
    path = Path(photo.name)
    _add(root, "folder", path.parent.as_posix() if path.parent != Path() else "")
    _add(root, "filename", path.name)
    _add(root, "path", photo.name)
    size = _add(root, "size")
    for name, value in (("width", photo.width), ("height", photo.height), ("depth", 3)):
        _add(size, name, str(value))
    for label in labels:
        for place, box in enumerate(label.boxes):
            found = _add(root, "object")
            _add(found, "name", about.unique_classes.get(label.key) or label.key)
            _add(found, "wnid", label.key)
            said = label.flags[place] if label.flags else None
            for flag in FLAGS if said is None else SAID_FLAGS:
                _add(found, flag, "1" if said and flag in said else "0")
            bounds = _add(found, "bndbox")
            for name, edge in zip(EDGES, _inclusive(box), strict=True):
                _add(bounds, name, f"{edge:g}")
            _add(found, "source", label.source)
        stated = _add(root, "label")
        _add(stated, "class", label.key)
        _add(stated, "name", about.classes.get(label.key, label.name))
        _add(stated, "value", label.value)
        _add(stated, "origin", label.origin)
        _add(stated, "probability", "" if label.probability is None else repr(label.probability))
        if label.votes is not None and label.interval is not None:
            _add(stated, "votes", str(label.votes))
            for name, bound in zip(("low", "high"), label.interval, strict=True):
                _add(stated, name, repr(bound))
        if label.is_covered is not None:
            _add(stated, "covered", str(int(label.is_covered)))
        _add(stated, "source", label.source)
    ET.indent(root)
    goal.parent.mkdir(parents=True, exist_ok=True)
    # Written plainly: the folder appears when it is whole, and syncing each file of ten thousand
    # took five times as long as writing them.
    with open(goal, "w", encoding="utf-8", newline="\n") as file:
        file.write(ET.tostring(root, encoding="unicode") + "\n")


def _add(parent: ET.Element, name: str, text: str = "") -> ET.Element:
    child = ET.SubElement(parent, name)
    child.text = text
    return child


def _inclusive(box: Box) -> Box:
    """Pixels counted from 1 with both ends inside.

    >>> _inclusive((0.0, 0.0, 10.0, 20.0))
    (1.0, 1.0, 10.0, 20.0)
    """
    return (box[0] + 1, box[1] + 1, box[2], box[3])


def read(path: StrPath) -> Iterator[Label]:
    """The labels of a VOC folder (its Annotations), of a folder of XML files, or of one file.

    An image is named by <path> where an export of ours wrote it, else by <filename>; a class by
    <wnid>, else by <name>. Raises BadInput naming the file and the object.
    """
    root = Path(path)
    folder = root / "Annotations" if (root / "Annotations").is_dir() else root
    files = sorted(folder.rglob("*.xml")) if folder.is_dir() else [folder]
    if not files:
        raise BadInput("holds no XML files", file=path, cure="give the folder with Annotations/")
    for file in files:
        yield from _read_file(file)


def _read_file(path: Path) -> Iterator[Label]:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import parse

    try:
        root = parse(path, forbid_dtd=True).getroot()
        assert root is not None
    except ET.ParseError as error:
        raise BadInput(
            "is not XML", file=path, line=error.position[0], cure="export it again"
        ) from None
    except DefusedXmlException:
        raise BadInput(
            "declares entities, which are not read", file=path, cure="take the DOCTYPE out"
        ) from None
    image = root.findtext("path") if root.find("label") is not None else root.findtext("filename")
    boxes: dict[tuple[str, str], list[Box]] = {}
    for number, found in enumerate(root.iter("object"), 1):
        key = (found.findtext("wnid") or found.findtext("name") or "").strip()
        box = _box(found, path, number)
        boxes.setdefault((key, found.findtext("source") or ""), []).extend([box] if box else [])
    for said in root.iter("label"):
        key, source = said.findtext("class") or "", said.findtext("source") or ""
        yield check(
            Label(
                image=image or "",
                key=key,
                name=said.findtext("name") or "",
                value=said.findtext("value") or "",
                origin=said.findtext("origin") or "",
                probability=_probability(said.findtext("probability"), path),
                boxes=tuple(boxes.pop((key, source), ())),
                source=source,
                place=path.name,
            ),
            path,
        )
    for (key, source), found_boxes in boxes.items():
        label = Label(image or "", key, boxes=tuple(found_boxes), source=source, place=path.name)
        yield check(label, path)


def _probability(text: str | None, path: Path) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"has the probability {text!r}", file=path, cure="write a number") from None


def _box(found: Any, path: Path, number: int) -> Box | None:
    bounds = found.find("bndbox")
    if bounds is None:
        return None
    try:
        edges = [float(bounds.findtext(name) or "") for name in EDGES]
        if not all(math.isfinite(edge) for edge in edges):
            raise ValueError
    except ValueError:
        raise BadInput(
            f"object {number} has no proper bndbox",
            file=path,
            cure="write xmin, ymin, xmax and ymax as numbers",
        ) from None
    return (edges[0] - 1, edges[1] - 1, edges[2], edges[3])
