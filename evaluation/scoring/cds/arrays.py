"""Arrays of the scores of sequences, from which the tables are computed. No Django."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.cds.arrays import ScoreArrays
from evaluation.metrics.cds.formulas import BINS, cl_ratios
from evaluation.metrics.cds.histograms import Histograms
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import PART_SCHEMES
from evaluation.readers.sequences import SequenceLine

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Places:
    """Indices of S lines in the arrays: names along the axes, and (S,) indices."""

    categories: tuple[str, ...]
    part_schemes: tuple[str, ...]
    content_schemes: tuple[str, ...]
    objects: tuple[tuple[str, str, str], ...]
    owner: NDArray[np.int64]
    part: NDArray[np.int64]
    content: NDArray[np.int64]


def places(lines: Sequence[SequenceLine]) -> Places:
    """Return the indices: objects sorted by category, image and name; schemes in the paper's order.

    Other schemes follow by name. The order of the lines does not matter.
    """
    objects = sorted({(line.category, line.image, line.object) for line in lines})
    parts = _ordered((line.part_scheme for line in lines), PART_SCHEMES)
    contents = _ordered((line.content_scheme for line in lines), CONTENT_SCHEMES)
    numbers = [{name: i for i, name in enumerate(names)} for names in (objects, parts, contents)]
    each = [
        (
            numbers[0][line.category, line.image, line.object],
            numbers[1][line.part_scheme],
            numbers[2][line.content_scheme],
        )
        for line in lines
    ]
    owner, part, content = np.array(each, np.int64).T
    categories = tuple(sorted({category for category, _, _ in objects}))
    return Places(categories, parts, contents, tuple(objects), owner, part, content)


def _ordered(names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    present = set(names)
    return (*(name for name in known if name in present), *sorted(present - set(known)))


def scores(
    at: Places,
    starts: NDArray[np.int64],
    cds: dict[str, Floats],
    b_cds: dict[str, Floats] | None,
    right: dict[str, Flags] | None,
    people: Sequence[str],
) -> ScoreArrays:
    """Return the arrays of all classifiers; a score (S,) is NaN if a classifier was not asked.

    right: (Q,) per classifier. Machines are the classifiers that saw every sequence and are not
    people; if there are none, all classifiers.
    """
    names = tuple(cds)
    seen = {name: ~np.isnan(values) for name, values in cds.items()}
    machines = [i for i, name in enumerate(names) if seen[name].all() and name not in people]
    lengths, last = np.diff(starts), starts[1:] - 1

    def arrange(values: Iterable[NDArray[np.generic]], empty: float) -> NDArray[np.float64]:
        shape = (len(at.objects), len(at.part_schemes), len(at.content_schemes), len(names))
        array = np.full(shape, empty)
        for number, per_sequence in enumerate(values):
            array[at.owner, at.part, at.content, number] = per_sequence
        return array

    def count_array(values: Iterable[NDArray[np.generic]]) -> NDArray[np.int64]:
        return arrange(values, 0).astype(np.int64)

    wrong = last_wrong = None
    if right is not None:
        wrong = count_array(
            seen[n] * np.add.reduceat(~right[n], starts[:-1], dtype=int) for n in names
        )
        last_wrong = count_array(seen[n] & ~right[n][last] for n in names)
    category = [at.categories.index(category) for category, _, _ in at.objects]
    return ScoreArrays(
        categories=at.categories,
        part_schemes=at.part_schemes,
        content_schemes=at.content_schemes,
        classifiers=names,
        images=tuple(image for _, image, _ in at.objects),
        objects=tuple(name for _, _, name in at.objects),
        category=np.array(category, np.int64),
        cluster=_clusters(at.objects),
        machines=tuple(machines or range(len(names))),
        cds=arrange(cds.values(), np.nan),
        frames=count_array(seen[n] * lengths for n in names),
        b_cds=arrange(b_cds.values(), np.nan) if b_cds is not None else None,
        wrong=wrong,
        last_wrong=last_wrong,
    )


def _clusters(objects: Sequence[tuple[str, str, str]]) -> NDArray[np.int64]:
    """Return the index of each object's image within its category. The objects are sorted."""
    clusters, before, number = np.zeros(len(objects), np.int64), ("", ""), -1
    for index, (category, image, _) in enumerate(objects):
        if (category, image) != before:
            number = number + 1 if category == before[0] else 0
            before = (category, image)
        clusters[index] = number
    return clusters


def histograms(
    at: Places,
    lines: Sequence[SequenceLine],
    starts: NDArray[np.int64],
    right: dict[str, Flags] | None,
    cds: dict[str, Floats],
) -> Histograms:
    """Return every CL-ratio of sequences that were asked, and the parts of each object."""
    # Start with an empty array, so that concatenation never fails.
    owner, classifier, index, bins = ([np.zeros(0, np.int64)] for _ in range(4))
    for number, (name, flags) in enumerate((right or {}).items()):
        ratios = cl_ratios(flags, starts)
        answered = ~np.isnan(cds[name])[ratios.sequence]
        owner.append(at.owner[ratios.sequence[answered]])
        classifier.append(np.full(int(answered.sum()), number))
        index.append(ratios.index[answered])
        bins.append(ratios.bins[answered])
    presence = np.full(len(at.objects), -1)
    for object_index, line in zip(at.owner.tolist(), lines, strict=True):
        if line.parts is not None and line.present is not None:
            presence[object_index] = min(BINS * line.present // line.parts, BINS - 1)
    flat = [np.concatenate(part) for part in (owner, classifier, index, bins)]
    return Histograms(flat[0], flat[1], flat[2], flat[3], presence)
