"""A review of mistakes by people: from a queue to a campaign, its release, and label sets."""

import json
from pathlib import Path

import pytest
from django.urls import reverse

from labeling.models import Campaign, Question
from labeling.release_files import exporting
from labeling.releases import freezing
from tests import factories
from tests.evaluation import commands, crowd
from tests.evaluation.box_world import write
from tests.evaluation.named_images import release

pytestmark = pytest.mark.usefixtures("wordnet")

DRAKE, COOT, CRANE = "n01847000", "n02018207", "n02012849"
TITLE = "Is this class right for the image?"
# What the people say of a class that is not the drake of the truth.
JUDGED = {"0.png": "valid", "1.png": "minor", "2.png": "major", "3.png": "cannot"}


@pytest.fixture
def files(tmp_path) -> tuple:
    """Twelve drakes, of which a classifier takes the first four for coots."""
    images = [f"{number}.png" for number in range(12)]
    truth = write(tmp_path / "truth.csv", ["image", "wnid"], [(image, DRAKE) for image in images])
    rows = [(image, 1, COOT if image in JUDGED else DRAKE) for image in images]
    predictions = write(tmp_path / "model.csv", ["image", "rank", "wnid"], rows)
    return ("--truth", truth, "--predictions", predictions)


@pytest.fixture
def queue(files, tmp_path, shell) -> Path:
    path = tmp_path / "queue.jsonl"
    shell.result("mistakes", "queue", *files, "--out", path)
    return path


@pytest.fixture
def campaign(request, queue, alice, bob, dataset, tmp_path, shell) -> Campaign:
    """Of one vote a question, or as many as the test's parameter says."""
    for number in range(12):
        factories.make_image(dataset, f"{number}.png")
    policy = tmp_path / "policy.yaml"
    votes = getattr(request, "param", 1)
    policy.write_text(f"votes: {votes}\ngold_share: 0\nstop_early: never\n")
    made = shell.result(
        *("campaign", "open", "mistake", "--name", "second-look", "--dataset", dataset.name),
        *("--selection", queue, "--policy", policy),
    )
    assert made["kind"] == "mistake"
    campaign = Campaign.objects.get(name="second-look")
    factories.join(bob, campaign)
    return campaign


def answer(campaign, person) -> None:
    def decide(image: str, topic: str) -> str:
        return JUDGED[image] if topic == COOT else "valid"

    crowd.answer(campaign, [person], decide)


def test_people_are_asked_in_the_order_of_the_queue(campaign, queue):
    lines = [json.loads(line) for line in queue.read_text().splitlines()[1:]]

    question_keys = [(row.item.image.name, row.topic) for row in factories.questions_of(campaign)]

    assert question_keys == [(line["image"], line["wnid"]) for line in lines]
    assert len(question_keys) == 4 + 4 + 1


def test_the_page_tells_nothing_of_who_said_what(campaign, as_bob):
    page = as_bob.get(reverse("label", args=["second-look"])).content.decode()

    assert TITLE in page
    assert 'data-answer="cannot"' in page
    for word in ("model", "truth", "disagree", "classifier", "predict"):
        assert word not in page.split("<main", 1)[1].split("</main>")[0].lower()


@pytest.mark.parametrize("is_zip", [False, True])
def test_a_release_is_the_answers_of_the_review(
    campaign, alice, bob, as_alice, files, queue, tmp_path, is_zip
):
    answer(campaign, bob)
    path = freezing.folder_of(freezing.freeze(campaign, alice))
    if is_zip:
        address = reverse("labeling:release_download", args=["second-look", 1])
        path = tmp_path / "second-look-1.zip"
        path.write_bytes(as_alice.get(address).getvalue())

    result = commands.result_of(
        *("mistakes", "apply", *files, "--queue", queue, "--answers", path),
        *("--out", tmp_path / "v2"),
    )

    [model] = result["submissions"]
    assert {word: share["value"] for word, share in model["mistakes"]["answers"].items()} == {
        "valid": 0.25,
        "minor": 0.25,
        "major": 0.25,
        "cannot": 0.25,
    }
    assert (model["before"]["value"], model["after"]["value"]) == (8 / 12, 9 / 12)


def test_labels_of_the_release_say_yes_no_and_unknown(campaign, alice, bob):
    answer(campaign, bob)

    frozen = freezing.read(freezing.freeze(campaign, alice))

    values = {line["image"]: line["value"] for line in frozen.labels() if line["wnid"] == COOT}
    assert values == {"0.png": "yes", "1.png": "no", "2.png": "no", "3.png": "unknown"}
    labels = [label for _, page_of_labels in exporting.pages(frozen) for label in page_of_labels]
    assert sum(label.value == "yes" for label in labels) == 1 + 5


