"""Choose images from a pool of predictions and write selection.jsonl. No Django."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.mad.selection import (
    DENSE_LIMIT,
    Bounds,
    Levels,
    PairCandidates,
    PairReducer,
    SelectionRule,
    choose,
    count_just_below,
    survivors,
)
from evaluation.metrics.wordnet.distances import (
    WORDNET_DISTANCES,
    NoPlaceInHierarchy,
    distance_matrix,
)
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.image_lists import ImageList
from evaluation.readers.pools import PredictionPool
from evaluation.readers.selections import Meta, SelectionFile, SelectionLine
from evaluation.selection.distance_files import DistanceFile
from labeling.files import BadInput, StrPath, atomic_write

# The settings in words, for the command and the pages.
SETTINGS = {
    "top_k": "images per pair",
    "min_confidence": "minimum confidence of both classifiers",
    "max_per_label": "images of a pair with one label",
    "reserve": "further images of a pair, in reserve",
    "unique_pairs": "no two images of a pair with the same two labels",
}
DEFAULTS = {**vars(SelectionRule()), "distance": "weighted"}
Pair = tuple[str, str]
State = tuple[PairCandidates, Bounds]
# Called with the number or fraction of newly finished pairs.
Progress = Callable[[float], object]
# Images per stretch; all pairs read a stretch before the next one.
STRETCH = 1 << 22


@dataclass(frozen=True)
class SelectionSettings:
    """The settings of a selection, besides its input. distances: of the user's file `distance`."""

    rule: SelectionRule
    distance: str
    distances: DistanceFile | None = None

    def to_json(self) -> dict[str, object]:
        """Return the settings for the meta line, which settings_of reads."""
        sha256 = {"distance_sha256": self.distances.sha256} if self.distances else {}
        return asdict(self.rule) | {"distance": self.distance} | sha256

    def levels(self, classes: Sequence[str], wordnet: WordNet | None, file: StrPath) -> Levels:
        """Return the distances of the classes in `file` as levels. Raises BadInput for an unknown
        class.
        """
        if self.distances is not None:
            return Levels.of_matrix(self.distances.matrix(classes, file))
        return levels_of(classes, wordnet, self.distance, file)


def levels_of(
    pool_classes: Sequence[str], wordnet: WordNet | None, distance: str, file: StrPath
) -> Levels:
    """Return the distances of the classes as levels. Raises BadInput outside the hierarchy."""
    if distance not in WORDNET_DISTANCES:
        return Levels.of_matrix(1.0 - np.eye(len(pool_classes)))
    assert wordnet is not None
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


def pairs_in(meta: Meta) -> list[Pair]:
    """Return the pairs of a selection: all, or only those of the classifier that it adds."""
    return [pair for pair in pairs_of(meta.classifiers) if meta.added in (None, *pair)]


def reduce_pairs(
    pool: PredictionPool,
    pairs: Sequence[Pair],
    levels: Levels,
    rule: SelectionRule,
    *,
    images: int | None = None,
    stretch: int = STRETCH,
    threads: int = 1,
    device: str | None = None,
    progress: Progress = lambda done: None,
) -> Iterator[PairCandidates]:
    """Yield the candidates of each pair that any larger pool could choose, in the order of pairs.

    All pairs read one stretch of the pool, then the next, so each column is read once, even if the
    pool does not fit into memory: a stretch of S images and C classifiers takes 4 to 8 S · C bytes,
    0.8 GB for 50 with 16-bit values. Between stretches a pair's candidates and bounds are held,
    some kilobytes. images: images per stretch. device: a torch device to sort on; None indexes
    cells on the CPU where the table fits. progress: called with fractions of a pair, 1 in all for
    each.
    """
    images = len(pool.images) if images is None else images
    cuts = [slice(at, min(at + stretch, images)) for at in range(0, max(images, 1), stretch)]
    of_thread = threading.local()
    predictions = _predictions(pool, device)

    def reduce(pair: Pair, part: slice, before: "Future[State] | None") -> State:
        if not hasattr(of_thread, "reducer"):
            of_thread.reducer = _reducer(levels, rule, pool.images, device)
        a, b = (predictions(name, part) for name in pair)
        # Earlier stretches are done, or running in another thread since they started earlier.
        held, bounds = before.result() if before else (None, None)
        new: PairCandidates = of_thread.reducer.reduce(a, b, part, bounds, images - part.stop)
        held = PairCandidates.joined([held, new]) if held else new
        return survivors(held, levels, rule, pool.images)

    def submitted(workers: ThreadPoolExecutor) -> Iterator["Future[State]"]:
        latest: list[Future[State] | None] = [None] * len(pairs)
        for part in cuts:
            for number, pair in enumerate(pairs):
                future = workers.submit(reduce, pair, part, latest[number])
                latest[number] = future
                yield future

    with ThreadPoolExecutor(threads if device is None else 1) as workers:
        try:
            states = _results(submitted(workers), threads)
            for number, (candidates, _) in enumerate(states):
                progress(1 / len(cuts))
                if number >= len(pairs) * (len(cuts) - 1):
                    yield candidates
        finally:
            workers.shutdown(wait=False, cancel_futures=True)


