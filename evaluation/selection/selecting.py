"""Selections as files: from a pool of predictions to selection.jsonl. Free of Django."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.mad.selection import (
    DENSE_LIMIT,
    Candidates,
    Levels,
    PairReducer,
    Rule,
    choose,
)
from evaluation.metrics.wordnet.distances import NoPlaceInHierarchy, distance_matrix
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.answers import file_sha256
from evaluation.readers.pools import ImageList, Pool, classifiers_in, read_classes, read_predictions
from evaluation.readers.selections import Line, Meta, SelectionFile
from labeling.files import BadInput, atomic_write

Pair = tuple[str, str]
# Called with how many pairs are done.
Progress = Callable[[int], object]


@dataclass(frozen=True)
class Settings:
    """What decides a selection, beside its input."""

    rule: Rule
    distance: str


def threads_here() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_pool(
    folder: Path,
    names: Sequence[str] | None,
    wordnet: WordNet,
    part: tuple[int, int] = (1, 1),
    threads: int = 1,
) -> Pool:
    """A predictions folder, checked, with the SHA-256 of each file read.

    names: classifiers in the order wanted, else all in the folder, sorted. part: (I, N): the values
    of the I-th of N stretches are checked, the files' shapes and all image ids always.
    Raises BadInput.
    """
    found = classifiers_in(folder)
    chosen = list(names) if names else found
    if len(chosen) < 2:
        raise BadInput(
            f"has predictions of {len(chosen)} classifiers, expected 2 or more",
            file=folder,
            cure="add NAME.labels.npy and NAME.confidences.npy for each classifier",
        )
    classes = read_classes(folder / "classes.txt", wordnet)
    with ThreadPoolExecutor(threads) as pool:
        listing = pool.submit(ImageList, folder / "images.txt")
        files = ["classes.txt", "images.txt"]
        files += [f"{name}.{kind}.npy" for name in chosen for kind in ("labels", "confidences")]
        present = [file for file in files if (folder / file).is_file()]
        hashes = [pool.submit(file_sha256, folder / file) for file in present]
        try:
            images = listing.result()
            stretch = part_of(len(images), *part)
            columns = [
                pool.submit(read_predictions, folder, name, len(images), len(classes), stretch)
                for name in chosen
            ]
            predictions = {
                name: column.result() for name, column in zip(chosen, columns, strict=True)
            }
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        sha256 = {file: digest.result() for file, digest in zip(present, hashes, strict=True)}
    return Pool(folder, classes, images, predictions, sha256)


def part_of(count: int, index: int, parts: int) -> slice:
    """The index-th (from 1) of so many nearly equal stretches of count images."""
    return slice(count * (index - 1) // parts, count * index // parts)


def levels_of(pool_classes: Sequence[str], wordnet: WordNet, distance: str, file: Path) -> Levels:
    """Distances of the classes as levels. Raises BadInput for a class outside the hierarchy."""
    places = [wordnet.index(wnid) for wnid in pool_classes]
    try:
        return Levels.of_matrix(distance_matrix(wordnet, places, distance))
    except NoPlaceInHierarchy as error:
        line = list(pool_classes).index(error.wnid) + 1
        raise BadInput(
            str(error), file, line, "use --distance zero-one, or another class"
        ) from error


def pairs_of(names: Sequence[str]) -> list[Pair]:
    return list(combinations(names, 2))


def reduce_pairs(
    pool: Pool,
    pairs: Sequence[Pair],
    levels: Levels,
    rule: Rule,
    *,
    part: slice | None = None,
    prune: bool = True,
    threads: int = 1,
    device: str | None = None,
) -> Iterator[Candidates]:
    """The candidates of each pair, in the order of pairs; a few pairs at a time are in memory.

    device: a torch device to sort on; None indexes cells on the CPU where the table fits.
    """
    part = slice(0, len(pool.images)) if part is None else part
    own = threading.local()

    def reduce(pair: Pair) -> Candidates:
        if not hasattr(own, "reducer"):
            own.reducer = _reducer(levels, rule, pool.images, prune, device)
        a, b = (pool.predictions[name] for name in pair)
        found: Candidates = own.reducer.reduce(a, b, part)
        return found

    with ThreadPoolExecutor(threads if device is None else 1) as workers:
        waiting = []
        rest = iter(pairs)
        try:
            for pair in rest:
                waiting.append(workers.submit(reduce, pair))
                if len(waiting) > threads:
                    yield waiting.pop(0).result()
            for future in waiting:
                yield future.result()
        finally:
            workers.shutdown(wait=False, cancel_futures=True)


def _reducer(levels: Levels, rule: Rule, images: ImageList, prune: bool, device: str | None) -> Any:
    cells = len(levels.of) ** 2 * rule.per_cell
    # The table counts a cell's images in 16 bits.
    if device is None and cells <= DENSE_LIMIT and rule.per_cell < 1 << 16:
        return PairReducer(levels, rule, images, prune)
    from evaluation.metrics.mad.sorting import SortingReducer

    return SortingReducer(levels, rule, images, prune, device or "cpu")


def select(
    pool: Pool,
    pairs: Sequence[Pair],
    levels: Levels,
    rule: Rule,
    *,
    threads: int = 1,
    device: str | None = None,
    progress: Progress = lambda done: None,
) -> Iterator[list[Line]]:
    """The list of each pair, best first: the selection, then its reserve."""
    reduced = reduce_pairs(pool, pairs, levels, rule, threads=threads, device=device)
    for lines in chosen_of(pool, pairs, levels, rule, reduced):
        yield lines
        progress(1)


def chosen_of(
    pool: Pool, pairs: Sequence[Pair], levels: Levels, rule: Rule, reduced: Iterator[Candidates]
) -> Iterator[list[Line]]:
    """The list of each pair, from its candidates."""
    for pair, candidates in zip(pairs, reduced, strict=True):
        found = candidates.where(choose(candidates, levels, rule, pool.images))
        sure = np.stack([confidences_of(pool, name, found.images) for name in pair], axis=1)
        yield lines_of(pair, pool.classes, found, pool.images.take(found.images), sure, levels)


def lines_of(
    pair: Pair,
    classes: Sequence[str],
    found: Candidates,
    images: Sequence[bytes],
    confidences: NDArray[np.floating],
    levels: Levels,
) -> list[Line]:
    """The lines of a pair. found: its images in their order; confidences: (n, 2)."""
    distances = levels.values[levels.of[found.a, found.b]]
    return [
        Line(pair, rank, image.decode(), (classes[a], classes[b]), (p, q), distance)
        for rank, (image, a, b, (p, q), distance) in enumerate(
            zip(
                images,
                found.a.tolist(),
                found.b.tolist(),
                confidences.tolist(),
                distances.tolist(),
                strict=True,
            ),
            start=1,
        )
    ]


def confidences_of(pool: Pool, name: str, images: NDArray[np.int64]) -> NDArray[np.float64]:
    """A classifier's confidences in these images, widened."""
    # Adding 0 turns −0.0 into 0.0.
    return pool.predictions[name].confidences[images].astype(np.float64) + 0.0


