"""`manage.py score wsol-cues`: the posterior ratio of labeled cues, and what is refused."""

from functools import partial

import pytest

from tests.evaluation import commands

result_of = partial(commands.result_of, "score", "wsol-cues")
HEADER = "class,cue,region,with_class,without_class\n"
DUCKS = (
    HEADER + "duck,head,foreground,40,0\nduck,feet,foreground,20,20\nduck,water,background,75,25\n"
)


@pytest.fixture
def cues(tmp_path):
    def write(text: str):
        path = tmp_path / "cues.csv"
        path.write_text(text)
        return path

    return write


def test_feet_are_less_telling_of_ducks_than_water(cues):
    result = result_of(
        "--cues", cues(DUCKS + "lake,shore,foreground,5,0\nlake,sky,background,0,9\n")
    )

    duck = result["classes"]["duck"]
    assert duck["posteriors"] == {"head": 1.0, "feet": 0.5, "water": 0.75}
    assert duck["alpha"] == [
        {"foreground": "head", "background": "water", "alpha": pytest.approx(4 / 3)},
        {"foreground": "feet", "background": "water", "alpha": pytest.approx(2 / 3)},
    ]
    assert (duck["well_posed"], duck["least_alpha"]) == (False, pytest.approx(2 / 3))
    # JSON has no infinity.
    assert result["classes"]["lake"]["alpha"][0]["alpha"] is None
    assert result["classes"]["lake"]["well_posed"] is True
    assert result["well_posed"] == 0.5


def test_a_person_reads_tables(cues):
    status, out, err = commands.run("score", "wsol-cues", "--cues", cues(DUCKS))

    assert (status, err) == (0, "")
    assert "feet" in out
    assert "0.666667" in out


@pytest.mark.parametrize(
    ("rows", "line", "error"),
    [
        ("duck,head,foreground,1,2\n", 5, "already a cue"),
        ("duck,sky,above,1,2\n", 5, "region is 'above'"),
        ("duck,sky,background,1.5,2\n", 5, "not a number of patches"),
        ("duck,sky,background,-1,2\n", 5, "not a number of patches"),
        ("duck,sky,background,9999999999999999999999,2\n", 5, "not a number of patches"),
        ("duck,,background,1,2\n", 5, "name is empty"),
        ("duck,sky,background,1\n", 5, "4 cells"),
        ("swan,sky,background,1,2\n", None, "swan has no foreground cue"),
    ],
)
def test_a_bad_row_is_named(cues, rows, line, error):
    path = cues(DUCKS + rows)

    refusal = commands.refused("score", "wsol-cues", "--cues", path)

    assert error in refusal["error"]
    assert (refusal["file"], refusal["line"]) == (str(path), line)


def test_no_rows_are_refused(cues):
    assert "no rows" in commands.refused("score", "wsol-cues", "--cues", cues(HEADER))["error"]


def test_more_cues_of_a_class_than_pairs_can_be_told_are_refused(cues):
    many = "".join(f"duck,cue {i},foreground,1,0\n" for i in range(1001))

    refusal = commands.refused("score", "wsol-cues", "--cues", cues(HEADER + many))

    assert "more than 1,000 cues" in refusal["error"]
    assert refusal["line"] == 1002
