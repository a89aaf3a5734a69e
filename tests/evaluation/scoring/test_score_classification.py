"""`manage.py score classification`: its result, its options and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from tests.evaluation.box_world import write
from tests.evaluation.management.test_score_command import refused, result_of, run

pytestmark = pytest.mark.usefixtures("wordnet")

CLASSES = ["n01847000", "n02018207", "n02012849", "n02084071", "n02876657"]
DRAKE, COOT, CRANE, DOG, BOTTLE = CLASSES
KS = ["1", "2", "5", "10", "20"]


class Files:
    """Four images: right at rank 1, right at rank 2, wrong by a near class, and no answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.truth_rows = [("a", DRAKE), ("b", COOT), ("c", DRAKE), ("d", DOG)]
        self.rows = [("a", 1, DRAKE), ("b", 2, COOT), ("b", 1, BOTTLE), ("c", 1, COOT)]

    def arguments(self) -> tuple:
        truth = write(self.folder / "truth.csv", ["image", "wnid"], self.truth_rows)
        predictions = write(self.folder / "predictions.csv", ["image", "rank", "wnid"], self.rows)
        return ("classification", "--truth", truth, "--predictions", predictions)


@pytest.fixture
def files(tmp_path) -> Files:
    return Files(tmp_path)


def values(figures: dict) -> dict:
    return {k: figure["value"] for k, figure in figures.items()}


def test_the_promised_result(files, wordnet):
    result = result_of(*files.arguments())

    assert (result["top1_error"]["value"], result["top5_error"]["value"]) == (0.75, 0.5)
    near = wordnet.ancestor_height(wordnet.index(DRAKE), wordnet.index(COOT))
    entity = int(wordnet.heights[wordnet.index("n00001740")])
    assert result["hierarchical_error"]["value"] == (near + entity) / 4
    assert values(result["hit_at_k"]) == dict(zip(KS, [0.25, 0.5, 0.5, 0.5, 0.5], strict=True))
    assert list(result["hp_at_k"]) == KS
    assert "WordNet 3.0" in result["hierarchy"]
    assert (result["images"], result["classes"], result["valid_labels"]) == (4, 3, 3)
    for name in ("top1_error", "top5_error", "hierarchical_error"):
        low, high = result[name]["interval"]
        assert low <= result[name]["value"] <= high
        assert result[name]["rounds"] >= 20_000


def test_hp_at_k_by_hand(files, tmp_path, wordnet):
    """Over drake and coot alone each is in the other's set of two."""
    files.truth_rows = [("a", DRAKE), ("b", COOT)]
    files.rows = [("a", 1, COOT), ("a", 2, DRAKE), ("b", 1, COOT), ("b", 2, DOG)]
    valid = tmp_path / "valid.txt"
    valid.write_text(f"{DRAKE}\n{COOT}\n")

    result = result_of(*files.arguments(), "--valid-labels", valid)

    expected = [1 / 2, 3 / 4, 3 / 10, 3 / 20, 3 / 40]
    assert values(result["hp_at_k"]) == pytest.approx(dict(zip(KS, expected, strict=True)))
    assert result["valid_labels"] == 2
    assert result["mean_correct_set_size"] == {"1": 1, "2": 2, "5": 2, "10": 2, "20": 2}
    assert any("1 prediction is not a valid label" in note for note in result["notes"])


def test_valid_labels_change_the_sets_and_nothing_else(files, tmp_path):
    files.rows += [("c", 2, CRANE)]
    valid = tmp_path / "valid.txt"
    valid.write_text("\n".join(CLASSES))

    plain, with_list = (
        result_of(*files.arguments()),
        result_of(*files.arguments(), "--valid-labels", valid),
    )

    assert with_list["valid_labels"] == 5
    assert with_list["hp_at_k"]["5"]["value"] > plain["hp_at_k"]["5"]["value"]
    for name in ("top1_error", "hierarchical_error", "hit_at_k"):
        assert values(
            {0: with_list[name]} if "value" in with_list[name] else with_list[name]
        ) == values({0: plain[name]} if "value" in plain[name] else plain[name])


