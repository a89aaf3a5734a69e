"""The nouns of WordNet 3.0, read from its own files.

`load()` returns this machine's WordNet; it reads `data.noun` in a fraction of a second, and glosses
and lemmas on demand. Distances are in distances.py.
"""

import functools
import hashlib
import mmap
import os
import re
from bisect import bisect_left
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Hash of offsets and hypernym links only: Debian's build numbers verbs and adjectives differently
# from Princeton's. So data.noun exists in two versions with the same noun hierarchy.
HIERARCHY_3_0 = "6e9640dbcb3de61fa7739705543f783314473a4d367901f9fb9337104144fbff"
CURE = "run make setup, or set ASSAY_WORDNET to a folder with WordNet 3.0's data.noun"
WNID = re.compile(r"n\d{8}")
SENSE = re.compile(r"(.+)\.n\.(\d{1,3})")
ROOT = "n00001740"


class WordNetMissing(ValueError):
    """WordNet 3.0 was not found, or it is another version; `cure` says what to do."""

    cure = CURE

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(f"{message}; {CURE}")


class UnknownLabel(ValueError):
    """A label that names no noun synset of WordNet 3.0, or more than one.

    candidates: (wnid, name, gloss) of possible meanings; may be empty.
    """

    def __init__(self, label: str, candidates: list[tuple[str, str, str]]) -> None:
        self.label, self.candidates = label, candidates
        if candidates:
            meanings = ", ".join(
                f"{wnid} ({name}: {_short(gloss)})" for wnid, name, gloss in candidates
            )
            super().__init__(f"{label!r} has several meanings: {meanings}")
        else:
            super().__init__(f"{label!r} is not a noun synset of WordNet 3.0")


@dataclass(frozen=True)
class Synset:
    """One meaning: `lemmas` in WordNet's order with spaces, the gloss without its examples."""

    wnid: str
    name: str
    lemmas: tuple[str, ...]
    gloss: str
    examples: tuple[str, ...]


