"""lesk, vector and vector_pairs against plain readings of the same glosses."""

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.wordnet import glosses as g
from evaluation.metrics.wordnet import similarity as s
from evaluation.metrics.wordnet.gloss_vectors import MIN_GLOSSES, cooccurrence

SYMBOLS = {
    "gloss": (),
    "hypernyms": ("@", "@i"),
    "hyponyms": ("~", "~i"),
    "meronyms": ("%m", "%s", "%p"),
    "holonyms": ("#m", "#s", "#p"),
}
words = st.lists(st.sampled_from([-1, 0, 1, 2, 3, 4, 5]), max_size=12)


class Nouns:
    """Glosses and links by a plain reading of data.noun."""

    def __init__(self, wordnet) -> None:
        text = (wordnet.folder / "data.noun").read_text()
        lines = [line.split(" | ") for line in text.splitlines() if not line.startswith("  ")]
        self.heads = [head for head, _ in lines]
        self.glosses = [gloss.split('; "')[0] for _, gloss in lines]
        self.place = {head[:8]: i for i, head in enumerate(self.heads)}

    def related(self, index: int, name: str) -> list[int]:
        pointers = re.findall(r" (\S{1,2}) (\d{8}) n \d{4}", self.heads[index])
        synsets = [self.place[offset] for sign, offset in pointers if sign in SYMBOLS[name]]
        return [index] if name == "gloss" else synsets

    def words(self, index: int) -> list[str]:
        return tokens(self.glosses[index])


@pytest.fixture(scope="module")
def nouns(wordnet) -> Nouns:
    return Nouns(wordnet)


def tokens(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower().replace("'", ""))


def plain_overlap(x: list, y: list, is_function) -> int:
    """Look for the longest shared phrase, take it out of both, and again."""
    x, y, total = list(x), list(y), 0
    while True:
        best = (0, 0, 0)
        for i, j in itertools.product(range(len(x)), range(len(y))):
            size = 0
            while i + size < len(x) and j + size < len(y) and x[i + size] == y[j + size]:
                size += 1
                phrase = x[i : i + size]
                if not is_function(phrase[0]) and not is_function(phrase[-1]) and size > best[0]:
                    best = (size, i, j)
        size, i, j = best
        if not size:
            return total
        total += size * size
        x[i : i + size] = [object() for _ in range(size)]
        y[j : j + size] = [object() for _ in range(size)]


def texts_of(nouns, index: int) -> list[list]:
    """A text a relation; between two glosses stands what is equal to nothing else."""
    return [
        [word for i in nouns.related(index, name) for word in (*nouns.words(i), object())]
        for name in SYMBOLS
    ]


def some_nouns(wordnet, count: int) -> list[int]:
    rng = np.random.default_rng(9)
    chosen = [wordnet.find(f"{name}.n.01") for name in ("dog", "wolf", "bicycle", "paris")]
    return [*chosen, *rng.integers(0, len(wordnet), count).tolist()]


@given(x=words, y=words)
def test_overlap_takes_the_longest_phrase_again_and_again(x, y):
    from evaluation.metrics.wordnet.kernels import overlap

    # −1 agrees with nothing, 0 and 1 are function words.
    apart = [[object() if word < 0 else word for word in text] for text in (x, y)]
    expected = plain_overlap(*apart, lambda word: word in (0, 1))

    assert overlap(np.array(x, np.int32), np.array(y, np.int32), 2) == expected


def test_lesk_is_the_plain_sum_over_pairs_of_relations(wordnet, nouns):
    classes = some_nouns(wordnet, 8)
    matrix = s.similarity_matrix(wordnet, classes, None, "lesk")

    for i, j in itertools.combinations(range(1, len(classes)), 2):
        a, b = sorted((classes[i], classes[j]))
        expected = sum(
            plain_overlap(x, y, lambda word: word in g.FUNCTION_WORDS)
            for x in texts_of(nouns, a)
            for y in texts_of(nouns, b)
        )
        assert matrix[i, j] == matrix[j, i] == expected


