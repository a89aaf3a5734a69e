"""Similarity of two classes in WordNet: WordNet::Similarity's nine measures in two conventions.

`clean` is ours; `wnsim` follows WordNet::Similarity, which Sarvadevabhatla et al. (2016) used for
CDS. docs/reference/similarity.md compares them. Every result should state its measure and its
convention.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet import common_ancestors as ca
from evaluation.metrics.wordnet.common_ancestors import Ancestry
from evaluation.metrics.wordnet.information_content import information_content, tagged_word_count
from evaluation.metrics.wordnet.nouns import SENSE, WNID, WordNet

MEASURES = ("wup", "path", "lch", "res", "lin", "jcn", "lesk", "vector", "vector_pairs")
BY_GLOSS = ("lesk", "vector", "vector_pairs")
BY_CONTENT = ("res", "lin", "jcn")
CONVENTIONS = ("clean", "wnsim")
BY = ("wnid", "word")
# Nodes on the longest root path of nouns, without and with the virtual root.
LCH_DEPTH = {"clean": 19, "wnsim": 20}


def similarity_matrix(
    wordnet: WordNet,
    rows: Sequence[int],
    columns: Sequence[int] | None = None,
    measure: str = "wup",
    convention: str = "clean",
) -> NDArray[np.float64]:
    """Return the similarities of every row to every column, (R, C) float64; R and C may be 0.

    rows, columns: synset indices of wordnet, with repetitions; columns default to the rows, and the
    matrix is then symmetric. Ranges: wup, path, lin, vector and vector_pairs [0, 1], lch, res and
    lesk from 0 up, jcn from 0 to infinity (clean: if both synsets have the information content of
    their ancestor, as a tagged synset and itself do). Instance links are followed like hypernym
    links, so that an instance (Paris) is as similar to a class as its position below its own class
    (a national capital) implies. Raises ValueError for another measure or convention, and
    WordNetMissing if a measure by content finds no cntlist.rev.
    """
    _check(measure, convention)
    columns = rows if columns is None else columns
    if not len(rows) or not len(columns):
        return np.zeros((len(rows), len(columns)))
    if measure in BY_GLOSS:
        return _by_gloss(wordnet, rows, columns, measure)
    above = ca.ancestry(wordnet, rows, columns, virtual=convention == "wnsim", instances=True)
    if measure in BY_CONTENT:
        return _by_content(wordnet, above, rows, columns, measure, convention)
    if measure == "wup":
        return _wup(ca.deepest(above, any_way=convention == "wnsim"))
    edges = ca.EDGES - 1 - ca.nearest(above)
    nodes = np.where(edges < ca.EDGES, edges + 1.0, np.inf)
    if measure == "path":
        return 1 / nodes
    longest = 2 * LCH_DEPTH[convention]
    return np.log(longest / np.minimum(nodes, longest))


def ancestor_matrix(
    wordnet: WordNet,
    rows: Sequence[int],
    columns: Sequence[int] | None = None,
    measure: str = "wup",
    convention: str = "clean",
) -> NDArray[np.int64]:
    """Return the common ancestor that a measure uses, (R, C) synset indices, −1 for none.

    wup: the deepest, by its longest root path; among equals the one with the larger value. path and
    lch: the one with the shortest path over it. res, lin and jcn: the one with the largest
    information content. lesk, vector and vector_pairs use none: they get that of wup. Ties go to
    the deepest, then to the smallest wnid. −1 also stands for wnsim's virtual root.
    """
    _check(measure, convention)
    columns = rows if columns is None else columns
    if not len(rows) or not len(columns):
        return np.zeros((len(rows), len(columns)), np.int64)
    above = ca.ancestry(wordnet, rows, columns, virtual=convention == "wnsim", instances=True)
    if measure in BY_CONTENT:
        places = ca.richest(above, _contents(wordnet, above, convention))
        return np.where(places < 0, ca.VIRTUAL, above.nodes[places])
    if measure in ("path", "lch"):
        return ca.synsets_of(above, ca.nearest(above, name=True))
    return ca.synsets_of(above, ca.deepest(above, any_way=convention == "wnsim", name=True))


def meant(wordnet: WordNet, label: str, by: str = "wnid") -> int:
    """Return the synset of a label: exactly, or `by` word as the authors of CDS looked it up.

    By wnid: a wnid, dog.n.01, or a lemma with one noun sense. By word: the first noun sense of the
    word; a wnid or dog.n.01 is replaced by its synset's first lemma. Raises UnknownLabel.

    By word n01494475, the hammerhead shark, becomes hammerhead.n.01, the dolt.
    """
    text = label.strip()
    if by == "wnid":
        return wordnet.find(text)
    if WNID.fullmatch(text) or SENSE.fullmatch(text):
        return as_word(wordnet, wordnet.find(text))
    return wordnet.first_sense(text)


def as_word(wordnet: WordNet, index: int) -> int:
    """Return the first noun sense of a synset's first lemma: often another synset."""
    return wordnet.first_sense(wordnet.first_lemma(index))


