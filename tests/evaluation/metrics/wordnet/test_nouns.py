"""The nouns of WordNet 3.0, against plain readings and walks."""

import time
from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics.wordnet import nouns as wn


def test_counts_are_those_of_wordnet_3_0(wordnet):
    assert len(wordnet) == 82115
    assert len(wordnet.up) == 75850
    assert int((wordnet.depth >= 0).sum()) == 74374


def test_links_are_those_that_a_plain_reading_of_the_lines_finds(wordnet):
    rng = np.random.default_rng(0)
    lines = (wordnet.folder / "data.noun").read_text().splitlines()
    by_offset = {int(line[:8]): line for line in lines if not line.startswith(" ")}
    for index in rng.integers(0, len(wordnet), 300).tolist():
        words = by_offset[int(wordnet.offsets[index])].split(" | ")[0].split()
        links = [int(words[i + 1]) for i, word in enumerate(words) if word == "@"]
        assert [int(wordnet.offsets[i]) for i in wordnet.hypernyms(index)] == links


def test_depth_is_the_shortest_root_path_and_height_the_longest_way_down(wordnet):
    rng = np.random.default_rng(1)

    def height(index: int) -> int:
        return max((1 + height(child) for child in wordnet.hyponyms(index)), default=0)

    for index in rng.integers(0, len(wordnet), 300).tolist():
        paths = wordnet.root_paths(index)
        assert wordnet.depth[index] == min((len(path) - 1 for path in paths), default=-1)
        assert wordnet.heights[index] == height(index)


def test_entity_is_the_root(wordnet):
    entity = wordnet.find("entity")

    assert (wordnet.wnid(entity), wordnet.depth[entity]) == ("n00001740", 0)
    assert wordnet.root_paths(entity) == [(entity,)]


def test_a_label_is_a_wnid_a_sense_or_a_lemma_of_one_sense(wordnet):
    for label in ["n02084071", "dog.n.01", "domestic dog", "Domestic_Dog"]:
        assert wordnet.wnid(wordnet.find(label)) == "n02084071", label


@pytest.mark.parametrize(("label", "candidates"), [("dog", 7), ("dog.n.09", 7), ("xyzzy", 0)])
def test_an_ambiguous_or_unknown_label_lists_its_candidates(wordnet, label, candidates):
    with pytest.raises(wn.UnknownLabel) as refusal:
        wordnet.find(label)

    assert len(refusal.value.candidates) == candidates


def test_what_is_no_noun_wnid_is_unknown(wordnet):
    for wnid in ["n00000001", "n2084071", "02084071", "", "n99999999", "v00001740"]:
        with pytest.raises(wn.UnknownLabel):
            wordnet.index(wnid)


def test_synset_gives_lemmas_gloss_and_examples(wordnet):
    person = wordnet.synset(wordnet.index("n00007846"))

    assert person.name == "person.n.01"
    assert person.lemmas == ("person", "individual", "someone", "somebody", "mortal", "soul")
    assert person.gloss == "a human being"
    assert person.examples == ("there was too much for one person to do",)


def test_hierarchical_error_is_0_for_the_same_and_6_for_drake_and_coot(wordnet):
    drake, coot = wordnet.index("n01847000"), wordnet.index("n02018207")

    assert wordnet.ancestor_height(drake, drake) == 0
    assert wordnet.ancestor_height(drake, coot) == 6


def test_instances_share_no_ancestor(wordnet):
    with pytest.raises(ValueError, match="share no ancestor"):
        wordnet.ancestor_height(wordnet.find("Paris.n.01"), 0)


def test_another_version_is_refused(wordnet, tmp_path: Path):
    text = (wordnet.folder / "data.noun").read_bytes()
    (tmp_path / "data.noun").write_bytes(text.replace(b" @ 00001740 n", b" @ 00001930 n", 1))

    with pytest.raises(wn.WordNetMissing, match=r"not WordNet 3\.0"):
        wn.WordNet(tmp_path)


@pytest.mark.parametrize("text", [b"", b"nothing here\n", b"  1 licence\n"])
def test_a_file_that_is_no_wordnet_is_refused(tmp_path: Path, text):
    (tmp_path / "data.noun").write_bytes(text)

    with pytest.raises(wn.WordNetMissing):
        wn.WordNet(tmp_path)


def test_a_folder_named_and_missing_is_refused_with_the_cure(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("ASSAY_WORDNET", str(tmp_path / "none"))

    with pytest.raises(wn.WordNetMissing, match="make setup"):
        wn.load()


def test_wordnet_loads_within_seconds(wordnet):
    # Processor time: other tests run beside this one.
    start = time.process_time()

    wn.WordNet(wordnet.folder)

    assert time.process_time() - start < 10
