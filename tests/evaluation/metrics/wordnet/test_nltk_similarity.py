"""Similarity by nltk: equal to nltk called directly, on random classes and instances."""

import nltk
import numpy as np
import pytest
from nltk.corpus.reader.wordnet import WordNetICCorpusReader

from evaluation.metrics.wordnet import similarity
from evaluation.metrics.wordnet.information_content import sense_counts
from evaluation.metrics.wordnet.nltk_similarity import compare
from evaluation.readers import content_files


@pytest.fixture(scope="module")
def counts(wordnet, tmp_path_factory):
    """A file of information content: WordNet's own counts, summed up to the root."""
    counts_of_synset = sense_counts(wordnet).astype(float)
    total = counts_of_synset.copy()
    for index in np.flatnonzero(counts_of_synset).tolist():
        for above in wordnet.ancestors(index, instances=True) - {index}:
            total[above] += counts_of_synset[index]
    path = tmp_path_factory.mktemp("ic") / "ic-tagged.dat"
    root = wordnet.find("entity")
    rows = [
        f"{wordnet.offsets[index]}n {total[index]:g}{' ROOT' if index == root else ''}"
        for index in range(len(wordnet))
        if total[index]
    ]
    path.write_text("\n".join(["wnver::tagged", *rows, "1740v 9 ROOT"]) + "\n")
    return path


@pytest.fixture(scope="module")
def pairs(wordnet):
    """Random classes, some of them instances, and classes that have several root paths."""
    rng = np.random.default_rng(11)
    every = rng.integers(0, len(wordnet), (25, 2)).tolist()
    people = [wordnet.find(f"{name}.n.01") for name in ("chef", "fireman", "dog", "chihuahua")]
    used = np.flatnonzero(sense_counts(wordnet))
    return [
        *every,
        *rng.choice(used, (25, 2)).tolist(),
        *((a, b) for a in people for b in people if a <= b),
    ]


def synsets(wordnet, peer, *places):
    return [peer.synset_from_pos_and_offset("n", int(wordnet.offsets[i])) for i in places]


# nltk reads all nouns for their greatest depth.
@pytest.mark.ci
def test_lch_is_what_nltk_gives(wordnet, peer, pairs):
    for first, second in pairs:
        a, b = synsets(wordnet, peer, first, second)
        assert compare(wordnet, first, second, "lch").value == a.lch_similarity(b)


def test_every_other_measure_is_what_nltk_gives(wordnet, peer, pairs, counts):
    nltk.data.path.append(str(counts.parent))
    theirs = WordNetICCorpusReader(str(counts.parent), [counts.name]).ic(counts.name)
    ours = content_files.read(counts, wordnet)
    assert ours == theirs
    instances = 0
    for first, second in pairs:
        a, b = synsets(wordnet, peer, first, second)
        instances += wordnet.is_instance(first) + wordnet.is_instance(second)
        assert compare(wordnet, first, second, "wup").value == a.wup_similarity(b)
        assert compare(wordnet, first, second, "path").value == a.path_similarity(b)
        assert compare(wordnet, first, second, "res", ours).value == a.res_similarity(b, theirs)
        assert compare(wordnet, first, second, "lin", ours).value == a.lin_similarity(b, theirs)
        assert compare(wordnet, first, second, "jcn", ours).value == a.jcn_similarity(b, theirs)

    assert instances > 5


def test_the_ancestor_is_the_one_that_the_value_is_read_at(wordnet, pairs, counts):
    contents = content_files.read(counts, wordnet)
    total = contents["n"][0]
    for first, second in pairs:
        value, ancestor = compare(wordnet, first, second, "res", contents)
        common = wordnet.ancestors(first, instances=True) & wordnet.ancestors(
            second, instances=True
        )
        assert ancestor in common
        count = contents["n"].get(int(wordnet.offsets[ancestor]), 0)
        assert value == (pytest.approx(-np.log(count / total)) if count else 1e300)
        assert compare(wordnet, first, second, "wup").ancestor in common
        assert compare(wordnet, first, second, "lch").ancestor in common


def test_teacher_and_doctor_get_the_ancestor_of_the_largest_least_depth(wordnet):
    pair = wordnet.find("teacher.n.01"), wordnet.find("doctor.n.01")

    value, ancestor = compare(wordnet, *pair, "wup")

    # An organism is 6 below entity, a person 3 by way of causal agents; a professional is deeper
    # by its longest path alone.
    assert (wordnet.name(ancestor), value) == ("organism.n.01", 12 / 23)
    assert wordnet.name(int(similarity.ancestor_matrix(wordnet, *[[i] for i in pair])[0, 0])) == (
        "professional.n.01"
    )


def test_another_measure_and_missing_contents_are_errors(wordnet):
    with pytest.raises(ValueError, match="expected one of wup, path, lch, res, lin, jcn"):
        compare(wordnet, 0, 1, "lesk")
    with pytest.raises(ValueError, match="lin needs information content"):
        compare(wordnet, 0, 1, "lin")
