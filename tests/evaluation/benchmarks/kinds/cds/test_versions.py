"""The sequences follow their campaign: frame ids of every version, and the three columns of a run.

Two cats and a cow are drawn; a third cat waits for an answer.
"""

import json

import pytest
from django.test import Client

from evaluation.benchmarks import folders, runs, truth_versions
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.cds import benchmarks, newest_truth, people
from evaluation.benchmarks.kinds.cds.versions import SequenceHistory
from evaluation.models import Run
from evaluation.readers.sequences import object_of
from evaluation.scoring.cds import tables
from labeling.campaigns import lifecycle
from labeling.files import BadInput
from labeling.models import Question
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of
from tests.evaluation.benchmarks.kinds.cds.test_people import work
from tests.evaluation.cds import world
from tests.labeling import part_releases
from tests.labeling.parted import CAT, COW, drawn, square

pytestmark = pytest.mark.django_db
FIRST_CAT, COW_OBJECT = ("cats/0.png", "cat-1"), ("cats/0.png", "cow-1")
SECOND_CAT, LATE = ("cats/1.png", "cat-1"), ("cats/2.png", "cat-1")
HEAD = drawn(head=square(2, 2, 9.5, 9.5))
WIDER = drawn(head=square(2, 2, 30, 30), tail=square(50, 20.5, 56, 24))


@pytest.fixture
def growing(alice, bob, dataset, wordnet):
    campaign = part_releases.campaign_of(alice, dataset)
    factories.join(bob, campaign)
    for key in (FIRST_CAT, COW_OBJECT, SECOND_CAT):
        part_releases.settle(question_of(campaign, key), bob, HEAD)
    return campaign


@pytest.fixture
def reveal(growing, alice, tmp_path):
    benchmark = opened(alice, growing)
    world.add(benchmark, alice, tmp_path, early=world.right_at_last)
    return benchmark


def question_of(campaign, key):
    image, name = key
    questions = campaign.questions.select_related("policy")
    return questions.get(item__image__name=image, item__name=name)


def opened(owner, campaign, **fields):
    kept = {key: fields.pop(key) for key in ("every", "is_pinned", "min_images") if key in fields}
    benchmark = world.make(owner, campaign, **fields)
    for name, value in ({"min_images": 1} | kept).items():
        setattr(benchmark, name, value)
    benchmark.save()
    return benchmark


def answer(campaign, key, person, value=HEAD):
    part_releases.settle(question_of(campaign, key), person, value)


def night_of(benchmark):
    """The night's row about the benchmark, and its newest run."""
    rows = {row["name"]: row for row in runs.nightly()["benchmarks"]}
    return rows[benchmark.name], runs.latest(benchmark)


def newest_rows(benchmark, **classifiers):
    """Predictions for the frames of the newest truth."""
    history = SequenceHistory.of(benchmark)
    lines = history.lines_at(history.newest)
    return [
        [frame, name, says(line, line.frames.index(frame))]
        for name, says in classifiers.items()
        for line in lines
        for frame in dict.fromkeys(line.frames)
    ]


def column(run, name):
    return {row["name"]: row for row in run.result["newest"][name]["classifiers"]}


def effects_of(run):
    return {effect["name"]: effect for effect in run.result["newest"]["effects"]}


def test_an_object_of_one_day_is_scored_the_next_morning(reveal, growing, alice, bob, tmp_path):
    first, run = night_of(reveal)
    assert (first["version"], run.result["truth_versions"]) == (1, [1, 1])
    assert "newest" not in run.result
    answer(growing, LATE, bob)

    row, run = night_of(reveal)

    assert (row["version"], row["changed"], row["run"], row["error"]) == (2, 1, run.pk, None)
    assert run.result["truth_versions"] == [1, 2]
    newest = run.result["newest"]
    assert (newest["version"], newest["objects"]) == (2, 4)
    assert column(run, "opening_objects")["early"]["objects"] == 3
    # It was sent in before the object was drawn.
    assert column(run, "all_objects")["early"]["objects"] == 3
    assert effects_of(run)["early"]["ranks"] == [1, 1, None]

    rows = newest_rows(reveal, late=world.always_right)
    benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "late.csv", rows))
    _, run = night_of(reveal)

    assert reveal.submissions.get(name="late").version == 2
    assert column(run, "all_objects")["late"] == {
        "name": "late",
        "objects": 4,
        "cds": 0,
        "b_cds": 0,
    }
    assert effects_of(run)["late"]["ranks"] == [1, 1, 1]


