"""`manage.py score cds` and what it refuses."""

import functools
from pathlib import Path

import pytest

from evaluation.readers.sequences import SequenceLine, read_sequences
from tests.evaluation import commands
from tests.evaluation.cds import predicted, scenes
from tests.evaluation.cds.predicted import BUS, CAT, DOG, MAPPING

pytestmark = pytest.mark.usefixtures("wordnet")

run = functools.partial(commands.run, "score")
result_of = functools.partial(commands.result_of, "score")
refused = functools.partial(commands.refused, "score")


class Files:
    """Sequences, predictions and a mapping in a folder, and the arguments that name them."""

    def __init__(self, folder: Path, lines: list[SequenceLine]) -> None:
        self.sequences = predicted.write_sequences(folder / "sequences.jsonl", lines)
        self.predictions = predicted.write_predictions(folder / "predictions.csv", lines)
        self.mapping = predicted.write_mapping(folder / "mapping.csv")
        self.arguments = ("cds", "--sequences", self.sequences, "--predictions", self.predictions)
        self.arguments += ("--bootstrap", 10)
        self.mapped = (*self.arguments, "--mapping", self.mapping)


@pytest.fixture
def files(tmp_path) -> Files:
    return Files(tmp_path, predicted.lines())


def test_the_promised_result(files):
    result = result_of(*files.mapped)

    assert len(result["sequences"]) == 3 * 2 * 8 * 2
    assert set(result["sequences"][0]) == {
        "image",
        "object",
        "category",
        "part_scheme",
        "content_scheme",
        "classifier",
        "cds",
        "b_cds",
    }
    promised = {"by_content_scheme", "by_part_scheme", "best_and_worst", "error_correlation"}
    promised |= {"cl_ratio", "hardness"}
    assert promised <= set(result["tables"])
    assert all(result["tables"][name] for name in promised)
    assert result["tables"]["averaging"] == "text"
    assert (result["similarity"], result["convention"], result["by"]) == ("wup", "clean", "wnid")


def test_without_a_mapping_there_is_no_b_cds(files):
    result = result_of(*files.arguments)

    assert "b_cds" not in result["sequences"][0]
    assert result["mapping"] is None


def test_options_are_named_in_the_result_and_change_it(files):
    plain = result_of(*files.mapped)
    changed = result_of(
        *files.mapped,
        *("--similarity", "path", "--convention", "wnsim", "--by", "word"),
        *("--seed", 3),
    )

    assert (changed["similarity"], changed["convention"], changed["by"]) == (
        "path",
        "wnsim",
        "word",
    )
    assert changed["bootstrap"] == {"rounds": 10, "seed": 3, "level": 0.95}
    assert changed["sequences"][0]["cds"] != plain["sequences"][0]["cds"]


def test_no_rounds_leave_intervals_open(files):
    result = result_of(*files.mapped, "--bootstrap", 0)

    for name in ("by_content_scheme", "error", "hardness"):
        assert {row["low"] for row in result["tables"][name]} == {None}


def test_predictions_of_several_files_are_scored_together(files, tmp_path):
    more = predicted.write_predictions(tmp_path / "more.csv", predicted.lines(), ("three",), 1)

    result = result_of(*files.mapped, "--predictions", more)

    assert result["classifiers"] == ["one", "two", "three"]


def test_the_papers_grids_are_printed_without_json(files):
    code, out, err = run(*files.mapped)

    assert (code, err) == (0, "")
    tables = result_of(*files.mapped)["tables"]
    blocks = {block.split("\n")[0].split(":")[0]: block for block in out.split("\n\n")}
    grid = blocks["CDS by content scheme"].splitlines()
    rows = [row for row in tables["by_content_scheme"] if row["averaging"] == "text"]
    schemes = list(dict.fromkeys(row["content_scheme"] for row in rows))
    assert grid[1].split() == ["classifier", *schemes]
    machine = grid[2].split()[0]
    first = next(row for row in rows if row["classifier"] == machine)
    assert grid[2].split()[1].startswith(f"{first['value']:.4f}")
    assert f"[{first['low']:.4f}, {first['high']:.4f}]" in grid[3]
    assert {"CDS by part scheme", "B-CDS by part scheme", "correlation with error"} <= set(blocks)
    assert ["category", "names", DOG, "dog"] in [line.split() for line in out.splitlines()]


