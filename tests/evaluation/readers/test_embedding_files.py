"""`wordnet nearest` and `wordnet embed`: from vectors to predictions, and what they refuse."""

from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.management import test_score_command as score
from tests.evaluation.management.test_wordnet_command import refused, result_of, run

pytestmark = pytest.mark.usefixtures("wordnet")
BIRD_CRANE, MACHINE_CRANE, BALLROOM = "n02012849", "n03126707", "n02783324"
TERMS = "crane,1,0\nballroom,0,1\ndance hall,0.1,1\nwalrus,-1,0\n"


class Files:
    """Four terms in a plane, two images, and three labels, one of whose terms is "crane"."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("terms.csv", TERMS)
        self.write("labels.txt", f"{BIRD_CRANE}\n{BALLROOM}\n{MACHINE_CRANE}\n")
        self.write("images.txt", "a.jpg\nb.jpg\n")
        self.vectors = np.array([[1, 0.1], [0.2, 3]])

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).write_text(text)
        return self.folder / name

    def arguments(self, verb: str = "nearest", terms: str = "terms.csv") -> list:
        words = [verb, "--terms", self.folder / terms, "--labels", self.folder / "labels.txt"]
        if verb == "embed":
            return [*words, "--out", self.folder / "targets.npy"]
        np.save(self.folder / "vectors.npy", self.vectors)
        words += ["--vectors", self.folder / "vectors.npy", "--images", self.folder / "images.txt"]
        return [*words, "--out", self.folder / "predictions.csv"]


@pytest.fixture
def files(tmp_path) -> Files:
    return Files(tmp_path)


def test_predictions_are_the_labels_of_the_nearest_terms(files):
    result = result_of(*files.arguments())

    assert (files.folder / "predictions.csv").read_text().splitlines() == [
        "image,rank,wnid",
        f"a.jpg,1,{BIRD_CRANE}",
        f"a.jpg,2,{MACHINE_CRANE}",
        f"a.jpg,3,{BALLROOM}",
        f"b.jpg,1,{BALLROOM}",
        f"b.jpg,2,{BIRD_CRANE}",
        f"b.jpg,3,{MACHINE_CRANE}",
    ]
    assert (result["images"], result["predictions"], result["short"]) == (2, 6, 2)
    assert (result["terms"], result["terms_of_no_label"], result["labels_of_no_term"]) == (4, 1, 0)


def test_they_are_cut_at_k_and_so_many_terms_are_looked_at(files):
    cut = result_of(*files.arguments(), "-k", 1)
    near = result_of(*files.arguments(), "--nearest", 1)

    assert (cut["predictions"], cut["nearest"]) == (2, 4)
    assert (near["predictions"], near["nearest"], near["short"]) == (3, 1, 2)


def test_terms_come_from_npz_as_well(files):
    result_of(*files.arguments())
    plain = (files.folder / "predictions.csv").read_bytes()
    rows = [line.split(",") for line in TERMS.splitlines()]
    vectors = np.array([[float(x) for x in row[1:]] for row in rows], np.float32)
    np.savez(files.folder / "terms.npz", terms=[row[0] for row in rows], vectors=vectors)

    result_of(*files.arguments(terms="terms.npz"))

    assert (files.folder / "predictions.csv").read_bytes() == plain


def test_the_predictions_are_what_score_reads(files):
    result_of(*files.arguments())
    truth = files.write("truth.csv", f"image,wnid\na.jpg,{MACHINE_CRANE}\nb.jpg,{BALLROOM}\n")

    result = score.result_of(
        *("classification", "--truth", truth),
        *("--predictions", files.folder / "predictions.csv"),
        *("--valid-labels", files.folder / "labels.txt"),
    )

    assert result["hit_at_k"]["1"]["value"] == 0.5
    assert result["hit_at_k"]["2"]["value"] == 1


@pytest.mark.parametrize(("by", "expected"), [("first", [0, 1]), ("mean", [0.05, 1])])
def test_labels_are_trained_towards_a_term_or_the_mean(files, by, expected):
    files.write("labels.txt", f"{BALLROOM}\nn02084071\n")

    result = result_of(*files.arguments("embed"), "--by", by)

    targets = np.load(files.folder / "targets.npy")
    assert targets[0] == pytest.approx(expected)
    assert np.isnan(targets[1]).all()
    assert (result["labels"], result["without_vector"], result["by"]) == (2, ["n02084071"], by)


def test_a_random_term_is_the_same_again_by_its_seed(files):
    drawn = set()
    for seed in range(12):
        result_of(*files.arguments("embed"), "--by", "random", "--seed", seed)
        once = np.load(files.folder / "targets.npy")
        result_of(*files.arguments("embed"), "--by", "random", "--seed", seed)
        np.testing.assert_array_equal(np.load(files.folder / "targets.npy"), once)
        drawn.add(tuple(once[1]))

    assert drawn == {(0, 1), (0.1, 1)}


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("terms.csv", "crane,1,0\ncrane,0,1\n", 2, "the term 'crane' is repeated"),
        ("terms.csv", "crane,1,0\nbird,0\n", 2, "'bird' has 1 numbers, the first term 2"),
        ("terms.csv", "crane,1,x\n", 1, "has a value that is not a number"),
        ("terms.csv", "crane,1,0\nbird,0,0\n", 2, "is zero or not finite"),
        ("terms.csv", "crane,nan,0\n", 1, "is zero or not finite"),
        ("terms.csv", ",1,0\n", 1, "term 1 is empty"),
        ("terms.csv", "", None, "there are no terms"),
        ("terms.csv", "crane\n", 1, "'crane' has 0 numbers"),
        ("terms.csv", '"crane,1,0\n', 1, "is not CSV"),
        ("terms.csv", "crane,1,0,0\n", None, "has 2 numbers a row"),
        ("images.txt", "a.jpg\n", None, "has 1 image"),
        ("images.txt", "a.jpg\na.jpg\n", 2, "image 'a.jpg' is repeated"),
        ("images.txt", "a.jpg\n\n", 2, "the line is empty"),
        ("labels.txt", "n99999999\n", 1, "is not a wnid of a noun"),
    ],
)
def test_bad_files_are_refused_and_nothing_is_written(files, name, text, line, words):
    files.write(name, text)

    refusal = refused(*files.arguments())

    assert (refusal["line"], bool(refusal["cure"])) == (line, True)
    assert words in refusal["error"]
    assert not (files.folder / "predictions.csv").exists()


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (np.zeros((2, 2)), "row 1 is zero"),
        (np.array([[1, 0], [np.nan, 1]]), "row 2 is zero or not finite"),
        (np.array([[1, 0], [1e308, 1e308]]), "row 2 is zero or not finite"),
        (np.array([[1, 0], [5e-324, 0]]), "row 2 is zero or not finite"),
        (np.ones(2), "no table of floats"),
        (np.ones((2, 2), int), "no table of floats"),
    ],
)
def test_bad_vectors_are_refused(files, vectors, words):
    files.vectors = vectors

    assert words in refused(*files.arguments())["error"]


def test_what_is_no_archive_of_terms_is_refused(files):
    files.write("terms.npz", "no")
    assert "no terms and vectors" in refused(*files.arguments(terms="terms.npz"))["error"]
    np.savez(files.folder / "terms.npz", terms=np.array(["a", 1], object), vectors=np.ones((2, 2)))
    assert "no terms and vectors" in refused(*files.arguments(terms="terms.npz"))["error"]
    np.savez(files.folder / "terms.npz", terms=["a"], vectors=np.ones((2, 2)))
    assert "terms are" in refused(*files.arguments(terms="terms.npz"))["error"]


def test_more_predictions_than_memory_holds_are_refused(files):
    assert refused(*files.arguments(), "-k", 10**30)["error"] == f"k is {10**30}"


def test_no_predictions_an_image_are_wrong_usage(files):
    assert run(*files.arguments(), "-k", "0")[0] == 2