def _results(futures: Iterator["Future[State]"], ahead: int) -> Iterator[State]:
    """Yield the results in order, starting only a few more than were consumed."""
    waiting: deque[Future[State]] = deque()
    for future in futures:
        waiting.append(future)
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _predictions(pool: PredictionPool, device: str | None) -> Callable[[str, slice], Any]:
    """Return a function from a classifier and a stretch to predictions for its reducer."""
    if device is None:
        return lambda name, part: pool.predictions[name]
    from evaluation.metrics.mad.sorting import UploadedStretch

    return UploadedStretch(pool.predictions, device).of


def _reducer(levels: Levels, rule: SelectionRule, images: ImageList, device: str | None) -> Any:
    cells = len(levels.of) ** 2 * rule.per_cell
    # The table counts a cell's images in 16 bits.
    if device is None and cells <= DENSE_LIMIT and rule.per_cell < 1 << 16:
        return PairReducer(levels, rule, images)
    from evaluation.metrics.mad.sorting import SortingReducer

    return SortingReducer(levels, rule, images, device or "cpu")


def select(
    pool: PredictionPool,
    pairs: Sequence[Pair],
    levels: Levels,
    rule: SelectionRule,
    *,
    threads: int = 1,
    device: str | None = None,
    progress: Progress = lambda done: None,
) -> Iterator[list[SelectionLine]]:
    """Yield the list of each pair, best first: the selection, then its reserve."""
    reduced = reduce_pairs(
        pool, pairs, levels, rule, threads=threads, device=device, progress=progress
    )
    yield from chosen_of(pool, pairs, levels, rule, reduced)


def chosen_of(
    pool: PredictionPool,
    pairs: Sequence[Pair],
    levels: Levels,
    rule: SelectionRule,
    reduced: Iterator[PairCandidates],
) -> Iterator[list[SelectionLine]]:
    """Yield the list of each pair, from its candidates."""
    for pair, candidates in zip(pairs, reduced, strict=True):
        selected = candidates.where(choose(candidates, levels, rule, pool.images))
        sure = np.stack([confidences_of(pool, name, selected.images) for name in pair], axis=1)
        yield lines_of(
            pair, pool.classes, selected, pool.images.take(selected.images), sure, levels
        )


def lines_of(
    pair: Pair,
    classes: Sequence[str],
    selected: PairCandidates,
    images: Sequence[bytes],
    confidences: NDArray[np.floating],
    levels: Levels,
) -> list[SelectionLine]:
    """Return the lines of a pair. selected: its images in their order; confidences: (n, 2)."""
    distances = levels.values[levels.of[selected.a, selected.b]]
    return [
        SelectionLine(pair, rank, image.decode(), (classes[a], classes[b]), (p, q), distance)
        for rank, (image, a, b, (p, q), distance) in enumerate(
            zip(
                images,
                selected.a.tolist(),
                selected.b.tolist(),
                confidences.tolist(),
                distances.tolist(),
                strict=True,
            ),
            start=1,
        )
    ]


def confidences_of(
    pool: PredictionPool, name: str, images: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return a classifier's confidences in these images, widened."""
    # Adding 0 turns −0.0 into 0.0.
    return pool.predictions[name].confidences[images].astype(np.float64) + 0.0


def write_selection(out: Path, meta: Meta, lists: Iterable[list[SelectionLine]]) -> Meta:
    """Write selection.jsonl atomically and return its meta line, with the counts."""
    whole = list(lists)
    sizes = [len(lines) for lines in whole]
    counts = {
        **(meta.counts if isinstance(meta.counts, dict) else {}),
        "pairs": len(whole),
        "selected": sum(min(size, meta.top_k) for size in sizes),
        "reserve": sum(max(0, size - meta.top_k) for size in sizes),
        "short_pairs": sum(size < meta.top_k for size in sizes),
    }
    selection = SelectionFile(
        replace(meta, counts=counts), [line for pair_lines in whole for line in pair_lines]
    )
    with atomic_write(out) as file:
        file.writelines(selection.text_lines())
    return selection.meta


def meta_of(
    pool: PredictionPool,
    settings: SelectionSettings,
    names: Sequence[str],
    order: str,
    wordnet: WordNet | None,
) -> Meta:
    """Return the meta line: every setting, the SHA-256 of each input, the counts.

    order: "sorted" or "given", which positions a classifier that joins later.
    """
    return Meta(
        classifiers=list(names),
        classifier_order=order,
        **settings.to_json(),  # type: ignore[arg-type]
        wordnet=wordnet and {"version": "3.0", "hierarchy_sha256": wordnet.sha256},
        inputs=dict(pool.sha256),
        counts={
            "images": pool.total,
            "classes": len(pool.classes),
            "classifiers": len(names),
        },
    )


def just_below(pool: PredictionPool, meta: Meta) -> int:
    """Return the number of confidences below the threshold by at most one step of float16."""
    assert meta.min_confidence is not None
    names = [meta.added] if meta.added else meta.classifiers
    return sum(
        count_just_below(pool.predictions[name].confidences, meta.min_confidence) for name in names
    )


def settings_of(meta: Mapping[str, Any]) -> SelectionSettings:
    """Return the settings in a meta line. Raises KeyError, TypeError or ValueError for a broken
    one.
    """
    return SelectionSettings(
        SelectionRule(**{name: meta[name] for name in SelectionRule.__annotations__}),
        meta["distance"],
    )
