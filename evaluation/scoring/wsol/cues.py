"""cues.csv: counts of patches by label, and the posteriors and ratios of each class.

No Django. The formulas are in evaluation.metrics.wsol.cues.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evaluation.metrics.wsol import cues as wsol_cues
from labeling.csv_rows import rows
from labeling.files import BadInput
from labeling.records import Record

COLUMNS = ("class", "cue", "region", "with_class", "without_class")
REGIONS = ("foreground", "background")
# More patches than any data set has; sums stay exact.
MAX_PATCHES = 10**15
# Per class: the result has every pair of a foreground and a background cue.
MAX_CUES = 1000


@dataclass(kw_only=True)
class CuePair(Record):
    """alpha is infinite if the background cue never occurs with the class, and NaN if neither does
    or a cue has no patches.
    """

    foreground: str
    background: str
    alpha: float


@dataclass(kw_only=True)
class ClassCues(Record):
    """Posteriors and ratios of the cues of a class. least_alpha ignores NaN; if well_posed, all
    other alphas are 1 or more.
    """

    well_posed: bool
    least_alpha: float
    posteriors: dict[str, float]
    alpha: list[CuePair]


@dataclass(kw_only=True)
class CuesResult(Record):
    """well_posed: the share of well-posed classes."""

    well_posed: float
    classes: dict[str, ClassCues]


@dataclass
class Cues:
    """The cues of one class, which of them belong to the object, and their patches.

    counts: of each cue, in images without and with the class.
    """

    names: list[str] = field(default_factory=list)
    foreground: list[bool] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)


def read_cues(path: Path) -> dict[str, Cues]:
    """Return class → its cues, from a CSV with the columns of COLUMNS.

    Raises BadInput with the line for an empty name, a region other than REGIONS, a count that is no
    whole number, a duplicate cue of a class, more than MAX_CUES per class; and for a class
    without a cue of one region.
    """
    classes: dict[str, Cues] = {}
    first: dict[tuple[str, str], int] = {}
    for line, cells in rows(path, COLUMNS, as_nfc=False):
        label, cue, region, *counts = (cell.strip() for cell in cells)
        if not label or not cue:
            raise BadInput("a name is empty", path, line, "name the class and the cue")
        if region not in REGIONS:
            raise BadInput(f"the region is {region!r}", path, line, f"write {' or '.join(REGIONS)}")
        if first.setdefault((label, cue), line) != line:
            raise BadInput(
                f"{cue} is already a cue of {label} in line {first[label, cue]}",
                path,
                line,
                "add their patches up in one row",
            )
        mine = classes.setdefault(label, Cues())
        if len(mine.names) == MAX_CUES:
            raise BadInput(
                f"{label} has more than {MAX_CUES:,} cues", path, line, "put alike cues together"
            )
        mine.names.append(cue)
        mine.foreground.append(region == "foreground")
        of_class, without = (_count(cell, path, line) for cell in counts)
        mine.counts.append((without, of_class))
    _check(classes, path)
    return classes


def _count(cell: str, path: Path, line: int) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < 20 and int(cell) <= MAX_PATCHES):
        raise BadInput(
            f"{cell!r} is not a number of patches",
            path,
            line,
            f"write whole numbers up to {MAX_PATCHES:,}",
        )
    return int(cell)


def _check(classes: dict[str, Cues], path: Path) -> None:
    if not classes:
        raise BadInput(
            "there are no rows below the header", path, None, f"add {','.join(COLUMNS)} rows"
        )
    for label, cues in classes.items():
        for at, region in enumerate(REGIONS):
            if (at == 0) not in cues.foreground:
                raise BadInput(f"{label} has no {region} cue", path, None, "add one")


def score(classes: dict[str, Cues]) -> CuesResult:
    by_class = {label: class_cues(cues) for label, cues in classes.items()}
    share = float(np.mean([row.well_posed for row in by_class.values()]))
    return CuesResult(well_posed=share, classes=by_class)


def class_cues(cues: Cues) -> ClassCues:
    counts, foreground = np.array(cues.counts), np.array(cues.foreground)
    ratios = wsol_cues.posterior_ratios(counts, foreground)
    names = np.array(cues.names)
    pairs = [
        CuePair(
            foreground=str(object_cue), background=str(background_cue), alpha=float(ratios[i, j])
        )
        for i, object_cue in enumerate(names[foreground])
        for j, background_cue in enumerate(names[~foreground])
    ]
    return ClassCues(
        well_posed=wsol_cues.well_posed(counts, foreground),
        least_alpha=least_alpha(cues),
        posteriors=dict(zip(cues.names, wsol_cues.posteriors(counts).tolist(), strict=True)),
        alpha=pairs,
    )


def least_alpha(cues: Cues) -> float:
    """Return the smallest α of a class, without the pairs of its cues; NaN if none is known."""
    ratios = wsol_cues.posterior_ratios(np.array(cues.counts), np.array(cues.foreground))
    known = ratios[~np.isnan(ratios)]
    return float(known.min()) if known.size else float("nan")
