"""`campaign open boxes`: from labels and detections to questions, and what is refused."""

import pytest

from labeling.models import Campaign, Question
from labeling.releases import freezing
from tests import factories
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG

LABELS = f"image,wnid\n0.png,{DOG}\n0.png,{CAT}\n1.png,{DOG}\n"
HEAD = "image,wnid,confidence,x0,y0,x1,y1\n"


@pytest.fixture
def images(dataset):
    return [factories.make_image(dataset, f"{number}.png").name for number in range(2)]


@pytest.fixture
def opened(shell, tmp_path, images, wordnet):
    """The command's arguments, with these files."""

    def arguments(labels=LABELS, proposals=None, *more):
        (tmp_path / "labels.csv").write_text(labels)
        if proposals is not None:
            (tmp_path / "detections.csv").write_text(HEAD + proposals)
            more = ("--proposals", tmp_path / "detections.csv", *more)
        return [
            *("campaign", "open", "boxes", "--name", "boxes", "--dataset", "pond"),
            *("--labels", tmp_path / "labels.csv", *more),
        ]

    return arguments


def test_every_pair_has_a_first_question_and_no_other_has_a_row(shell, opened):
    result = shell.result(*opened())

    assert (result["kind"], result["state"], result["questions"]) == ("boxes", "open", 3)
    assert set(Question.objects.values_list("step", "content", "seats_free")) == {("draw", None, 1)}


def test_classes_narrow_labels_and_proposals(shell, opened, tmp_path):
    (tmp_path / "classes.txt").write_text(f"{CAT}\n")
    proposals = f"0.png,{DOG},.9,1,1,20,20\n0.png,{CAT},.8,1,1,20,20\n"

    shell.result(*opened(LABELS, proposals, "--classes", tmp_path / "classes.txt"))

    assert [question.topic for question in Question.objects.all()] == [CAT]


def test_proposals_are_checked_first_the_surest_of_those_that_overlap(shell, opened):
    rows = (
        f"1.png,{DOG},.5,30,10,50,40\n1.png,{DOG},.9,1,1,20,20\n1.png,{DOG},.8,2,1,20,20\n"
        f"1.png,{CAT},.9,1,1,20,20\n"
    )

    _, _, message = shell(*opened(LABELS, rows))

    question = Question.objects.get(item__image__name="1.png")
    assert question.step == "check"
    assert question.content["proposals"] == [[1.0, 1.0, 20.0, 20.0], [30.0, 10.0, 50.0, 40.0]]
    assert question.seats_free == 2
    assert "2 proposed boxes kept; left out: 1 of classes that were not asked for" in message


def test_proposals_that_do_not_fit_are_refused_and_nothing_is_made(shell, opened):
    for rows, error in [
        (f"x.png,{DOG},.9,1,1,2,2\n", "pond has no image 'x.png'"),
        (f"1.png,{DOG},.9,1,1,90,20\n", "extends beyond its upright image of 64 × 48"),
        (f"1.png,{DOG},.9,20,1,1,20\n", "no area of a pixel"),
        (f"1.png,{DOG},.9,1,1,1,20\n", "no area of a pixel"),
        ("1.png,n02121808,.9,1,1,20,20\n", "does not ask for 'n02121808'"),
        (f"1.png,{DOG},1.5,1,1,20,20\n", "confidence is 1.5"),
        (f"1.png,{DOG},.9,1,1,20,nan\n", "which is not a number"),
        (f"1.png,{DOG}\n", "which is not a number"),
    ]:
        refusal = shell.refusal(*opened(LABELS, rows))

        assert error in refusal["error"], rows
        assert refusal["line"] == 2, rows
        assert refusal["file"].endswith("detections.csv"), rows
        assert not Campaign.objects.exists(), rows


def test_labels_that_do_not_fit_are_refused_and_nothing_is_made(shell, opened):
    for labels, error in [
        (f"image,wnid\nx.png,{DOG}\n", "are not in pond: x.png"),
        ("image,wnid\n0.png,n00000000\n", "n00000000"),
        ("image,wnid\n", "has no image,wnid row"),
    ]:
        refusal = shell.refusal(*opened(labels))

        assert error in refusal["error"], labels
        assert not Campaign.objects.exists(), labels


def test_labels_of_a_release_are_what_it_says_is_there(shell, alice, dataset, images, wordnet):
    labels = {("0.png", DOG): "yes", ("0.png", CAT): "no", ("1.png", CAT): "yes"}
    release = freezing.freeze(boxers.labeled(alice, dataset, "contains", labels))

    shell.result(
        *("campaign", "open", "boxes", "--name", "boxes", "--dataset", "pond"),
        *("--labels", "labels"),
    )

    made = Campaign.objects.get(name="boxes")
    question_keys = made.questions.order_by("pk").values_list("item__image__name", "topic")
    assert list(question_keys) == [("0.png", DOG), ("1.png", CAT)]
    assert made.settings["labels"] == {"campaign": "labels", "number": 1, "sha256": release.sha256}


def test_options_of_another_kind_are_wrong_usage(shell, opened, images):
    code, _, message = shell(
        *("campaign", "open", "naming", "--name", "x", "--dataset", "pond", "--labels", "x")
    )

    assert code == 2
    assert "--labels is for campaigns of the kind boxes" in message