def test_intervals_are_of_the_level_asked_for_and_the_same_again(files):
    files.truth_rows = [(str(i), DRAKE) for i in range(400)]
    files.rows = [(str(i), 1, DRAKE if i % 4 else COOT) for i in range(400)]

    wide = result_of(*files.arguments())
    narrow = result_of(*files.arguments(), "--confidence", 0.5)

    assert (wide["confidence"], narrow["confidence"]) == (0.999, 0.5)
    assert wide["top1_error"]["interval"] == pytest.approx([0.1825, 0.3225], abs=0.006)
    assert narrow["top1_error"]["interval"] == pytest.approx([0.235, 0.265], abs=0.006)
    assert wide == result_of(*files.arguments())


def test_the_devkits_own_files_say_the_same(files, tmp_path):
    plain = result_of(*files.arguments())
    meta = tmp_path / "meta.mat"
    kinds = [("ILSVRC2012_ID", "f8"), ("WNID", object)]
    ids = {wnid: i + 1 for i, wnid in enumerate([BOTTLE, DOG, CRANE, COOT, DRAKE])}
    savemat(meta, {"synsets": np.array([(i, w) for w, i in ids.items()], kinds)})
    (tmp_path / "list.txt").write_text("\n".join(f"{w} a name" for w in ids))
    (tmp_path / "truth.txt").write_text("".join(f"{ids[w]}\n" for _, w in files.truth_rows))
    (tmp_path / "five.txt").write_text("5 0 0 0 0\n1 4\n4\n-1\n")
    arguments = ("classification", "--truth", tmp_path / "truth.txt")
    arguments += ("--predictions", tmp_path / "five.txt", "--devkit")

    assert result_of(*arguments, meta) == plain
    assert result_of(*arguments, tmp_path / "list.txt") == plain
    valid = tmp_path / "valid.txt"
    valid.write_text("\n".join(ids))
    bare = result_of(*arguments, "--valid-labels", valid)
    assert bare["hierarchical_error"] == plain["hierarchical_error"]
    assert any("another order" in note for note in bare["notes"])

    unknown = result_of(*arguments)
    assert unknown["top5_error"] == plain["top5_error"]
    assert (unknown["hierarchical_error"], unknown["hp_at_k"]) == (None, None)


def test_an_empty_last_line_is_an_image_without_an_answer(tmp_path):
    (tmp_path / "truth.txt").write_text("1\n2\n")
    (tmp_path / "five.txt").write_text("1\n\n\n")
    arguments = ("classification", "--truth", tmp_path / "truth.txt")

    result = result_of(*arguments, "--predictions", tmp_path / "five.txt", "--devkit")

    assert result["top5_error"]["value"] == 0.5


def test_a_class_named_again_counts_once(files):
    files.truth_rows = [("a", DRAKE), ("b", COOT)]
    files.rows = [("a", 1, DRAKE), ("a", 2, "drake.n.02"), ("b", 1, COOT), ("b", 2, COOT)]
    files.rows[1] = ("a", 2, DRAKE)

    result = result_of(*files.arguments())

    assert result["hp_at_k"]["2"]["value"] == 0.5
    assert any("2 predictions name a class again" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("ranks", "words"), [([1, 3], "1 image has ranks"), ([2], "1 image has ranks"), ([1, 2], "")]
)
def test_a_rank_that_is_missing_before_another_is_noted(files, ranks, words):
    labels = dict(zip((1, 2, 3), (DRAKE, COOT, DOG), strict=True))
    files.rows = [("a", rank, labels[rank]) for rank in ranks]

    notes = [note for note in result_of(*files.arguments())["notes"] if "is missing" in note]

    assert bool(notes) == bool(words)
    assert not notes or notes[0].startswith(words)


def test_intervals_that_do_not_settle_are_named(files, monkeypatch):
    monkeypatch.setattr(
        "evaluation.scoring.classification.mean_interval",
        lambda values, *_, **__: (0.0, 1.0, 20, False),
    )

    notes = result_of(*files.arguments())["notes"]

    for name in ("top1_error", "hierarchical_error", "hit_at_k 5", "hp_at_k 20"):
        assert any(note.startswith(f"the interval of {name} had not settled") for note in notes)


