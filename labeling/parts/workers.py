"""Simplifying objects in several processes, if this process may start any. Pure.

Merging is most of an import's work and needs no database. Small imports, and workers that may not
start processes, run it in their own.
"""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from types import TracebackType

from labeling import processors
from labeling.errors import Refusal
from labeling.parts.model import PartedObject
from labeling.parts.simplifying import Simplified, simplified
from labeling.vocabulary.types import Category

# Below this, starting a process takes longer than the objects.
MIN_OBJECTS = 100
# Objects per task.
CHUNK = 10

Made = list[Simplified | Refusal]

_rules: tuple[dict[str, Category], float | None] = ({}, None)


class Simplifiers:
    """A pool of processes. categories, cap: arguments of simplified(); an object's category is a
    key already.
    """

    def __init__(self, categories: Sequence[Category], cap: float | None) -> None:
        self.rules = ({category.key: category for category in categories}, cap)
        self.pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Simplifiers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def submit(self, objects: list[PartedObject]) -> Callable[[], Made]:
        """Return a function that waits for the simplified objects, or errors, in order."""
        if self.pool is None and len(objects) >= MIN_OBJECTS and _processes() > 1:
            self.pool = ProcessPoolExecutor(
                _processes(),
                # Spawn: a fork would share the database's connection.
                multiprocessing.get_context("spawn"),
                initializer=_take_rules,
                initargs=self.rules,
            )
        if self.pool is None:
            return lambda: _made(objects, *self.rules)
        waiting: list[Future[Made]] = [
            self.pool.submit(_by_rules, objects[start : start + CHUNK])
            for start in range(0, len(objects), CHUNK)
        ]
        return lambda: [outcome for part in waiting for outcome in part.result()]


def _processes() -> int:
    """Return how many processes to use: one per processor; one if none may be started."""
    if multiprocessing.current_process().daemon:
        return 1
    return processors.count()


def _take_rules(categories: dict[str, Category], cap: float | None) -> None:
    global _rules
    _rules = (categories, cap)


def _by_rules(objects: list[PartedObject]) -> Made:
    return _made(objects, *_rules)


def _made(objects: list[PartedObject], categories: dict[str, Category], cap: float | None) -> Made:
    made: Made = []
    for parted in objects:
        try:
            made.append(simplified(parted, categories[parted.category], cap))
        except Refusal as refusal:
            made.append(refusal)
    return made
