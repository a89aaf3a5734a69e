"""The three splits of WSOL benchmarks, and how often a test split has been scored.

train-weaksup has only class labels and is for training; train-fullsup has boxes or masks and is for
choosing every setting; test is scored once, at the end. No Django.

Source: Choe et al., "Evaluation for Weakly Supervised Object Localization" (TPAMI 2022), §4.2.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from evaluation.readers.wsol_folders import ScoreMaps, read_ids
from evaluation.scoring.wsol.scoring import in_parts
from labeling.files import BadInput

WEAK, FULL, TEST = SPLITS = ("train-weaksup", "train-fullsup", "test")
# The files that identify a truth. Sizes and mask pixels belong to the images.
_TRUTH = ("image_ids.txt", "class_labels.txt", "localization.txt")


def split_of(metadata: Path) -> str | None:
    """Return the split in a folder's name, if any.

    >>> split_of(Path("metadata/ILSVRC/test"))
    'test'
    >>> split_of(Path("metadata/ILSVRC"))
    """
    name = metadata.absolute().name
    return name if name in SPLITS else None


def check(split: str | None, metadata: Path) -> None:
    """Raise BadInput for train-weaksup, which has no localization truth."""
    if split == WEAK:
        raise BadInput(
            f"{WEAK} has class labels only, so no localization is scored on it",
            metadata,
            None,
            f"score {FULL} to choose settings, and test for the last figure",
        )


def truth_hash(metadata: Path) -> str:
    """Return the SHA-256 of a folder's ids, classes and localization."""
    digest = hashlib.sha256()
    for name in _TRUTH:
        with open(metadata / name, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def maps_hash(scoremaps: Path, metadata: Path) -> str:
    """Return the SHA-256 of the score maps of a folder's images in the order of their ids."""
    names = list(read_ids(metadata))
    maps = ScoreMaps(scoremaps, names)

    def digests(part: list[str]) -> list[bytes]:
        return [hashlib.sha256(maps.path(name).read_bytes()).digest() for name in part]

    digest = hashlib.sha256()
    for part in in_parts(digests, names):
        digest.update(b"".join(part))
    return digest.hexdigest()


def count(record: Path, truth: str, maps: str) -> int:
    """Record this set of score maps; return how many sets were scored against the truth.

    record: a file of lines {"truth", "maps"} of SHA-256, created if missing, append-only; the same
    maps again add nothing. Several processes may write at once; a truncated line is skipped.
    """
    record.parent.mkdir(parents=True, exist_ok=True)
    with open(record, "ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = {line["maps"] for line in _lines(file) if line["truth"] == truth}
        if maps not in known:
            _append(file, {"truth": truth, "maps": maps})
    return len(known | {maps})


def _lines(file: IO[bytes]) -> Iterator[dict[str, str]]:
    for line in file:
        try:
            entry = json.loads(line)
            yield {"truth": entry["truth"], "maps": entry["maps"]}
        except (ValueError, TypeError, KeyError):
            continue


def _append(file: IO[bytes], row: dict[str, str]) -> None:
    file.seek(0, os.SEEK_END)
    begin = b""
    if file.tell():
        file.seek(-1, os.SEEK_END)
        begin = b"" if file.read(1) == b"\n" else b"\n"
    file.write(begin + json.dumps(row).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())
