"""Joins the chunks of a release into its files."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labeling.models import Calibration
from labeling.release_files import frozen_objects
from labeling.release_files.frozen import FORMAT, Line, LineFile
from labeling.release_files.frozen_boxes import BOXES_FILE, COVERAGE_FILE, ErrorTally
from labeling.releases import boxes, chunk_files, parts, votes
from labeling.releases.snapshots import Snapshot
from labeling.releases.votes import FrozenVotes

BLOCK = 1 << 20


def join(
    snapshot: Snapshot,
    made: Iterable[Path],
    states: Mapping[str, int],
    code_version: str,
    scratch: Path,
) -> Line:
    """Complete all files of the snapshot and return release.json without number, date and hash.

    made: the folders of the chunks in order; each may be removed once the next is requested.
    states: number of questions by state.
    """
    joined = _JoinedFiles(snapshot)
    made_coverage = scratch / COVERAGE_FILE
    with LineFile(scratch / FrozenVotes.RAW) as raw, LineFile(scratch / FrozenVotes.INDEX) as index:
        files = {FrozenVotes.RAW: raw, FrozenVotes.INDEX: index, **snapshot.files}
        if snapshot.waiting is not None:
            files[COVERAGE_FILE] = LineFile(made_coverage)
        for folder in made:
            joined.add(folder, files)
        stated = (
            _cover(snapshot, joined, files[COVERAGE_FILE]) if snapshot.waiting is not None else {}
        )
    # The lines still have row ids; pseudonyms are derived from the digest of all lines.
    digest = raw.hash.digest()
    votes.name_people(scratch, digest, joined.people, snapshot.files["votes.jsonl"])
    campaign = snapshot.campaign
    return {
        "format": FORMAT,
        "version": 1,
        "campaign": {
            "name": campaign.name,
            "title": campaign.title,
            "kind": campaign.kind,
            "dataset": campaign.dataset.name,
            "instructions": campaign.instructions,
            "settings": campaign.settings,
        },
        "policies": snapshot.policies,
        **_calibrations(joined.calibrations),
        **(parts.head(campaign, joined.tally) if joined.tally else {}),
        **stated,
        "counts": _counts(joined, states),
        "code_version": code_version,
        "files": {name: file.close() for name, file in snapshot.files.items()},
    }


@dataclass
class _JoinedFiles:
    """The growing files with the counts of their chunks."""

    snapshot: Snapshot
    counts: Counter[str] = field(default_factory=Counter)
    people: set[int] = field(default_factory=set)
    calibrations: set[int] = field(default_factory=set)
    tally: frozen_objects.PartTally | None = None
    stated: ErrorTally = field(default_factory=ErrorTally)

    def __post_init__(self) -> None:
        if "objects.jsonl" in self.snapshot.files:
            self.tally = frozen_objects.PartTally(self.snapshot.campaign.settings["categories"])

    def add(self, folder: Path, files: Mapping[str, LineFile]) -> None:
        for name in (FrozenVotes.RAW, FrozenVotes.INDEX, *chunk_files.LINES):
            if name in files:
                _append(folder / name, files[name])
        counted = json.loads((folder / chunk_files.COUNTED).read_text())
        self.counts.update(counted["states"])
        self.counts.update(counted["votes"])
        self.people.update(counted["people"])
        self.calibrations.update(counted["calibrations"])
        if self.tally is not None:
            self.tally.join(counted["tally"])
        if counted["stated"] is not None:
            self.stated.join(counted["stated"])


def _cover(snapshot: Snapshot, joined: _JoinedFiles, made: LineFile) -> Line:
    """Write the coverage and return its keys of release.json.

    They are the box error of each class and the state of classes that the coverage omits.
    """
    assert snapshot.waiting is not None
    made.close()
    images = snapshot.files["images.jsonl"]
    images.file.flush()
    lines, unlisted = boxes.coverage(snapshot.campaign, images.path, made.path, snapshot.waiting)
    for line in lines:
        snapshot.files[COVERAGE_FILE].write(line)
    return {"stated": joined.stated.content(), "unlisted": unlisted}


def _append(path: Path, goal: LineFile) -> None:
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            goal.append(block, block.count(b"\n"))


def _calibrations(pks: set[int]) -> Line:
    """Return the calibrations named in answers.jsonl: topics in full, people only as a count.

    The figures of people would reveal who is who across releases.
    """
    rows = Calibration.objects.filter(pk__in=pks).order_by("number")
    lines = [_calibration_line(row) for row in rows.iterator(chunk_size=1)]
    return {"calibrations": lines} if lines else {}


def _calibration_line(row: Calibration) -> Line:
    names = ("classes", "prior", "tables")
    return {
        "number": row.number,
        **{name: row.content[name] for name in names if row.content.get(name)},
        "annotators": len(row.content.get("annotators", {})),
        "voided": len(row.content.get("voided", [])),
    }


def _counts(joined: _JoinedFiles, states: Mapping[str, int]) -> dict[str, int]:
    files = joined.snapshot.files
    every = {"open": 0, "review": 0, "withdrawn": 0, **states}
    return {
        **{state: int(count) for state, count in every.items()},
        "settled": joined.counts["settled"],
        "dropped": joined.counts["dropped"],
        "votes": joined.counts["votes"],
        "late": joined.counts["late"],
        "annotators": len(joined.people),
        "images": files["images.jsonl"].count,
        "topics": files["topics.jsonl"].count,
        **({"objects": objects.count} if (objects := files.get("objects.jsonl")) else {}),
        **({"boxes": box_file.count} if (box_file := files.get(BOXES_FILE)) else {}),
    }
