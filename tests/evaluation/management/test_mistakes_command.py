"""`manage.py mistakes queue|apply`: from predictions to a version of label sets, and its scores."""

import csv
import functools
import json
from pathlib import Path

import pytest

from tests.evaluation import commands
from tests.evaluation.box_world import write
from tests.evaluation.named_images import release

pytestmark = pytest.mark.usefixtures("wordnet")

result_of = functools.partial(commands.result_of, "mistakes")
refused = functools.partial(commands.refused, "mistakes")
run = functools.partial(commands.run, "mistakes")

DRAKE, COOT, CRANE = CLASSES = ("n01847000", "n02018207", "n02012849")


class Review:
    """Thirty drakes, of which the first six are coots to model A and the first two cranes to B."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        images = [f"{number:02}.jpg" for number in range(30)]
        rank = ["image", "rank", "wnid"]
        confusions = {"A": (COOT, 6), "B": (CRANE, 2), "C": (CRANE, 30)}
        self.truth = write(folder / "truth.csv", ["image", "wnid"], [(i, DRAKE) for i in images])
        for name, (wnid, many) in confusions.items():
            rows = [(image, 1, wnid if at < many else DRAKE) for at, image in enumerate(images)]
            write(folder / f"{name}.csv", rank, rows)

    @property
    def queue(self) -> Path:
        return self.folder / "queue.jsonl"

    def submission_options(self, *names: str) -> tuple:
        options: tuple = ("--truth", self.truth)
        for name in names:
            options += ("--predictions", self.folder / f"{name}.csv")
        return options

    def make(self, *more: object) -> dict:
        return result_of("queue", *self.submission_options("A", "B"), "--out", self.queue, *more)

    def pairs(self) -> list[tuple[str, str]]:
        lines = [json.loads(line) for line in self.queue.read_text().splitlines()]
        assert all(set(line) == {"image", "wnid"} for line in lines[1:])
        return [(line["image"], line["wnid"]) for line in lines[1:]]

    def answer(self, **answers: str) -> Path:
        """Drakes are right; a coot or a crane is what `answers` says of it."""
        words = {DRAKE: "valid", COOT: "minor", CRANE: "major"}
        words |= {{"coot": COOT, "crane": CRANE}[name]: word for name, word in answers.items()}
        rows = [(*pair, words[pair[1]], "fine_grained") for pair in self.pairs()]
        return write(self.folder / "answers.csv", ["image", "wnid", "answer", "tags"], rows)

    def apply(self, answers: Path, *more: object, out: str = "v2", names: str = "AB") -> tuple:
        options = (
            "apply",
            *self.submission_options(*names),
            "--queue",
            self.queue,
            "--answers",
            answers,
        )
        return (*options, "--out", self.folder / out, *more)


@pytest.fixture
def review(tmp_path) -> Review:
    return Review(tmp_path)


def test_a_queue_says_how_it_was_chosen_and_its_lines_say_nothing(review):
    meta = review.make()

    assert meta["counts"] == {
        "images": 30,
        "left_out": 0,
        "disagreements": 6,
        "agreements": 24,
        "sampled": 3,
        "pairs": 6 + 6 + 2 + 3,
    }
    assert [model["name"] for model in meta["models"]] == ["A", "B"]
    assert (meta["version"], meta["sets_sha256"], meta["agreements"]) == (1, None, 0.1)
    assert len(review.pairs()) == 17
    assert json.loads(review.queue.read_text().splitlines()[0])["meta"] == meta


def test_only_chosen_models_send_their_mistakes(review):
    options = review.submission_options("A", "B", "C")

    meta = result_of("queue", *options, "--models", "A", "--out", review.queue)

    assert meta["counts"]["disagreements"] == 6
    assert [model["name"] for model in meta["models"]] == ["A"]
    assert CRANE not in {wnid for _, wnid in review.pairs()}


def test_a_review_makes_a_version_that_names_its_models(review):
    models = review.make()["models"]

    version = result_of(*review.apply(review.answer(coot="valid"), names="ABC"))

    folder = review.folder / "v2"
    assert version == json.loads((folder / "version.json").read_text())
    assert (version["version"], version["parent_sha256"], version["models"]) == (2, None, models)
    with open(folder / "sets.csv") as file:
        rows = list(csv.reader(file))
    assert rows[:4] == [["image", "wnid"], ["00.jpg", DRAKE], ["00.jpg", COOT], ["01.jpg", DRAKE]]
    assert len(rows) == 1 + 30 + 6
    assert version["counts"]["changed"] == 6


def test_every_submission_is_scored_by_both_versions(review):
    review.make()

    result = result_of(*review.apply(review.answer(coot="valid"), names="ABC"))

    a, b, c = result["submissions"]
    assert (a["before"]["value"], a["after"]["value"]) == (24 / 30, 1)
    assert (b["before"]["value"], b["after"]["value"]) == (28 / 30, 28 / 30)
    assert (c["before"]["value"], c["after"]["value"]) == (0, 0)
    assert a["mistakes"]["answers"]["valid"] == {
        **a["mistakes"]["answers"]["valid"],
        "value": 1,
        "images": 6,
    }
    assert b["mistakes"]["answers"]["major"]["value"] == 1
    assert b["mistakes"]["tags"]["fine_grained"]["value"] == 1
    assert "mistakes" not in c
    assert result["rates"]["several_valid"]["value"] == 6 / 30


def test_the_version_scores_and_the_old_score_stays_readable(review):
    review.make()
    old = result_of(*review.apply(review.answer(), names="ABC"))
    score = functools.partial(commands.result_of, "score", "classification")

    result = score(*review.submission_options("A", "C"), "--valid-sets", review.folder / "v2")

    assert result["label_set"]["version"] == 2
    assert [model["name"] for model in result["label_set"]["models"]] == ["A", "B"]
    reviewed, unreviewed = result["submissions"]
    assert reviewed["multi_label_accuracy"]["value"] == old["submissions"][0]["after"]["value"]
    note = "version 2 of the label sets did not review its mistakes"
    assert not any(note in words for words in reviewed["notes"])
    assert any(note in words for words in unreviewed["notes"])

    # A review of the review, of another model, leaves the version before as it is.
    kept = (review.folder / "v2" / "version.json").read_bytes()
    sets = ("--valid-sets", review.folder / "v2")
    meta = result_of("queue", *review.submission_options("C"), *sets, "--out", review.queue)
    assert (meta["version"], meta["counts"]["disagreements"]) == (2, 30)
    new = result_of(*review.apply(review.answer(crane="valid"), *sets, out="v3", names="C"))
    assert (new["version"], new["parent_sha256"]) == (3, old["sha256"])
    assert (review.folder / "v2" / "version.json").read_bytes() == kept
    assert new["submissions"][0]["before"]["value"] == 0
    assert new["submissions"][0]["after"]["value"] == 1


def test_people_may_be_a_model(review):
    answers = {"00.jpg": (COOT, {COOT: 3}), "01.jpg": (DRAKE, {DRAKE: 3})}
    people = release(review.folder / "people", answers, CLASSES)

    meta = result_of(
        *("queue", "--truth", review.truth, "--predictions", people, "--out", review.queue)
    )

    counts = meta["counts"]
    assert (counts["left_out"], counts["disagreements"], counts["agreements"]) == (28, 1, 1)
    assert sorted(review.pairs()) == [("00.jpg", DRAKE), ("00.jpg", COOT), ("01.jpg", DRAKE)]


def test_the_tables_are_printed(review):
    review.make()

    status, out, err = run(*review.apply(review.answer()))

    assert (status, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert ["version", "2"] in rows
    assert ["before", "value", "0.8"] in [row[:3] for row in rows]


def test_a_review_is_the_same_again(review):
    review.make()
    answers = review.answer()

    assert result_of(*review.apply(answers)) == result_of(*review.apply(answers, out="again"))


def rows_of(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows.pop(), "1 pair of the queue without an answer, the first"),
        (lambda rows: rows.append(rows[1]), "is repeated"),
        (lambda rows: rows.append(["29.jpg", COOT, "valid", ""]), "is not in the queue"),
        (lambda rows: rows[1].__setitem__(2, "yes"), "the answer is 'yes'"),
        (lambda rows: rows[1].__setitem__(3, "text ugly"), "the tag is 'ugly'"),
        (lambda rows: rows[1].__setitem__(1, "n99999999"), "is not a noun"),
    ],
)
def test_bad_answers_are_refused(review, change, words):
    review.make()
    answers = review.answer()
    rows = rows_of(answers)
    change(rows)
    answers.write_text("\n".join(map(",".join, rows)) + "\n")

    refusal = refused(*review.apply(answers))

    assert words in refusal["error"]
    assert refusal["file"] == str(answers)
    assert refusal["cure"]
    assert not (review.folder / "v2").exists()


def test_other_files_than_the_queues_are_refused(review):
    review.make()
    answers = review.answer()

    assert "other predictions of B" in refused(*review.apply(answers, names="A"))["error"]
    review.truth.write_text(review.truth.read_text() + f"30.jpg,{DRAKE}\n")
    assert "another file of truth" in refused(*review.apply(answers))["error"]


def test_a_queue_with_other_pairs_is_refused(review):
    review.make()
    lines = review.queue.read_text().splitlines(keepends=True)
    review.queue.write_text("".join(lines[:-1]))

    assert "other pairs than were chosen" in refused(*review.apply(review.answer()))["error"]
    review.queue.write_text("{}\n")
    assert "no meta of a queue" in refused(*review.apply(review.truth))["error"]


def test_a_version_that_was_changed_is_refused(review):
    review.make()
    result_of(*review.apply(review.answer()))
    sets = review.folder / "v2" / "sets.csv"
    sets.write_text(sets.read_text() + f"00.jpg,{CRANE}\n")
    score = ("score", "classification", *review.submission_options("A"), "--valid-sets")

    assert commands.refused(*score, sets.parent)["error"] == "differs from what the review wrote"
    assert commands.refused(*score, review.folder)["error"] == "is not a version of label sets"
    (sets.parent / "version.json").write_text("[]")
    assert "does not describe" in commands.refused(*score, sets.parent)["error"]


def test_a_model_that_is_no_submission_is_wrong_usage(review):
    status, _, err = run(
        "queue", *review.submission_options("A"), "--models", "Z", "--out", review.queue
    )

    assert status == 2
    assert "'Z' is not one of the submissions A" in err
