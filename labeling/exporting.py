"""Labels out of a frozen release, in the formats of others, and back into a dataset.

An export is the release's own folder with the labels beside it: release.json names every file with
its hash, so it reads back as a release, with people under the pseudonyms of that release alone.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from labeling import frozen
from labeling.files import BadInput, StrPath
from labeling.formats import FORMATS, Label, Photo
from labeling.formats.label import About, boxes_of, polygons_of
from labeling.frozen import Frozen, Line
from labeling.frozen_labels import Groups

# What a folder or a file name says of its format.
ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".xml": "voc"}


def export(release: Frozen, format_name: str, out: StrPath) -> dict[str, Any]:
    """{"format", "out", "images", "labels": {origin: {value: n}}, "sha256"} of what was written.

    out: a folder that does not exist yet or is empty; it appears when it is whole. Image by image,
    so memory stays flat. Raises BadInput when it cannot be written.
    """
    goal = Path(out)
    frozen.check_goal(goal)
    goal = goal.resolve()
    part = Path(tempfile.mkdtemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent))
    try:
        for name in release.meta["files"]:
            shutil.copyfile(release.folder / name, part / name)
        counts = _Counts()
        about = About(release.meta["campaign"]["title"], classes_of(release))
        FORMATS[format_name].write(counts.watch(pages(release)), part, about)
        sha256 = _write_head(part, release, format_name)
        os.chmod(part, 0o755)  # noqa: S103 - as mkdir would
        if goal.exists():
            goal.rmdir()
        os.rename(part, goal)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return {
        "format": format_name,
        "out": os.fspath(out),
        "images": counts.images,
        "labels": {origin: dict(found) for origin, found in sorted(counts.labels.items())},
        "sha256": sha256,
    }


class _Counts:
    """What passes by on its way into an export."""

    def __init__(self) -> None:
        self.images = 0
        self.labels: dict[str, Counter[str]] = defaultdict(Counter)

    def watch(
        self, found: Iterable[tuple[Photo, list[Label]]]
    ) -> Iterator[tuple[Photo, list[Label]]]:
        for photo, labels in found:
            self.images += 1
            for label in labels:
                self.labels[label.origin][label.value] += 1
            yield photo, labels


def _write_head(part: Path, release: Frozen, format_name: str) -> str:
    """release.json of the export: the release's own, with the files of the labels. Its digest."""
    files = dict(release.meta["files"])
    for path in sorted(part.rglob("*")):
        name = path.relative_to(part).as_posix()
        if path.is_file() and name not in files:
            files[name] = {"bytes": path.stat().st_size, "sha256": _sha256(path)}
    meta = release.meta | {
        "files": files,
        "export": {"format": format_name, "release_sha256": release.meta["sha256"]},
    }
    meta["sha256"] = frozen.digest(meta)
    frozen.write_synced(part / "release.json", json.dumps(meta, indent=1, ensure_ascii=False))
    return str(meta["sha256"])


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def classes_of(release: Frozen) -> dict[str, str]:
    """Class key → name, of all that the release can say a word about."""
    names = {line["key"]: line["name"] for line in release.topics()}
    graph = release.graph()
    if graph is not None:
        leaves = [graph.node(leaf) for leaf in graph.leaves]
        return {leaf.key: leaf.name or names.get(leaf.id, leaf.key) for leaf in leaves}
    vocabulary = release.meta["campaign"]["settings"].get("vocabulary", [])
    return {entry["key"]: entry["name"] for entry in vocabulary} or names


def pages(release: Frozen) -> Iterator[tuple[Photo, list[Label]]]:
    """Every image of the release with its labels, in the order of images.jsonl."""
    names = classes_of(release)
    found = groupby(release.labels(), key=lambda line: str(line["image"]))
    given = Groups(release.given())
    group = next(found, None)
    for line in release.images():
        lines: list[Line] = []
        if group is not None and group[0] == line["name"]:
            lines = list(group[1])
            group = next(found, None)
        photo = Photo(**{name: line[name] for name in Photo.__dataclass_fields__})
        shapes = {row["wnid"]: row for row in reversed(given.of(line["name"]))}
        yield photo, [_label(row, names, shapes.get(row["wnid"], {})) for row in lines]


def _label(row: Line, names: dict[str, str], given: Line) -> Label:
    return Label(
        image=row["image"],
        key=row["wnid"],
        value=row["value"],
        origin=row["origin"],
        probability=row["probability"],
        boxes=boxes_of(given.get("geometry")),
        polygons=polygons_of(given.get("geometry")),
        name=names.get(row["wnid"], ""),
        source=given.get("source", ""),
    )


def read_labels(path: StrPath, format_name: str = "") -> tuple[Iterator[Label], str]:
    """The labels of a file or a folder, and where they come from in words.

    A release or an export of one is checked against its hashes and says more than any format;
    else the format is the one named, or follows from the file's name. Raises BadInput.
    """
    place = Path(path)
    if (place / "release.json").exists():
        release = frozen.read(place)
        meta = release.meta
        return _of_release(release), f"{meta['campaign']['name']} release {meta['number']}"
    name = format_name or guess(place)
    if not place.exists():
        raise BadInput("does not exist", file=path, cure="check the path")
    return FORMATS[name].read(place), place.name


def _of_release(release: Frozen) -> Iterator[Label]:
    for _, labels in pages(release):
        yield from labels


def guess(path: Path) -> str:
    """The format that a file's name says. Raises BadInput where it says none."""
    if path.is_dir():
        return "voc"
    if path.suffix.lower() in ENDINGS:
        return ENDINGS[path.suffix.lower()]
    if path.suffix.lower() == ".json" and path.is_file():
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return "label-studio" if file.read(100).lstrip().startswith("[") else "coco"
    raise BadInput(
        "does not say its format", file=path, cure=f"give --format, one of: {', '.join(FORMATS)}"
    )
