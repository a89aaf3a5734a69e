"""PASCAL VOC: an XML file per image, and per class a list of images with 1, -1 or 0.

`Annotations/<id>.xml` has an <object> for every box, as in VOC (pixels from 1, both ends
inclusive), with the class's name and its <wnid>; and a <label> for every class, which readers of
VOC ignore. An image's id is its name without extension, if that is unique.
`ImageSets/Main/trainval.txt` lists the ids, `<class>_trainval.txt` is VOC's encoding of yes, no and
unknown, `classes.csv` has the wnids.
"""

import codecs
import contextlib
import csv
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree as ET

from labeling.csv_rows import nfc
from labeling.formats.label import FLAGS, ExportContext, Instance, Label, Pages
from labeling.formats.reading import LabelReading, Size
from labeling.formats.sidecar import file_name, file_path
from labeling.parts.model import Box, Photograph

# Flags written for every object, and flags written for objects whose flags are known.
VOC_FLAGS = ("difficult",)
STATED_FLAGS = ("truncated", "occluded", "difficult", "group")
# The colour of the background and of borders in masks, as CVAT and Datumaro write them.
BACKGROUND = "background:0,0,0::"
ENCODING = re.compile(rb"""^(\s*<\?xml[^>]*?)\s+encoding\s*=\s*["']([^"']*)["']""")
SIGNS = {"yes": "1", "no": "-1", "unknown": "0"}
EDGES = ("xmin", "ymin", "xmax", "ymax")


