"""Exports a frozen release to other formats, and reads it back into a dataset.

An export is the release's folder plus the labels. Its release.json lists every file with its
hash, so it reads back as a release, with people under the pseudonyms of that release.
"""

import json
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import IO

from labeling.boxes.chain import COMPLETE
from labeling.files import BadInput, StrPath, file_sha256
from labeling.formats import FORMATS, Label, datumaro, pictures, yolo
from labeling.formats.label import NAMES, ExportContext, Pages, instances_of
from labeling.formats.label_studio_project import check_base
from labeling.formats.part_formats import PART_FORMATS
from labeling.formats.reading import LabelReading
from labeling.formats.sidecar import file_name, file_path
from labeling.kinds import KINDS
from labeling.kinds.base import OBJECTS
from labeling.parts.background import without_rest
from labeling.parts.model import PartedObject, Photograph, Scenes
from labeling.records import Record
from labeling.release_files import frozen
from labeling.release_files.frozen import Frozen
from labeling.release_files.frozen_labels import GivenLine, LabelLine
from labeling.release_files.groups import Groups

# The format by folder or file name.
ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".xml": "voc"}
# Formats of a release with parts: of its objects, and of its images.
OBJECT_FORMATS: dict[str, ModuleType] = {**PART_FORMATS, "pictures": pictures}
BESIDE_OBJECTS = ("csv", "jsonl", "voc")
# Formats that are written and not read.
WRITTEN: dict[str, ModuleType] = {"yolo": yolo, "datumaro": datumaro}
ALL_NAMES = tuple(dict.fromkeys([*FORMATS, *OBJECT_FORMATS, *WRITTEN]))
# The folder of the photographs, where the format's readers expect another than images/.
IMAGES = {"voc": "JPEGImages", "yolo": yolo.IMAGES, "datumaro": datumaro.IMAGES}
COCO_NOTE = (
    "No label has a box, so readers of COCO find 0 annotations; the labels are in 'labels' of each "
    "image. CSV and Label Studio JSON state labels of whole images."
)

# The folder to publish (labeling/publishing), which is not read back.
PUBLISHED = "huggingface"

# Opens an image by its name, where pixels are available.
Open = Callable[[str], IO[bytes]]


@dataclass(frozen=True)
class FormatOptions:
    """Options of a format.

    names: of COCO's categories, one of NAMES. rest: whether COCO includes what no part covers.
    image_base: prefix of image addresses for Label Studio; "" for files of its own machine.
    with_images: whether a folder to publish includes the photographs.
    """

    names: str = NAMES[0]
    rest: bool = False
    image_base: str = ""
    with_images: bool = False

    def of(self, format_name: str, kind: str) -> dict[str, object]:
        """Return the options of the format for a campaign of that kind.

        Raises BadInput for options of other formats and for an image base that is no address.
        """
        known = options_of(format_name, kind)
        for name, value in vars(self).items():
            if name not in known and value != getattr(DEFAULT, name):
                raise BadInput(
                    f"{name.replace('_', '-')} is not an option of {format_name} for this campaign",
                    cure=f"leave it out; {OPTION_USES[name]}",
                )
        check_base(self.image_base)
        return {name: getattr(self, name) for name in known}


DEFAULT = FormatOptions()
OPTION_USES = {
    "names": "it names the categories of coco",
    "rest": "it is for coco of objects with parts",
    "image_base": "it is for label-studio",
    "with_images": f"it is for {PUBLISHED}",
}


def options_of(format_name: str, kind: str) -> tuple[str, ...]:
    """Return the names of the FormatOptions that a format has, for a campaign of that kind."""
    if format_name == "coco":
        return ("names", "rest") if KINDS[kind].release == OBJECTS else ("names",)
    return {"label-studio": ("image_base",), PUBLISHED: ("with_images",)}.get(format_name, ())


def formats_of(kind: str) -> dict[str, ModuleType]:
    """Return the formats that a release of a campaign of that kind is written in, by name."""
    if KINDS[kind].release != OBJECTS:
        return FORMATS | WRITTEN
    return OBJECT_FORMATS | {name: FORMATS[name] for name in BESIDE_OBJECTS} | WRITTEN


@dataclass(kw_only=True)
class Exported(Record):
    """The counts of an export.

    labels: {origin: {value: count}}; instances: number of drawn ones. For objects with parts
    instead: objects, their number, and parts, {origin: {state: count}} without the rest.
    """

    format: str
    out: str
    images: int
    labels: dict[str, dict[str, int]] | None = None
    objects: int | None = None
    parts: dict[str, dict[str, int]] | None = None
    sha256: str
    instances: int | None = None

    @property
    def note(self) -> str:
        """Return a hint for readers of the export; "" if there is none."""
        return COCO_NOTE if self.format == "coco" and self.instances == 0 else ""


