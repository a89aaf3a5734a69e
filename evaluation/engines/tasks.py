"""Tasks: calls of a module-level function with JSON arguments; each result is one stored object."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

from evaluation.engines.store import Store
from labeling import processors
from labeling.json_text import canonical_sha256

Item = TypeVar("Item")


class TaskFunction(Protocol):
    """A function marked by `task`: results also depend on its version and libraries."""

    __module__: str
    __qualname__: str
    version: int
    libraries: tuple[str, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> bytes: ...


def task(version: int, libraries: tuple[str, ...] = ()) -> Callable[[Callable[..., bytes]], Any]:
    """Mark a module-level function as one that tasks may call.

    version: increase it whenever a change of the code changes the bytes of a result. libraries:
    names of libraries, such as torch, whose version may change the bytes too.
    """

    def mark(function: Callable[..., bytes]) -> Callable[..., bytes]:
        function.version = version  # type: ignore[attr-defined]
        function.libraries = libraries  # type: ignore[attr-defined]
        return function

    return mark


@dataclass(frozen=True)
class Task:
    """A call of a function that `task` marked.

    arguments: JSON with everything that the result depends on, such as the SHA-256 of its inputs.
    locations: arguments that locate the inputs; they do not affect the result or the key. gpus:
    number of GPUs that the task takes on a cluster.
    """

    function: str
    arguments: Mapping[str, Any]
    locations: Mapping[str, Any] = field(default_factory=dict)
    gpus: float = 0

    @classmethod
    def of(
        cls,
        function: TaskFunction,
        arguments: Mapping[str, Any],
        gpus: float = 0,
        **locations: Any,
    ) -> "Task":
        """Return the task that calls this function."""
        return cls(f"{function.__module__}:{function.__qualname__}", arguments, locations, gpus)

    @cached_property
    def key(self) -> str:
        """Return `NAME/HASH` of the function, its version, the versions of libraries, and the
        arguments.
        """
        function = self._function()
        identity = {
            "function": self.function,
            "version": function.version,
            "libraries": {name: _version_of(name) for name in function.libraries},
            "arguments": self.arguments,
        }
        name = self.function.rpartition(":")[2]
        return f"{name}/{canonical_sha256(identity)}"

    def make(self, store: Store) -> None:
        """Put the task's object into the store, unless it is there."""
        if not store.has(self.key):
            store.put(self.key, self._function()(**self.arguments, **self.locations))

    def _function(self) -> TaskFunction:
        module, _, name = self.function.partition(":")
        function: TaskFunction = getattr(importlib.import_module(module), name)
        return function


def map_in_tasks(
    function: TaskFunction,
    items: Sequence[Item],
    key_of: Callable[[Item], Mapping[str, Any]],
    locations_of: Callable[[Item], Mapping[str, Any]],
    gpus: float = 0,
) -> list[Task]:
    """Return one task per item that calls `function`, in the order of the items.

    key_of: the arguments that the result depends on; called in threads, because it may hash files.
    locations_of: the other arguments.
    """
    with ThreadPoolExecutor(processors.count()) as pool:
        arguments = list(pool.map(key_of, items))
    return [
        Task.of(function, item_arguments, gpus, **locations_of(item))
        for item, item_arguments in zip(items, arguments, strict=True)
    ]


def split(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Return the items in parts of `size`; the last part may be shorter.

    >>> split("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [items[start : start + size] for start in range(0, len(items), size)]


def _version_of(library: str) -> str:
    from importlib.metadata import version

    return version(library)
