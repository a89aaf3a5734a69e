"""The truth follows its campaign: what a version holds, and the three columns of a run."""

import csv
import json
from types import SimpleNamespace

import pytest

from evaluation.benchmarks import folders, runs, truth_versions
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.labeled import benchmarks, newest_truth, paths, running
from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.truth.image_rows import RowsByImage, TruthChanges
from evaluation.benchmarks.kinds.labeled.versions import TruthHistory
from evaluation.models import Run, TruthVersion
from labeling.campaigns import lifecycle
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.jobs import queue as jobs
from labeling.models import Question
from labeling.releases import freezing
from tests import factories
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.label_sets import ducks
from tests.labeling import part_releases
from tests.labeling.parted import CAT, drawn, square

pytestmark = pytest.mark.django_db
KINDS = ("classification", "localization", "detection", "wsol")
BOXED = ("localization", "detection", "wsol")
of_every_kind = pytest.mark.parametrize("kind", KINDS)
LATE = "cats/2.png"


@pytest.fixture
def growing(alice, bob, dataset):
    return growing_campaign(alice, bob, dataset)


def growing_campaign(alice, bob, dataset):
    """A campaign in which two images of cats are settled, and a third waits for an answer."""
    campaign = part_releases.campaign_of(alice, dataset)
    factories.join(bob, campaign)
    for question in campaign.questions.exclude(item__image__name=LATE).select_related("policy"):
        head = drawn(head=square(2, 2, 9.5, 9.5))
        part_releases.settle(question, bob, head)
    return campaign


def opened(owner, campaign, kind, **fields):
    few = {"thresholds": 20} if kind == "wsol" else {}
    benchmark = world.make(owner, campaign, kind, **few)
    for name, value in ({"min_images": 1} | fields).items():
        setattr(benchmark, name, value)
    benchmark.save()
    return benchmark


def answer_late(campaign, person, image=LATE):
    for question in campaign.questions.select_related("policy").filter(item__image__name=image):
        part_releases.settle(question, person, drawn(head=square(2, 2, 9.5, 9.5)))


def night_of(benchmark):
    """The night's row about the benchmark, and its newest run."""
    rows = {row["name"]: row for row in runs.nightly()["benchmarks"]}
    return rows[benchmark.name], runs.latest(benchmark)


@of_every_kind
def test_the_rows_of_a_truth_give_the_same_files_again(kind, alice, cats, tmp_path):
    folder = paths.truth_folder(world.make(alice, cats, kind))
    truth = RowsByImage.read(kind, folder)
    goal = tmp_path / "again"
    goal.mkdir()
    truth.write(goal)

    assert RowsByImage.read(kind, goal).images == truth.images
    # Cues count the parts of images that are not in the truth, too.
    files = {path.name for path in folder.iterdir()} - {"cues.csv"}
    assert files == {path.name for path in goal.iterdir()}
    for path in map(folder.joinpath, (name for name in files if "." in name)):
        assert (goal / path.name).read_bytes() == path.read_bytes()


def test_changes_lead_from_one_truth_to_the_next(tmp_path):
    first = RowsByImage("classification", {"a": {"t": [["1"]]}, "b": {"t": [["2"]]}})
    second = RowsByImage("classification", {"a": {"t": [["3"]]}, "c": {"t": [["4"]]}})
    path = tmp_path / "changes.gz"
    TruthChanges.between(first, second).write(path)

    TruthChanges.read(path).apply(first)

    assert first.images == second.images
    assert [*first.images] == ["a", "c"]


@of_every_kind
def test_a_label_of_one_day_is_in_the_truth_of_the_next_morning(
    kind, growing, alice, bob, wordnet, tmp_path
):
    benchmark = opened(alice, growing, kind)
    world.submit(benchmark, alice, tmp_path)
    first, run = night_of(benchmark)
    assert (first["version"], first["changed"], run.result["truth_versions"]) == (1, 0, [1, 1])
    answer_late(growing, bob)

    row, run = night_of(benchmark)

    assert (row["version"], row["changed"], row["run"], row["error"]) == (2, 1, run.pk, None)
    assert (row["added"], row["removed"]) == (1, 0)
    newest = run.result["newest"]
    assert run.result["truth_versions"] == [1, 2]
    assert LATE in TruthHistory.of(benchmark).at(2).images
    # It was sent in before the image had a label, so it has no score on all images.
    assert newest["all_images"]["submissions"] == [] or kind == "detection"
    assert [row["name"] for row in newest["opening_images"]["submissions"]] == ["alpha"]