class WordNet:
    """The noun hierarchy: synsets are indexed 0 … N − 1 in the order of their wnids.

    offsets: (N,) int32, the number in each wnid. up_start: (N + 1,) and up: hypernyms (`@` only,
    without instance links) of i are `up[up_start[i]:up_start[i + 1]]`. depth: (N,) int16, fewest
    edges up to entity, −1 if entity is not reached (instances: Paris, Einstein).
    Similarities also follow instance links (`@i`): parents().
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._data = _mapped(self.folder / "data.noun")
        self._starts, self.offsets = _line_starts(self._data)
        self.up_start, self.up = _links_up(self._data, self._starts, self.offsets)
        self.sha256 = _hierarchy_hash(self.offsets, self.up_start, self.up)
        if self.sha256 != HIERARCHY_3_0:
            raise WordNetMissing(f"{self.folder}: data.noun is not WordNet 3.0")
        self.down_start, self.down = _reversed_links(self.up_start, self.up)
        self.depth = self._depths()

    def __len__(self) -> int:
        return len(self.offsets)

    def index(self, wnid: str) -> int:
        """Return the index of a synset. Raises UnknownLabel for anything but a noun wnid of 3.0."""
        if WNID.fullmatch(wnid):
            offset = int(wnid[1:])
            position = int(np.searchsorted(self.offsets, offset))
            if position < len(self) and self.offsets[position] == offset:
                return position
        raise UnknownLabel(wnid, [])

    def wnid(self, index: int) -> str:
        return f"n{self.offsets[index]:08d}"

    def hypernyms(self, index: int) -> list[int]:
        return self.up[self.up_start[index] : self.up_start[index + 1]].tolist()

    def parents(self, index: int) -> list[int]:
        """Return the hypernyms, and the classes that a synset is an instance of, in WordNet's
        order.
        """
        start, up = self.links_up
        return up[start[index] : start[index + 1]].tolist()

    def is_instance(self, index: int) -> bool:
        """Return whether a synset is an instance in WordNet (Paris), or below one (Blighty)."""
        start, _ = self.links_up
        hypernym_count = self.up_start[index + 1] - self.up_start[index]
        return bool(self.depth[index] < 0 or start[index + 1] - start[index] > hypernym_count)

    @functools.cached_property
    def links_up(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return up_start and up with instance links (`@i`): every noun then reaches entity."""
        return _links_up(self._data, self._starts, self.offsets, instances=True)

    def hyponyms(self, index: int) -> list[int]:
        return self.down[self.down_start[index] : self.down_start[index + 1]].tolist()

    def root_paths(self, index: int) -> list[tuple[int, ...]]:
        """Return every path from entity down to a synset, both included; none for an instance."""
        if self.offsets[index] == int(ROOT[1:]):
            return [(index,)]
        return [
            (*path, index) for parent in self.hypernyms(index) for path in self.root_paths(parent)
        ]

    def ancestors(self, index: int, instances: bool = False) -> set[int]:
        """Return a synset and everything above it. instances: over instance links as well."""
        above = self.parents if instances else self.hypernyms
        reached, rest = {index}, [index]
        while rest:
            new = [parent for parent in above(rest.pop()) if parent not in reached]
            reached.update(new)
            rest.extend(new)
        return reached

    @functools.cached_property
    def heights(self) -> NDArray[np.int16]:
        """Return (N,) the longest path down to a leaf, in edges; 0 for a leaf."""
        height = np.zeros(len(self), np.int16)
        # Peel off leaves: a synset is done when all below it are.
        waiting = np.diff(self.down_start)
        ready = np.flatnonzero(waiting == 0).tolist()
        while ready:
            child = ready.pop()
            for parent in self.hypernyms(child):
                height[parent] = max(height[parent], height[child] + 1)
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    ready.append(parent)
        return height

    def ancestor_height(self, a: int, b: int) -> int:
        """Return the hierarchical error of b for a: the lowest height of a common ancestor; 0 if a
        = b.

        Heights are those of the whole of WordNet. Source: ILSVRC 2010's hierarchical error.
        Raises ValueError if the two share no ancestor.
        """
        if a == b:
            return 0
        common = self.ancestors(a) & self.ancestors(b)
        if not common:
            raise ValueError(f"{self.wnid(a)} and {self.wnid(b)} share no ancestor")
        return min(int(self.heights[i]) for i in common)

    def synset(self, index: int) -> Synset:
        """Return lemmas, gloss and examples of a synset, read from its line."""
        text, *rest = self._line(index)[1].split('; "')
        return Synset(
            wnid=self.wnid(index),
            name=self.name(index),
            lemmas=self.lemmas(index),
            gloss=text.strip(),
            examples=tuple(part.strip().strip('"') for part in rest),
        )

    def lemmas(self, index: int) -> tuple[str, ...]:
        """Return the words of a synset with spaces; faster than names for many synsets."""
        return tuple(lemma.replace("_", " ") for lemma in self._line(index)[0])

    def name(self, index: int) -> str:
        """Return the first lemma with its sense number: dog.n.01."""
        lemma = self._line(index)[0][0].lower()
        sense = self._senses(lemma).index(int(self.offsets[index])) + 1
        return f"{lemma}.n.{sense:02d}"

    def find(self, label: str) -> int:
        """Return the synset of `n02084071`, `dog.n.01` or a lemma with one noun sense.

        Raises UnknownLabel with the candidates for a lemma of several senses or of none.
        """
        text = label.strip()
        if WNID.fullmatch(text):
            return self.index(text)
        numbered = SENSE.fullmatch(text)
        lemma = _lemma(numbered[1] if numbered else text)
        senses = [int(np.searchsorted(self.offsets, offset)) for offset in self._senses(lemma)]
        if numbered and 1 <= int(numbered[2]) <= len(senses):
            return senses[int(numbered[2]) - 1]
        if len(senses) == 1 and not numbered:
            return senses[0]
        synsets = [self.synset(i) for i in senses]
        raise UnknownLabel(label, [(s.wnid, s.name, s.gloss) for s in synsets])

    def first_sense(self, word: str) -> int:
        """Return WordNet's first synset of a noun. Raises UnknownLabel for no noun."""
        senses = self._senses(_lemma(word))
        if not senses:
            raise UnknownLabel(word, [])
        return int(np.searchsorted(self.offsets, senses[0]))

    def sense_keys(self) -> dict[str, int]:
        """Return every sense key of WordNet's lists of counts, `dog%1:05:00::`, with its synset."""
        keys = {}
        for index, start in enumerate(self._starts.tolist()):
            words = self._data[start : self._data.find(b" | ", start)].decode().split(" ")
            end = 4 + 2 * int(words[3], 16)
            for lemma, number in zip(words[4:end:2], words[5:end:2], strict=True):
                keys[f"{lemma.lower()}%1:{words[1]}:{int(number, 16):02d}::"] = index
        return keys

    def first_lemma(self, index: int) -> str:
        """Return the first word of a synset, with spaces."""
        return self._line(index)[0][0].replace("_", " ")

    def gloss(self, index: int) -> str:
        """Return the definition of a synset without its examples."""
        return self._line(index)[1].split('; "')[0].strip()

    def linked(self, index: int, symbols: Container[str]) -> list[int]:
        """Return the nouns that a synset links to by a pointer symbol, in order."""
        start = int(self._starts[index])
        words = self._data[start : self._data.find(b" | ", start)].decode().split(" ")
        first = 4 + 2 * int(words[3], 16)
        pointers = words[first + 1 : first + 1 + 4 * int(words[first])]
        offsets = [
            int(offset)
            for symbol, offset, kind in zip(
                pointers[::4], pointers[1::4], pointers[2::4], strict=True
            )
            if symbol in symbols and kind == "n"
        ]
        targets: list[int] = np.searchsorted(self.offsets, offsets).tolist()
        return targets

    @functools.cached_property
    def _index(self) -> mmap.mmap:
        return _mapped(self.folder / "index.noun")

    def _senses(self, lemma: str) -> list[int]:
        """Return the offsets of a lemma's noun senses in WordNet's order."""
        word = lemma.encode() + b" "
        # Lines are sorted by bytes; those of the licence begin with blanks and come first.
        start = bisect_left(range(len(self._index)), word, key=self._line_after)
        line = self._line_after(start)
        return _sense_offsets(line) if lemma and line.startswith(word) else []

    def _line_after(self, offset: int) -> bytes:
        """Return the first index line that starts after a byte offset; past the last, byte 255."""
        start = self._index.find(b"\n", offset) + 1
        return self._index[start : self._index.find(b"\n", start)] or b"\xff"

    def _line(self, index: int) -> tuple[list[str], str]:
        start = int(self._starts[index])
        head, gloss = self._data[start : self._data.find(b"\n", start)].decode().split(" | ", 1)
        words = head.split(" ")
        # offset, file, "n", number of words in hex, then each word and its lexical id.
        return words[4 : 4 + 2 * int(words[3], 16) : 2], gloss.strip()

    def _depths(self) -> NDArray[np.int16]:
        depth = np.full(len(self), -1, np.int16)
        level = [self.index(ROOT)]
        depth[level] = 0
        while level:
            below = {child for i in level for child in self.hyponyms(i) if depth[child] < 0}
            depth[list(below)] = depth[level[0]] + 1
            level = list(below)
        return depth


