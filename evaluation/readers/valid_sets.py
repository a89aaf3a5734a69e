"""Read sets.csv: every class that is right on an image, as in ReaL, or a version that a review of
mistakes wrote. No Django.

Source: Beyer et al. (2020), Are we done with ImageNet?
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.class_files import Labels
from labeling.csv_rows import plain_cell, rows
from labeling.files import BadInput, file_sha256
from labeling.records import Record

COLUMNS = ("image", "wnid")
# The files of a version.
SETS, VERSION = "sets.csv", "version.json"
KEYS = ("version", "models", "sha256", "parent_sha256")


@dataclass(kw_only=True)
class ReviewedModel(Record):
    """A submission: its name and the SHA-256 of its predictions or release."""

    name: str
    sha256: str


@dataclass(kw_only=True)
class SetVersion(Record):
    """The identity of a version of label sets.

    models: those whose disagreements with the version before were reviewed. sha256, parent_sha256:
    of sets.csv here and of the version before, None where that was the truth's one class.
    """

    version: int
    models: list[ReviewedModel]
    sha256: str
    parent_sha256: str | None


@dataclass(frozen=True)
class LabelSets:
    """Synsets by image; an empty set where no class is right. Images without a line are absent.

    version: set if a review wrote the sets.
    """

    sets: dict[str, frozenset[int]]
    path: Path
    version: SetVersion | None = None


def read_label_sets(path: Path, images: Collection[str], wordnet: WordNet) -> LabelSets:
    """Return the label sets of `image,wnid` rows; a row with an empty wnid states an empty set.

    path: a file, or the folder of a version. images: those of the truth. Raises BadInput with the
    line for an unknown label or image, and for an image that is stated empty and has classes; also
    for a version whose sets were changed.
    """
    version = None
    if path.is_dir():
        version, path = _version(path), path / SETS
    known = set(images)
    labels = Labels(wordnet)
    classes_of: dict[str, set[int]] = {}
    empty: dict[str, int] = {}
    line = 0
    for line, (image, wnid) in rows(path, COLUMNS):
        image = image if image in known else plain_cell(image)
        if image not in known:
            cure = "remove the row, or add the image to the truth"
            raise BadInput(f"the truth lacks the image {image!r}", path, line, cure)
        classes = classes_of.setdefault(image, set())
        if wnid.strip():
            classes.add(labels.synsets[labels(wnid, path, line)])
        else:
            empty.setdefault(image, line)
        if classes and image in empty:
            raise BadInput(
                f"the set of image {image!r} is stated empty and has classes",
                path,
                line,
                "remove its row without a wnid, or its others",
            )
    if not line:
        raise BadInput("there are no sets below the header", path, None, "add image,wnid rows")
    return LabelSets(
        {image: frozenset(classes) for image, classes in classes_of.items()}, path, version
    )


def _version(folder: Path) -> SetVersion:
    path = folder / VERSION
    cure = "give a file of image,wnid rows, or a folder that mistakes apply wrote"
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        version = SetVersion.from_json({key: row[key] for key in KEYS})
    except FileNotFoundError:
        raise BadInput("is not a version of label sets", folder, None, cure) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadInput("does not describe a version of label sets", path, None, cure) from None
    sets = folder / SETS
    if not sets.is_file() or file_sha256(sets) != version.sha256:
        raise BadInput("differs from what the review wrote", sets, None, "apply the review again")
    return version
