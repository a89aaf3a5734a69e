"""Reviews of a benchmark's mistakes: opened, answered, applied, and all scored again."""

import csv
import json

import pytest

from evaluation.benchmarks import runs, truth_versions
from evaluation.benchmarks.kinds.labeled import paths, running
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers
from evaluation.benchmarks.kinds.labeled.versions import TruthHistory
from evaluation.metrics.wordnet.nouns import load
from labeling.campaigns import lifecycle
from labeling.errors import NotYours, Refusal
from labeling.files import BadInput
from labeling.follow_ups import asking, opening
from labeling.jobs import queue as jobs
from labeling.models import Campaign, Settlement
from labeling.releases import freezing
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.label_sets.ducks import (
    COOT,
    DRAKE,
    IMAGES,
    POLICY,
    WRONG,
    answered,
    judge,
    opened,
    predicted,
    scored,
)

pytestmark = pytest.mark.django_db
# Images that come later.
MORE = [f"lake/{number:02}.png" for number in range(12, 15)]


def by_version(run) -> dict[int, dict[str, float]]:
    return {
        version["version"]: {
            submission["name"]: (submission["accuracy"]["value"], submission["accuracy"]["images"])
            for submission in version["submissions"]
        }
        for version in run.result["label_sets"]
    }


def test_a_review_asks_about_every_disagreement_and_a_share_of_the_rest(drakes, alice):
    made = opened(drakes, alice)

    assert made.meta["counts"] == {
        "images": 12,
        "left_out": 0,
        "disagreements": 4,
        "agreements": 8,
        "sampled": 2,
        "pairs": 4 * 2 + 2,
    }
    assert made.campaign.state == Campaign.State.DRAFT
    pairs = set(made.campaign.questions.values_list("item__image__name", "topic"))
    assert {(image, topic) for image in IMAGES[:4] for topic in (COOT, DRAKE)} < pairs
    assert len(pairs) == 10


def test_models_choose_whose_mistakes_are_reviewed(drakes, alice):
    made = opened(drakes, alice, models=["beta"], agreements=0)

    images = set(made.campaign.questions.values_list("item__image__name", flat=True))
    assert images == set(WRONG["beta"])


def test_every_submission_is_scored_by_both_versions_and_the_old_run_stays(drakes, alice, bob):
    before = scored(drakes, alice)
    review = answered(opened(drakes, alice), bob)

    made = apply_answers(drakes, alice, review.campaign)
    run = scored(drakes, alice)

    assert (made.version, made.result["counts"]["changed"]) == (2, 2)
    assert by_version(run) == {
        1: {"alpha": (9 / 12, 12), "beta": (9 / 12, 12)},
        # Of alpha the first two coots are valid, of beta the first.
        2: {"alpha": (11 / 12, 12), "beta": (10 / 12, 12)},
    }
    first, second = run.result["label_sets"]
    assert (first["models"], first.get("rates")) == ([], None)
    assert [model["name"] for model in second["models"]] == ["alpha", "beta"]
    assert second["rates"]["label_not_valid"]["value"] == pytest.approx(1 / 12)
    assert second["rates"]["several_valid"]["value"] == pytest.approx(1 / 12)
    assert second["rates"]["tags"]["fine_grained"]["value"] == pytest.approx(3 / 12)
    assert second["comparison"]["images"] == 12
    # What was scored before is read as it was.
    before.refresh_from_db()
    assert "label_sets" not in before.result
    same = {key: run.result[key] for key in ("submissions", "comparison", "notes")}
    assert same == {key: before.result[key] for key in same}


