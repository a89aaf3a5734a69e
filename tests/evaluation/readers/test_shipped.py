"""The lists and mappings that come with Assay are what their README says."""

import pytest

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import shipped
from evaluation.readers.mappings import places_in, read_mapping
from evaluation.readers.pools import read_classes
from labeling.vocabulary.reading import shipped as shipped_vocabulary

CLASSES, MAPPING = shipped.CLASSES["ilsvrc"], shipped.MAPPINGS["pascal"]


def test_ilsvrc_has_a_thousand_classes_in_their_usual_order(wordnet: WordNet):
    classes = read_classes(CLASSES, wordnet)

    assert len(classes) == 1000
    assert classes == sorted(classes)
    assert [wordnet.name(wordnet.index(classes[at])) for at in (0, 207, 999)] == [
        "tench.n.01",
        "golden_retriever.n.01",
        "toilet_tissue.n.01",
    ]


def test_the_mapping_of_pascal_is_what_wordnet_gives(wordnet: WordNet):
    classes = read_classes(CLASSES, wordnet)
    above = {wnid: wordnet.ancestors(wordnet.index(wnid)) for wnid in classes}

    text = "".join(
        f"{category},{wnid}\n"
        for category, roots in shipped.PASCAL.values()
        for wnid in classes
        if any(wordnet.index(root) in above[wnid] for root in roots or (category,))
    )
    assert MAPPING.read_text() == f"category,wnid\n{text}"


def test_each_category_of_pascal_has_classes_of_ilsvrc(wordnet: WordNet):
    mapping = read_mapping(MAPPING, wordnet)

    assert len(mapping.classes) == len(shipped.PASCAL) == 20
    assert list(mapping.classes) == [category for category, _ in shipped.PASCAL.values()]
    assert places_in(mapping, read_classes(CLASSES, wordnet), CLASSES)
    counts = {name: len(mapping.classes[wnid]) for name, (wnid, _) in shipped.PASCAL.items()}
    assert (counts["dog"], counts["bird"], counts["cow"]) == (118, 59, 2)


def test_categories_are_those_of_the_vocabulary_of_parts():
    of_parts = {
        category.name.replace(" ", ""): category.key for category in shipped_vocabulary().categories
    }

    assert of_parts.items() <= {name: key for name, (key, _) in shipped.PASCAL.items()}.items()


@pytest.mark.parametrize(
    ("find", "name", "goal"),
    [(shipped.classes_file, "ilsvrc", CLASSES), (shipped.mapping_file, "pascal", MAPPING)],
)
def test_a_name_is_found_and_everything_else_is_a_path(tmp_path, find, name, goal):
    assert find(name) == goal
    assert find(f"./{name}") != goal
    assert find(str(tmp_path / "own.txt")) == tmp_path / "own.txt"