@of_every_kind
def test_the_first_column_stays_as_it_was(kind, growing, alice, bob, wordnet, tmp_path):
    benchmark = opened(alice, growing, kind)
    world.submit(benchmark, alice, tmp_path)
    _, before = night_of(benchmark)
    answer_late(growing, bob)

    _, after = night_of(benchmark)

    changed = {"newest", "truth_versions"}
    assert {key: value for key, value in after.result.items() if key not in changed} == {
        key: value for key, value in before.result.items() if key not in changed
    }


@of_every_kind
def test_predictions_for_the_newest_images_have_all_three_columns(
    kind, growing, alice, bob, wordnet, tmp_path
):
    benchmark = opened(alice, growing, kind)
    world.submit(benchmark, alice, tmp_path, "early")
    answer_late(growing, bob)
    night_of(benchmark)
    history = TruthHistory.of(benchmark)
    with history.folder_at(2) as truth:
        content = everywhere(kind, [*history.at(2).images])
        assert (truth.path / "truth.csv").exists() == (kind != "wsol")
    world.submit(benchmark, alice, tmp_path, "late", content)

    _, run = night_of(benchmark)

    newest = run.result["newest"]
    effects = {effect["name"]: effect for effect in newest["effects"]}
    assert [row["name"] for row in run.result["submissions"]] == ["early", "late"]
    assert "late" in [row["name"] for row in newest["all_images"]["submissions"]]
    assert (effects["late"]["version"], effects["early"]["version"]) == (2, 1)
    assert effects["late"]["images"] == newest["images"]
    assert len(effects["late"]["ranks"]) == 3
    assert None not in effects["late"]["ranks"]


def everywhere(kind, images):
    if kind == "wsol":
        return world.packed({f"{image}.npy": world.npy(world.ramp()) for image in images})
    if kind == "classification":
        return [(image, 1, CAT) for image in images]
    return [(image, CAT, 0.9, 8, 6, 56, 42) for image in images]


def test_rows_of_unknown_images_are_still_refused(growing, alice, bob, wordnet, tmp_path):
    benchmark = opened(alice, growing, "classification")
    answer_late(growing, bob)
    world.submit(benchmark, alice, tmp_path)
    night_of(benchmark)

    with pytest.raises(BadInput, match="lacks the image"):
        world.submit(benchmark, alice, tmp_path, "lost", [("cats/9.png", 1, CAT)])
    assert benchmark.submissions.count() == 1


def test_missing_rows_of_covered_images_count_as_wrong(growing, alice, bob, wordnet, tmp_path):
    benchmark = opened(alice, growing, "classification")
    world.submit(benchmark, alice, tmp_path, "first")
    answer_late(growing, bob)
    night_of(benchmark)
    world.submit(benchmark, alice, tmp_path, "silent", [(LATE, 1, CAT)])

    _, run = night_of(benchmark)

    [whole] = run.result["newest"]["all_images"]["submissions"]
    images = run.result["newest"]["images"]
    assert whole["name"] == "silent"
    assert whole["result"]["top1_error"]["value"] == pytest.approx((images - 1) / images)


def test_an_unchanged_truth_makes_no_version_and_no_run(
    growing, alice, bob, wordnet, tmp_path, django_assert_max_num_queries
):
    benchmark = opened(alice, growing, "detection")
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)
    night_of(benchmark)
    benchmark.refresh_from_db()

    with django_assert_max_num_queries(10):
        release = freezing.latest_kept(benchmark.campaign)
        assert truth_versions.follow(benchmark, release) is None
        assert not runs.has_changed(benchmark)
    row, _ = night_of(benchmark)

    assert (row["version"], row["changed"], row["run"]) == (2, 0, None)


def test_the_clock_makes_no_version(growing, alice, bob, wordnet, tmp_path, run_jobs, settings):
    settings.ASSAY_RESCORE_SECONDS = 0
    benchmark = opened(alice, growing, "detection")
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)
    freezing.freeze(growing, alice)

    runs.rescore_changed()
    run_jobs()

    assert truth_versions.newest_number(benchmark) == 1


def test_score_now_takes_the_newest_labels(growing, alice, bob, wordnet, tmp_path, run_jobs):
    benchmark = opened(alice, growing, "detection", every="manual")
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)
    night_of(benchmark)
    assert truth_versions.newest_number(benchmark) == 1

    run = runs.score_now(benchmark, alice)
    run_jobs()

    run.refresh_from_db()
    assert (run.state, run.result["truth_versions"]) == (Run.State.DONE, [1, 2])


