"""`manage.py score classification --valid-sets`: the multi-label accuracy of ReaL."""

from pathlib import Path

import pytest

from tests.evaluation.box_world import write
from tests.evaluation.management.test_score_command import refused, result_of, run
from tests.evaluation.named_images import release

pytestmark = pytest.mark.usefixtures("wordnet")

DRAKE, COOT, CRANE, DOG = CLASSES = ("n01847000", "n02018207", "n02012849", "n02084071")


class Files:
    """Right by the truth and the set; wrong by the truth and in the set; in neither; an empty set;
    no line in the sets; no prediction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.truth = [("a", DRAKE), ("b", COOT), ("c", DRAKE), ("d", DOG), ("e", DOG), ("f", DOG)]
        self.rows = [(image, 1, DRAKE) for image, _ in self.truth[:5]] + [("c", 2, COOT)]
        self.sets = [("a", DRAKE), ("b", COOT), ("b", "drake.n.02"), ("c", COOT), ("c", CRANE)]
        self.sets += [("d", ""), ("f", DOG)]

    def arguments(self, *more: object) -> tuple:
        truth = write(self.folder / "truth.csv", ["image", "wnid"], self.truth)
        predictions = write(self.folder / "found.csv", ["image", "rank", "wnid"], self.rows)
        sets = write(self.folder / "sets.csv", ["image", "wnid"], self.sets)
        words = ("classification", "--truth", truth, "--predictions", predictions)
        return (*words, "--valid-sets", sets, *more)


@pytest.fixture
def files(tmp_path) -> Files:
    return Files(tmp_path)


def test_a_first_prediction_counts_if_it_is_in_the_set(files):
    accuracy = result_of(*files.arguments())["multi_label_accuracy"]

    assert accuracy["value"] == 2 / 4
    assert (accuracy["images"], accuracy["empty_sets"], accuracy["without_sets"]) == (4, 1, 1)
    low, high = accuracy["interval"]
    assert low < 0.5 < high


def test_other_figures_are_those_without_sets(files):
    with_sets = result_of(*files.arguments())
    del with_sets["multi_label_accuracy"]

    assert with_sets == result_of(*files.arguments()[:-2])


def test_the_interval_is_that_of_an_error(files):
    """300 of 400 in their sets: the interval of a share of 0.75."""
    files.truth = files.sets = [(str(i), DRAKE) for i in range(400)]
    files.rows = [(str(i), 1, DRAKE if i % 4 else COOT) for i in range(400)]

    accuracy = result_of(*files.arguments("--confidence", 0.5))["multi_label_accuracy"]

    assert accuracy["value"] == 0.75
    assert accuracy["interval"] == pytest.approx([0.735, 0.765], abs=0.006)


def test_submissions_are_compared_by_their_sets_too(files, tmp_path):
    people = release(
        tmp_path / "people", {image: (COOT, {COOT: 3}) for image in ("a", "b", "c", "d")}, CLASSES
    )

    result = result_of(*files.arguments("--predictions", people))

    machine, people_result = (
        submission["multi_label_accuracy"] for submission in result["submissions"]
    )
    assert (machine["value"], people_result["value"]) == (2 / 3, 2 / 3)
    # "e" is not in the release: of nobody.
    assert (
        people_result["images"],
        people_result["empty_sets"],
        people_result["without_sets"],
    ) == (3, 1, 0)
    compared = result["multi_label_comparison"]
    [pair] = compared["pairs"]
    assert compared["images"] == 3
    counts = ("both_right", "only_first_wrong", "only_second_wrong", "both_wrong")
    assert [pair[name] for name in counts] == [1, 1, 1, 0]
    assert pair["either_right"]["value"] == 1
    assert compared["holm"] == {"over": "pairs of people and a classifier", "tests": 1}


def test_the_tables_state_how_many_images_count(files, tmp_path):
    again = write(tmp_path / "again.csv", ["image", "rank", "wnid"], files.rows)

    status, out, err = run(*files.arguments("--predictions", again))

    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["images", "4"] in lines
    assert ["empty", "sets", "1"] in lines
    # Top-5 errors on six images, then multi-label ones on four.
    for name, counts in (("right", ["2", "2"]), ("wrong", ["4", "2"])):
        assert [line[2] for line in lines if line[:2] == ["both", name]] == counts


def test_the_kits_ids_need_their_meaning(files, tmp_path):
    (tmp_path / "truth.txt").write_text("1\n2\n")
    (tmp_path / "five.txt").write_text("1\n1\n")
    (tmp_path / "list.txt").write_text(f"{DRAKE}\n{COOT}\n")
    sets = write(tmp_path / "sets.csv", ["image", "wnid"], [("1", COOT), ("2", DRAKE)])
    arguments = ("classification", "--truth", tmp_path / "truth.txt", "--valid-sets", sets)
    arguments += ("--predictions", tmp_path / "five.txt", "--devkit")

    status, _, err = run(*arguments)

    assert status == 2
    assert "--valid-sets needs to know what the ids mean" in err
    result = result_of(*arguments, tmp_path / "list.txt")
    assert result["multi_label_accuracy"]["value"] == 0.5


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (lambda f: f.sets.append(("x", DRAKE)), 9, "the truth lacks the image 'x'"),
        (lambda f: f.sets.append(("a", "n99999999")), 9, "'n99999999' is not a noun"),
        (lambda f: f.sets.append(("d", DRAKE)), 9, "image 'd' is stated empty and has classes"),
        (lambda f: f.sets.append(("a", "")), 9, "image 'a' is stated empty and has classes"),
        (lambda f: f.sets.clear(), None, "there are no sets"),
        (lambda f: f.sets.__setitem__(slice(None), [("a", "")]), None, "has an empty set, or none"),
    ],
)
def test_bad_sets_are_refused_with_their_line(files, change, line, words):
    change(files)

    refusal = refused(*files.arguments())

    assert refusal["line"] == line
    assert words in refusal["error"]
    assert refusal["file"].endswith("sets.csv")
    assert refusal["cure"]
