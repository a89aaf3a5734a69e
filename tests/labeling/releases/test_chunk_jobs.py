"""Freezing in ranges, by jobs: the same bytes as in one snapshot, whatever happens meanwhile."""

import html
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import connections
from django.utils import timezone

from labeling.datasets import objects
from labeling.errors import StoreUnreachable
from labeling.jobs import queue
from labeling.models import Answer, Campaign, Item, Job, Question, Settlement, User
from labeling.parts.model import Part, PartedObject
from labeling.releases import chunk_files, chunk_jobs, freezing, snapshots
from tests import factories
from tests.clients import logged_in, text_of
from tests.labeling import part_releases
from tests.labeling.parted import CAT, square
from tests.labeling.releases.test_freezing import say
from tests.object_store import Bucket

IMAGES = 12
pytestmark = pytest.mark.usefixtures("throwaway")


@pytest.fixture
def people(throwaway) -> list[User]:
    return [factories.make_user(f"annotator{n}") for n in range(5)]


@pytest.fixture
def pond(people) -> Campaign:
    """A campaign in which all but the last three questions are settled, one of them with a late
    answer."""
    alice = factories.make_user("alice", is_researcher=True)
    campaign = factories.make_campaign(alice, factories.make_dataset(alice), images=IMAGES)
    for number, question in enumerate(factories.questions_of(campaign)[:-3]):
        values = [("yes", "no", "hard")[(number + n * n) % 3] for n in range(4)]
        late = ((people[4], "no"),) if number == 4 else ()
        say(question, *zip(people, values, strict=False), late=late)
    return campaign


@pytest.fixture
def in_ranges(monkeypatch) -> None:
    """So small a campaign is frozen by jobs too, of two or more questions each."""
    monkeypatch.setattr(snapshots, "CHUNK", 2)
    monkeypatch.setattr(snapshots, "CHUNK_OF_DRAWINGS", 1)
    monkeypatch.setattr(snapshots, "FEW_CHUNKS", 0)


