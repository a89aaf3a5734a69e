"""Multi-label accuracy: whether the first prediction is one of the right classes.

Source: Beyer et al. (2020), ReaL. No Django.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.readers.class_files import Classified
from evaluation.readers.valid_sets import LabelSets
from evaluation.scoring.comparing import IntervalEstimate
from labeling.files import BadInput


@dataclass(kw_only=True)
class MultiLabelAccuracy(IntervalEstimate):
    """images: the number averaged over. Images with an empty set or without a line in the sets are
    left out.
    """

    images: int
    empty_sets: int
    without_sets: int


@dataclass(frozen=True)
class InSets:
    """counted: (N,) which images have a set that is not empty; right: (N,) whether the first
    prediction is in it.
    """

    counted: NDArray[np.bool_]
    right: NDArray[np.bool_]
    without_sets: int


def in_sets(classified: Classified, sets: LabelSets) -> InSets:
    """Return which images count and are right. Raises BadInput if none counts. Classes must be
    synsets.
    """
    assert classified.synsets is not None
    # The last entry is for ABSENT, which is in no set.
    synsets = [*classified.synsets, -1]
    first = [synsets[number] for number in classified.predicted[:, 0].tolist()]
    image_sets = [sets.sets.get(image) for image in classified.images]
    counted = np.array([bool(valid) for valid in image_sets])
    if not counted.any():
        raise BadInput(
            "every image of the truth has an empty set, or none",
            sets.path,
            None,
            "give the classes that are right on some of them",
        )
    right = [
        valid is not None and synset in valid
        for synset, valid in zip(first, image_sets, strict=True)
    ]
    return InSets(counted, np.array(right), image_sets.count(None))
