"""Reads files of objects with parts in any format. No database."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labeling.files import BadInput
from labeling.formats import table
from labeling.formats.part_formats import PART_FORMATS
from labeling.formats.reading import LabelReading
from labeling.parts.model import PartedObject
from labeling.release_files import frozen

CSV = "csv"
FORMAT_NAMES = (*PART_FORMATS, CSV)
ENDINGS = {".mat": "pascal-part", ".png": "png", ".csv": CSV}
# The first bytes of a file determine its format; this many are read.
HEAD = 4096


def read(reading: LabelReading, format_name: str = "") -> tuple[Iterator[PartedObject], str]:
    """Return the objects of a file or folder, and their origin in words.

    format_name: one of NAMES, by default detected. A release of this site or an export of one is
    checked against its hashes first. Raises BadInput; with on_fault, only for files that are faulty
    as a whole.
    """
    root = Path(reading.file)
    if not root.exists():
        raise reading.bad("does not exist", "check the path")
    where = root.name
    if (root / "release.json").exists():
        release = frozen.read(root)
        meta = release.meta
        where = f"{meta['campaign']['name']} release {meta['number']}"
        format_name = format_name or str(meta.get("export", {}).get("format", ""))
        if format_name not in PART_FORMATS:
            return _of_release(release), where
    name = format_name or guess(root)
    if name == CSV:
        return table.read_objects(reading.of(_the_file(root, ".csv"))), where
    objects: Iterator[PartedObject] = PART_FORMATS[name].read(reading)
    return objects, where


def is_for_parts(path: Path, format_name: str) -> bool:
    """Return whether only readers of parts can read this, by its format or release."""
    if format_name in {"pascal-part", "png"}:
        return True
    if (path / "release.json").is_file():
        try:
            meta = json.loads((path / "release.json").read_text(encoding="utf-8"))
            return frozen.OBJECTS_FILE in meta["files"]
        except (OSError, ValueError, KeyError, TypeError):
            return False
    return not format_name and path.exists() and _by_ending(path) in {"pascal-part", "png"}


def guess(path: Path) -> str:
    """Return the format by the files' extensions and first bytes. Raises BadInput."""
    name = _by_ending(path)
    if name:
        return name
    if path.is_dir():
        files = sorted(path.rglob("*.json"))
        if len(files) == 1:
            return guess(files[0])
    elif path.suffix.lower() == ".json":
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return "label-studio" if file.read(HEAD).lstrip().startswith("[") else "coco"
    raise BadInput(
        "does not show its format", file=path, cure=f"name one of: {', '.join(FORMAT_NAMES)}"
    )


def _by_ending(path: Path) -> str:
    """Return the format by the extensions of a file or a folder's files; "" if ambiguous."""
    if path.is_file():
        return ENDINGS.get(path.suffix.lower(), "")
    endings = {file.suffix.lower() for file in itertools.islice(path.rglob("*"), 1000)}
    # Masks come with a labels.json, other things with photographs.
    return next((name for ending, name in ENDINGS.items() if ending in endings), "")


def _the_file(folder: Path, ending: str) -> Path:
    """Return the file, or the folder's only file with this extension. Raises BadInput."""
    if folder.is_file():
        return folder
    matching_files = sorted(folder.rglob(f"*{ending}"))
    if len(matching_files) != 1:
        raise BadInput(
            f"has {len(matching_files)} files *{ending}", file=folder, cure="import one at a time"
        )
    return matching_files[0]


def _of_release(release: Any) -> Iterator[PartedObject]:
    if frozen.OBJECTS_FILE not in release.meta["files"]:
        raise BadInput(
            f"is a release of a campaign of the kind {release.meta['campaign']['kind']}, which "
            "has no parts",
            file=release.folder,
            cure="import its labels without --parts",
        )
    for _, objects in release.objects():
        yield from objects
