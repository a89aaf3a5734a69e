"""Writing the folder of a published release."""

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeling.csv_rows import nfc
from labeling.files import BadInput, StrPath
from labeling.kinds.base import OBJECTS
from labeling.publishing import croissant, documents, tables
from labeling.publishing.facts import UNKNOWN, Facts
from labeling.publishing.tables import ParquetTable, Row
from labeling.records import Record
from labeling.release_files import exporting, frozen
from labeling.release_files.exporting import Open
from labeling.release_files.frozen import Frozen
from labeling.release_files.groups import Groups


@dataclass(kw_only=True)
class Published(Record):
    """Counts of a published folder.

    unknown_licence: images without a licence. sealed: images that were left out.
    """

    out: str
    images: int
    labels: int
    objects: int
    votes: int
    annotators: int
    unknown_licence: int
    sealed: int
    sha256: str


def publish(
    release: Frozen,
    out: StrPath,
    open_image: Open | None = None,
    *,
    with_images: bool = False,
    sealed: Collection[str] = (),
    started: str = "",
) -> Published:
    """Write the release as a folder for Hugging Face with Croissant metadata; return its counts.

    out: a folder that does not exist or is empty; it appears once complete. open_image: needed for
    with_images. sealed: names of images, in NFC, that are left out with their labels and votes.
    started: ISO date of the campaign's start, "" if unknown. Works image by image, so memory stays
    constant. Raises BadInput when `out` cannot be written or a photograph is missing.
    """
    goal = Path(out)
    frozen.check_goal(goal)
    if with_images and open_image is None:
        raise BadInput("the photographs are missing", cure="name their folder with --images")
    if not release.meta["counts"]["images"]:
        raise BadInput("the release has no image", cure="label some, then freeze a release")
    facts = _facts(release, with_images, started)
    with frozen.appearing(goal) as unfinished:
        data = unfinished / "data"
        data.mkdir()
        written = {
            name: ParquetTable(data, name, with_images)
            for name in ("images", "labels", "objects", "votes")
        }
        _write_images(release, facts, written, open_image if with_images else None, sealed)
        for vote in release.votes():
            if nfc(vote["image"]) not in sealed:
                written["votes"].add(tables.vote_row(vote))
                facts.people[vote["annotator"]] += 1
                facts.votes += 1
        files = {name: table.close() for name, table in written.items()}
        # `datasets` cannot open a table without rows.
        for name in [name for name, file in files.items() if not file["rows"]]:
            written[name].path.unlink()
            del files[name]
        _write_json(unfinished / "croissant.json", croissant.describe(facts, files))
        _write_json(unfinished / "datacite.json", documents.datacite(facts))
        frozen.write_synced(unfinished / "datasheet.md", documents.datasheet(facts))
        frozen.write_synced(unfinished / "README.md", documents.card(facts, files))
    return Published(
        out=os.fspath(out),
        images=facts.images,
        labels=facts.labels,
        objects=facts.objects,
        votes=facts.votes,
        annotators=len(facts.people),
        unknown_licence=facts.licences[UNKNOWN],
        sealed=facts.sealed,
        sha256=facts.sha256,
    )


def _facts(release: Frozen, with_images: bool, started: str) -> Facts:
    meta, campaign = release.meta, release.meta["campaign"]
    counts = meta["counts"]
    number = meta.get("number", 0)
    return Facts(
        name=f"{campaign['name']}-{number}",
        title=campaign["title"],
        kind=campaign["kind"],
        release=release.kind.release,
        number=number,
        sha256=meta["sha256"],
        frozen=meta.get("created_at", ""),
        dataset=campaign["dataset"],
        instructions=campaign["instructions"],
        classes=exporting.classes_of(release),
        policies=meta.get("policies", []),
        stated_error=meta.get("stated_error"),
        stated_boxes=meta.get("stated"),
        open_questions=counts.get("open", 0) + counts.get("review", 0),
        code_version=str(meta.get("code_version", "")),
        with_images=with_images,
        started=started,
    )


def _write_images(
    release: Frozen,
    facts: Facts,
    written: dict[str, ParquetTable],
    open_image: Open | None,
    sealed: Collection[str],
) -> None:
    has_objects = release.kind.release == OBJECTS
    objects_of_images = release.objects(rest=False) if has_objects else None
    answers = Groups[Any](release.lines("answers.jsonl") if has_objects else ())
    for photo, labels in exporting.pages(release):
        rows: list[Row] = []
        if objects_of_images is not None:
            # objects.jsonl has the whole image as the box of an object without one.
            lines = answers.of(photo.name)
            unboxed = {line["object"] for line in lines if not line.get("boxed", True)}
            for drawn in next(objects_of_images)[1]:
                name = facts.classes.get(drawn.category, drawn.category)
                rows += tables.object_rows(drawn, name, drawn.name not in unboxed)
        else:
            rows = [row for label in labels for row in tables.instance_rows(label)]
        if nfc(photo.name) in sealed:
            facts.sealed += 1
            continue
        licence = photo.licence.strip() or UNKNOWN
        image = tables.image_row(photo, labels, rows, licence)
        size = 0
        if open_image is not None:
            content = _pixels(open_image, photo.name)
            image["image"] = {"bytes": content, "path": photo.name}
            size = len(content)
        written["images"].add(image, size)
        for label in labels:
            written["labels"].add(tables.label_row(label))
            facts.values[label.value] += 1
        for row in rows:
            written["objects"].add(row)
        facts.images += 1
        facts.labels += len(labels)
        facts.objects += len(rows)
        facts.licences[licence] += 1


def _pixels(open_image: Open, name: str) -> bytes:
    try:
        with open_image(name) as file:
            return file.read()
    except FileNotFoundError:
        cure = "add it, or publish without the photographs"
        raise BadInput(f"the photograph {name!r} is missing", cure=cure) from None


def _write_json(path: Path, value: object) -> None:
    frozen.write_synced(path, json.dumps(value, indent=1, ensure_ascii=False))
