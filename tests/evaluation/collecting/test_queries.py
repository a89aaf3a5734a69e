"""Queries of classes, in other languages, of pairs and scenes; a file for each search engine."""

import csv

import pytest

from evaluation.collecting import queries, search_engines, translations
from labeling.files import BadInput

WHIPPET, DOG, CAT, CRANE, CRANE_BIRD = (
    *("n02091134", "n02084071", "n02121620", "n03126707", "n02012849"),
)
HEAD = "# Wordnet\tfra\thttps://example.org\tCC BY\n"


@pytest.fixture
def tab(tmp_path):
    def write(*lines: str, head: str = HEAD, name: str = "wn-data-fra.tab"):
        path = tmp_path / name
        path.write_bytes((head + "".join(f"{line}\n" for line in lines)).encode())
        return path

    return write


def texts(asked_queries) -> list[str]:
    return [" ".join(query.phrases) for query in asked_queries]


def test_the_papers_example_of_a_parents_words(wordnet):
    """§3.1.2: whippet is searched for with dog and with greyhound, which its gloss has."""
    asked_queries = list(queries.of_class(wordnet.index(WHIPPET), wordnet))

    assert texts(asked_queries) == ["whippet", "whippet greyhound", "whippet dog"]
    assert [query.kind for query in asked_queries] == ["synonym", "parent", "parent"]


def test_a_parents_word_that_the_synonym_has_is_not_added(wordnet):
    query_texts = texts(queries.of_class(wordnet.find("sheepdog.n.01"), wordnet))

    assert "shepherd dog dog" not in query_texts
    assert len(query_texts) == len({text.lower() for text in query_texts})


def test_other_languages_have_their_words_and_their_parents(wordnet, tab):
    words = translations.read(
        tab(
            f"{WHIPPET[1:]}-n\tfra:lemma\twhippet",
            f"{WHIPPET[1:]}-n\tfra:lemma\tpetit_lévrier",
            f"{DOG[1:]}-n\tlemma\tchien",
            f"{DOG[1:]}-n\tfra:def\t0\tanimal domestique",
            "00001740-v\tlemma\trespirer",
        ),
        wordnet,
    )

    asked_queries = list(queries.of_class(wordnet.index(WHIPPET), wordnet, [words]))

    assert words.language == "fra"
    assert [" ".join(query.phrases) for query in asked_queries if query.language == "fra"] == [
        *("whippet", "petit lévrier", "whippet chien", "petit lévrier chien")
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("chien\tlemma\t02084071-n", "is not a line of a .tab file"),
        ("02084071-n\tlemma", "is not a line of a .tab file"),
        ("02084071-n\tlemma\t ", "the word is empty"),
        ("02084071-n\tlemma\tchi\x07en", "control characters"),
    ],
)
def test_a_line_of_another_form_is_refused_with_its_number(wordnet, tab, line, words):
    with pytest.raises(BadInput, match=words) as refused:
        translations.read(tab("02121620-n\tlemma\tchat", line), wordnet)

    assert refused.value.line == 3


def test_another_encoding_and_another_wordnet_are_refused(wordnet, tab, tmp_path):
    latin = tmp_path / "latin.tab"
    latin.write_bytes(HEAD.encode() + "02084071-n\tlemma\tlévrier\n".encode("latin-1"))
    other_wordnet = tab(*(f"{number:08}-n\tlemma\tmot" for number in range(99, 109)))

    with pytest.raises(BadInput, match="is not UTF-8") as encoding:
        translations.read(latin, wordnet)
    with pytest.raises(BadInput, match="10 of its 10 nouns are not in WordNet"):
        translations.read(other_wordnet, wordnet)
    with pytest.raises(BadInput, match="no words for nouns"):
        translations.read(tab("00001740-v\tlemma\trespirer"), wordnet)

    assert encoding.value.line == 2


def test_a_few_synsets_that_are_not_there_are_counted(wordnet, tab):
    lines = [f"{DOG[1:]}-n\tlemma\tchien{number}" for number in range(30)]

    words = translations.read(tab(*lines, "00000099-n\tlemma\tmot"), wordnet)

    assert (len(words.of[wordnet.index(DOG)]), words.unknown) == (30, 1)


def test_a_file_without_a_head_is_called_by_its_name(wordnet, tab):
    path = tab(f"{DOG[1:]}-n\tlemma\tperro", head="", name="wn-data-spa.tab")

    assert translations.read(path, wordnet).language == "spa"