def whole(campaign: Campaign) -> dict[str, bytes]:
    """The files of a release made in one snapshot, which is gone then."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(snapshots, "FEW_CHUNKS", 1_000)
        release = freezing.freeze(campaign)
    files = contents(freezing.folder_of(release))
    release.delete()
    return files


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".jsonl"}


def frozen(campaign: Campaign) -> dict[str, bytes]:
    return contents(freezing.folder_of(freezing.freeze(campaign)))


def meanwhile(monkeypatch, action: Callable[[], object]) -> None:
    """Does it once after the cut, before any piece is made."""
    usual, waiting = chunk_jobs._work, [action]

    def work(jobs: set[int], watch: Callable[[int], object]) -> None:
        while waiting:
            waiting.pop()()
        usual(jobs, watch)

    monkeypatch.setattr(chunk_jobs, "_work", work)


def test_jobs_write_the_same_bytes_and_leave_nothing(pond, in_ranges, settings):
    before = whole(pond)

    assert frozen(pond) == before

    assert not Job.objects.exists()
    assert list(Path(settings.DATA_DIR, "freezing").iterdir()) == []


def test_a_job_freezes_what_takes_long_and_says_how_far_it_is(pond, in_ranges, monkeypatch):
    before, steps = whole(pond), []
    usual = queue.renew

    def heard(job: Job, done: int | None = None, total: int | None = None) -> None:
        if job.kind == freezing.KIND:
            steps.append((done, total))
        usual(job, done, total)

    monkeypatch.setattr(queue, "renew", heard)
    actor = pond.created_by

    job = freezing.request(pond, actor)
    assert freezing.request(pond, actor).pk == job.pk
    assert queue.run(job.pk)

    assert Job.objects.get().state == Job.State.DONE
    release = pond.releases.get()
    assert contents(freezing.folder_of(release)) == before
    assert release.created_by == actor
    count = steps[0][1] // 2
    assert count > 1
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1] == (2 * count - 1, 2 * count)


@pytest.fixture
def on_another_machine(bucket, fresh_settings, settings, tmp_path) -> Bucket:
    """From here on the site has an empty data folder, and a bucket for its files."""
    settings.STORAGES = fresh_settings(bucket.site).STORAGES
    settings.DATA_DIR = tmp_path / "another"
    settings.RELEASES_DIR = tmp_path / "another" / "releases"
    return bucket


def test_pieces_in_a_bucket_make_the_release_that_a_folder_has(pond, in_ranges, request):
    before = freezing.freeze(pond)
    files = contents(freezing.folder_of(before))
    before.delete()
    bucket = request.getfixturevalue("on_another_machine")

    release = freezing.freeze(pond)

    put = [entry.path for entry in bucket.requests if entry.method == "PUT"]
    assert len([path for path in put if path.endswith(".zip")]) > 1
    assert (release.sha256, contents(freezing.folder_of(release))) == (before.sha256, files)
    assert list(bucket.objects) == [f"data/releases/{pond.name}/{release.sha256}.tar"]


def test_a_freeze_whose_store_goes_away_stops_and_goes_on_later(pond, in_ranges, request):
    before = whole(pond)
    bucket = request.getfixturevalue("on_another_machine")
    begun = len(bucket.requests)

    with (
        bucket.refusing(503, "PUT", ending=".zip"),
        pytest.raises(StoreUnreachable, match=r"does not answer \(503"),
    ):
        freezing.freeze(pond)

    assert len(bucket.requests) - begun < 50
    assert not pond.releases.exists()
    assert not [key for key in bucket.objects if not key.endswith(".cut")]
    assert frozen(pond) == before


def test_what_comes_after_the_cut_is_of_the_next_release(pond, people, in_ranges, monkeypatch):
    before = whole(pond)
    settled, open_one = factories.questions_of(pond)[0], factories.questions_of(pond)[-1]

    def work_on() -> None:
        # A late answer, a question that settles, and one that settles differently.
        say(settled, late=((people[4], "yes"),))
        say(open_one, *zip(people, ["yes"] * 5, strict=True))
        again = Settlement.objects.filter(question=settled).latest("pk")
        assert again.answers == []
        Question.objects.filter(pk=factories.questions_of(pond)[1].pk).update(state="open")

    meanwhile(monkeypatch, work_on)

    assert frozen(pond) == before
    after = frozen(pond)
    assert after != before
    assert after == whole(pond)


def test_an_answer_that_was_revised_counts_as_the_settlement_says(pond, in_ranges):
    question = factories.questions_of(pond)[0]
    seat = question.seats.earliest("pk")
    Answer.objects.create(
        id="01890a5d-ac96-774b-bcce-b302099a8057", assignment=seat, revision=1, value="no"
    )

    assert frozen(pond) == whole(pond)


def test_a_worker_beside_makes_pieces_too(pond, in_ranges, monkeypatch):
    before = whole(pond)
    made: list[str] = []
    both = threading.Barrier(2, timeout=30)
    usual = chunk_files.write

    def write(*args) -> None:
        if len(made) < 2:
            # The first two meet: neither process makes all of them.
            both.wait()
        made.append(threading.current_thread().name)
        usual(*args)

    def work() -> None:
        try:
            queue.run_all()
        finally:
            connections.close_all()

    worker = threading.Thread(target=work, name="worker")
    monkeypatch.setattr(chunk_files, "write", write)
    meanwhile(monkeypatch, worker.start)

    assert frozen(pond) == before
    worker.join()
    assert {"worker", "MainThread"} == set(made)


def test_what_a_dead_worker_held_is_made_by_another(pond, in_ranges, monkeypatch):
    before = whole(pond)

    def die() -> None:
        job = queue.claim(Job.objects.earliest("pk").pk)
        assert job is not None
        Job.objects.filter(pk=job.pk).update(leased_until=timezone.now() - timedelta(seconds=1))

    meanwhile(monkeypatch, die)

    assert frozen(pond) == before


def test_a_freeze_that_was_killed_goes_on_from_its_pieces(pond, in_ranges, monkeypatch, settings):
    before = whole(pond)
    usual, made = chunk_files.write, []

    def write(source, *args) -> None:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(source.name)
        usual(source, *args)

    monkeypatch.setattr(chunk_files, "write", write)
    with pytest.raises(KeyboardInterrupt):
        freezing.freeze(pond)
    # As after a kill: the lease of what it worked on runs out.
    Job.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert len(made) == 2
    assert not pond.releases.exists()
    count = len(list(Path(settings.DATA_DIR, "freezing").glob("*/*.cut")))

    monkeypatch.setattr(chunk_files, "write", lambda *args: (made.append(""), usual(*args)))

    assert frozen(pond) == before
    assert len(made) == count


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (OSError(28, "No space left on device"), "The disk is full. Free some space"),
        (KeyError("n01847000"), "program error KeyError. Ask the site's operator to check the log"),
    ],
)
def test_a_range_that_fails_for_good_says_which_why_and_what_to_do(
    pond, in_ranges, monkeypatch, shell, tmp_path, fault, reason
):
    usual, names = chunk_files.write, iter(range(100))

    def fail(*args) -> None:
        if next(names):
            raise fault
        usual(*args)

    monkeypatch.setattr(chunk_files, "write", fail)
    alice = logged_in(pond.created_by, raise_request_exception=False)

    page = alice.post(f"/campaigns/{pond.name}/releases/freeze/")
    problem = alice.post(f"/api/v1/campaigns/{pond.name}/releases/")
    refused = shell("campaign", "freeze", pond.name, "--out", tmp_path / "out", "--json")

    [fault_said] = problem.json()["errors"]
    assert (problem.status_code, problem.json()["code"]) == (503, "range_failed")
    assert refused[0] == 1
    for text in (
        html.unescape(text_of(page, 503)),
        f"{fault_said['message']} {fault_said['cure']}",
        refused[2].splitlines()[-1],
    ):
        assert f"Part 2 of the release failed: {reason}" in text
        assert "Freezing again continues from the finished parts." in text
        assert "n01847000" not in text
    assert not pond.releases.exists()


def test_a_half_piece_is_made_again(pond, in_ranges, monkeypatch, settings):
    before = whole(pond)
    usual = chunk_jobs._work

    def halve(jobs: set[int], watch: Callable[[int], object]) -> None:
        usual(jobs, watch)
        piece = next(Path(settings.DATA_DIR, "freezing").glob("*/*.zip"))
        piece.write_bytes(piece.read_bytes()[:100])

    monkeypatch.setattr(chunk_jobs, "_work", halve)

    assert frozen(pond) == before


def test_what_was_left_for_a_day_is_forgotten(pond, in_ranges, settings):
    storages["data"].save("freezing/abc/00000.cut", ContentFile(b"[]"))
    storages["data"].save("freezing/new/00000.cut", ContentFile(b"[]"))
    old = Job.objects.create(
        kind=chunk_jobs.KIND, key="abc:0", created_at=timezone.now() - chunk_jobs.CHUNK_LIFETIME
    )
    Job.objects.create(kind=chunk_jobs.KIND, key="new:0")
    file = Path(settings.DATA_DIR, "freezing", "abc", "00000.cut")
    at = (timezone.now() - chunk_jobs.CHUNK_LIFETIME - timedelta(minutes=1)).timestamp()
    os.utime(file, (at, at))

    freezing.freeze(pond)

    assert [path.name for path in Path(settings.DATA_DIR, "freezing").iterdir()] == ["new"]
    assert not Job.objects.filter(pk=old.pk).exists()
    assert Job.objects.get().key == "new:0"


def test_objects_that_change_meanwhile_are_cut_again(people, in_ranges, monkeypatch):
    alice = factories.make_user("alice", is_researcher=True)
    campaign = part_releases.settled(alice, people[0], factories.make_dataset(alice))
    before = whole(campaign)

    def put() -> None:
        item = Item.objects.filter(region__isnull=False).earliest("pk")
        x0, y0, x1, y1 = item.region
        leg = Part("leg", square(x0, y0, x1, y1))
        objects.put(
            campaign.dataset,
            [PartedObject(item.image.name, CAT, (x0, y0, x1, y1), (leg,), name=item.name)],
            "another list",
        )

    meanwhile(monkeypatch, put)

    after = frozen(campaign)
    assert after != before
    assert after == whole(campaign)