def test_scores_of_unchanged_submissions_by_the_newest_truth_are_kept(
    reveal, growing, alice, bob, tmp_path, monkeypatch, run_jobs
):
    answer(growing, LATE, bob)
    night_of(reveal)
    scored = []
    by_newest = newest_truth.score

    def score(history, opening, sequences, scores, kept):
        scored.append(scores(history.opening).result.classifiers if scores else [])
        return by_newest(history, opening, sequences, scores, kept)

    monkeypatch.setattr(newest_truth, "score", score)
    rows = newest_rows(reveal, late=world.always_right, never=world.right_at_last)
    benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "late.csv", rows))
    _, run = night_of(reveal)
    kind_of(reveal).remove(reveal, reveal.submissions.get(name="never").position)
    _, fewer = night_of(reveal)
    # Without an earlier result, everything is scored.
    Run.objects.update(result=None)
    runs.request(reveal)
    run_jobs()
    whole = runs.latest(reveal)

    assert scored == [["late", "never"], [], ["early", "late"]]
    assert [*effects_of(run)] == [*column(run, "all_objects")] == ["early", "late", "never"]
    assert fewer.result == whole.result


def test_ids_of_unchanged_objects_stay_and_new_objects_come_last(reveal, growing, bob):
    before = SequenceHistory.of(reveal).at(1)
    answer(growing, LATE, bob)
    night_of(reveal)

    history = SequenceHistory.of(reveal)
    after = history.at(2)

    assert [*after] == [*before, LATE]
    assert {key: after[key] for key in before} == before
    assert after[LATE][0].frames[0] == "cats/2.png/cat-1/random/intra-object/01"
    assert [line for _, lines in history.by_release() for line in lines] == history.lines_at(2)


def test_changed_masks_get_other_ids_and_predictions_are_asked_for_again(
    reveal, growing, alice, bob, tmp_path
):
    opening = SequenceHistory.of(reveal).at(1)
    night_of(reveal)
    answer(growing, SECOND_CAT, alice, WIDER)

    row, run = night_of(reveal)

    assert (row["version"], row["changed"]) == (2, 1)
    version = truth_versions.newest(reveal)
    assert (version.added, version.removed, version.changed) == (0, 0, 1)
    assert version.report["masks_changed"] == ["cats/1.png/cat-1"]
    after = SequenceHistory.of(reveal).at(2)
    changed = [frame for line in after.pop(SECOND_CAT) for frame in line.frames]
    assert after == {key: opening[key] for key in after}
    assert len({frame.partition("@")[2] for frame in changed}) == 1
    assert all(len(frame.partition("@")[2]) == 8 for frame in changed)
    effect = effects_of(run)["early"]
    assert (effect["objects"], effect["ranks"]) == (2, [1, None, None])
    assert effect["ignored"] > 0

    # With the frames of before, the new ones count as wrong.
    world.add(reveal, alice, tmp_path, late=world.always_right)
    late = reveal.submissions.get(name="late")
    assert (late.version, late.missing_frames) == (2, len(set(changed)))
    _, run = night_of(reveal)
    assert column(run, "all_objects")["late"]["objects"] == 3
    assert column(run, "all_objects")["late"]["cds"] > 0
    assert run.result["newest"]["opening_objects"]["objects"] == 3
    rows = newest_rows(reveal, late=world.always_right)
    benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "late.csv", rows))
    _, run = night_of(reveal)
    assert reveal.submissions.get(name="late").missing_frames == 0
    assert effects_of(run)["late"]["ranks"] == [None, 1, 1]
    assert effects_of(run)["late"]["opening"] == 2
    # With those of the opening as well, it has all three columns.
    rows += [row for row in world.rows_of(reveal, late=world.always_right) if row not in rows]
    benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "both.csv", rows))
    _, run = night_of(reveal)
    assert effects_of(run)["late"]["ranks"] == [1, 1, 1]
    assert effects_of(run)["late"]["outcomes_changed"] == 0
    # Right in every frame of the opening, wrong in those of the changed masks.
    rows = [[frame, name, world.DOG if "@" in frame else label] for frame, name, label in rows]
    benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "wrong.csv", rows))
    _, run = night_of(reveal)
    effect = effects_of(run)["late"]
    assert (effect["outcomes_changed"], effect["changed_objects"]) == (1, ["cats/1.png/cat-1"])
    assert effect["difference"]["value"] > 0


def test_a_classifier_needs_one_frame_of_the_newest_truth(reveal, growing, alice, tmp_path):
    for key in (FIRST_CAT, COW_OBJECT, SECOND_CAT):
        answer(growing, key, alice, drawn(head=square(2, 2, 30, 30)))
    night_of(reveal)
    rows = newest_rows(reveal, late=world.always_right)[:1]
    rows += world.rows_of(reveal, old=world.always_right)

    with pytest.raises(BadInput, match="'old' has no frame of the newest truth; download"):
        benchmarks.add_predictions(reveal, alice, world.write(tmp_path / "p.csv", rows))

    assert [row.name for row in reveal.submissions.all()] == ["early"]
    # The one of before is still scored by the opening.
    _, run = night_of(reveal)
    assert effects_of(run)["early"]["ranks"] == [1, None, None]