def write(pages: Pages, folder: Path, release_info: ExportContext) -> None:
    """Write Annotations/, ImageSets/Main/, classes.csv and labelmap.txt into the folder."""
    lists = folder / "ImageSets" / "Main"
    lists.mkdir(parents=True, exist_ok=True)
    ids = ImageStems(release_info.images)
    names = release_info.unique_classes
    with contextlib.ExitStack() as open_files:
        files = _Lists(lists, open_files)
        for photo, labels in pages:
            stem = ids.of(photo.name)
            _write_image(folder / "Annotations" / f"{stem}.xml", photo, labels, release_info)
            files.add("trainval", f"{stem}\n")
            for label in labels:
                name = names.get(label.key) or label.key
                # Readers split these lines at spaces.
                cell = stem.replace(" ", "%20")
                files.add(f"{name}_trainval", f"{cell} {SIGNS[label.value]:>2}\n")
    with open(folder / "labelmap.txt", "w", encoding="utf-8") as file:
        file.write("# label:color_rgb:parts:actions\n")
        file.writelines(f"{row}\n" for row in (BACKGROUND, *(f"{n}:::" for n in names.values())))
    with open(folder / "classes.csv", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([("name", "wnid"), *((name, key) for key, name in names.items())])


class ImageStems:
    """Ids of images: the name without extension, or with it if two collide (cat.png, cat.jpg)."""

    def __init__(self, images: Iterable[str]) -> None:
        count: Counter[str] = Counter()
        for name in images:
            # An image cat.png.jpg must not take the id of cat.png.
            count.update({_stem(name).casefold(), name.casefold()})
        self.taken = {name for name, times in count.items() if times > 1}
        self.known = bool(count)

    def of(self, name: str) -> str:
        stem = _stem(name)
        return file_path(stem if self.known and stem.casefold() not in self.taken else name)


def _stem(name: str) -> str:
    """Return the name without its extension.

    >>> _stem("birds/a.coot.jpg")
    'birds/a.coot'
    """
    return name.removesuffix(PurePosixPath(name).suffix)


class _Lists:
    """Appends to one list per class; a thousand files cannot be open at once."""

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


def _write_image(
    goal: Path, photo: Photograph, labels: list[Label], release_info: ExportContext
) -> None:
    root = ET.Element("annotation")
    path = Path(photo.name)
    _add(root, "folder", path.parent.as_posix() if path.parent != Path() else "")
    _add(root, "filename", path.name)
    _add(root, "path", photo.name)
    size = _add(root, "size")
    for name, value in (("width", photo.width), ("height", photo.height), ("depth", 3)):
        _add(size, name, str(value))
    for label in labels:
        for instance in label.instances:
            object_element = _add(root, "object")
            _add(object_element, "name", release_info.unique_classes.get(label.key) or label.key)
            _add(object_element, "wnid", label.key)
            flags = instance.flags
            for flag in VOC_FLAGS if flags is None else STATED_FLAGS:
                _add(object_element, flag, "1" if flags and flag in flags else "0")
            bounds = _add(object_element, "bndbox")
            for name, edge in zip(EDGES, _inclusive(instance.box), strict=True):
                _add(bounds, name, f"{edge:g}")
            _add(object_element, "source", label.source)
        stated = _add(root, "label")
        _add(stated, "class", label.key)
        _add(stated, "name", release_info.classes.get(label.key, label.name))
        _add(stated, "value", label.value)
        _add(stated, "origin", label.origin)
        _add(stated, "probability", "" if label.probability is None else repr(label.probability))
        if label.error is not None:
            _add(stated, "error", repr(label.error))
        if label.votes is not None and label.interval is not None:
            _add(stated, "votes", str(label.votes))
            for name, bound in zip(("low", "high"), label.interval, strict=True):
                _add(stated, name, repr(bound))
        if label.likely:
            _add(stated, "decided", "0")
            _add(stated, "likely", label.likely)
        if label.is_covered is not None:
            _add(stated, "covered", str(int(label.is_covered)))
        _add(stated, "source", label.source)
    ET.indent(root)
    goal.parent.mkdir(parents=True, exist_ok=True)
    # Not atomically: the folder appears only when complete. Syncing each of ten thousand files took
    # five times as long as writing them.
    with open(goal, "w", encoding="utf-8", newline="\n") as file:
        file.write(ET.tostring(root, encoding="unicode") + "\n")


def _add(parent: ET.Element, name: str, text: str = "") -> ET.Element:
    child = ET.SubElement(parent, name)
    child.text = text
    return child


def _inclusive(box: Box) -> Box:
    """Return pixels counted from 1 with both ends inclusive.

    >>> _inclusive((0.0, 0.0, 10.0, 20.0))
    (1.0, 1.0, 10.0, 20.0)
    """
    return (box[0] + 1, box[1] + 1, box[2], box[3])


def read(reading: LabelReading) -> Pages:
    """Yield the images of a VOC folder (its Annotations), a folder of XML files, or one file.

    An image is named by our exports' <path>, else by <filename> below the folder of its XML. Raises
    BadInput, which names the file and the object.
    """
    root = Path(reading.file)
    folder = root / "Annotations" if (root / "Annotations").is_dir() else root
    files = sorted(folder.rglob("*.xml")) if folder.is_dir() else [folder]
    if not files:
        raise reading.bad("has no XML files", "give the folder with Annotations/")
    for file in files:
        below = file.relative_to(folder).parent if folder.is_dir() else Path()
        yield _page(reading.of(file), file, below)


def _page(reading: LabelReading, file: Path, below: Path) -> tuple[Photograph, list[Label]]:
    root = _root(reading, file)
    stated = root.findall("label")
    if stated:
        name = root.findtext("path") or ""
    else:
        name = _text(root, "filename")
        # ImageNet's own files have the placeholder of a template.
        name = (below / (file.stem if name in {"", "%s"} else name)).as_posix()
    image = reading.image(name, "the image")
    size = _size(root, reading)
    drawn: dict[tuple[str, str], list[Instance]] = {}
    for number, element in enumerate(root.iter("object"), 1):
        key = reading.name(
            _text(element, "wnid") or _text(element, "name"), f"object {number}'s name"
        )
        instance = _instance(element, number, size, reading)
        if instance is not None:
            drawn.setdefault((key, _text(element, "source")), []).append(instance)
    labels = [
        Label(
            image=image,
            key=_text(element, "class"),
            name=_text(element, "name"),
            value=_text(element, "value"),
            origin=_text(element, "origin"),
            probability=_probability(_text(element, "probability"), reading),
            source=_text(element, "source"),
        )
        for element in stated
    ]
    known = {(label.key, label.source) for label in labels}
    labels += [
        Label(image, key, source=source) for key, source in drawn if (key, source) not in known
    ]
    width, height = size or (0, 0)
    return Photograph(image, width, height), [
        reading.checked(
            replace(
                label,
                instances=tuple(drawn.get((label.key, label.source), ())),
                entry=(below / file.name).as_posix(),
            )
        )
        for label in labels
    ]


def _root(reading: LabelReading, file: Path) -> ET.Element:
    """Return the root of an XML file in any encoding that Python knows. Raises BadInput."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: ET.Element = fromstring(_as_utf8(file.read_bytes()), forbid_dtd=True)
    except (LookupError, UnicodeError):
        raise reading.bad("has an encoding that is not read", "save it as UTF-8") from None
    except ET.ParseError as error:
        raise reading.at(error.position[0]).bad("is not XML", "export it again") from None
    except DefusedXmlException:
        raise reading.bad(
            "declares entities, which are not supported", "remove the DOCTYPE"
        ) from None
    if root.tag != "annotation":
        raise reading.bad(
            f"is not a PASCAL VOC file: its root is <{root.tag[:40]}>, not <annotation>",
            "export it as PASCAL VOC",
        )
    return root


def _as_utf8(raw: bytes) -> bytes:
    """Return XML of another declared encoding in UTF-8; expat knows only four."""
    declared = ENCODING.match(raw)
    if not declared or codecs.lookup(declared[2].decode("ascii")).name == "utf-8":
        return raw
    return (
        raw.decode(declared[2].decode("ascii"))
        .replace(declared[0].decode("ascii"), declared[1].decode("ascii"), 1)
        .encode()
    )


def _text(element: ET.Element, name: str) -> str:
    return nfc((element.findtext(name) or "").strip())


def _size(root: ET.Element, reading: LabelReading) -> Size | None:
    sides = [_text(root, f"size/{name}") for name in ("width", "height")]
    if set(sides) <= {"", "0"}:
        return None
    width, height = (int(side) if side.isdecimal() else side for side in sides)
    return reading.size(width, height, "the image")


def _probability(text: str, reading: LabelReading) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise reading.bad(f"has the probability {text!r}", "write a number") from None


def _instance(
    element: ET.Element, number: int, size: Size | None, reading: LabelReading
) -> Instance | None:
    entry = f"object {number}"
    bounds = element.find("bndbox")
    if bounds is None:
        shapes = [child.tag for child in element if child.tag in {"polygon", "robndbox", "mask"}]
        shape = f", only a {shapes[0]}" if shapes else ""
        raise reading.bad(
            f"{entry} has no bndbox{shape}", "write xmin, ymin, xmax and ymax, or remove the object"
        )
    x0, y0, x1, y1 = (_edge(bounds, name, entry, reading) for name in EDGES)
    box = reading.box((x0 - 1, y0 - 1, x1, y1), entry)
    stated = {flag: _text(element, flag) for flag in STATED_FLAGS if element.find(flag) is not None}
    flags = tuple(flag for flag in FLAGS if stated.get(flag, "0").lower() in {"1", "true", "yes"})
    # Our exports state a group for every object if people were asked for flags.
    is_stated = flags or "group" in stated
    return reading.instance(box, (), flags if is_stated else None, size, entry, number)


def _edge(bounds: ET.Element, name: str, entry: str, reading: LabelReading) -> float:
    text = _text(bounds, name)
    try:
        return float(text)
    except ValueError:
        raise reading.bad(f"{entry}: {name} is {text[:80]!r}", "write a number") from None