def test_a_run_after_a_review_is_what_a_run_from_nothing_is(drakes, alice, bob, monkeypatch):
    scored(drakes, alice)
    review = answered(opened(drakes, alice), bob)
    apply_answers(drakes, alice, review.campaign)
    quick = scored(drakes, alice)

    monkeypatch.setattr(running.LabeledScoring, "scored_before", lambda *_: None)
    whole = scored(drakes, alice)

    assert quick.result == whole.result
    paths = [running.images_path(drakes, run.pk) for run in (quick, whole)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_nothing_is_taken_from_a_run_of_other_submissions(drakes, alice, bob, tmp_path):
    scored(drakes, alice)
    review = answered(opened(drakes, alice), bob)
    apply_answers(drakes, alice, review.campaign)
    predicted(drakes, alice, tmp_path, "gamma", IMAGES[:6])

    run = scored(drakes, alice)

    assert [submission["name"] for submission in run.result["submissions"]] == [
        "alpha",
        "beta",
        "gamma",
    ]
    gamma = run.result["label_sets"][1]["submissions"][2]
    assert (gamma["is_reviewed"], gamma["accuracy"]["value"]) == (False, 8 / 12)
    assert "mistakes" not in gamma


def test_sets_change_what_a_result_depends_on(drakes, alice, bob):
    scored(drakes, alice)
    review = answered(opened(drakes, alice), bob)
    assert not runs.has_changed(drakes)

    reviews.apply(review, alice, load())

    assert runs.has_changed(drakes)


def test_a_later_review_starts_from_the_sets_of_the_one_before(drakes, alice, bob):
    review = answered(opened(drakes, alice), bob)
    apply_answers(drakes, alice, review.campaign)
    second = opened(drakes, alice, name="third-look")

    assert second.meta["version"] == 2
    # By version 2 only the third and fourth image are disagreements.
    assert second.meta["counts"]["disagreements"] == 2
    made = apply_answers(drakes, alice, answered(second, bob).campaign)
    assert made.version == 3
    assert made.result["parent_sha256"] == review.__class__.objects.get(pk=review.pk).sha256
    assert {*by_version(scored(drakes, alice))} == {1, 2, 3}


def test_the_same_again_is_the_same_version(drakes, alice, bob):
    review = answered(opened(drakes, alice), bob)
    first = apply_answers(drakes, alice, review.campaign)

    again = apply_answers(drakes, alice, review.campaign)

    assert (again.pk, again.version, again.sha256) == (first.pk, 2, first.sha256)


def test_a_review_of_an_older_version_leaves_out_the_images_that_changed_since(drakes, alice, bob):
    early = answered(opened(drakes, alice, name="early"), bob)
    first = apply_answers(drakes, alice, answered(opened(drakes, alice), bob).campaign)

    second = apply_answers(drakes, alice, early.campaign)

    version = drakes.truth_versions.get(number=3)
    assert (second.version, second.result["parent_sha256"]) == (3, first.sha256)
    # Both reviews got the same answers, so nothing is left to change.
    assert (version.changed, version.report["left_out"]) == (0, [])
    assert second.sha256 == first.sha256


def test_answers_that_are_missing_are_said(drakes, alice):
    review = opened(drakes, alice)

    with pytest.raises(Refusal, match="10 pairs of the queue without an answer") as refused:
        reviews.apply(review, alice, load(), freezing.freeze(review.campaign, alice))

    assert refused.value.field == "release"
    assert truth_versions.newest_number(drakes) == 1


def test_a_model_that_was_replaced_leaves_what_was_reviewed(drakes, alice, bob, tmp_path):
    review = answered(opened(drakes, alice), bob)
    predicted(drakes, alice, tmp_path, "alpha", [])

    apply_answers(drakes, alice, review.campaign)

    alpha, beta = scored(drakes, alice).result["label_sets"][1]["submissions"]
    assert (alpha["is_reviewed"], beta["is_reviewed"]) == (False, True)
    # Of the sets {drake, coot}, {coot}, {drake} …: the second is wrong now.
    assert alpha["accuracy"]["value"] == 11 / 12


def test_a_campaign_opened_by_command_brings_its_queue(drakes, alice, bob, tmp_path):
    made = opened(drakes, alice)
    queue = paths.review_folder(made, paths.ASKED) / reviews.QUEUE
    lines = [json.loads(line) for line in queue.read_text().splitlines()[1:]]
    pairs = [(line["image"], line["wnid"]) for line in lines]
    campaign = opening.draft(
        alice,
        kind="mistake",
        name="by-command",
        title="By command",
        dataset=made.campaign.dataset,
        pairs=pairs,
        policy=POLICY,
    )
    review = reviews.take_up(drakes, alice, campaign, queue, load())
    answered(review, bob)

    with pytest.raises(Refusal, match="Give its queue"):
        apply_answers(drakes, alice, Campaign.objects.get(name="drakes"))
    applied = apply_answers(drakes, alice, campaign, None, queue)

    assert (applied.pk, applied.version) == (review.pk, 2)


def test_a_queue_of_other_predictions_is_refused(drakes, alice, tmp_path):
    made = opened(drakes, alice)
    queue = paths.review_folder(made, paths.ASKED) / reviews.QUEUE
    for name in WRONG:
        predicted(drakes, alice, tmp_path, name, IMAGES[5:])
    campaign = opening.draft(
        alice, kind="mistake", name="other", title="Other", dataset=made.campaign.dataset
    )

    with pytest.raises(Refusal, match="other predictions of alpha") as refused:
        apply_answers(drakes, alice, campaign, 0, queue, "mine.jsonl")

    assert refused.value.field == "queue"
    assert str(refused.value).startswith("mine.jsonl")


def test_what_cannot_be_opened_is_refused_whole(drakes, alice):
    for fields, field, words in [
        ({"models": ["gamma"]}, "models", "'gamma' does not take part"),
        ({"agreements": 2}, "agreements", "from 0 to 1"),
        ({"name": "drakes"}, "name", "already called"),
    ]:
        with pytest.raises(Refusal, match=words) as refused:
            opened(drakes, alice, **fields)

        assert refused.value.field == field, fields
        assert not drakes.reviews.exists(), fields
        assert Campaign.objects.count() == 1, fields


def test_campaigns_of_other_kinds_and_benchmarks_without_classes_are_refused(drakes, alice):
    with pytest.raises(Refusal, match="judges no mistakes"):
        reviews.take_up(drakes, alice, drakes.campaign, reviews.Path("x"), load())
    with pytest.raises(NotYours):
        reviews.version_for(drakes, 2)


def test_sets_that_were_changed_fail_the_run(drakes, alice, bob):
    review = answered(opened(drakes, alice), bob)
    made = apply_answers(drakes, alice, review.campaign)
    path = paths.review_folder(made, paths.APPLIED) / "sets.csv"
    path.write_text(path.read_text().replace(COOT, DRAKE))

    run = runs.request(drakes, alice)
    jobs.run(runs.job_of(run).pk)

    run.refresh_from_db()
    assert run.state == "failed"
    assert "differs from what the review wrote" in run.error
    assert "/" not in run.error.split(":")[0]


def test_the_files_of_a_version_say_what_it_was_made_of(drakes, alice, bob):
    made = apply_answers(drakes, alice, answered(opened(drakes, alice), bob).campaign)
    folder = paths.review_folder(made, paths.APPLIED)

    assert {path.name for path in folder.iterdir()} == {
        *("queue.jsonl", "strata.csv", "answers.csv", "sets.csv", "version.json")
    }
    with (folder / "sets.csv").open(newline="") as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    assert rows[:3] == [(IMAGES[0], DRAKE), (IMAGES[0], COOT), (IMAGES[1], COOT)]
    with (folder / "answers.csv").open(newline="") as file:
        answers = {(row["image"], row["wnid"]): row for row in csv.DictReader(file)}
    assert answers[IMAGES[1], DRAKE]["tags"] == "fine_grained"
    assert judge(IMAGES[0], COOT) == answers[IMAGES[0], COOT]["answer"] == "valid"


def grown(drakes, bob, tmp_path, alice):
    """The benchmark after a night with three more drakes; gamma takes the first for a coot."""
    drakes.min_images = 1
    drakes.save()
    scored(drakes, alice)
    images = [factories.make_image(drakes.campaign.dataset, name) for name in MORE]
    asking.add_questions(drakes.campaign, [(image.name, DRAKE) for image in images])
    crowd.answer(drakes.campaign, [bob], crowd.right_is(DRAKE))
    runs.nightly()
    assert truth_versions.newest_number(drakes) == 2
    rows = [(image, 1, COOT if image == MORE[0] else DRAKE) for image in (*IMAGES, *MORE)]
    world.submit(drakes, alice, tmp_path, "gamma", rows)


def settle(drakes, image, value):
    question = drakes.campaign.questions.get(item__image__name=image)
    Settlement.objects.create(
        question=question, policy=question.policy, answers=[], value=value, probability=1.0
    )


def more_are_coots(image, topic):
    return "valid" if (topic == COOT) == (image == MORE[0]) else "minor"


def test_a_review_looks_at_the_newest_truth(drakes, alice, bob, tmp_path):
    grown(drakes, bob, tmp_path, alice)

    every = opened(drakes, alice, agreements=0)
    review = opened(drakes, alice, agreements=0, name="newest", models=["gamma"])

    # Alpha and beta do not cover the new images.
    assert (every.meta["version"], every.meta["counts"]["images"]) == (2, 12)
    assert (review.meta["version"], review.meta["counts"]["images"]) == (2, 15)
    assert review.meta["counts"]["disagreements"] == 1
    lifecycle.launch(review.campaign, alice)
    factories.join(bob, review.campaign)
    crowd.answer(review.campaign, [bob], more_are_coots)
    made = apply_answers(drakes, alice, review.campaign)

    history = TruthHistory.of(drakes)
    assert (made.version, history.newest, made.result["counts"]["changed"]) == (3, 3, 1)
    assert history.at(2).images[MORE[0]] == {"truth.csv": [[DRAKE]]}
    assert history.at(3).images[MORE[0]] == {"truth.csv": [[COOT]]}
    run = scored(drakes, alice)
    [whole] = run.result["newest"]["all_images"]["submissions"]
    assert (whole["name"], whole["result"]["top1_error"]["value"]) == ("gamma", 0)
    # The table of label sets is about the images of the opening.
    assert by_version(run)[3]["gamma"] == (1, 12)
    assert by_version(run)[3]["alpha"] == by_version(run)[1]["alpha"] == (9 / 12, 12)


def test_images_whose_label_changed_after_the_queue_was_made_are_left_out(
    drakes, alice, bob, tmp_path
):
    grown(drakes, bob, tmp_path, alice)
    review = opened(drakes, alice, agreements=0, models=["gamma"])
    settle(drakes, MORE[0], "no")
    runs.nightly()
    assert truth_versions.newest_number(drakes) == 3
    lifecycle.launch(review.campaign, alice)
    factories.join(bob, review.campaign)
    crowd.answer(review.campaign, [bob], more_are_coots)

    made = apply_answers(drakes, alice, review.campaign)

    version = truth_versions.newest(drakes)
    assert (made.version, version.number, version.changed) == (4, 4, 0)
    assert version.report["left_out"] == [MORE[0]]
    assert MORE[0] not in TruthHistory.of(drakes).at(4).images
    assert {*by_version(scored(drakes, alice))} == {1, 4}


def test_a_label_that_a_release_changed_is_no_correction_of_a_review(drakes, alice, bob, tmp_path):
    """The third drake leaves the truth by a release; a review of the others does not bring it
    back."""
    grown(drakes, bob, tmp_path, alice)
    settle(drakes, IMAGES[2], "no")
    runs.nightly()
    review = answered(opened(drakes, alice, agreements=0), bob)

    apply_answers(drakes, alice, review.campaign)

    assert review.meta["counts"]["left_out"] == 0
    assert (review.meta["version"], review.meta["counts"]["images"]) == (3, 11)
    history = TruthHistory.of(drakes)
    assert {*history.corrected[4]} == {IMAGES[0], IMAGES[1]}
    assert IMAGES[2] not in history.at(4).images
    # Alpha's two and beta's two other mistakes, of which one is the same, by the reviewed labels.
    run = scored(drakes, alice)
    [_, version] = run.result["label_sets"]
    mistakes = {row["name"]: row["mistakes"]["images"] for row in version["submissions"][:2]}
    assert mistakes == {"alpha": 2, "beta": 2}


def test_sets_that_were_changed_are_not_reviewed_again(drakes, alice, bob):
    first, second = opened(drakes, alice), opened(drakes, alice, name="third-look")
    made = apply_answers(drakes, alice, answered(first, bob).campaign)
    path = paths.review_folder(made, paths.APPLIED) / "sets.csv"
    path.write_text(path.read_text().replace(COOT, DRAKE))

    with pytest.raises(BadInput, match=r"sets\.csv"):
        reviews.apply(answered(second, bob), alice, load())
