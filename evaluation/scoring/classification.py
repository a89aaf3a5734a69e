"""Every figure of `score classification`. No Django."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.ilsvrc import errors as ilsvrc
from evaluation.metrics.ilsvrc import hpk
from evaluation.metrics.significance import MAX_ROUNDS, mean_interval
from evaluation.metrics.wordnet.nouns import ROOT, WordNet
from evaluation.readers.class_files import RANKS, Classified, NamedByPeople
from evaluation.readers.pools import read_classes
from evaluation.readers.valid_sets import LabelSets, SetVersion
from evaluation.scoring.analysis import Analysis, Difficulty
from evaluation.scoring.comparing import IntervalEstimate, SubmissionComparison, compare
from evaluation.scoring.image_lines import ImageOutcome
from evaluation.scoring.multi_label import InSets, MultiLabelAccuracy, in_sets
from labeling.files import BadInput
from labeling.plurals import count_of
from labeling.records import Record

Figure = Callable[..., IntervalEstimate]
IDS = "unknown: the classes are ids"


@dataclass(kw_only=True)
class PeopleRelease(Record):
    """A submission that is a release. images: how many of the truth it settles or drops."""

    campaign: str
    number: int | None
    sha256: str
    images: int


@dataclass(kw_only=True)
class ClassificationResult(Record):
    """The scores of a submission.

    name, submissions, comparison: set if several are scored. analysis, objects: see explaining.py.
    hp_at_k, hit_at_k, mean_correct_set_size: by k. people: set if the submission is a release.
    multi_label_accuracy, multi_label_comparison: set if there are label sets; label_set: set if a
    review of mistakes wrote them.
    """

    name: str | None = None
    images: int
    classes: int
    top1_error: IntervalEstimate
    top5_error: IntervalEstimate
    hierarchical_error: IntervalEstimate | None
    hp_at_k: dict[str, IntervalEstimate] | None
    hit_at_k: dict[str, IntervalEstimate]
    hierarchy: str
    valid_labels: int | None
    mean_correct_set_size: dict[str, float | None] | None
    confidence: float
    seed: int
    notes: list[str]
    submissions: list["ClassificationResult"] | None = None
    comparison: SubmissionComparison | None = None
    analysis: Analysis | None = None
    objects: Difficulty | None = None
    people: PeopleRelease | None = None
    multi_label_accuracy: MultiLabelAccuracy | None = None
    multi_label_comparison: SubmissionComparison | None = None
    label_set: SetVersion | None = None


def score(
    classified: Classified,
    wordnet: WordNet,
    valid_labels: Path | None = None,
    confidence: float = 0.999,
    seed: int = 0,
    valid_sets: LabelSets | None = None,
) -> ClassificationResult:
    """Return errors, hp@k and hit@k with their intervals.

    valid_labels: wnids from which hCorrectSets are drawn; by default those of the truth.
    valid_sets: every class that is right on an image; the classes must be synsets. Raises BadInput
    for a class of the truth that the list lacks, and if all sets are empty.
    """
    notes: list[str] = []
    figure = _figures(confidence, seed, notes)
    truth, predicted = classified.truth, classified.predicted
    top1, top5 = (ilsvrc.wrong_at(truth, predicted, k) for k in (1, 5))
    hits = hpk.hits_at(truth, predicted)
    result = ClassificationResult(
        images=len(truth),
        classes=len(np.unique(truth)),
        top1_error=figure("top1_error", top1, 1),
        top5_error=figure("top5_error", top5, 1),
        hierarchical_error=None,
        hp_at_k=None,
        hit_at_k={str(k): figure(f"hit_at_k {k}", hits[:, i], 1) for i, k in enumerate(hpk.KS)},
        hierarchy=IDS,
        valid_labels=None,
        mean_correct_set_size=None,
        confidence=confidence,
        seed=seed,
        notes=notes,
        people=_people(classified),
    )
    if classified.synsets is None:
        notes.append("no list says what the ids mean: no hierarchical error, no hp@k")
    else:
        errors = ilsvrc.hierarchical_errors(wordnet, classified.synsets, truth, predicted)
        highest = int(wordnet.heights[wordnet.index(ROOT)])
        result.hierarchical_error = figure("hierarchical_error", errors, 1, highest)
        result.hierarchy = hpk.HIERARCHY
        _add_hierarchical_precision(result, classified, wordnet, valid_labels, figure)
    if valid_sets is not None:
        result.multi_label_accuracy = _multi_label(in_sets(classified, valid_sets), figure)
        result.label_set = valid_sets.version
    notes += _notes(classified)
    return result


def score_all(
    submissions: Mapping[str, Classified],
    wordnet: WordNet,
    valid_labels: Path | None = None,
    confidence: float = 0.999,
    seed: int = 0,
    valid_sets: LabelSets | None = None,
) -> ClassificationResult:
    """Return the figures of the first submission; for several, those of each and their comparison.

    They are compared by top-5 errors and, with label sets, by multi-label errors. submissions: by
    name, on one truth.
    """
    scored = {
        name: score(classified, wordnet, valid_labels, confidence, seed, valid_sets)
        for name, classified in submissions.items()
    }
    result = next(iter(scored.values()))
    if len(submissions) < 2:
        return result
    classes = true_classes(next(iter(submissions.values())))
    people = [name for name, classified in submissions.items() if classified.people]
    result = replace(
        result,
        submissions=[replace(scored_result, name=name) for name, scored_result in scored.items()],
        comparison=compare(
            {name: wrong(classified) for name, classified in submissions.items()},
            classes,
            confidence,
            seed,
            people,
        ),
    )
    if valid_sets is not None:
        sets_by_name = {name: in_sets(each, valid_sets) for name, each in submissions.items()}
        counted = next(iter(sets_by_name.values())).counted
        result.multi_label_comparison = compare(
            {name: ~each.right[counted] for name, each in sets_by_name.items()},
            [name for name, counts in zip(classes, counted.tolist(), strict=True) if counts],
            confidence,
            seed,
            people,
        )
    return result


def wrong(classified: Classified) -> NDArray[np.bool_]:
    """Return (N,) whether the first five predictions lack the class of the image."""
    return ilsvrc.wrong_at(classified.truth, classified.predicted, 5)


def true_classes(classified: Classified) -> list[str]:
    """Return the name of the class of each image."""
    return [classified.classes[number] for number in classified.truth.tolist()]


def outcomes(classified: Classified, wordnet: WordNet | None = None) -> Iterator[ImageOutcome]:
    """Yield the outcome of each image in the order of the truth; None if people were not asked.

    Without heights if there is no wordnet or the classes are ids.
    """
    truth, predicted = classified.truth, classified.predicted
    names = [*classified.classes, None]
    heights: list[int | None] = [None] * len(truth)
    if wordnet is not None and classified.synsets is not None:
        heights = ilsvrc.hierarchical_errors(wordnet, classified.synsets, truth, predicted).tolist()
    right = predicted == truth[:, None]
    ranks = np.where(right.any(axis=1), right.argmax(axis=1) + 1, 0).tolist()
    was_asked = classified.people.images.tolist() if classified.people else [True] * len(truth)
    for image, class_number, five, rank, height, is_asked in zip(
        classified.images,
        truth.tolist(),
        predicted[:, :5].tolist(),
        ranks,
        heights,
        was_asked,
        strict=True,
    ):
        if not is_asked:
            yield {
                "image": image,
                "classes": [classified.classes[class_number]],
                "truth": [],
                "outcome": None,
            }
            continue
        while five and five[-1] == ilsvrc.ABSENT:
            five.pop()
        yield {
            "image": image,
            "classes": [classified.classes[class_number]],
            "truth": [],
            "outcome": {
                "labels": [names[number] for number in five],
                "top1": rank == 1,
                "top5": 1 <= rank <= 5,
                "height": height,
                "rank": rank or None,
            },
        }


def _figures(confidence: float, seed: int, notes: list[str]) -> Figure:
    generator = np.random.default_rng(seed)

    def figure(
        name: str, values: NDArray[Any], scale: float, most: float | None = None
    ) -> IntervalEstimate:
        """Return a figure. name: as in results. most: the highest value of an image, if not the
        scale.
        """
        low, high, rounds, stable = mean_interval(
            values, confidence, generator, bounds=(0, scale if most is None else most)
        )
        if not stable:
            notes.append(f"the interval of {name} had not settled after {MAX_ROUNDS} rounds")
        value = float(np.mean(values))
        return IntervalEstimate(
            value=value / scale, interval=[low / scale, high / scale], rounds=rounds
        )

    return figure


def _add_hierarchical_precision(
    result: ClassificationResult,
    classified: Classified,
    wordnet: WordNet,
    valid_labels: Path | None,
    figure: Figure,
) -> None:
    assert classified.synsets is not None
    true = np.unique(classified.truth)
    valid = [classified.synsets[i] for i in true.tolist()]
    if valid_labels is not None:
        valid = _listed(valid_labels, wordnet, classified)
    index_of = {synset: i for i, synset in enumerate(valid)}
    # The last entry is for ABSENT.
    number = np.array([*(index_of.get(synset, -1) for synset in classified.synsets), -1], np.int32)
    sets = hpk.correct_sets(wordnet, valid, [classified.synsets[i] for i in true.tolist()])
    predicted = number[classified.predicted]
    row = np.searchsorted(true, classified.truth)
    hits = hpk.hits_in_sets(sets, row, predicted)
    outside = int((predicted < 0).sum() - (classified.predicted < 0).sum())
    if outside:
        words = ("prediction is not a valid label", "predictions are not valid labels")
        result.notes.append(f"{count_of(outside, *words)}: wrong in hp@k")
    if len(valid) < max(hpk.KS):
        result.notes.append(f"valid labels: {len(valid):,}; larger k find no more")
    result.hp_at_k = {str(k): figure(f"hp_at_k {k}", hits[:, i], k) for i, k in enumerate(hpk.KS)}
    result.valid_labels = len(valid)
    result.mean_correct_set_size = {str(k): size for k, size in hpk.mean_sizes(sets, row).items()}


def _listed(path: Path, wordnet: WordNet, classified: Classified) -> list[int]:
    valid = [wordnet.index(wnid) for wnid in read_classes(path, wordnet)]
    known = set(valid)
    for number, line in classified.places.items():
        assert classified.synsets is not None
        if classified.synsets[number] not in known:
            raise BadInput(
                f"{classified.classes[number]} is not a valid label",
                classified.truth_file,
                line,
                f"add it to {path}, or remove its images",
            )
    return valid


def _multi_label(matches: InSets, figure: Figure) -> MultiLabelAccuracy:
    accuracy = figure("multi_label_accuracy", matches.right[matches.counted], 1)
    images = int(matches.counted.sum())
    return MultiLabelAccuracy(
        value=accuracy.value,
        interval=accuracy.interval,
        rounds=accuracy.rounds,
        images=images,
        empty_sets=len(matches.counted) - images - matches.without_sets,
        without_sets=matches.without_sets,
    )


def _people(classified: Classified) -> PeopleRelease | None:
    people = classified.people
    if people is None:
        return None
    images = int(people.images.sum())
    return PeopleRelease(
        campaign=people.campaign, number=people.number, sha256=people.sha256, images=images
    )


def _notes(classified: Classified) -> Iterator[str]:
    if classified.people:
        yield from _notes_on_people(classified, classified.people)
    there = classified.predicted >= 0
    ranks = int(np.flatnonzero(there.any(axis=0)).max(initial=-1)) + 1
    silent = int((~there.any(axis=1)).sum())
    if ranks < RANKS:
        yield f"predictions go to rank {ranks}: what is absent beyond it counts as wrong"
    if silent:
        yield f"{count_of(silent, 'image has', 'images have')} no prediction: wrong"
    if classified.gaps:
        images = count_of(classified.gaps, "image has", "images have")
        yield f"{images} ranks after one that is missing, such as 1 and 3 without 2: it is wrong"
    if classified.repeated:
        again = count_of(classified.repeated, "prediction names", "predictions name")
        yield f"{again} a class again: only the first counts"


def _notes_on_people(classified: Classified, people: NamedByPeople) -> Iterator[str]:
    total = len(people.images)
    if len(classified.images) < total:
        yield (
            f"{'one annotator answered' if people.is_one_person else 'people settled'} "
            f"{int(people.images.sum()):,} of the {count_of(total, 'image')} of the "
            f"truth: every submission is scored on {len(classified.images):,}"
        )
    if people.elsewhere:
        verb = "is" if people.elsewhere == 1 else "are"
        yield f"{count_of(people.elsewhere, 'image')} of the release {verb} not in the truth"
