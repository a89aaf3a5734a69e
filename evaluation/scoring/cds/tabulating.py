"""Computes every table of a CDS benchmark from the scores of sequences, with notes. No Django."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.cds import arrays as cs
from evaluation.metrics.cds import captchas as cds_captchas
from evaluation.metrics.cds import hardness, histograms
from evaluation.metrics.cds.arrays import Counts, ScoreArrays
from evaluation.metrics.cds.statistics import Found, resampled, statistics
from evaluation.metrics.cds.tables import MIN_SCHEMES, Tables
from evaluation.readers.sequences import SequenceLine
from evaluation.scoring.cds import arrays
from evaluation.scoring.cds.result import CdsScoringOptions, CdsTables

# With fewer objects a category's interval is unreliable.
MIN_OBJECTS = 5
MAX_LISTED = 5
Floats = NDArray[np.float64]


def tables_of(
    lines: Sequence[SequenceLine],
    starts: NDArray[np.int64],
    cds: dict[str, Floats],
    b_cds: dict[str, Floats] | None,
    right: dict[str, NDArray[np.bool_]] | None,
    options: CdsScoringOptions,
) -> tuple[CdsTables, list[str]]:
    """Return every table, and notes on what they lack."""
    rounds, seed, level = options.bootstrap, options.seed, options.level
    at = arrays.places(lines)
    scores = arrays.scores(at, starts, cds, b_cds, right, options.people)
    counted = arrays.histograms(at, lines, starts, right, cds)

    def everything(weights: Counts) -> Found:
        return statistics(scores, weights) | counted.counts(scores, weights)

    point = everything(cs.once(scores))
    drawn = resampled(everything, scores, rounds, seed)
    tables = Tables(scores, point, drawn, level)
    hard = hardness.hardness(scores, rounds, seed, level)
    sequences = (
        cds_captchas.Sequence(owner, line.part_scheme, line.content_scheme, line.frames)
        for owner, line in zip(at.owner.tolist(), lines, strict=True)
    )
    candidates = cds_captchas.candidates(scores, hard, sequences)
    cds_tables = CdsTables(
        error=list(tables.error()),
        by_content_scheme=list(tables.by_content_scheme()),
        by_part_scheme=list(tables.by_part_scheme()),
        best_and_worst=list(tables.best_and_worst()),
        error_correlation=list(tables.error_correlation()),
        cl_ratio=list(histograms.cl_rows(scores, point, drawn, level)),
        hardness=list(hardness.rows(scores, hard)),
        part_presence=list(histograms.presence_rows(scores, point, drawn, level)),
        captchas=candidates[: options.captchas],
    )
    notes = _notes(scores, lines, cds, right is not None, rounds)
    if len(candidates) > options.captchas:
        limit_text = f"of {len(candidates)} sequences the {options.captchas} hardest are listed"
        notes.append(f"CAPTCHA candidates: {limit_text}")
    return cds_tables, notes


def few_objects(lines: Sequence[SequenceLine]) -> list[str]:
    """Return the categories with too few objects for resampling, sorted."""
    known = Counter(category for category, _, _ in {(x.category, x.image, x.object) for x in lines})
    return sorted(category for category, count in known.items() if count < MIN_OBJECTS)


def _notes(
    scores: ScoreArrays,
    lines: Sequence[SequenceLine],
    cds: dict[str, Floats],
    mapped: bool,
    rounds: int,
) -> list[str]:
    notes = []
    combinations = scores.cds.shape[1] * scores.cds.shape[2]
    if len(lines) != len(scores.images) * combinations:
        notes.append(
            f"{len(lines)} of {len(scores.images) * combinations} sequences are there: not every "
            "object has every part scheme with every content scheme; averages take what there is"
        )
    for name, values in cds.items():
        answered = int((~np.isnan(values)).sum())
        if answered < len(lines):
            notes.append(
                f"{name} saw {answered} of {len(lines)} sequences: it is in the tables by scheme,"
                " and not compared in the others"
            )
    if not mapped:
        notes.append(
            "without a mapping there is no B-CDS, no error, no correlation with it and no CL-ratio"
        )
    elif len(scores.content_schemes) < MIN_SCHEMES:
        notes.append(
            f"a correlation with error needs {MIN_SCHEMES} content schemes, and there are "
            f"{len(scores.content_schemes)}"
        )
    if rounds and (few := few_objects(lines)):
        names = ", ".join(few[:MAX_LISTED]) + (" …" if len(few) > MAX_LISTED else "")
        notes.append(
            f"fewer than {MIN_OBJECTS} objects of {names}: intervals draw objects within their "
            "category, and so few hardly differ from draw to draw"
        )
    if all(line.parts is None for line in lines):
        notes.append("the sequences do not say how many parts objects have: no part presence")
    return notes