def test_the_scenes_are_the_129_of_the_paper():
    lines = queries.SCENES.read_text().splitlines()

    asked_queries = list(queries.scenes(lines))

    assert len(asked_queries) == len(set(lines)) == 129
    assert {"kitchenette", "zoo in australia", "lion zebra friendly"} <= set(texts(asked_queries))
    assert all(query.wnids == () for query in asked_queries)


def test_pairs_are_of_two_names_and_drawn_by_hash(wordnet):
    synsets = [wordnet.index(wnid) for wnid in (DOG, CAT, CRANE, CRANE_BIRD)]

    every = list(queries.pairs(synsets, wordnet, None, 0))
    some = list(queries.pairs(synsets, wordnet, 3, 7))

    # Not crane crane.
    assert len(every) == 5
    assert set(texts(some)) <= set(texts(every))
    assert some == list(queries.pairs(synsets, wordnet, 3, 7))
    assert len(some) == 3


def test_an_engine_quotes_words_that_belong_together_and_has_limits():
    engine = search_engines.SearchEngine("x", True, 4, 30)

    assert engine.format_query(("killer whale", "dolphin")) == '"killer whale" dolphin'
    assert engine.takes("one two three four")
    assert not engine.takes("one two three four five")
    assert not engine.takes("a" * 31)
    assert {engine.name for engine in search_engines.read()} == {
        *("bing", "commons", "flickr", "google", "openverse")
    }


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("G oogle,yes,,", "the engine is"),
        ("google,perhaps,,", "quotes is 'perhaps'"),
        ("google,yes,many,", "the limit is 'many'"),
        ("flickr,yes,,", "flickr is repeated"),
    ],
)
def test_a_table_of_engines_is_checked(tmp_path, row, words):
    path = tmp_path / "engines.csv"
    path.write_text(f"engine,quotes,words,characters\nflickr,no,,5\n{row}\n")

    with pytest.raises(BadInput, match=words) as refused:
        search_engines.read(path)

    assert refused.value.line == 3


def test_the_command_writes_a_file_for_each_engine(wordnet, tab, tmp_path, shell):
    classes, engines = tmp_path / "classes.txt", tmp_path / "engines.csv"
    classes.write_text(f"{WHIPPET}\n{CRANE}\n{CRANE_BIRD}\n")
    engines.write_text("engine,quotes,words,characters\nplain,no,2,\nquoted,yes,,\n")
    words = tab(f"{WHIPPET[1:]}-n\tlemma\tlévrier anglais")

    result = shell.result(
        *("queries", "build", classes, "--translations", words, "--scenes", "ilsvrc"),
        *("--pairs", "all", "--engines", engines, "--out", tmp_path / "queries"),
    )

    assert result["without"] == {"fra": 2}
    assert result["by_kind"]["scene"] == 129
    assert result["by_kind"]["pair"] == 2
    plain, quoted = result["files"]
    assert plain["refused"] > 0
    # crane, and whippet crane: each of two classes.
    assert (plain["shared"], quoted["shared"]) == (2, 2)
    with (tmp_path / "queries" / "quoted.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == quoted["queries"] == sum(result["by_kind"].values())
    assert {
        "wnid": WHIPPET,
        "query": '"lévrier anglais"',
        "language": "fra",
        "kind": "synonym",
    } in rows
    assert {row["wnid"] for row in rows if row["kind"] == "scene"} == {""}


def test_the_command_refuses_two_files_of_a_language_and_a_folder_that_is_there(
    wordnet, tab, tmp_path, shell
):
    classes = tmp_path / "classes.txt"
    classes.write_text(f"{DOG}\n")
    first = tab(f"{DOG[1:]}-n\tlemma\tchien")
    second = tab(f"{DOG[1:]}-n\tlemma\tchien", name="again.tab")
    both = ("--translations", first, "--translations", second)

    refused = shell.refusal("queries", "build", classes, *both, "--out", tmp_path / "new")

    assert refused["error"] == "is of the language fra, as wn-data-fra.tab is"
    assert not (tmp_path / "new").exists()
    assert "error" in shell.refusal("queries", "build", classes, "--out", tmp_path)
    assert shell("queries", "build", classes, "--pairs", "few", "--out", tmp_path / "new")[0] == 2