def test_a_phrase_of_three_counts_nine_and_a_function_word_at_its_end_nothing():
    from evaluation.metrics.wordnet.kernels import overlap

    numbers = {word: n for n, word in enumerate((*g.FUNCTION_WORDS, "bread", "butter", "with"))}
    x, y = (
        np.array([numbers[word] for word in text.split()], np.int32)
        for text in ("bread and butter of the", "the bread and butter of")
    )

    assert overlap(x, y, len(g.FUNCTION_WORDS)) == 9


@pytest.fixture(scope="module")
def bags(nouns) -> list[set[str]]:
    """The words of each gloss that are no function words."""
    return [set(tokens(gloss)) - set(g.FUNCTION_WORDS) for gloss in nouns.glosses]


@pytest.fixture(scope="module")
def index_of_word(wordnet, bags) -> dict[str, int]:
    """Word → its row in the co-occurrence matrix."""
    often = Counter(word for bag in bags for word in bag)
    words = g.glosses(wordnet).vocabulary
    kept = [word for word in words if often[word] >= MIN_GLOSSES]
    return {word: i for i, word in enumerate(kept)}


def test_cooccurrence_counts_the_glosses_that_hold_both(wordnet, bags, index_of_word):
    together = cooccurrence(wordnet)

    assert together.shape == (len(index_of_word), len(index_of_word))
    for first_word, second_word in (
        ("dog", "breed"),
        ("bread", "flour"),
        ("dog", "dog"),
        ("dog", "theorem"),
    ):
        expected = (
            sum(first_word in bag and second_word in bag for bag in bags)
            if first_word != second_word
            else 0
        )
        assert together[index_of_word[first_word], index_of_word[second_word]] == expected


def plain_vector(
    wordnet, nouns, index_of_word, index: int, relations: tuple[str, ...]
) -> np.ndarray:
    together = cooccurrence(wordnet)
    held = {w for name in relations for i in nouns.related(index, name) for w in nouns.words(i)}
    total = np.zeros(len(index_of_word))
    for word in held & index_of_word.keys():
        total += together[[index_of_word[word]]].toarray()[0]
    return total


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    length = np.linalg.norm(x) * np.linalg.norm(y)
    return float(x @ y / length) if length else 0.0


def test_vectors_are_sums_of_what_the_words_stand_beside(
    wordnet, nouns, index_of_word, monkeypatch
):
    classes = some_nouns(wordnet, 2)
    names = tuple(g.RELATIONS)
    whole = [plain_vector(wordnet, nouns, index_of_word, i, names) for i in classes]
    single = [
        [plain_vector(wordnet, nouns, index_of_word, i, (name,)) for name in names] for i in classes
    ]
    for block in (512, 2):
        monkeypatch.setattr("evaluation.metrics.wordnet.gloss_vectors._BLOCK", block)
        vector = s.similarity_matrix(wordnet, classes, None, "vector")
        pairs = s.similarity_matrix(wordnet, classes, None, "vector_pairs")

        for i, j in itertools.product(range(len(classes)), repeat=2):
            assert vector[i, j] == pytest.approx(cosine(whole[i], whole[j]))
            cosines = [cosine(x, y) for x in single[i] for y in single[j] if x.any() and y.any()]
            assert pairs[i, j] == pytest.approx(np.mean(cosines))


@pytest.mark.parametrize("measure", s.BY_GLOSS)
def test_a_dog_is_more_like_a_wolf_than_like_a_bicycle_and_both_directions_agree(wordnet, measure):
    dog, wolf, bicycle, paris = some_nouns(wordnet, 0)
    for convention in s.CONVENTIONS:
        matrix = s.similarity_matrix(
            wordnet, [dog, wolf, bicycle, paris], None, measure, convention
        )

        assert matrix[0, 1] > matrix[0, 2]
        np.testing.assert_allclose(matrix, matrix.T)
        assert (matrix >= 0).all()
        if measure == "vector":
            np.testing.assert_allclose(np.diag(matrix), 1)
