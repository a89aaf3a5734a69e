"""Similarity of two classes as computed by the nltk package, from the same files of WordNet 3.0.

nltk is slow (one pair at a time), so this is for comparison with results that others published. It
is imported only when needed. docs/reference/similarity.md says how it differs from ours.
"""

import functools
import io
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from evaluation.metrics.wordnet import similarity
from evaluation.metrics.wordnet.nouns import WordNet

CONVENTION = "nltk"
MEASURES = ("wup", "path", "lch", *similarity.BY_CONTENT)
# Counts by part of speech and offset; offset 0 has the total.
Contents = Mapping[str, Mapping[int, float]]
# nltk searches all nouns for it, which takes 5 s; for WordNet 3.0 the value is fixed.
MAX_DEPTH_OF_NOUNS = 19


class NltkValue(NamedTuple):
    """value: None if nltk divides by zero: lin of two classes without information content.
    ancestor: index of the synset at which the value was read; −1 for none.
    """

    value: float | None
    ancestor: int


def compare(
    wordnet: WordNet, first: int, second: int, measure: str, contents: Contents | None = None
) -> NltkValue:
    """Return the similarity of synset `first` to `second` (indices in wordnet) by `measure`.

    contents: counts of a file (content_files.py), which res, lin and jcn need. Ranges are nltk's:
    1e300 is its infinity (jcn of a class with itself; res over an ancestor without a count).
    wup takes the common ancestor with the largest minimum depth, and of several the first by name,
    unless `first` is among them. The ancestors of path and lch are ours, which agree with nltk's;
    that of res, lin and jcn has the largest information content, of several the deepest, then the
    smallest wnid. Raises ValueError for another measure, or missing contents.
    """
    if measure not in MEASURES:
        raise ValueError(f"measure is {measure!r}, expected one of {', '.join(MEASURES)}")
    if contents is None and measure in similarity.BY_CONTENT:
        raise ValueError(f"{measure} needs information content")
    reader = _reader(wordnet)
    a, b = (
        reader.synset_from_pos_and_offset("n", int(wordnet.offsets[index]))
        for index in (first, second)
    )
    method = getattr(a, f"{measure}_similarity")
    if measure in ("path", "lch"):
        ancestor = int(similarity.ancestor_matrix(wordnet, [first], [second], measure)[0, 0])
        return NltkValue(float(method(b)), ancestor)
    if measure == "wup":
        deepest = a.lowest_common_hypernyms(b, use_min_depth=True)
        read = a if a in deepest else deepest[0]
        return NltkValue(float(method(b)), _number(wordnet, read))
    assert contents is not None
    from nltk.corpus.reader.wordnet import information_content

    read = max(
        a.common_hypernyms(b),
        key=lambda node: (information_content(node, contents), node.max_depth(), -node.offset()),
    )
    try:
        value = float(method(b, contents))
    except ZeroDivisionError:
        return NltkValue(None, _number(wordnet, read))
    return NltkValue(value, _number(wordnet, read))


def _number(wordnet: WordNet, synset: Any) -> int:
    return int(np.searchsorted(wordnet.offsets, synset.offset()))


@functools.lru_cache(maxsize=2)
def _reader(wordnet: WordNet) -> Any:
    """Return nltk's reader of wordnet's data.noun and index.noun; nothing else is read or
    downloaded.
    """
    import nltk
    from nltk.corpus.reader.wordnet import NOUN, WordNetCorpusReader

    folder = wordnet.folder.resolve()

    class Nouns(WordNetCorpusReader):
        """Only nouns, with stubs for the other files that nltk asks for."""

        _FILEMAP = {NOUN: "noun"}

        def open(self, file: str) -> Any:
            if file == "lexnames":
                # The names of lexicographers' files, which no similarity uses.
                return io.StringIO("".join(f"{i}\tnoun.{i}\t1\n" for i in range(45)))
            # In memory, because nltk does not close the file.
            return io.TextIOWrapper(io.BytesIO((folder / file).read_bytes()), encoding="utf-8")

        def _scan_satellites(self) -> None:
            """Do nothing: there are no adjectives."""

        def _load_exception_map(self) -> None:
            """Do nothing: synsets are found by offset, never by an inflected word."""

        def map_wn(self, version: str = "wordnet") -> None:
            """Return nothing: other languages would be mapped to another WordNet."""

        def get_version(self) -> str:
            return "3.0"

    # nltk only reads below these folders.
    if str(folder) not in nltk.data.path:
        nltk.data.path.append(str(folder))
    # True: otherwise nltk warns about a missing reader of other languages.
    reader = Nouns(str(folder), True)
    reader._max_depth[NOUN, False] = MAX_DEPTH_OF_NOUNS
    return reader