def test_the_same_file_again_covers_no_newer_truth_that_it_lacks(
    reveal, growing, alice, bob, tmp_path
):
    answer(growing, LATE, bob)
    night_of(reveal)

    assert world.add(reveal, alice, tmp_path, early=world.right_at_last) == []

    early = reveal.submissions.get()
    assert (early.version, early.missing_frames) == (1, 0)


def test_the_masks_of_before_have_the_ids_of_before(reveal, growing, alice, bob):
    answer(growing, SECOND_CAT, alice, WIDER)
    night_of(reveal)
    answer(growing, SECOND_CAT, factories.make_user("carol"), HEAD)

    night_of(reveal)

    history = SequenceHistory.of(reveal)
    assert history.newest == 3
    assert history.at(3) == history.at(1)


def test_the_column_of_the_opening_stays_as_it_was(reveal, growing, bob):
    _, before = night_of(reveal)
    answer(growing, LATE, bob)

    _, after = night_of(reveal)

    changed = {"newest", "truth_versions"}
    assert {key: value for key, value in after.result.items() if key not in changed} == {
        key: value for key, value in before.result.items() if key not in changed
    }
    files = [folders.run_folder(reveal, run.pk) for run in (before, after)]
    for name in ("sequences.jsonl", "answers.jsonl"):
        assert (files[0] / name).read_bytes() == (files[1] / name).read_bytes()


def test_a_run_from_nothing_has_the_same_result(reveal, growing, alice, bob, run_jobs, monkeypatch):
    night_of(reveal)
    answer(growing, LATE, bob)
    _, quick = night_of(reveal)
    monkeypatch.setattr(type(kind_of(reveal)), "scored_before", lambda *_: None)

    whole = runs.request(reveal, alice)
    run_jobs()

    whole.refresh_from_db()
    assert whole.result == quick.result


def test_a_category_without_an_order_waits_and_is_reported(growing, alice, bob, tmp_path):
    orders = world.orders_of(growing, given=lambda parts: parts)
    del orders["given"][COW]
    cow = question_of(growing, COW_OBJECT)
    factories.put(growing, [cow.pk], state=Question.State.OPEN, seats_free=1)
    cow.settlements.all().delete()
    benchmark = opened(
        alice, growing, name="cats-only", part_schemes=("given",), orders=orders, mapping=None
    )
    world.add(benchmark, alice, tmp_path, early=world.right_at_last)
    assert COW_OBJECT not in SequenceHistory.of(benchmark).at(1)
    answer(growing, COW_OBJECT, factories.make_user("carol"))

    row, run = night_of(benchmark)

    assert (row["version"], row["changed"], row["error"]) == (2, 0, None)
    assert row["notes"]["waiting"] == [COW]
    assert truth_versions.newest(benchmark).report["waiting"] == [COW]
    assert run.result["newest"]["waiting"] == [COW]
    assert COW_OBJECT not in SequenceHistory.of(benchmark).at(2)
    # The same the next night.
    assert night_of(benchmark)[0]["version"] == 2
    answer(growing, LATE, bob)
    assert night_of(benchmark)[0]["version"] == 3
    assert LATE in SequenceHistory.of(benchmark).at(3)


def test_a_category_without_a_class_waits(reveal, growing, bob):
    reveal.settings["mapping"] = {CAT: [], COW: [COW]}
    reveal.save()
    answer(growing, LATE, bob)

    row, _ = night_of(reveal)

    assert row["changed"] == 0
    assert truth_versions.newest(reveal).report["waiting"] == [CAT]


@pytest.mark.parametrize("ends", ["answered", "closed"])
def test_an_unfinished_object_stays_as_it_was(ends, reveal, growing, alice, bob):
    again = question_of(growing, SECOND_CAT)
    factories.put(growing, [again.pk], state=Question.State.OPEN, seats_free=1)
    answer(growing, LATE, bob)

    night_of(reveal)

    history = SequenceHistory.of(reveal)
    assert history.at(2)[SECOND_CAT] == history.at(1)[SECOND_CAT]
    assert LATE in history.at(2)
    if ends == "closed":
        lifecycle.change_state(growing, alice, "close")
        night_of(reveal)
        assert SECOND_CAT not in SequenceHistory.of(reveal).at(3)
    else:
        answer(growing, SECOND_CAT, alice, WIDER)
        night_of(reveal)
        assert "@" in SequenceHistory.of(reveal).at(3)[SECOND_CAT][0].frames[0]