@pytest.mark.parametrize("fields", [{"is_pinned": True}, {"min_images": 50}])
def test_a_pinned_or_a_small_truth_stays(fields, growing, alice, bob, wordnet, tmp_path):
    benchmark = opened(alice, growing, "detection", **fields)
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)

    row, _ = night_of(benchmark)

    assert (row["version"], row["changed"]) == (1, 0)


def test_once_a_week_waits_for_a_week(growing, alice, bob, wordnet, tmp_path):
    benchmark = opened(alice, growing, "detection", every="week")
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)
    assert night_of(benchmark)[0]["version"] == 1
    first = truth_versions.newest(benchmark)
    first.made_at -= truth_versions.WEEK
    first.save()

    assert night_of(benchmark)[0]["version"] == 2


@pytest.mark.parametrize("ends", ["answered", "closed"])
def test_an_open_campaign_gives_only_images_without_open_questions(
    ends, alice, bob, dataset, wordnet, tmp_path
):
    campaign = part_releases.campaign_of(alice, dataset)
    factories.join(bob, campaign)
    questions = campaign.questions.select_related("policy", "item__image")
    by_name = {(row.item.image.name, row.item.name): row for row in questions}
    head = drawn(head=square(2, 2, 9.5, 9.5))
    part_releases.settle(by_name["cats/1.png", "cat-1"], bob, head)
    benchmark = opened(alice, campaign, "detection")
    world.submit(benchmark, alice, tmp_path)
    before = TruthHistory.of(benchmark).at(1).images.get("cats/0.png")
    part_releases.settle(by_name["cats/0.png", "cat-1"], bob, head)
    part_releases.settle(by_name[LATE, "cat-1"], bob, head)

    night_of(benchmark)

    history = TruthHistory.of(benchmark)
    assert history.at(2).images.get("cats/0.png") == before
    assert LATE in history.at(2).images

    if ends == "answered":
        part_releases.settle(by_name["cats/0.png", "cow-1"], bob, head)
    else:
        lifecycle.change_state(campaign, alice, "close")
    night_of(benchmark)

    assert TruthHistory.of(benchmark).at(3).images.get("cats/0.png") != before


def test_a_version_never_changes_and_is_hashed(growing, alice, bob, wordnet, tmp_path):
    benchmark = opened(alice, growing, "detection")
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)
    night_of(benchmark)

    first, second = benchmark.truth_versions.all()

    assert first.sha256 == truth_versions.opening_sha256(benchmark)
    assert len(second.sha256) == 64
    assert second.sha256 != first.sha256
    assert second.added + second.removed + second.changed == 1
    assert second.release.number == 2


def test_a_truth_whose_files_are_gone_is_reported_and_scored_as_it_was(
    growing, alice, bob, wordnet, tmp_path
):
    benchmark = opened(alice, growing, "detection")
    world.submit(benchmark, alice, tmp_path)
    paths.truth_folder(benchmark).rename(tmp_path / "away")
    answer_late(growing, bob)

    row, _ = night_of(benchmark)

    assert "not on this server any more" in row["error"]
    assert row["version"] == 1
    with pytest.raises(Refusal):
        benchmarks.add_submission(benchmark, alice, "x", tmp_path / "x", "x")


def test_a_number_is_what_twenty_lines_of_python_say(growing, alice, bob, wordnet, tmp_path):
    """The localization error by the newest truth on all its images."""
    benchmark = opened(alice, growing, "localization")
    world.submit(benchmark, alice, tmp_path, "early")
    answer_late(growing, bob)
    night_of(benchmark)
    history = TruthHistory.of(benchmark)
    rows = [(image, CAT, 0.9, 8, 6, 30, 30) for image in history.at(2).images]
    world.submit(benchmark, alice, tmp_path, "late", rows)
    _, run = night_of(benchmark)
    with history.folder_at(2) as truth, open(truth.path / "truth.csv") as file:
        boxes = [row for row in csv.DictReader(file) if row["image"] in truth.part]

    wrong = {row["image"]: True for row in boxes}
    for row in boxes:
        x0, y0, x1, y1 = (float(row[edge]) for edge in ("x0", "y0", "x1", "y1"))
        across = max(0, min(x1, 30) - max(x0, 8)) * max(0, min(y1, 30) - max(y0, 6))
        iou = across / ((x1 - x0) * (y1 - y0) + 22 * 24 - across)
        wrong[row["image"]] &= not (row["wnid"] == CAT and iou >= 0.5)

    [whole] = [
        row for row in run.result["newest"]["all_images"]["submissions"] if row["name"] == "late"
    ]
    assert whole["result"]["error"]["value"] == sum(wrong.values()) / len(wrong)


