"""Adds the analysis to a result: by class, by the scale of objects, by property. No Django.

Used by `score classification`, `localization` and `detection`, and by the site.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from evaluation.readers import box_files
from evaluation.scoring.analysis import Analysis, Difficulty, analyse, chance, scales_of
from evaluation.scoring.class_properties import Codes, properties_of, read_properties
from evaluation.scoring.classification import ClassificationResult
from evaluation.scoring.comparing import best_by_class
from evaluation.scoring.detection import DetectionResult
from evaluation.scoring.localization import LocalizationResult
from labeling.files import BadInput
from labeling.plurals import count_of

Scored = TypeVar("Scored", ClassificationResult, LocalizationResult, DetectionResult)


@dataclass(frozen=True)
class AnalysisInput:
    """Input of the analysis. boxes: a file of true boxes, read with `options`; unless
    `sizes_needed` is off, their images need sizes. properties: a file of class properties, which
    needs boxes.
    """

    boxes: Path | None = None
    options: box_files.BoxReading = field(default_factory=box_files.BoxReading)
    sizes_needed: bool = True
    properties: Path | None = None


def explain(
    result: Scored,
    values: Mapping[str, Mapping[str, float]],
    images: Mapping[str, int],
    measure: str,
    request: AnalysisInput,
    wordnet: WordNet | None = None,
) -> Scored:
    """Return the result with `analysis` of each submission and of the best by class, and `objects`.

    values: by submission and class, the first submission first; see analysis.analyse(). The result
    has `submissions` if there are several. Properties need wordnet. Raises BadInput for invalid
    files.
    """
    objects = difficulty(request) if request.boxes else None
    scales = scales_of(objects) if objects else None
    classes = dict.fromkeys(name for by_class in values.values() for name in by_class)
    notes: list[str] = []
    kinds = None
    if scales is not None and not scales.keys() & classes.keys():
        cure = "give boxes of the classes of the truth"
        raise BadInput("none of its classes is in the truth", request.boxes, None, cure)
    if request.properties:
        assert wordnet is not None
        kinds, averaged = _kinds(classes, request.properties, wordnet)
        if averaged:
            notes.append(
                count_of(averaged, "class has", "classes have")
                + " the mean properties of the classes below"
            )

    def analysis_of(by_class: Mapping[str, float]) -> Analysis:
        return analyse(by_class, images, measure, scales, kinds, request.options.seed)

    explained = {name: analysis_of(by_class) for name, by_class in values.items()}
    if request.boxes and not objects:
        notes.append("sizes of images are missing: nothing is told by the scale of objects")
    for submission in result.submissions or ():
        submission.analysis = explained[submission.name or ""]
    if result.comparison and result.comparison.optimistic:
        result.comparison.optimistic.by_class.analysis = analysis_of(best_by_class(values))
    return replace(
        result,
        analysis=next(iter(explained.values())),
        objects=objects,
        notes=[*result.notes, *notes],
        # An explained result always has the key.
        unknown=result.unknown if objects else result.unknown | {"objects": None},
    )


def difficulty(request: AnalysisInput) -> Difficulty | None:
    """Return how hard the objects of true boxes are to find; None if optional sizes are missing."""
    assert request.boxes is not None
    truth = box_files.read_truth(request.boxes, request.options)
    sizes = truth.images.size_table()
    places = truth.objects.boxes.images
    missing = np.isinf(sizes[places, 0])
    if missing.any():
        if not request.sizes_needed:
            return None
        row = int(np.argmax(missing))
        name = list(truth.images.places)[places[row]]
        cure = "give image,width,height rows with --images"
        raise truth.objects.bad(row, f"the size of image {name!r} is not known", cure)
    # The readers make right edges exclusive.
    return chance(truth.objects.boxes, sizes, truth.classes.names, inclusive=False)


def _kinds(
    classes: Mapping[str, None], path: Path, wordnet: WordNet
) -> tuple[dict[str, Codes], int]:
    synsets = {}
    for name in classes:
        try:
            synsets[name] = wordnet.index(name)
        except UnknownLabel:
            continue
    kinds, averaged = properties_of(synsets, read_properties(path, wordnet), wordnet)
    if not kinds:
        cure = "give rows of classes of the truth, or of classes below them"
        raise BadInput("none of its classes is in the truth", path, None, cure)
    return kinds, averaged
