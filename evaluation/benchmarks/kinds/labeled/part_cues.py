"""Rows of the page: whether parts of a class can be told from other parts (wsol)."""

import math
from dataclasses import dataclass

import numpy as np

from evaluation.benchmarks.kinds.labeled import class_names, paths
from evaluation.benchmarks.kinds.labeled.truth.part_cues import CUES
from evaluation.metrics.wsol import cues as wsol_cues
from evaluation.models import Benchmark
from evaluation.scoring.wsol.cues import Cues, least_alpha, read_cues


@dataclass(frozen=True)
class CueShare:
    """A part with p(class | part) and the number of its drawings."""

    name: str
    share: float
    drawings: int


@dataclass(frozen=True)
class ClassSeparability:
    """regions: parts of the class, and other parts, the highest share first."""

    name: str
    least_alpha: float
    well_posed: bool
    regions: tuple[list[CueShare], list[CueShare]]

    @property
    def is_infinite(self) -> bool:
        return math.isinf(self.least_alpha)


def rows_of(row: Benchmark) -> list[ClassSeparability]:
    """Return a row per class of the opening's cues.csv; none where there is no such file."""
    path = paths.truth_folder(row) / CUES
    if not path.is_file():
        return []
    name = class_names.namer(row)
    rows = []
    for key, cues in read_cues(path).items():
        counts, foreground = np.array(cues.counts), np.array(cues.foreground)
        separable = wsol_cues.well_posed(counts, foreground)
        shares = wsol_cues.posteriors(counts).tolist()
        regions = (_shares(cues, shares, True), _shares(cues, shares, False))
        rows.append(ClassSeparability(name(key), least_alpha(cues), separable, regions))
    return rows


def _shares(cues: Cues, posteriors: list[float], of_class: bool) -> list[CueShare]:
    columns = (cues.names, cues.foreground, cues.counts, posteriors)
    shares = [
        CueShare(cue, posterior, without + within)
        for cue, is_of_class, (without, within), posterior in zip(*columns, strict=True)
        if is_of_class == of_class and without + within
    ]
    return sorted(shares, key=lambda share: -share.share)