def test_pairs_that_people_could_not_agree_on_are_not_to_be_judged(
    campaign, alice, bob, files, queue, tmp_path
):
    answer(campaign, bob)
    dropped = campaign.questions.get(item__image__name="0.png", topic=COOT)
    factories.put(campaign, [dropped.pk], state=Question.State.DROPPED)
    path = freezing.folder_of(freezing.freeze(campaign, alice))

    result = commands.result_of(
        *("mistakes", "apply", *files, "--queue", queue, "--answers", path),
        *("--out", tmp_path / "v2"),
    )

    assert result["submissions"][0]["mistakes"]["answers"]["cannot"]["value"] == 0.5


def test_a_reviewer_has_a_key_for_each_answer_and_sees_the_tags(campaign, bob, as_alice):
    tagged = {"answer": "major", "tags": ["collage"]}
    crowd.answer(campaign, [bob], lambda image, topic: tagged)
    undecided = campaign.questions.first()
    factories.put(campaign, [undecided.pk], state=Question.State.REVIEW)

    page = as_alice.get(reverse("labeling:review", args=["second-look"])).content.decode()

    assert [key for key in "rmjc" if f'data-key="{key}"' in page] == [*"rmjc"]
    assert "Major mistake · Collage" in page


def test_a_release_before_all_is_answered_is_refused(campaign, alice, files, queue, tmp_path):
    path = freezing.folder_of(freezing.freeze(campaign, alice))
    more = ("--queue", queue, "--out", tmp_path / "v2")

    refusal = commands.refused("mistakes", "apply", *files, *more, "--answers", path)

    assert "9 pairs of the queue without an answer" in refusal["error"]


@pytest.mark.parametrize("campaign", [3], indirect=True)
def test_tags_are_counted_in_the_release_and_stand_from_half_of_the_votes_on(
    campaign, alice, bob, files, queue, tmp_path, shell
):
    """Three people say the same; one tag is of two of them, another of one."""
    tags = {bob: ["collage", "filter"]}
    for name, person_tags in (("dora", ["collage"]), ("eve", [])):
        tags[factories.make_user(name)] = person_tags
        factories.join([*tags][-1], campaign)
    for person, person_tags in tags.items():

        def decide(image: str, topic: str, person_tags: list[str] = person_tags) -> object:
            word = JUDGED[image] if topic == COOT else "valid"
            return {"answer": word, "tags": person_tags} if word == "major" else word

        crowd.answer(campaign, [person], decide)
    path = freezing.folder_of(freezing.freeze(campaign, alice))

    lines = [json.loads(line) for line in (path / "answers.jsonl").read_text().splitlines()]
    result = commands.result_of(
        *("mistakes", "apply", *files, "--queue", queue, "--answers", path),
        *("--out", tmp_path / "v2"),
    )

    tagged = [line for line in lines if "tags" in line]
    assert [(line["image"], line["tags"]) for line in tagged] == [
        ("2.png", {"collage": 2, "filter": 1})
    ]
    assert tagged[0]["votes"] == {"major": 3}
    assert {tag: rate["value"] for tag, rate in result["rates"]["tags"].items()} == {
        "collage": 1 / 12
    }
    mistakes = result["submissions"][0]["mistakes"]
    assert {tag: rate["value"] for tag, rate in mistakes["tags"].items()} == {"collage": 0.25}


def test_releases_that_judge_nothing_or_other_pairs_are_refused(files, queue, tmp_path):
    naming = release(tmp_path / "named", {"0.png": (DRAKE, {DRAKE: 1})}, (DRAKE,))
    unqueued = release(tmp_path / "other", {"0.png": (CRANE, {"valid": 1})}, (), "mistake")

    def error_of(path: Path) -> str:
        more = ("--queue", queue, "--answers", path, "--out", tmp_path / "v2")
        return commands.refused("mistakes", "apply", *files, *more)["error"]

    assert (
        error_of(naming)
        == "is a release of a campaign of the kind naming, which judges no mistakes"
    )
    assert error_of(unqueued) == f"{CRANE} on image '0.png' is not in the queue"


def test_a_campaign_needs_a_queue(dataset, queue, shell, tmp_path):
    options = ("campaign", "open", "mistake", "--name", "second-look", "--dataset", dataset.name)

    assert "needs --selection, a queue" in shell(*options)[2]
    assert (
        "no meta of a queue" in shell(*options, "--selection", write(tmp_path / "x", ["{}"], []))[2]
    )
    # Images that the dataset lacks are named, and no campaign is left.
    status, _, err = shell(*options, "--selection", queue)
    assert (status, Campaign.objects.count()) == (1, 0)
    assert "of the images are not in pond" in err
