"""`manage.py wordnet similarity|criteria` and what they refuse."""

import functools
import math
from pathlib import Path

import pytest

from tests.evaluation import commands

pytestmark = pytest.mark.usefixtures("wordnet")
POOL = "n02085620\nn02123045\nn02114367\nn02814533\nn01440764\n"
MAPPING = "category,wnid\ndog.n.01,n02085620\ndog.n.01,n02114367\nn02121620,n02123045\n"

run = functools.partial(commands.run, "wordnet")
result_of = functools.partial(commands.result_of, "wordnet")
refused = functools.partial(commands.refused, "wordnet")


def files(folder: Path, mapping: str = MAPPING, pool: str = POOL) -> tuple[object, ...]:
    (folder / "mapping.csv").write_text(mapping)
    (folder / "wnids.txt").write_text(pool)
    return "criteria", "--mapping", folder / "mapping.csv", "--pool", folder / "wnids.txt"


@pytest.mark.parametrize(
    ("convention", "value"), [("clean", 0.857142857142857), ("wnsim", 0.866666666666667)]
)
def test_dog_and_cat_with_the_ancestor_and_every_setting(convention, value):
    result = result_of("similarity", "dog.n.01", "n02121620", "--convention", convention)

    assert result.pop("similarity") == pytest.approx(value, abs=1e-15)
    assert result == {
        "ancestor": "n02075296",
        "a": "n02084071",
        "b": "n02121620",
        "measure": "wup",
        "convention": convention,
        "by": "wnid",
    }


@pytest.mark.parametrize(
    ("measure", "value"), [("wup", 0.857142857142857), ("path", 0.2), ("lch", 2.028148247292286)]
)
def test_dog_and_cat_as_nltks_documentation_prints_them(measure, value):
    result = result_of(
        "similarity", "dog.n.01", "cat.n.01", "--convention", "nltk", "--measure", measure
    )

    assert result["similarity"] == pytest.approx(value, abs=1e-14)
    assert (result["ancestor"], result["measure"], result["convention"]) == (
        "n02075296",
        measure,
        "nltk",
    )
    assert "instances" not in result


def test_nltk_compares_an_instance_and_it_is_named():
    result = result_of("similarity", "dog.n.01", "chihuahua.n.01", "--convention", "nltk")

    assert result["instances"] == ["n08742578"]


def test_nltk_needs_no_more_of_the_folder_than_the_nouns(tmp_path, wordnet, monkeypatch):
    for name in ("data.noun", "index.noun"):
        (tmp_path / name).symlink_to(wordnet.folder / name)
    monkeypatch.setenv("ASSAY_WORDNET", str(tmp_path))

    result = result_of("similarity", "dog.n.01", "cat.n.01", "--convention", "nltk")

    assert result["similarity"] == pytest.approx(6 / 7)


