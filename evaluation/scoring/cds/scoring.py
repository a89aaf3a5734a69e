"""Computes the CDS of every sequence, and all tables. No Django.

Source: Sarvadevabhatla, Venkatraman, Venkatesh Babu (2016). docs/explanation/cds.md describes
every table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics import bands
from evaluation.metrics.cds import formulas
from evaluation.metrics.significance import mcnemar
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.metrics.wordnet.similarity import BY, CONVENTIONS
from evaluation.readers.frame_predictions import NOT_ASKED, FramePredictions
from evaluation.readers.sequences import SequenceLine
from evaluation.scoring.cds.result import (
    AnsweredSequence,
    CdsBootstrap,
    CdsResult,
    CdsScoringOptions,
    ClassifierScores,
    FrameAnswer,
    SequenceScores,
)
from evaluation.scoring.cds.similarity import Meanings
from evaluation.scoring.cds.tabulating import few_objects, tables_of
from labeling.files import BadInput

# Means that differ by less count as equal.
TOLERANCE = 1e-12
# Measures with values in [0, 1], as CDS needs.
MEASURES = ("wup", "path", "lin", "vector", "vector_pairs")


@dataclass(frozen=True)
class CdsScores:
    """The result of `score`. similarities, right: classifier → (Q,), for every frame in order."""

    result: CdsResult
    lines: Sequence[SequenceLine]
    predictions: FramePredictions
    names: dict[str, str]
    starts: NDArray[np.int64]
    frames: NDArray[np.int32]
    similarities: dict[str, NDArray[np.float64]]
    right: dict[str, NDArray[np.bool_]] | None
    cds: dict[str, NDArray[np.float64]]
    b_cds: dict[str, NDArray[np.float64]] | None

    def sequences(self) -> Iterator[SequenceScores]:
        """Yield one row per sequence and classifier that was asked about it."""
        for number, line in enumerate(self.lines):
            for classifier, scores in self.scores(number).items():
                yield SequenceScores(
                    image=line.image,
                    object=line.object,
                    category=line.category,
                    part_scheme=line.part_scheme,
                    content_scheme=line.content_scheme,
                    classifier=classifier,
                    cds=scores.cds,
                    b_cds=scores.b_cds,
                )

    def scores(self, number: int) -> dict[str, ClassifierScores]:
        """Return a sequence's scores by classifier; b_cds is None without a mapping."""
        return {
            name: ClassifierScores(
                cds=float(self.cds[name][number]),
                b_cds=float(self.b_cds[name][number]) if self.b_cds is not None else None,
            )
            for name in self.predictions.classifiers
            if not np.isnan(self.cds[name][number])
        }

    def answers(self) -> Iterator[AnsweredSequence]:
        """Yield each line with every classifier's answer to every frame, and its scores."""
        for number, line in enumerate(self.lines):
            scores = self.scores(number)
            yield AnsweredSequence(
                image=line.image,
                category=line.category,
                part_scheme=line.part_scheme,
                content_scheme=line.content_scheme,
                frames=list(line.frames),
                object=line.object or None,
                present=line.present,
                parts=line.parts,
                answers={name: self._answers(number, name) for name in scores},
                scores=scores,
            )

    def _answers(self, number: int, classifier: str) -> list[FrameAnswer]:
        at = slice(int(self.starts[number]), int(self.starts[number + 1]))
        class_numbers = self.predictions.wnids[classifier][self.frames[at]].tolist()
        similar = self.similarities[classifier][at].tolist()
        right = self.right[classifier][at].tolist() if self.right else [None] * len(class_numbers)
        wnids = [
            self.predictions.classes[class_number] if class_number >= 0 else None
            for class_number in class_numbers
        ]
        return [
            FrameAnswer(wnid=wnid, name=wnid and self.names[wnid], similarity=x, right=ok)
            for wnid, x, ok in zip(wnids, similar, right, strict=True)
        ]

    def with_sequences(self) -> CdsResult:
        """Return the result with the scores of every sequence instead of their number."""
        return replace(self.result, sequences=list(self.sequences()))


