"""JSON Lines: an object for every label, with all that is known of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labeling.files import BadInput, StrPath, atomic_write
from labeling.formats.label import About, Label, Pages, boxes_of, check, polygons_of

KEYS = {"image", "class", "name", "value", "origin", "probability", "geometry", "source"} | {
    *("votes", "interval", "is_covered", "flags"),
}


def write(pages: Pages, folder: Path, about: About) -> None:
    """labels.jsonl in the folder."""
    with atomic_write(folder / "labels.jsonl") as file:
        for photo, labels in pages:
            for label in labels:
                row = {
                    "image": photo.name,
                    "class": label.key,
                    "name": about.classes.get(label.key, label.name),
                    **label.statement,
                    "geometry": label.geometry,
                    "source": label.source,
                    **({"flags": label.flags} if any(label.flags) else {}),
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read(path: StrPath) -> Iterator[Label]:
    """The labels of a JSON Lines file. Raises BadInput naming the line."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            for line, text in enumerate(file, 1):
                if text.strip():
                    yield check(_label(text, path, line), path, line)
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8", file=path, cure="save it as UTF-8") from None


def _label(text: str, path: StrPath, line: int) -> Label:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not {"image", "class"} <= set(row) <= KEYS:
        raise BadInput(
            "is no label",
            file=path,
            line=line,
            cure='write {"image": "…", "class": "…", "value": "yes"} and no other keys than '
            + ", ".join(sorted(KEYS)),
        )
    try:
        return Label(
            image=_text(row["image"]),
            key=_text(row["class"]),
            value=row.get("value", "yes"),
            origin=row.get("origin", "given"),
            probability=_probability(row.get("probability")),
            boxes=boxes_of(row.get("geometry")),
            polygons=polygons_of(row.get("geometry")),
            name=_text(row.get("name") or ""),
            source=_text(row.get("source") or ""),
        )
    except (TypeError, ValueError, AttributeError):
        raise BadInput(
            "has a part of the wrong type",
            file=path,
            line=line,
            cure='geometry is {"boxes": [[x0, y0, x1, y1], …]} or null',
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _probability(value: Any) -> float | None:
    if value is None:
        return None
    return float(value)