def folders() -> list[Path]:
    """Return the folders to search for WordNet, in order."""
    configured = os.environ.get("ASSAY_WORDNET")
    if configured:
        # An explicit folder is the only one tried.
        return [Path(configured), Path(configured) / "dict"]
    project = Path(os.environ.get("ASSAY_DATA") or Path(__file__).resolve().parents[3] / "var")
    nltk = [
        Path.home() / "nltk_data",
        Path("/usr/share/nltk_data"),
        Path("/usr/local/share/nltk_data"),
    ]
    return [
        project / "wordnet",
        Path(__file__).resolve().parents[3] / "var" / "wordnet",
        Path("/usr/share/wordnet"),
        *(folder / "corpora" / "wordnet" for folder in nltk),
    ]


@functools.lru_cache(maxsize=4)
def _read(folder: Path) -> WordNet:
    return WordNet(folder)


def load() -> WordNet:
    """Return this machine's WordNet 3.0, read once per process. Raises WordNetMissing."""
    for folder in folders():
        if (folder / "data.noun").is_file():
            return _read(folder)
    tried = ", ".join(str(folder) for folder in folders())
    raise WordNetMissing(f"WordNet 3.0 was not found in {tried}")


def load_or_none() -> WordNet | None:
    """Return this machine's WordNet 3.0, or None."""
    try:
        return load()
    except WordNetMissing:
        return None


def _mapped(path: Path) -> mmap.mmap:
    try:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise WordNetMissing(f"{path} cannot be read ({error})") from error


def _line_starts(data: mmap.mmap) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where each synset's line begins, and the number of its wnid."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else np.zeros(0, np.int64)
    # The licence at the top is indented by two blanks.
    starts = starts[text[starts] != ord(" ")]
    if len(starts) == 0 or len(text) - starts[-1] < 8:
        raise WordNetMissing("data.noun holds no synsets")
    return starts, _eight_digits(text, starts)


def _eight_digits(text: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int32]:
    digits = text[places[:, None] + np.arange(8)].astype(np.int32) - ord("0")
    return (digits @ (10 ** np.arange(7, -1, -1))).astype(np.int32)


def _links_up(
    data: mmap.mmap,
    starts: NDArray[np.int64],
    offsets: NDArray[np.int32],
    instances: bool = False,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return links `@ OFFSET n 0000` of every line, except those in the text of a gloss.

    instances: links `@i OFFSET n 0000` as well.
    """
    text = np.frombuffer(data, np.uint8)
    at = np.flatnonzero(text == ord("@"))
    at = at[(at > starts[0]) & (at + 12 < len(text)) & (text[at - 1] == ord(" "))]
    if instances:
        # After `@i` the offset is one position further.
        at = at + (text[at + 1] == ord("i"))
    at = at[text[at + 1] == ord(" ")]
    owner = np.searchsorted(starts, at, "right") - 1
    bars = np.flatnonzero(text == ord("|"))
    gloss = bars[np.searchsorted(bars, starts[owner])]
    at, owner = at[at < gloss], owner[at < gloss]
    parents = np.searchsorted(offsets, _eight_digits(text, at + 2)).astype(np.int32)
    counts = np.bincount(owner, minlength=len(starts))
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), parents


def _reversed_links(
    start: NDArray[np.int32], up: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    children = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    order = np.argsort(up, kind="stable")
    counts = np.bincount(up, minlength=len(start) - 1)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), children[order]


def _hierarchy_hash(*arrays: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype("<i4").tobytes())
    return digest.hexdigest()


def _sense_offsets(line: bytes) -> list[int]:
    # lemma pos senses pointers [pointer …] senses tagged offset …
    words = line.split()
    return [int(word) for word in words[len(words) - int(words[2]) :]]


def _lemma(text: str) -> str:
    return "_".join(text.strip().lower().split())


def _short(gloss: str) -> str:
    return gloss if len(gloss) <= 60 else gloss[:57].rstrip() + "…"