def test_ranks_beyond_the_twentieth_and_rows_in_any_order(files):
    files.rows = [*reversed(files.rows), ("d", 21, DOG)]

    result = result_of(*files.arguments())

    assert result["hit_at_k"]["20"]["value"] == 0.5
    assert result["top1_error"]["value"] == 0.75


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (lambda f: f.rows.append(("e", 1, DRAKE)), 6, "truth lacks the image 'e'"),
        (lambda f: f.rows.append(("d", 1, "n99999999")), 6, "'n99999999' is not a noun"),
        (lambda f: f.rows.append(("d", 1, "crane")), 6, "several meanings"),
        (lambda f: f.rows.append(("d", 1, "x" * 9000)), 6, "has 9000 characters"),
        (lambda f: f.rows.append(("d", 1, "n00060548")), 6, "is an instance"),
        (lambda f: f.rows.append(("a", 1, COOT)), 6, "rank 1 of image 'a' is repeated"),
        (lambda f: f.rows.append(("a", 0, COOT)), 6, "the rank is '0'"),
        (lambda f: f.rows.append(("a", "1.5", COOT)), 6, "the rank is '1.5'"),
        (lambda f: f.truth_rows.append(("a", COOT)), 6, "image 'a' is repeated"),
        (lambda f: f.truth_rows.append(("", COOT)), 6, "the image is empty"),
        (lambda f: f.rows.clear(), None, "no predictions"),
        (lambda f: f.truth_rows.clear(), None, "no images"),
    ],
)
def test_bad_rows_are_refused_with_their_line(files, change, line, words):
    change(files)

    refusal = refused(*files.arguments())

    assert refusal["line"] == line
    assert words in refusal["error"]
    assert refusal["file"].endswith(".csv")
    assert refusal["cure"]


def test_a_class_that_is_no_valid_label_is_refused(files, tmp_path):
    valid = tmp_path / "valid.txt"
    valid.write_text(f"{DRAKE}\n{COOT}\n")

    refusal = refused(*files.arguments(), "--valid-labels", valid)

    assert (refusal["line"], refusal["error"]) == (5, f"{DOG} is not a valid label")


@pytest.mark.parametrize(
    ("truth", "five", "meaning", "words"),
    [
        ("1\n2\n", "1\n", f"{DRAKE}\n{COOT}\n", "has 1 line, "),
        ("1\nx\n", "1\n2\n", f"{DRAKE}\n{COOT}\n", "'x' is not an id"),
        ("1\n0\n", "1\n2\n", f"{DRAKE}\n{COOT}\n", "the image has no class"),
        ("1\n2\n", "1\n3\n", f"{DRAKE}\n{COOT}\n", "the id 3 has no class"),
        ("1\n2\n", "1\n2\n", f"{DRAKE}\nzebra\n", "'zebra' is not a wnid"),
        ("", "", f"{DRAKE}\n", "there are no images"),
    ],
)
def test_bad_lines_of_the_devkit_are_refused(tmp_path, truth, five, meaning, words):
    for name, text in (("truth", truth), ("five", five), ("list", meaning)):
        (tmp_path / f"{name}.txt").write_text(text)
    arguments = ("classification", "--truth", tmp_path / "truth.txt")

    refusal = refused(
        *arguments, "--predictions", tmp_path / "five.txt", "--devkit", tmp_path / "list.txt"
    )

    assert words in refusal["error"]


def test_what_is_no_meta_file_is_refused(files, tmp_path):
    (tmp_path / "meta.mat").write_text("no")

    assert "meta.mat" in refused(*files.arguments(), "--devkit", tmp_path / "meta.mat")["error"]


def test_a_level_that_is_no_share_is_wrong_usage(files):
    for level in ["0", "1", "95", "x"]:
        assert run(*files.arguments(), "--confidence", level)[0] == 2, level