def export(
    release: Frozen,
    format_name: str,
    out: StrPath,
    open_image: Open | None = None,
    options: FormatOptions = DEFAULT,
    *,
    with_images: bool = False,
) -> Exported:
    """Write a release in a format and return what was written.

    out: a folder that does not exist or is empty; it appears once complete. open_image: needed for
    pictures and for with_images, which copies the photographs. Works image by image, so memory
    stays constant. Raises BadInput when `out` cannot be written, and for a format or option that
    releases of this kind do not have.
    """
    kind = release.kind.name
    formats = formats_of(kind)
    if format_name not in formats:
        raise BadInput(
            f"releases of this kind cannot be exported as {format_name}",
            cure=f"choose one of: {', '.join(formats)}",
        )
    chosen = options.of(format_name, kind)
    frozen.check_goal(Path(out))
    counts = _Counts()
    release_info = ExportContext(
        release.meta["campaign"]["title"],
        classes_of(release),
        release.parts(),
        names=options.names,
        image_base=options.image_base,
        has_errors=bool(release.meta.get("stated_error", {}).get("basis")),
        has_undecided=any(
            policy["content"].get("undecided") == "keep"
            for policy in release.meta.get("policies", ())
        ),
        images=(line["name"] for line in release.images()),
    )
    module = formats[format_name]
    with frozen.appearing(Path(out)) as unfinished:
        for name in release.meta["files"]:
            shutil.copyfile(release.folder / name, unfinished / name)
        if module is OBJECT_FORMATS.get(format_name):
            makes_rest = getattr(module, "MAKES_REST", False)
            release_info.makes_rest = makes_rest and options.rest
            object_pages = scenes(release, open_image, rest=not makes_rest)
            module.write(counts.watch_objects(object_pages), unfinished, release_info)
        else:
            module.write(counts.watch(pages(release)), unfinished, release_info)
        if with_images:
            goal = unfinished / IMAGES.get(format_name, "images")
            name_of = file_name if module is yolo else file_path
            _copy_images(release, open_image, lambda name: goal / name_of(name))
        sha256 = _write_head(unfinished, release, {"format": format_name, **chosen})
    states_by_origin = {origin: dict(states) for origin, states in sorted(counts.states.items())}
    by_objects = counts.objects is not None
    return Exported(
        format=format_name,
        out=os.fspath(out),
        images=counts.images,
        labels=None if by_objects else states_by_origin,
        objects=counts.objects,
        parts=states_by_origin if by_objects else None,
        sha256=sha256,
        instances=None if by_objects else counts.instances,
    )


def _copy_images(release: Frozen, open_image: Open | None, path_of: Callable[[str], Path]) -> None:
    if open_image is None:
        raise BadInput("the photographs are missing", cure="name their folder with --images")
    for line in release.images():
        goal = path_of(line["name"])
        goal.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open_image(line["name"]) as source, open(goal, "wb") as file:
                shutil.copyfileobj(source, file)
        except FileNotFoundError:
            cure = "add it, or export without the photographs"
            raise BadInput(f"the photograph {line['name']!r} is missing", cure=cure) from None


class _Counts:
    """Counts labels and objects on their way into an export."""

    def __init__(self) -> None:
        self.images = self.instances = 0
        # None for labels.
        self.objects: int | None = None
        # By origin, then by value or by state.
        self.states: dict[str, Counter[str]] = defaultdict(Counter)

    def watch(self, label_pages: Pages) -> Iterator[tuple[Photograph, list[Label]]]:
        for photo, labels in label_pages:
            self.images += 1
            for label in labels:
                self.states[label.origin][label.value] += 1
                self.instances += len(label.instances)
            yield photo, labels

    def watch_objects(
        self, object_pages: Scenes
    ) -> Iterator[tuple[Photograph, list[PartedObject]]]:
        self.objects = 0
        for photo, objects in object_pages:
            self.images += 1
            self.objects += len(objects)
            for part in (part for parted in objects for part in without_rest(parted).parts):
                self.states[part.origin][part.state] += 1
            yield photo, objects