def score(
    lines: Sequence[SequenceLine],
    predictions: FramePredictions,
    wordnet: WordNet,
    options: CdsScoringOptions | None = None,
    mapping: dict[str, list[str]] | None = None,
) -> CdsScores:
    """Return CDS of every sequence and classifier, B-CDS with a mapping, and every table.

    mapping: category → wnids that are right for it. Raises BadInput: a measure that CDS cannot
    use, a category or class that WordNet does not know (with its line), a category that the mapping
    lacks, a frame that the predictions lack.
    """
    options = options or CdsScoringOptions()
    _check(options)
    if not lines:
        raise BadInput("there are no sequences", cure="give sequences")
    starts, frames = _flat(lines, predictions)
    categories, category = np.unique([line.category for line in lines], return_inverse=True)
    frame_categories = np.repeat(category, np.diff(starts))
    meanings = Meanings(
        wordnet, lines, predictions, options.measure, options.convention, options.by
    )
    table = meanings.similarities(categories.tolist())
    instances = meanings.instances(categories.tolist())
    allowed = meanings.is_right(categories.tolist(), mapping) if mapping is not None else None
    similarities: dict[str, NDArray[np.float64]] = {}
    right: dict[str, NDArray[np.bool_]] = {}
    cds_of, b_cds_of = {}, {}
    for name in predictions.classifiers:
        answered = predictions.wnids[name][frames]
        was_asked = np.logical_and.reduceat(answered != NOT_ASKED, starts[:-1])
        similarities[name] = table[frame_categories, answered]
        cds_of[name] = np.where(was_asked, formulas.cds(similarities[name], starts), np.nan)
        if allowed is not None:
            right[name] = allowed[frame_categories, answered]
            b_cds_of[name] = np.where(was_asked, formulas.cds(right[name], starts), np.nan)
    apart = _apart(lines, cds_of, options)
    binary = (None, None) if allowed is None else (b_cds_of, right)
    tables, notes = tables_of(lines, starts, cds_of, binary[0], binary[1], options)
    return CdsScores(
        result=CdsResult(
            classifiers=list(predictions.classifiers),
            similarity=options.measure,
            convention=options.convention,
            by=options.by,
            bootstrap=CdsBootstrap(
                rounds=options.bootstrap, seed=options.seed, level=options.level
            ),
            mapping=mapping,
            images=len({line.image for line in lines}),
            objects=len({(line.image, line.object, line.category) for line in lines}),
            sequences=len(lines),
            few_objects=few_objects(lines) if options.bootstrap else [],
            notes=[*meanings.notes(allowed), *notes],
            category_names=meanings.categories(categories.tolist()),
            instances=instances or None,
            sure=apart.as_record(),
            tables=tables,
        ),
        lines=lines,
        predictions=predictions,
        names=meanings.names(),
        starts=starts,
        frames=frames,
        similarities=similarities,
        right=binary[1],
        cds=cds_of,
        b_cds=binary[0],
    )


def _apart(
    lines: Sequence[SequenceLine],
    cds_of: dict[str, NDArray[np.float64]],
    options: CdsScoringOptions,
) -> bands.ConfirmedOrder:
    """Return which machines differ significantly by the sign test over objects, lowest mean CDS
    first.

    An object counts for the machine with the lower mean CDS over its sequences. Objects that one of
    the two did not see, and equal means, do not count.
    """
    keys = [(line.category, line.image, line.object) for line in lines]
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    owner = np.array([number[key] for key in keys])
    counts = np.bincount(owner, minlength=len(number))
    means = {
        name: np.bincount(owner, values, len(number)) / counts
        for name, values in cds_of.items()
        if name not in options.people
    }
    # Classifiers that did not see all sequences of any object have no place in the order.
    means = {name: scores for name, scores in means.items() if not np.isnan(scores).all()}

    def is_apart(a: str, b: str) -> bool:
        lower, higher = (
            int((difference > TOLERANCE).sum())
            for difference in (means[b] - means[a], means[a] - means[b])
        )
        return lower > higher and mcnemar(lower, higher) <= 1 - options.level

    ranked = sorted(means, key=lambda name: (float(np.nanmean(means[name])), name))
    return bands.order(ranked, is_apart, options.level)


def _check(options: CdsScoringOptions) -> None:
    if options.measure not in MEASURES:
        raise BadInput(
            f"CDS needs similarities from 0 to 1, and {options.measure!r} has others",
            cure=f"take one of {', '.join(MEASURES)}",
        )
    for option, value, known in (
        ("convention", options.convention, CONVENTIONS),
        ("by", options.by, BY),
    ):
        if value not in known:
            raise BadInput(f"{option} is {value!r}", cure=f"take one of {', '.join(known)}")


def _flat(
    lines: Sequence[SequenceLine], predictions: FramePredictions
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where each sequence starts, (S + 1,), and the index of every frame in order, (Q,)."""
    starts = np.zeros(len(lines) + 1, np.int64)
    np.cumsum([len(line.frames) for line in lines], out=starts[1:])
    frames = np.empty(int(starts[-1]), np.int32)
    for line, start in zip(lines, starts.tolist(), strict=False):
        try:
            frames[start : start + len(line.frames)] = [
                predictions.frames[frame] for frame in line.frames
            ]
        except KeyError as missing:
            raise BadInput(
                f"the predictions lack the frame {missing.args[0]!r}",
                line=line.line,
                cure="give predictions that were made for these sequences",
            ) from None
    return starts, frames
