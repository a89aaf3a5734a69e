"""What a classification is worth: every figure of `score classification`. No Django."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.ilsvrc import errors as ilsvrc
from evaluation.metrics.ilsvrc import hpk
from evaluation.metrics.significance import MOST_ROUNDS, mean_interval
from evaluation.metrics.wordnet.nouns import ROOT, WordNet
from evaluation.readers.class_files import RANKS, Classified, Named
from evaluation.readers.pools import read_classes
from evaluation.readers.valid_sets import LabelSets, SetVersion
from evaluation.scoring.analysis import Analysis, Difficulty
from evaluation.scoring.comparing import Comparison, Estimate, compare
from evaluation.scoring.image_lines import ImageOutcome
from evaluation.scoring.multi_label import InSets, MultiLabelAccuracy, in_sets
from labeling.files import BadInput
from labeling.plurals import count_of
from labeling.records import Record

Figure = Callable[..., Estimate]
IDS = "unknown: the classes are ids"


@dataclass(kw_only=True)
class People(Record):
    """The release that a submission is. images: of the truth that are settled or dropped in it."""

    campaign: str
    number: int | None
    sha256: str
    images: int


@dataclass(kw_only=True)
class ClassificationResult(Record):
    """What a submission is worth. name, submissions, comparison: of several; see explaining.py for
    analysis and objects. hp_at_k, hit_at_k, mean_correct_set_size: by k. people: of a release.
    multi_label_accuracy, multi_label_comparison: where label sets are given; label_set: where they
    are a version that a review of mistakes wrote."""

    name: str | None = None
    images: int
    classes: int
    top1_error: Estimate
    top5_error: Estimate
    hierarchical_error: Estimate | None
    hp_at_k: dict[str, Estimate] | None
    hit_at_k: dict[str, Estimate]
    hierarchy: str
    valid_labels: int | None
    mean_correct_set_size: dict[str, float | None] | None
    confidence: float
    seed: int
    notes: list[str]
    submissions: list["ClassificationResult"] | None = None
    comparison: Comparison | None = None
    analysis: Analysis | None = None
    objects: Difficulty | None = None
    people: People | None = None
    multi_label_accuracy: MultiLabelAccuracy | None = None
    multi_label_comparison: Comparison | None = None
    label_set: SetVersion | None = None


def score(
    found: Classified,
    wordnet: WordNet,
    valid_labels: Path | None = None,
    confidence: float = 0.999,
    seed: int = 0,
    valid_sets: LabelSets | None = None,
) -> ClassificationResult:
    """Errors, hp@k and hit@k with their intervals.

    valid_labels: a list of wnids from which hCorrectSets are drawn, those of the truth where it is
    not given. valid_sets: every class that is right on an image; the classes must be synsets.
    Raises BadInput for a class of the truth that the list lacks, and where all sets are empty.
    """
    notes: list[str] = []
    figure = _figures(confidence, seed, notes)
    truth, predicted = found.truth, found.predicted
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
        people=_people(found),
    )
    if found.synsets is None:
        notes.append("no list says what the ids mean: no hierarchical error, no hp@k")
    else:
        errors = ilsvrc.hierarchical_errors(wordnet, found.synsets, truth, predicted)
        highest = int(wordnet.heights[wordnet.index(ROOT)])
        result.hierarchical_error = figure("hierarchical_error", errors, 1, highest)
        result.hierarchy = hpk.HIERARCHY
        _add_hierarchical_precision(result, found, wordnet, valid_labels, figure)
    if valid_sets is not None:
        result.multi_label_accuracy = _multi_label(in_sets(found, valid_sets), figure)
        result.label_set = valid_sets.version
    notes += _notes(found)
    return result


def score_all(
    found: Mapping[str, Classified],
    wordnet: WordNet,
    valid_labels: Path | None = None,
    confidence: float = 0.999,
    seed: int = 0,
    valid_sets: LabelSets | None = None,
) -> ClassificationResult:
    """The figures of the first submission; of several, those of each, and their comparison by
    top-5 errors, with label sets by multi-label errors too. found: by name, on one truth."""
    scored = {
        name: score(own, wordnet, valid_labels, confidence, seed, valid_sets)
        for name, own in found.items()
    }
    result = next(iter(scored.values()))
    if len(found) < 2:
        return result
    classes = true_classes(next(iter(found.values())))
    people = [name for name, own in found.items() if own.named]
    result = replace(
        result,
        submissions=[replace(own, name=name) for name, own in scored.items()],
        comparison=compare(
            {name: wrong(own) for name, own in found.items()}, classes, confidence, seed, people
        ),
    )
    if valid_sets is not None:
        own = {name: in_sets(each, valid_sets) for name, each in found.items()}
        counted = next(iter(own.values())).counted
        result.multi_label_comparison = compare(
            {name: ~each.right[counted] for name, each in own.items()},
            [name for name, counts in zip(classes, counted.tolist(), strict=True) if counts],
            confidence,
            seed,
            people,
        )
    return result


def wrong(found: Classified) -> NDArray[np.bool_]:
    """(N,) whether the first five predictions lack the class of the image."""
    return ilsvrc.wrong_at(found.truth, found.predicted, 5)


def true_classes(found: Classified) -> list[str]:
    """The name of the class of each image."""
    return [found.classes[number] for number in found.truth.tolist()]


def outcomes(found: Classified, wordnet: WordNet | None = None) -> Iterator[ImageOutcome]:
    """What became of each image, in the order of the truth; None where people were not asked.
    Without heights where there is no wordnet or the classes are ids."""
    truth, predicted = found.truth, found.predicted
    names = [*found.classes, None]
    heights: list[int | None] = [None] * len(truth)
    if wordnet is not None and found.synsets is not None:
        heights = ilsvrc.hierarchical_errors(wordnet, found.synsets, truth, predicted).tolist()
    right = predicted == truth[:, None]
    ranks = np.where(right.any(axis=1), right.argmax(axis=1) + 1, 0).tolist()
    asked = found.named.images.tolist() if found.named else [True] * len(truth)
    for image, own, five, rank, height, is_asked in zip(
        found.images, truth.tolist(), predicted[:, :5].tolist(), ranks, heights, asked, strict=True
    ):
        if not is_asked:
            yield {
                "image": image,
                "classes": [found.classes[own]],
                "truth": [],
                "outcome": None,
            }
            continue
        while five and five[-1] == ilsvrc.ABSENT:
            five.pop()
        yield {
            "image": image,
            "classes": [found.classes[own]],
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
    ) -> Estimate:
        """name: as results have it. most: what an image may be worth, where not the scale."""
        low, high, rounds, stable = mean_interval(
            values, confidence, generator, bounds=(0, scale if most is None else most)
        )
        if not stable:
            notes.append(f"the interval of {name} had not settled after {MOST_ROUNDS} rounds")
        value = float(np.mean(values))
        return Estimate(value=value / scale, interval=[low / scale, high / scale], rounds=rounds)

    return figure


def _add_hierarchical_precision(
    result: ClassificationResult,
    found: Classified,
    wordnet: WordNet,
    valid_labels: Path | None,
    figure: Figure,
) -> None:
    assert found.synsets is not None
    true = np.unique(found.truth)
    listed = [found.synsets[i] for i in true.tolist()]
    if valid_labels is not None:
        listed = _listed(valid_labels, wordnet, found)
    place = {synset: i for i, synset in enumerate(listed)}
    # The last one stands for ABSENT.
    number = np.array([*(place.get(synset, -1) for synset in found.synsets), -1], np.int32)
    sets = hpk.correct_sets(wordnet, listed, [found.synsets[i] for i in true.tolist()])
    predicted = number[found.predicted]
    row = np.searchsorted(true, found.truth)
    hits = hpk.hits_in_sets(sets, row, predicted)
    outside = int((predicted < 0).sum() - (found.predicted < 0).sum())
    if outside:
        words = ("prediction is no valid label", "predictions are no valid labels")
        result.notes.append(f"{count_of(outside, *words)}: wrong in hp@k")
    if len(listed) < max(hpk.KS):
        result.notes.append(f"valid labels: {len(listed):,}; larger k find no more")
    result.hp_at_k = {str(k): figure(f"hp_at_k {k}", hits[:, i], k) for i, k in enumerate(hpk.KS)}
    result.valid_labels = len(listed)
    result.mean_correct_set_size = {str(k): size for k, size in hpk.mean_sizes(sets, row).items()}


def _listed(path: Path, wordnet: WordNet, found: Classified) -> list[int]:
    listed = [wordnet.index(wnid) for wnid in read_classes(path, wordnet)]
    known = set(listed)
    for number, line in found.places.items():
        assert found.synsets is not None
        if found.synsets[number] not in known:
            raise BadInput(
                f"{found.classes[number]} is no valid label",
                found.truth_file,
                line,
                f"add it to {path}, or remove its images",
            )
    return listed


def _multi_label(found: InSets, figure: Figure) -> MultiLabelAccuracy:
    own = figure("multi_label_accuracy", found.right[found.counted], 1)
    images = int(found.counted.sum())
    return MultiLabelAccuracy(
        value=own.value,
        interval=own.interval,
        rounds=own.rounds,
        images=images,
        empty_sets=len(found.counted) - images - found.without_sets,
        without_sets=found.without_sets,
    )


def _people(found: Classified) -> People | None:
    own = found.named
    if own is None:
        return None
    images = int(own.images.sum())
    return People(campaign=own.campaign, number=own.number, sha256=own.sha256, images=images)


def _notes(found: Classified) -> Iterator[str]:
    if found.named:
        yield from _notes_on_people(found, found.named)
    there = found.predicted >= 0
    ranks = int(np.flatnonzero(there.any(axis=0)).max(initial=-1)) + 1
    silent = int((~there.any(axis=1)).sum())
    if ranks < RANKS:
        yield f"predictions go to rank {ranks}: what is absent beyond it counts as wrong"
    if silent:
        yield f"{count_of(silent, 'image has', 'images have')} no prediction: wrong"
    if found.gaps:
        images = count_of(found.gaps, "image has", "images have")
        yield f"{images} ranks after one that is missing, such as 1 and 3 without 2: it is wrong"
    if found.repeated:
        again = count_of(found.repeated, "prediction names", "predictions name")
        yield f"{again} a class again: only the first counts"


def _notes_on_people(found: Classified, named: Named) -> Iterator[str]:
    total = len(named.images)
    if len(found.images) < total:
        yield (
            f"people settled {int(named.images.sum()):,} of the {count_of(total, 'image')} of the "
            f"truth: every submission is scored on {len(found.images):,}"
        )
    if named.elsewhere:
        verb = "is" if named.elsewhere == 1 else "are"
        yield f"{count_of(named.elsewhere, 'image')} of the release {verb} not in the truth"