def test_people_answer_a_reviewed_image_again_and_the_newer_answer_wins(
    alice, bob, dataset, wordnet, tmp_path
):
    benchmark = ducks.make(alice, bob, dataset, tmp_path)
    review = ducks.answered(ducks.opened(benchmark, alice), bob)
    apply_answers(benchmark, alice, review.campaign)
    history = TruthHistory.of(benchmark)
    # The coot is all there is on the second image.
    assert history.at(2).images[ducks.IMAGES[1]] == {"truth.csv": [[ducks.COOT]]}
    assert history.at(1).images[ducks.IMAGES[1]] == {"truth.csv": [[ducks.DRAKE]]}


def test_labels_that_cannot_be_scored_are_reported_and_the_earlier_truth_is_scored(
    growing, alice, bob, wordnet, tmp_path, run_jobs, monkeypatch
):
    benchmark = opened(alice, growing, "detection")
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)

    def refuse(*_):
        raise Refusal("The class 'n0' is not a noun of WordNet 3.0.")

    monkeypatch.setattr("evaluation.benchmarks.kinds.labeled.scoring.check_truth", refuse)
    run = runs.score_now(benchmark, alice)
    run_jobs()

    run.refresh_from_db()
    assert (run.state, run.result["truth_versions"]) == (Run.State.DONE, [1, 1])
    assert "is not a noun" in run.error


def test_score_maps_of_images_that_left_the_truth_are_not_missed(
    growing, alice, bob, wordnet, tmp_path
):
    """An image of the opening is gone; a later submission has no map for it."""
    benchmark = opened(alice, growing, "wsol")
    world.submit(benchmark, alice, tmp_path, "early")
    answer_late(growing, bob)
    gone = next(iter(TruthHistory.of(benchmark).at(1).images))
    questions = growing.questions.filter(item__image__name=gone)
    factories.put(growing, questions.values_list("pk", flat=True), state=Question.State.WITHDRAWN)
    lifecycle.change_state(growing, alice, "close")
    night_of(benchmark)
    images = [*TruthHistory.of(benchmark).at(2).images]
    assert gone not in images
    world.submit(benchmark, alice, tmp_path, "late", everywhere("wsol", images))

    row, run = night_of(benchmark)

    assert (row["error"], run.state) == (None, Run.State.DONE)
    lines = running.images_path(benchmark, run.pk).read_text().splitlines()
    outcomes = {line["image"]: line["outcomes"] for line in map(json.loads, lines)}
    assert outcomes[gone]["late"] is None
    assert outcomes[gone]["early"] is not None


def test_a_submission_added_during_a_run_waits_for_the_next(growing, alice, bob, wordnet, tmp_path):
    benchmark = opened(alice, growing, "detection")
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)
    _, run = night_of(benchmark)
    world.submit(benchmark, alice, tmp_path, "late", [(LATE, CAT, 0.9, 8, 6, 56, 42)])

    scored = newest_truth.score(
        TruthHistory.of(benchmark),
        list(benchmark.submissions.all()),
        LabeledResult.from_json(run.result),
        running.images_path(benchmark, run.pk),
    )

    assert [effect.name for effect in scored.effects] == ["alpha"]


@pytest.fixture
def scorings(monkeypatch):
    """Every scoring: the submission and the version of the truth."""
    calls, score = [], newest_truth.scored_by

    def counted(history, truth, number, row, *rest):
        calls.append((row.name, number))
        return score(history, truth, number, row, *rest)

    monkeypatch.setattr(newest_truth, "scored_by", counted)
    return calls


def files_of(benchmark, run):
    folder = folders.run_folder(benchmark, run.pk)
    names = ("images.jsonl", "newest.jsonl", "curves.json")
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