def instances(wordnet: WordNet, indices: Iterable[int]) -> list[str]:
    """Return the wnids, ascending, of synsets that are instances, which every result
    should state.
    """
    return sorted({wordnet.wnid(index) for index in indices if wordnet.is_instance(index)})


def _check(measure: str, convention: str) -> None:
    if measure not in MEASURES:
        raise ValueError(f"measure is {measure!r}, expected one of {', '.join(MEASURES)}")
    if convention not in CONVENTIONS:
        raise ValueError(f"convention is {convention!r}, expected one of {', '.join(CONVENTIONS)}")


def _wup(keys: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return 2 d / (l_1 + l_2), where l_i is d plus the edges from i to the ancestor."""
    values = np.arange(int(keys.max()) + 2)
    depth, edges = ca.depth_and_edges(values)
    with np.errstate(invalid="ignore"):
        table = 2.0 * depth / (2.0 * depth + edges)
    # A key of −1 reads the last entry.
    table[-1] = 0
    return table[keys]


def _contents(wordnet: WordNet, above: Ancestry, convention: str) -> NDArray[np.float64]:
    """Return the information content of the ancestry; −1 if never tagged, 0 for the
    virtual root.
    """
    content = np.nan_to_num(information_content(wordnet, convention)[above.nodes], nan=-1.0)
    content[above.nodes == ca.VIRTUAL] = 0
    return content


def _by_content(
    wordnet: WordNet,
    above: Ancestry,
    rows: Sequence[int],
    columns: Sequence[int],
    measure: str,
    convention: str,
) -> NDArray[np.float64]:
    contents = _contents(wordnet, above, convention)
    places = ca.richest(above, contents)
    shared = np.where(places < 0, 0.0, np.maximum(contents[places], 0))
    if measure == "res":
        return shared
    class_contents = information_content(wordnet, convention)
    row, column = class_contents[list(rows)][:, None], class_contents[list(columns)][None, :]
    both = row + column
    # Synsets that were never tagged have no content; in wnsim the root has none either.
    known = np.isfinite(both) & (places >= 0)
    if convention == "wnsim":
        known &= (row > 0) & (column > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "lin":
            value = np.where(both > 0, 2 * shared / both, 1.0)
        else:
            value = 1 / np.maximum(both - 2 * shared, 0)
            if convention == "wnsim":
                value = np.where(np.isinf(value), _largest_jcn(wordnet), value)
    return np.where(known, value, 0.0)


def _largest_jcn(wordnet: WordNet) -> float:
    """Return WordNet::Similarity's value for a distance of 0: that of a count 0.01 below the
    root's.
    """
    words = tagged_word_count(wordnet, "wnsim")
    return float(-1 / np.log((words - 0.01) / words))


def _by_gloss(
    wordnet: WordNet, rows: Sequence[int], columns: Sequence[int], measure: str
) -> NDArray[np.float64]:
    from evaluation.metrics.wordnet import gloss_overlaps, gloss_vectors

    if measure == "lesk":
        return gloss_overlaps.lesk(wordnet, rows, columns)
    if measure == "vector":
        return gloss_vectors.vector(wordnet, rows, columns)
    return gloss_vectors.vector_pairs(wordnet, rows, columns)
