"""The images that are split: rows of a list, or a release with fingerprints of its photographs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evaluation.splits.assigning import LabeledImage
from labeling.csv_rows import rows
from labeling.files import BadInput, file_sha256
from labeling.near_duplicates.fingerprints import Fingerprint
from labeling.near_duplicates.search import pairs
from labeling.plurals import count_of
from labeling.question_graph.replaying import YES
from labeling.release_files.frozen import Frozen

COLUMNS = ("image", "wnid", "source", "group")


@dataclass
class SplitSource:
    """sha256: of the file, or the release's own."""

    sha256: str
    images: list[LabeledImage]
    notes: list[str] = field(default_factory=list)


def read_list(path: Path) -> SplitSource:
    """Return the images of `image[,wnid][,source][,group]` rows, one per image and class.

    Other columns are ignored, so a file of boxes will do. Raises BadInput with the line.
    """
    classes: dict[str, set[str]] = {}
    ties: dict[str, set[str]] = {}
    for line, (image, wnid, source, group) in rows(path, COLUMNS, COLUMNS[1:], others=True):
        if not image.strip() or "\n" in image or "\r" in image:
            fault = "the name of the image is empty, or has a line break"
            raise BadInput(fault, path, line, "write the name of a photograph in one line")
        classes.setdefault(image, set()).update({wnid} - {""})
        ties.setdefault(image, set()).update(
            f"{kind} {value}" for kind, value in (("source", source), ("group", group)) if value
        )
    if not classes:
        raise BadInput("there are no images", path, None, "list one image per line")
    notes = (
        []
        if any(ties.values())
        else [
            "a list has no photographs, so near-duplicates are unknown: images with the same value "
            "in a column group or source stay together"
        ]
    )
    tied = {image: tuple(sorted(keys)) for image, keys in ties.items()}
    return _source(file_sha256(path), classes, tied, notes)


def of_release(release: Frozen, fingerprints: Mapping[str, Fingerprint | None]) -> SplitSource:
    """Return the images of a release with the classes that they contain.

    fingerprints: by the SHA-256 of the photograph's file, as far as they are known.
    """
    lines = list(release.images())
    classes: dict[str, set[str]] = {line["name"]: set() for line in lines}
    for label in release.labels():
        if label["value"] == YES:
            classes[label["image"]].add(label["wnid"])
    known = [line for line in lines if line["sha256"] in fingerprints]
    near = _near_keys([fingerprints[line["sha256"]] for line in known])
    ties: dict[str, tuple[str, ...]] = {}
    for line in lines:
        ties[line["name"]] = (f"source {line['source']}",) if line["source"] else ()
    for line, keys in zip(known, near, strict=True):
        ties[line["name"]] += keys
    unknown = len(lines) - len(known)
    notes = []
    if unknown:
        images = count_of(unknown, "photograph is", "photographs are")
        notes.append(f"{images} not on this site: near-duplicates of them are not known")
    return _source(release.meta["sha256"], classes, ties, notes)


def _source(
    sha256: str,
    classes: Mapping[str, set[str]],
    ties: Mapping[str, tuple[str, ...]],
    notes: list[str],
) -> SplitSource:
    """Return the source without ties that more than half of the images share.

    Such a tie stands for the whole collection, not a scene, and would leave nothing to split.
    """
    counts = Counter(key for keys in ties.values() for key in keys)
    common = {key for key, count in counts.items() if count > max(len(classes) / 2, 2)}
    notes += [
        f"{key} holds {counts[key]} of {len(classes)} images, so its images may be separated"
        for key in sorted(common)
    ]
    images = [
        LabeledImage(name, frozenset(wnids), tuple(key for key in ties[name] if key not in common))
        for name, wnids in classes.items()
    ]
    return SplitSource(sha256, images, notes)


def _near_keys(fingerprints: Sequence[Fingerprint | None]) -> list[tuple[str, ...]]:
    """Return keys for each image, such that two near-duplicates have one in common."""
    first: dict[int, int] = {}
    keys: list[tuple[str, ...]] = []
    for at, fingerprint in enumerate(fingerprints):
        if fingerprint is None:
            keys.append(())
            continue
        alike = first.setdefault(int(fingerprint[0]), at)
        keys.append((f"alike {alike}",))
    different = list(first.values())
    if len(different) > 1:
        hits = pairs(np.array([fingerprints[at] for at in different]))
        for low, high in zip(hits.query.tolist(), hits.entry.tolist(), strict=True):
            keys[different[high]] += (f"alike {different[low]}",)
    return keys
