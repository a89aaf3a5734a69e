"""sets.csv: every class that is right on an image, as ReaL has them. No Django.

Source: Beyer et al. (2020), Are we done with ImageNet?
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.class_files import Labels
from labeling.files import BadInput
from labeling.simulation.vote_files import rows

COLUMNS = ("image", "wnid")


@dataclass(frozen=True)
class LabelSets:
    """Synsets by image; an empty set where no class is right. Images without a line are absent."""

    sets: dict[str, frozenset[int]]
    path: Path


def read_label_sets(path: Path, images: Collection[str], wordnet: WordNet) -> LabelSets:
    """`image,wnid` rows, several an image; a row with an empty wnid states an empty set.

    images: those of the truth. Raises BadInput with the line for an unknown label, an image that is
    not among them, and one whose set is stated empty and has classes.
    """
    known = set(images)
    labels = Labels(wordnet)
    found: dict[str, set[int]] = {}
    empty: dict[str, int] = {}
    line = 0
    for line, (image, wnid) in rows(path, COLUMNS):
        if image not in known:
            cure = "remove the row, or add the image to the truth"
            raise BadInput(f"the truth lacks the image {image!r}", path, line, cure)
        own = found.setdefault(image, set())
        if wnid.strip():
            own.add(labels.synsets[labels(wnid, path, line)])
        else:
            empty.setdefault(image, line)
        if own and image in empty:
            raise BadInput(
                f"the set of image {image!r} is stated empty and has classes",
                path,
                line,
                "remove its row without a wnid, or its others",
            )
    if not line:
        raise BadInput("there are no sets below the header", path, None, "add image,wnid rows")
    return LabelSets({image: frozenset(own) for image, own in found.items()}, path)
