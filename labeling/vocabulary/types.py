"""Vocabularies of parts. Pure, no Django.

A vocabulary lists the parts of each category, their names in other data sets, and which of those
pieces form one part (Sarvadevabhatla et al. 2016, Supplement A §2).
docs/reference/objects-and-parts.md has the format; `vocabulary_store.py` stores the versions of a
dataset.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from labeling import strict_yaml
from labeling.errors import Refusal
from labeling.json_text import canonical_sha256

FAULTS_SHOWN = 20
# PASCAL-Part numbers repeated parts of an object: wheel_1, wheel_2.
NUMBERED = re.compile(r"(.+)_(\d+)")


class VocabularyError(Refusal, ValueError):
    """An invalid vocabulary. found: the faults; faults: the same as sentences."""

    code = "bad_vocabulary"

    def __init__(self, faults: "str | Sequence[VocabularyFault]") -> None:
        self.found = (VocabularyFault((), faults),) if isinstance(faults, str) else tuple(faults)
        self.faults = tuple(str(fault) for fault in self.found)
        message = "\n".join(self.faults[:FAULTS_SHOWN])
        more = len(self.faults) - FAULTS_SHOWN
        super().__init__(message + (f"\nand {more} more" if more > 0 else ""), field="vocabulary")

    def at(self, lines: strict_yaml.Lines) -> "VocabularyError":
        """Return the error with the lines of the faults."""
        return VocabularyError([fault.at(lines) for fault in self.found])


@dataclass(frozen=True)
class VocabularyFault:
    """A fault and its cure. path: keys and list indices from 0. line: from 1, if known."""

    path: tuple[str | int, ...]
    message: str
    line: int | None = None
    position: str = ""

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        prefix = ", ".join(word for word in (line, self.position) if word)
        return f"{prefix}: {self.message}" if prefix else self.message

    def at(self, lines: strict_yaml.Lines) -> "VocabularyFault":
        near = (
            lines[self.path[:n]] for n in range(len(self.path), 0, -1) if self.path[:n] in lines
        )
        return VocabularyFault(self.path, self.message, next(near, None), self.position)


@dataclass(frozen=True)
class PartName:
    """A part of a category. key: 1 to 64 of a-z, 0-9, - and _.

    several: an object may have more than one. holes: its region may have holes. aliases: other
    names. merge: by instance ("left"), names in other data sets of the pieces of that instance.
    mirror: key of the part that is its reflection, often itself. holds: keys of parts that may lie
    on it, as eyes on a head; other parts must not overlap.
    """

    key: str
    name: str
    several: bool = False
    holes: bool = False
    guidance: str = ""
    aliases: tuple[str, ...] = ()
    merge: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mirror: str = ""
    holds: tuple[str, ...] = ()

    def sources(self) -> Iterator[tuple[str, str]]:
        """Yield (name, instance) of all names of this part."""
        yield self.key, ""
        yield self.name, ""
        for alias in self.aliases:
            yield alias, ""
        for instance, names in self.merge.items():
            for name in names:
                yield name, instance

    def content(self) -> dict[str, Any]:
        merge = {instance: list(names) for instance, names in self.merge.items()}
        content = {
            "key": self.key,
            "name": self.name,
            "several": self.several,
            "holes": self.holes,
            "guidance": self.guidance,
            "aliases": list(self.aliases),
            "merge": merge,
            "mirror": self.mirror,
            "holds": list(self.holds),
        }
        return {k: v for k, v in content.items() if v}


@dataclass(frozen=True)
class Category:
    """A category of objects with its parts in the order of asking. key: its wnid."""

    key: str
    name: str
    parts: tuple[PartName, ...]
    aliases: tuple[str, ...] = ()
    guidance: str = ""

    @functools.cached_property
    def _sources(self) -> dict[str, tuple[str, str]]:
        return {
            folded(name): (part.key, instance)
            for part in self.parts
            for name, instance in part.sources()
        }

    @functools.cached_property
    def by_key(self) -> dict[str, PartName]:
        return {part.key: part for part in self.parts}

    def part(self, key: str) -> PartName | None:
        return self.by_key.get(key)

    def part_of(self, source: str) -> tuple[str, str] | None:
        """Return (part key, instance) of a name in another data set; None for an unknown name.

        The instance is "" for a part without instances. A number at the end of a name also
        distinguishes instances. Case is ignored.

        >>> from labeling.vocabulary.reading import shipped
        >>> dog = shipped().category("dog")
        >>> dog.part_of("lfleg"), dog.part_of("head"), dog.part_of("wing")
        (('leg', 'left front'), ('head', ''), None)
        >>> train = shipped().category("train")
        >>> train.part_of("coach_2"), train.part_of("cleftside_2")
        (('coach', '2'), ('coach-side', 'left 2'))
        """
        name = folded(source)
        if name in self._sources:
            return self._sources[name]
        numbered = NUMBERED.fullmatch(name)
        if numbered is None or numbered[1] not in self._sources:
            return None
        key, instance = self._sources[numbered[1]]
        return key, f"{instance} {int(numbered[2])}".strip()

    def content(self) -> dict[str, Any]:
        content = {
            "key": self.key,
            "name": self.name,
            "aliases": list(self.aliases),
            "guidance": self.guidance,
            "parts": [part.content() for part in self.parts],
        }
        return {k: v for k, v in content.items() if v}


@dataclass(frozen=True)
class PartVocabulary:
    """A valid vocabulary. source: its origin, for people."""

    title: str
    categories: tuple[Category, ...]
    source: str = ""

    @functools.cached_property
    def _by_name(self) -> dict[str, Category]:
        return {
            folded(name): category
            for category in self.categories
            for name in (category.key, category.name, *category.aliases)
        }

    def category(self, name: str) -> Category | None:
        """Return the category by wnid, name or alias, ignoring case."""
        return self._by_name.get(folded(name))

    def content(self) -> dict[str, Any]:
        """Return the content of its file; `build(v.content())` equals the vocabulary."""
        content: dict[str, Any] = {"title": self.title}
        if self.source:
            content["source"] = self.source
        return content | {"categories": [category.content() for category in self.categories]}

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON of `content()`, in hex."""
        return canonical_sha256(self.content())

    def as_yaml(self) -> str:
        """Return a YAML text for `parse`."""
        return yaml.safe_dump(self.content(), sort_keys=False, allow_unicode=True, width=96)


def folded(name: str) -> str:
    """Return a name for comparisons: lower case, single spaces."""
    return " ".join(name.split()).casefold()