@pytest.mark.parametrize("fields", [{"is_pinned": True}, {"min_images": 50}])
def test_a_pinned_or_a_small_truth_stays(fields, growing, alice, bob, tmp_path):
    benchmark = opened(alice, growing, **fields)
    world.add(benchmark, alice, tmp_path, early=world.always_right)
    answer(growing, LATE, bob)

    row, _ = night_of(benchmark)

    assert (row["version"], row["changed"]) == (1, 0)


def test_score_now_takes_the_newest_objects(growing, alice, bob, tmp_path, run_jobs):
    benchmark = opened(alice, growing, every="manual")
    world.add(benchmark, alice, tmp_path, early=world.always_right)
    answer(growing, LATE, bob)
    night_of(benchmark)
    assert truth_versions.newest_number(benchmark) == 1

    run = runs.score_now(benchmark, alice)
    run_jobs()

    run.refresh_from_db()
    assert (run.state, run.result["truth_versions"]) == (Run.State.DONE, [1, 2])


def test_an_unchanged_truth_makes_no_version_and_no_run(reveal, growing, bob):
    answer(growing, LATE, bob)
    night_of(reveal)
    reveal.refresh_from_db()

    assert truth_versions.follow(reveal, freezing.latest_kept(growing)) is None
    row, _ = night_of(reveal)

    assert (row["version"], row["changed"], row["run"]) == (2, 0, None)


def test_people_are_asked_about_new_frames(reveal, growing, alice, bob):
    naming = people.ask(reveal, alice, part_scheme="random", content_scheme="intra-object", votes=1)
    work()
    lifecycle.launch(naming, alice)
    before = people._images(reveal)
    answer(growing, LATE, bob)
    answer(growing, SECOND_CAT, alice, WIDER)

    night_of(reveal)
    work()

    history = SequenceHistory.of(reveal)
    after = people._images(reveal)
    expected = {
        frame
        for line in [*history.opening, *history.lines_at(2)]
        if line.content_scheme == "intra-object"
        for frame in line.frames
    }
    assert after.keys() == expected
    assert {frame: after[frame] for frame in before} == before
    assert {object_of(line) for line in history.lines_at(2)} >= {LATE, SECOND_CAT}
    images = set(naming.questions.values_list("item__image__name", flat=True))
    assert images == set(after.values())


def test_of_a_sample_of_objects_people_are_asked_no_more(reveal, growing, alice, bob):
    two = people.asked_of(reveal, "random", "intra-object", 2)
    before = people.lines_of(reveal, two)
    answer(growing, LATE, bob)
    night_of(reveal)

    assert people.lines_of(reveal, two) == before
    more = people.asked_of(reveal, "random", "intra-object", 4)
    assert {object_of(line) for line in people.lines_of(reveal, more)} == {
        *map(object_of, SequenceHistory.of(reveal).lines_at(2))
    }


def test_the_pages_and_downloads_are_of_the_newest_truth(reveal, growing, alice, bob):
    night_of(reveal)
    answer(growing, LATE, bob)
    _, run = night_of(reveal)
    client = Client()
    client.force_login(alice)

    page = html_of(client.get(f"/benchmarks/{reveal.name}/"))
    upload = html_of(client.get(f"/benchmarks/{reveal.name}/submissions/"))
    with benchmarks.open_lines(reveal) as file:
        lines = [json.loads(line) for line in file]

    assert "First and newest labels" in page
    assert "3 of 4 objects" in page
    assert "Objects with another CDS" in page
    assert "These are of version 2 of the truth" in upload
    assert "--number 2" in upload
    assert "--sequences sequences.jsonl" in upload
    assert [tuple(line["frames"]) for line in lines] == [
        line.frames for line in SequenceHistory.of(reveal).lines_at(2)
    ]
    [row] = tables.by_truths(kind_of(reveal).result_of(reveal, run))
    assert [cell.value is not None for cell in row.cells] == [True] * 3
    # The truth did not change for the objects of the opening.
    assert row.cells[0].value == row.cells[1].value
    assert [(cell.objects, cell.of) for cell in row.cells] == [(3, 3), (3, 3), (3, 4)]


def test_the_files_of_every_version_can_be_downloaded(reveal, growing, bob, tmp_path):
    part_releases.settle(question_of(growing, LATE), bob, HEAD)
    runs.nightly()

    history = SequenceHistory.of(reveal)
    for number in (1, 2):
        kind_of(reveal).write_truth(reveal, number, tmp_path)
        lines = (tmp_path / "sequences.jsonl").read_text().splitlines()
        frames = {frame for line in lines for frame in json.loads(line)["frames"]}
        assert frames == {*history.frames_at(number)}
    assert history.newest == 2