def write_selection(out: Path, meta: Meta, lists: Iterable[list[Line]]) -> Meta:
    """Writes selection.jsonl whole and returns its meta, with the counts."""
    whole = list(lists)
    sizes = [len(lines) for lines in whole]
    counts = {
        **(meta.counts if isinstance(meta.counts, dict) else {}),
        "pairs": len(whole),
        "selected": sum(min(size, meta.top_k) for size in sizes),
        "reserve": sum(max(0, size - meta.top_k) for size in sizes),
        "short_pairs": sum(size < meta.top_k for size in sizes),
    }
    selection = SelectionFile(replace(meta, counts=counts), [one for own in whole for one in own])
    with atomic_write(out) as file:
        file.writelines(selection.text_lines())
    return selection.meta


def meta_of(
    pool: Pool, settings: Settings, names: Sequence[str], order: str, wordnet: WordNet
) -> Meta:
    """The meta line: every setting, the SHA-256 of each input, the counts.

    order: "sorted" or "given", so that a classifier that joins later finds its place.
    """
    return Meta(
        classifiers=list(names),
        classifier_order=order,
        **asdict(settings.rule),
        distance=settings.distance,
        wordnet={"version": "3.0", "hierarchy_sha256": wordnet.sha256},
        inputs=dict(pool.sha256),
        counts={
            "images": len(pool.images),
            "classes": len(pool.classes),
            "classifiers": len(names),
        },
    )


def settings_of(meta: Mapping[str, Any]) -> Settings:
    """The settings in a meta line. Raises KeyError, TypeError or ValueError for a broken one."""
    return Settings(Rule(**{name: meta[name] for name in Rule.__annotations__}), meta["distance"])