def _write_head(unfinished: Path, release: Frozen, how: dict[str, object]) -> str:
    """Write release.json of the export with the label files, and return its digest."""
    files: dict[str, object] = {**release.meta["files"]}
    for path in sorted(unfinished.rglob("*")):
        name = path.relative_to(unfinished).as_posix()
        if path.is_file() and name not in files:
            files[name] = {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
    export = how | {"release_sha256": release.meta["sha256"]}
    meta: dict[str, object] = {**release.meta, "files": files, "export": export}
    sha256 = meta["sha256"] = frozen.digest(meta)
    frozen.write_synced(unfinished / "release.json", json.dumps(meta, indent=1, ensure_ascii=False))
    return sha256


def classes_of(release: Frozen) -> dict[str, str]:
    """Return class key → name of all classes in the release."""
    names = {line["key"]: line["name"] for line in release.topics()}
    graph = release.graph()
    if graph is not None:
        leaves = [graph.node(leaf) for leaf in graph.leaves]
        return {leaf.key: leaf.name or names.get(leaf.id, leaf.key) for leaf in leaves}
    settings = release.meta["campaign"]["settings"]
    names |= {key: row["name"] for key, row in settings.get("categories", {}).items()}
    return release.kind.class_names(settings) or names


def pages(release: Frozen) -> Iterator[tuple[Photograph, list[Label]]]:
    """Yield every image of the release with its labels, in the order of images.jsonl."""
    names = classes_of(release)
    label_groups = groupby(release.labels(), key=lambda line: line["image"])
    known_groups = Groups(release.known_labels())
    group = next(label_groups, None)
    for line in release.images():
        lines: list[LabelLine] = []
        if group is not None and group[0] == line["name"]:
            lines = list(group[1])
            group = next(label_groups, None)
        shapes = _shapes(known_groups.of(line["name"]))
        labels = [_label(row, names, shapes.get(row["wnid"])) for row in lines]
        yield frozen.photograph(line), labels


def _shapes(known_rows: list[GivenLine]) -> dict[str | None, GivenLine]:
    """Return the known labels of an image by class: the first with a shape, else the first.

    Gold has no shape and precedes imported labels.
    """
    rows_by_class: dict[str | None, GivenLine] = {}
    for row in sorted(known_rows, key=lambda row: not row["geometry"]):
        rows_by_class.setdefault(row["wnid"], row)
    return rows_by_class


def scenes(
    release: Frozen, open_image: Open | None = None, rest: bool = True
) -> Iterator[tuple[Photograph, list[PartedObject]]]:
    """Yield every image of the release with its objects, including the rest if requested."""
    for photo, objects in release.objects(rest):
        if open_image is not None:
            photo = replace(photo, open=partial(open_image, photo.name))
        yield photo, objects


def _label(row: LabelLine, names: dict[str, str], known: GivenLine | None) -> Label:
    geometry = known["geometry"] if known else None
    if not geometry:
        # The line of the label has the boxes of drawn objects.
        geometry = {"boxes": row.get("boxes", []), "flags": row.get("flags", [])}
    interval = row.get("interval")
    return Label(
        image=row["image"],
        key=row["wnid"],
        value=row["value"],
        origin=row["origin"],
        probability=row["probability"],
        error=row.get("error"),
        instances=instances_of(geometry),
        name=names.get(row["wnid"], ""),
        source=known["source"] if known else "; ".join(row.get("queries", ())),
        votes=row.get("votes"),
        interval=(interval[0], interval[1]) if interval else None,
        likely=row.get("likely", ""),
        is_covered=row["coverage"] == COMPLETE if row.get("boxes") and "coverage" in row else None,
    )


def read_labels(reading: LabelReading, format_name: str = "") -> tuple[Pages, str]:
    """Return the labeled images of a file or folder, and their origin in words.

    A release or an export of one is checked against its hashes and takes precedence over other
    formats; else the format is the named one or follows from the file's name. Raises BadInput.
    """
    path = Path(reading.file)
    if (path / "release.json").exists():
        release = frozen.read(path)
        meta = release.meta
        return pages(release), f"{meta['campaign']['name']} release {meta['number']}"
    name = format_name or guess(path)
    if not path.exists():
        raise reading.bad("does not exist", "check the path")
    return FORMATS[name].read(reading), path.name


def guess(path: Path) -> str:
    """Return the format by the file's name. Raises BadInput if the name implies none."""
    if path.is_dir():
        return "voc"
    if path.suffix.lower() in ENDINGS:
        return ENDINGS[path.suffix.lower()]
    if path.suffix.lower() == ".json" and path.is_file():
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return "label-studio" if file.read(100).lstrip().startswith("[") else "coco"
    raise BadInput(
        "does not show its format",
        file=path,
        cure=f"choose one of: {', '.join(FORMATS)} (--format in the shell)",
    )