def test_information_content_is_read_from_the_file_and_named(tmp_path, wordnet):
    # Half of all that is counted is a carnivore, an eighth a dog, an eighth a cat. To nltk a class
    # without a count would say endlessly much.
    carnivore = wordnet.find("carnivore.n.01")
    above = [
        f"{wordnet.offsets[i]}n {4 if i == carnivore else 8}\n"
        for i in wordnet.ancestors(carnivore) - {wordnet.find("entity")}
    ]
    path = tmp_path / "ic.dat"
    path.write_text(
        "wnver::3.0\n1740n 8 ROOT\n2084071n 1\n2121620n 1\n1740v 5 ROOT\n" + "".join(above)
    )
    arguments = ("similarity", "dog.n.01", "cat.n.01", "--convention", "nltk", "--ic", path)

    results = {name: result_of(*arguments, "--measure", name) for name in ("res", "lin", "jcn")}

    assert {name: row["similarity"] for name, row in results.items()} == pytest.approx(
        {"res": math.log(2), "lin": 1 / 3, "jcn": 1 / math.log(16)}
    )
    assert {row["ancestor"] for row in results.values()} == {"n02075296"}
    assert {row["ic"] for row in results.values()} == {str(path)}
    nothing = result_of("similarity", "entity", "entity", *arguments[3:], "--measure", "lin")
    assert nothing["similarity"] is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (None, None, "cannot be read"),
        ("", 1, "no wnver::"),
        ("image,wnid\na.jpg,n02084071\n", 1, "no wnver::"),
        ("wnver::x\n1740n 8 ROOT\n2084071n\n", 3, "is not a synset with its count"),
        ("wnver::x\n1740n 8 ROOT\n2084071n -3\n", 3, "is not a synset with its count"),
        ("wnver::x\n1740n 8 ROOT\n1741n 3\n", 3, "1741n is not a noun of WordNet 3.0"),
        ("wnver::x\n2084071n 3\n", None, "marked ROOT"),
        ("wnver::x\n1740n 0 ROOT\n", None, "marked ROOT"),
    ],
)
def test_a_file_that_is_no_information_content_is_named(tmp_path, text, line, words):
    path = tmp_path / "ic.dat"
    if text is not None:
        path.write_text(text)
    options = ("--convention", "nltk", "--measure", "res", "--ic", path)

    refusal = refused("similarity", "dog.n.01", "cat.n.01", *options)

    assert words in refusal["error"]
    assert (refusal["file"], refusal["line"]) == (str(path), line)
    assert "ic-brown.dat" in refusal["cure"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("nltk", "--measure", "lesk"), "nltk has no lesk: take wup"),
        (("nltk", "--measure", "vector_pairs"), "nltk has no vector_pairs: take wup"),
        (("nltk", "--measure", "res"), "give --ic FILE"),
        (("nltk", "--ic", "ic.dat"), "wup takes no information content"),
        (("clean", "--measure", "res", "--ic", "ic.dat"), "give --convention nltk"),
    ],
)
def test_what_nltk_cannot_do_is_wrong_usage_and_says_what_it_can(options, words):
    status, out, err = run("similarity", "dog.n.01", "cat.n.01", "--convention", *options)

    assert (status, out) == (2, "")
    assert words in err


def test_criteria_are_by_our_own_conventions(tmp_path):
    assert run(*files(tmp_path), "--convention", "nltk")[0] == 2


def test_by_word_the_hammerhead_is_the_dolt():
    result = result_of("similarity", "n01494475", "dog", "--by", "word")

    assert (result["a"], result["b"], result["by"]) == ("n10039663", "n02084071", "word")


@pytest.mark.parametrize(
    "arguments", [("dog.n.01", "chihuahua.n.01"), ("chihuahua", "dog", "--by", "word")]
)
def test_an_instance_is_compared_and_named(arguments):
    result = result_of("similarity", *arguments)

    assert result["similarity"] == 6 / 19
    assert result["instances"] == ["n08742578"]
    code, out, _ = run("similarity", *arguments)
    assert code == 0
    assert "0.315789" in out
    assert "n08742578" in out


def test_an_endless_similarity_is_null():
    assert result_of("similarity", "dog.n.01", "dog.n.01", "--measure", "jcn")["similarity"] is None


def test_vector_says_whose_matrix_it_is():
    result = result_of("similarity", "dog.n.01", "cat.n.01", "--measure", "vector")

    assert 0 < result["similarity"] < 1
    assert "our own" in result["note"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("xyzzy", "dog.n.01"), "'xyzzy' is not a noun synset"),
        (("dog.n.01", "xyzzy", "--by", "word"), "'xyzzy' is not a noun synset"),
        (("dog", "cat.n.01"), "several meanings"),
    ],
)
def test_a_label_that_names_no_class_is_named_with_the_cure(arguments, words):
    refusal = refused("similarity", *arguments)

    assert words in refusal["error"]
    assert refusal["cure"]


def test_an_unknown_measure_is_wrong_usage():
    assert run("similarity", "dog.n.01", "cat.n.01", "--measure", "cosine")[0] == 2


