"""Size, deformability, texture and kind of classes: their file, and figures by them.

Source: Russakovsky et al. (2015), §6.3.4. A class without its own values gets the mean of the
classes below it, as in the paper. No Django.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.detection.matched_bins import Bin, match
from evaluation.metrics.statistics import pearson
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.class_files import Labels
from labeling.csv_rows import rows
from labeling.files import BadInput
from labeling.records import Record

BINS = {
    "size": ("XS", "S", "M", "L", "XL"),
    "deformability": ("rigid", "deformable"),
    "texture": ("none", "low", "medium", "high"),
    "natural": ("man-made", "natural"),
}
LEVEL = 0.95
ONE_OBJECT = 1
MATCHING = (
    "of each bin the classes of largest scale are dropped until its mean scale is as close as can "
    "be to the least mean of a bin of five classes or more"
)


class Codes(NamedTuple):
    """Indices in BINS."""

    size: int
    deformability: int
    texture: int
    natural: int


@dataclass(kw_only=True)
class Matched(Record):
    """The classes of a bin that remain at equal scale, their means and interval."""

    classes: int
    scale: float | None
    value: float | None
    interval: list[float] | None


@dataclass(kw_only=True)
class PropertyBin(Record):
    """The classes of one value of a property. left_out: too few remain at equal scale."""

    bin: str
    classes: int
    scale: float | None
    value: float | None
    matched: Matched
    left_out: bool


@dataclass(kw_only=True)
class PropertyFigure(Record):
    """A row of Figure 14. scale_range: of the mean scales of its bins."""

    target_scale: float | None
    scale_range: list[float] | None
    bins: list[PropertyBin]


@dataclass(kw_only=True)
class Properties(Record):
    """Values by property. left_out: classes without scale, property or value."""

    classes: int
    left_out: int
    matching: str
    level: float
    figures: dict[str, PropertyFigure]
    correlations: dict[str, float | None]


def read_properties(path: Path, wordnet: WordNet) -> dict[int, Codes]:
    """Return synset → properties from `wnid,size,deformability,texture,natural` rows.

    Raises BadInput with the line for an unknown or duplicate class, an empty cell or an unknown
    word.
    """
    labels = Labels(wordnet)
    codes_of: dict[int, Codes] = {}
    for line, (wnid, *cells) in rows(path, ("wnid", *BINS)):
        synset = labels.synsets[labels(wnid, path, line)]
        if synset in codes_of:
            raise BadInput(f"{wnid} is repeated", path, line, "keep one row for a class")
        codes_of[synset] = Codes(
            *(_code(name, text, path, line) for name, text in zip(BINS, cells, strict=True))
        )
    if not codes_of:
        raise BadInput("there are no classes below the header", path, None, "add a row for each")
    return codes_of


def _code(name: str, text: str, path: Path, line: int) -> int:
    words = [word.lower() for word in BINS[name]]
    if text.strip().lower() not in words:
        actual = f"{text!r}" if text.strip() else "empty"
        cure = f"write one of {', '.join(BINS[name])}"
        raise BadInput(f"the {name} is {actual}", path, line, cure)
    return words.index(text.strip().lower())


def properties_of(
    classes: Mapping[str, int], known: Mapping[int, Codes], wordnet: WordNet
) -> tuple[dict[str, Codes], int]:
    """Return class → properties, and how many were taken from the classes below.

    classes: synset by name. Means are rounded to the nearest value, halves down. A class without
    its own values and without any below is left out.
    """
    below: dict[int, list[Codes]] = {}
    missing = set(classes.values()) - set(known)
    for synset, codes in known.items():
        for above in wordnet.ancestors(synset) & missing:
            below.setdefault(above, []).append(codes)
    properties, averaged = {}, 0
    for name, synset in classes.items():
        if synset in known:
            properties[name] = known[synset]
        elif synset in below:
            means = np.mean(below[synset], axis=0).tolist()
            properties[name] = Codes(*(math.ceil(mean - 0.5) for mean in means))
            averaged += 1
    return properties, averaged


def by_property(
    properties: Sequence[Codes],
    scales: NDArray[np.float64],
    values: NDArray[np.float64],
    generator: np.random.Generator,
    left_out: int = 0,
) -> Properties:
    """Return the bins of Figure 14, matched within each row of the figure.

    properties, scales, values: of C classes. Rows: one per property, deformability of man-made
    and natural classes, and no or low texture of both.
    """
    codes = np.array(properties, np.int64).reshape(-1, len(BINS))
    size, deformability, texture, natural = codes.T
    untextured = np.where(texture <= ONE_OBJECT, 2 * natural + texture, -1)
    rows_of = {
        "size": (size, list(BINS["size"])),
        "deformability": (deformability, list(BINS["deformability"])),
        "texture": (texture, list(BINS["texture"])),
        "natural": (natural, list(BINS["natural"])),
        "natural_deformability": (
            2 * natural + deformability,
            _both(BINS["natural"], BINS["deformability"]),
        ),
        "natural_texture": (untextured, _both(BINS["natural"], BINS["texture"][: ONE_OBJECT + 1])),
    }
    return Properties(
        classes=len(properties),
        left_out=left_out,
        matching=MATCHING,
        level=LEVEL,
        figures={
            name: _figure(bins, words, scales, values, generator)
            for name, (bins, words) in rows_of.items()
        },
        correlations={
            "deformability_natural": pearson(deformability, natural),
            "texture_natural": pearson(texture, natural),
        },
    )


def _both(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return [f"{a}, {b}" for a in first for b in second]


def _figure(
    bins: NDArray[np.int64],
    words: Sequence[str],
    scales: NDArray[np.float64],
    values: NDArray[np.float64],
    generator: np.random.Generator,
) -> PropertyFigure:
    target, figure_bins = match(bins, len(words), scales, values, LEVEL, generator)
    kept_scales = [figure_bin.kept_scale for figure_bin in figure_bins if figure_bin.interval]
    return PropertyFigure(
        target_scale=target,
        scale_range=[min(kept_scales), max(kept_scales)] if kept_scales else None,
        bins=[_row(word, figure_bin) for word, figure_bin in zip(words, figure_bins, strict=True)],
    )


def _row(word: str, figure_bin: Bin) -> PropertyBin:
    kept = figure_bin.interval is not None
    matched = Matched(
        classes=figure_bin.kept,
        scale=figure_bin.kept_scale,
        value=figure_bin.kept_value if kept else math.nan,
        interval=[figure_bin.interval.low, figure_bin.interval.high]
        if figure_bin.interval
        else None,
    )
    return PropertyBin(
        bin=word,
        classes=figure_bin.classes,
        scale=figure_bin.scale,
        value=figure_bin.value,
        matched=matched,
        left_out=not kept,
    )