def test_what_is_not_there_is_not_printed_and_notes_say_why(files):
    code, out, _ = run(*files.arguments, "--bootstrap", 0)

    assert code == 0
    assert "b_cds" not in out
    assert "CL-ratio of all" not in out
    assert "- without a mapping there is no B-CDS" in out


def test_a_category_that_wordnet_lacks_is_named_in_the_sequences(files):
    text = files.sequences.read_text().replace(f'"category": "{CAT}"', '"category": "blorb"')
    files.sequences.write_text(text)

    error = refused(*files.mapped)

    assert (error["file"], error["line"]) == (str(files.sequences), 17)
    assert "'blorb'" in error["error"]
    assert error["cure"]


def test_a_category_that_the_mapping_lacks_is_named(files):
    predicted.write_mapping(files.mapping, {DOG: MAPPING[DOG], BUS: [BUS]})

    error = refused(*files.mapped)

    assert (error["file"], error["line"]) == (str(files.sequences), 17)
    assert f"no class for the category '{CAT}'" in error["error"]
    assert "add rows" in error["cure"]


def test_a_class_that_wordnet_lacks_is_named_in_its_file(files):
    text = files.predictions.read_text().splitlines()
    text[4] = ",".join([*text[4].split(",")[:2], "n00000001", "0.5"])
    files.predictions.write_text("\n".join(text) + "\n")

    error = refused(*files.mapped)

    assert (error["file"], error["line"]) == (str(files.predictions), 5)
    assert "'n00000001'" in error["error"]


def test_a_row_that_is_missing_is_an_error(files):
    text = files.predictions.read_text().splitlines()
    files.predictions.write_text("\n".join(text[:-1]) + "\n")

    error = refused(*files.mapped)

    assert error["file"] == str(files.predictions)
    assert "'two' lacks 1 of 384 frames" in error["error"]


def test_a_classifier_in_two_files_is_an_error(files):
    error = refused(*files.mapped, "--predictions", files.predictions)

    assert "'one' is in two files" in error["error"]


def test_a_file_that_is_missing_is_an_error(files, tmp_path):
    error = refused(*files.arguments, "--mapping", tmp_path / "none.csv")

    assert error["file"] == str(tmp_path / "none.csv")


def test_wrong_usage_exits_2(files):
    for wrong in [
        ("--similarity", "lesk"),
        ("--bootstrap", "-1"),
        ("--by", "lemma"),
        ("--seed", "x"),
    ]:
        assert run(*files.arguments, *wrong)[0] == 2, wrong


def test_no_database_is_touched(files):
    # Not marked for the database: a query would raise.
    assert result_of(*files.arguments)["classifiers"] == ["one", "two"]


def test_from_a_release_to_every_table(tmp_path, shell):
    names = [f"{number}.png" for number in range(6)]
    objects = {name: [scenes.cat(name), scenes.cow(name)] for name in names}
    scenes.release(tmp_path / "release", objects)
    status, _, _ = shell(
        *("sequences", tmp_path / "release", "--part-scheme", "random", "--lines-only"),
        *("--out", tmp_path / "revealed"),
    )
    assert status == 0
    sequences = tmp_path / "revealed" / "sequences.jsonl"
    lines = read_sequences(sequences)
    predictions = predicted.write_predictions(tmp_path / "p.csv", lines)
    mapping = {category: [category] for category in (scenes.CAT, scenes.COW)}
    mapping_option = ("--mapping", predicted.write_mapping(tmp_path / "mapping.csv", mapping))

    result = result_of(
        *("cds", "--sequences", sequences, "--predictions", predictions, "--bootstrap", 20),
        *mapping_option,
    )

    assert (result["images"], result["objects"], len(result["sequences"])) == (6, 12, 12 * 4 * 2)
    assert {row["object"] for row in result["sequences"]} == {"cat-1", "cow-1"}
    empty = {name for name, rows in result["tables"].items() if not rows}
    assert empty <= {"captchas"}
    present = [row for row in result["tables"]["part_presence"] if row["count"]]
    # A cat shows three of its parts; the count of a cow's is the vocabulary's.
    assert {row["category"]: row["count"] for row in present} == {scenes.CAT: 6, scenes.COW: 6}