def test_criteria_of_a_small_mapping(tmp_path):
    # Chihuahua and wolf are nearer to each other than to the cat; the cat's nearest is one of them.
    result = result_of(*files(tmp_path))

    assert result == {
        "criterion_1": 2 / 3,
        "criterion_2": 1.0,
        "categories": 2,
        "mapped": 3,
        "pool": 5,
        "ties": 0,
        "measure": "wup",
        "convention": "clean",
        "by": "wnid",
    }


def test_by_word_categories_are_words_and_instances_are_named(tmp_path):
    mapping = MAPPING.replace("dog.n.01", "dog").replace("n02121620", "cat")

    result = result_of(*files(tmp_path, mapping), "--by", "word")

    # The Chihuahua of the pool: by word the state of Mexico.
    assert (result["criterion_2"], result["instances"]) == (1, ["n08742578"])
    assert "instances" not in result_of(*files(tmp_path))
    refusal = refused(*files(tmp_path, mapping))
    assert "several meanings" in refusal["error"]
    assert refusal["line"] == 2
    assert "--by word" in refusal["cure"]


@pytest.mark.parametrize(
    ("mapping", "pool", "line", "words"),
    [
        (MAPPING + "xyzzy,n02123045\n", POOL, 5, "'xyzzy' is not a noun synset"),
        (MAPPING + "cat,n99999999\n", POOL, 5, "'n99999999' is not a noun"),
        (MAPPING + "cat,tabby\n", POOL, 5, "'tabby' is not a noun"),
        (MAPPING + "dog.n.01,n02085620\n", POOL, 5, "already mapped to 'dog.n.01' in line 2"),
        (MAPPING + " ,n02085620\n", POOL, 5, "category is empty"),
        (MAPPING + "dog.n.01,n02099601\n", POOL, 5, "is not in the pool"),
        (MAPPING + "dog.n.01\n", POOL, 5, "1 cells"),
        ("category,wnid\n", POOL, None, "no rows"),
        ("category,class\n", POOL, 1, "unknown column"),
        ("", POOL, None, "empty"),
        (MAPPING, "n02085620\nn02085620\n", 2, "already in line 1"),
        (MAPPING, "tabby\n", 1, "is not a wnid of a noun"),
        (MAPPING, "", None, "no classes"),
        (MAPPING, "n02085620\n", None, "one class"),
    ],
)
def test_what_a_person_must_mend_is_named_with_its_line(tmp_path, mapping, pool, line, words):
    refusal = refused(*files(tmp_path, mapping, pool))

    assert words in refusal["error"]
    assert refusal["line"] == line
    assert refusal["file"].startswith(str(tmp_path))
    assert refusal["cure"]


def test_missing_files_are_named(tmp_path):
    arguments = files(tmp_path)
    (tmp_path / "wnids.txt").unlink()

    assert refused(*arguments)["file"].endswith("wnids.txt")


def test_without_counts_the_folder_is_named_with_the_cure(tmp_path, wordnet, monkeypatch):
    for name in ("data.noun", "index.noun"):
        (tmp_path / name).symlink_to(wordnet.folder / name)
    monkeypatch.setenv("ASSAY_WORDNET", str(tmp_path))

    refusal = refused("similarity", "dog.n.01", "cat.n.01", "--measure", "lin")

    assert "cntlist.rev" in refusal["error"]
    assert "make setup" in refusal["cure"]


def test_criteria_over_the_papers_categories_or_a_users():
    shipped = ("criteria", "--mapping", "pascal", "--pool", "ilsvrc")

    assert result_of(*shipped)["categories"] == 20
    assert result_of(*shipped, "--categories")["categories"] == 12
    pair = result_of(*shipped, "--categories", "dog,n02121620")
    assert (pair["categories"], pair["criterion_1"]) == (2, 1.0)
    by_word = result_of(*shipped, "--categories", "--by", "word")
    assert (by_word["categories"], by_word["by"]) == (12, "word")


def test_a_category_without_rows_is_named(tmp_path):
    assert (
        "no row maps a class to bird" in refused(*files(tmp_path), "--categories", "bird")["error"]
    )