@of_every_kind
def test_a_night_scores_only_what_changed(
    kind, growing, alice, bob, wordnet, tmp_path, scorings, monkeypatch
):
    benchmark = opened(alice, growing, kind)
    for name in ("alpha", "beta", "gamma"):
        world.submit(benchmark, alice, tmp_path, name)
    night_of(benchmark)
    assert scorings == [("alpha", 1), ("beta", 1), ("gamma", 1)]
    scorings.clear()

    # Only the newest truth changed.
    answer_late(growing, bob)
    night_of(benchmark)
    assert {*scorings} == {("alpha", 2), ("beta", 2), ("gamma", 2)}
    scorings.clear()

    # One submission is new, one was replaced by other predictions, one left.
    content = everywhere(kind, [*TruthHistory.of(benchmark).at(2).images])
    world.submit(benchmark, alice, tmp_path, "delta", content)
    world.submit(benchmark, alice, tmp_path, "beta", content)
    kind_of(benchmark).remove(benchmark, 0)
    row, run = night_of(benchmark)
    assert row["error"] is None
    assert {*scorings} == {("beta", 1), ("beta", 2), ("delta", 1), ("delta", 2)}

    # A run from nothing has the same result and files.
    monkeypatch.setattr(type(kind_of(benchmark)), "scored_before", lambda *_: None)
    again = runs.request(benchmark, alice)
    jobs.run(runs.job_of(again).pk)
    again.refresh_from_db()
    assert again.result == run.result
    assert files_of(benchmark, again) == files_of(benchmark, run)
    assert [row["name"] for row in run.result["submissions"]] == ["beta", "gamma", "delta"]


@of_every_kind
def test_the_outcomes_by_the_newest_truth_are_kept(
    kind, growing, alice, bob, wordnet, tmp_path, as_alice
):
    benchmark = opened(alice, growing, kind)
    world.submit(benchmark, alice, tmp_path, "early")
    answer_late(growing, bob)
    night_of(benchmark)
    content = everywhere(kind, [*TruthHistory.of(benchmark).at(2).images])
    world.submit(benchmark, alice, tmp_path, "late", content)
    _, run = night_of(benchmark)

    page = as_alice.get(f"/benchmarks/{benchmark.name}/runs/{run.pk}/newest.jsonl")

    lines = [json.loads(line) for line in b"".join(page.streaming_content).splitlines()]
    assert {line["image"] for line in lines} == TruthHistory.of(benchmark).images_at(2)
    by_image = {line["image"]: line["outcomes"] for line in lines}
    assert by_image[LATE]["early"] is None
    assert by_image[LATE]["late"] is not None
    assert all(outcomes["early"] for image, outcomes in by_image.items() if image != LATE)


def compared(benchmark, release, monkeypatch, *others):
    """The result of a comparison; before each try ends without a version, another process acts."""
    tries = iter([*others, lambda: None])
    kind = SimpleNamespace(next_truth=lambda *_: next(tries)())
    monkeypatch.setattr(truth_versions, "kind_of", lambda _: kind)
    return truth_versions.compare(benchmark, release)


def add_version(benchmark, release):
    TruthVersion.objects.create(benchmark=benchmark, number=2, release=release, sha256="0" * 64)


def test_labels_compared_while_another_version_is_made_are_compared_again(
    growing, alice, bob, wordnet, monkeypatch
):
    benchmark = opened(alice, growing, "classification")
    answer_late(growing, bob)
    release = freezing.freeze(growing, alice)

    made = compared(
        benchmark,
        release,
        monkeypatch,
        lambda: add_version(benchmark, benchmark.release),
        lambda: "a version",
    )

    assert made == "a version"
    benchmark.refresh_from_db()
    assert benchmark.compared_with == truth_versions.state_of(benchmark, release)


def test_an_older_release_never_follows_a_newer_one(growing, alice, bob, wordnet, monkeypatch):
    benchmark = opened(alice, growing, "classification")
    answer_late(growing, bob)
    newer = freezing.freeze(growing, alice)

    made = compared(
        benchmark, benchmark.release, monkeypatch, lambda: add_version(benchmark, newer)
    )

    assert made is None
    benchmark.refresh_from_db()
    assert benchmark.compared_with == ""


def test_what_somebody_changes_during_a_comparison_is_compared_again(
    growing, alice, bob, wordnet, monkeypatch
):
    benchmark = opened(alice, growing, "classification", min_images=50)
    answer_late(growing, bob)
    release = freezing.freeze(growing, alice)

    def change():
        truth_versions.change_following(benchmark, {"min_images": 1})

    assert compared(benchmark, release, monkeypatch, change) is None

    monkeypatch.undo()
    assert truth_versions.follow(benchmark, release).number == 2


def test_what_somebody_changes_before_a_comparison_counts(growing, alice, bob, wordnet):
    benchmark = opened(alice, growing, "classification", min_images=50)
    answer_late(growing, bob)
    release = freezing.freeze(growing, alice)

    truth_versions.change_following(benchmark, {"min_images": 1})

    assert truth_versions.follow(benchmark, release).number == 2
