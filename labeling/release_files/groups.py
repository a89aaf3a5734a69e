"""Lines of a release's files by image. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Generic, TypeVar

L = TypeVar("L", bound=Mapping[str, object])


class Groups(Generic[L]):
    """Lines by image, read in step with the images; lines of missing images are skipped."""

    def __init__(self, lines: Iterable[L]) -> None:
        self.groups: Iterator[tuple[str, Iterator[L]]] = groupby(lines, itemgetter("image"))
        self.name: str | None = None
        self.lines: list[L] = []

    def of(self, name: str) -> list[L]:
        # Code points order as UTF-8 bytes do, by which the files are sorted.
        while self.name is None or self.name < name:
            group = next(self.groups, None)
            if group is None:
                return []
            self.name, self.lines = group[0], list(group[1])
        return self.lines if self.name == name else []
