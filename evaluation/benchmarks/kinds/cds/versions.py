"""Versions of the sequences: the first is stored whole, later ones as changes by object.

An object keeps its frame ids while its masks stay; with other masks, its ids end with `@` and eight
digits of their hash. A version's changes.jsonl.gz has a line an object: {"image", "object",
"masks": their hash, "lines": as in sequences.jsonl}; an object that is gone has no lines.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from evaluation.benchmarks import folders
from evaluation.benchmarks.changes import CHANGES, read_changes
from evaluation.benchmarks.truth_versions import FIRST
from evaluation.models import Benchmark
from evaluation.readers.frame_predictions import frame_places
from evaluation.readers.sequences import (
    ObjectKey,
    SequenceLine,
    line_of_row,
    object_of,
    read_sequences,
)
from evaluation.sequences.objects import drawn_objects
from labeling.errors import Refusal
from labeling.models import Release
from labeling.releases import freezing

LINES = "sequences.jsonl"
SEQUENCES_GONE = (
    "The sequences of this benchmark are not on this server any more. Restore the folder of "
    "benchmarks from a backup, or create the benchmark again under another name."
)


@dataclass(frozen=True)
class ObjectChange:
    """An object in a version. masks: hash of its masks. Both are empty if the object is gone."""

    masks: str = ""
    lines: tuple[SequenceLine, ...] = ()

    def as_row(self, key: ObjectKey) -> dict[str, object]:
        lines = [line.as_dict() for line in self.lines]
        return {"image": key[0], "object": key[1], "masks": self.masks, "lines": lines}


Changes = Mapping[ObjectKey, ObjectChange]


@dataclass
class SequenceHistory:
    """The sequences at every version. opening: version 1; changes, releases: by later version."""

    benchmark: Benchmark
    opening: list[SequenceLine]
    changes: dict[int, Changes] = field(default_factory=dict)
    releases: dict[int, Release] = field(default_factory=dict)

    @classmethod
    def of(cls, benchmark: Benchmark) -> "SequenceHistory":
        """Return the history. Raises Refusal if files of later versions are missing."""
        history = cls(benchmark, read_sequences(folders.created_path(benchmark, LINES)))
        later = benchmark.truth_versions.filter(number__gt=FIRST)
        for version in later.select_related("release__campaign__dataset"):
            path = folders.version_folder(benchmark, version.number) / CHANGES
            if not path.is_file():
                raise Refusal(SEQUENCES_GONE)
            history.releases[version.number] = version.release
            history.changes[version.number] = {
                (row["image"], row["object"]): ObjectChange(
                    row["masks"], tuple(map(line_of_row, row["lines"]))
                )
                for row in read_changes(path)
            }
        return history

    @property
    def newest(self) -> int:
        return max((FIRST, *self.changes))

    def at(self, number: int) -> dict[ObjectKey, list[SequenceLine]]:
        """Return the lines of every object at a version; new objects come last."""
        by_object: dict[ObjectKey, list[SequenceLine]] = {}
        for line in self.opening:
            by_object.setdefault(object_of(line), []).append(line)
        for version in range(FIRST + 1, number + 1):
            for key, change in self.changes[version].items():
                if change.lines:
                    by_object[key] = [*change.lines]
                else:
                    by_object.pop(key, None)
        return by_object

    def lines_at(self, number: int) -> list[SequenceLine]:
        if number == FIRST:
            return self.opening
        return [line for lines in self.at(number).values() for line in lines]

    def frames_at(self, number: int) -> dict[str, int]:
        """Return the id → index of every distinct frame of a version."""
        return frame_places(self.lines_at(number))

    @cached_property
    def every_frame(self) -> frozenset[str]:
        """Return the frames of all versions."""
        later = [
            line
            for changes in self.changes.values()
            for change in changes.values()
            for line in change.lines
        ]
        return frozenset(frame_places([*self.opening, *later]))

    def by_release(self) -> list[tuple[Release, list[SequenceLine]]]:
        """Return each version's release with the lines whose frames are drawn from it.

        Version 1 has all its lines, a later version those that the newest version still has.
        """
        remaining = set(self.lines_at(self.newest)).difference(self.opening)
        by_release = [(self.benchmark.own_release, self.opening)]
        for version in sorted(self.changes):
            changed = [line for row in self.changes[version].values() for line in row.lines]
            kept = [line for line in changed if line in remaining]
            by_release.append((self.releases[version], kept))
            remaining.difference_update(changed)
        return by_release

    def masks(self) -> dict[ObjectKey, list[str]]:
        """Return the hashes of each object's masks, oldest first; "" where it was gone."""
        frozen = freezing.read(self.benchmark.own_release)
        hashes = {
            (drawn.photo.name, drawn.thing.name): [drawn.sha256]
            for _, image_objects in drawn_objects(frozen)
            for drawn in image_objects
        }
        for version in sorted(self.changes):
            for key, change in self.changes[version].items():
                hashes.setdefault(key, []).append(change.masks)
        return hashes
