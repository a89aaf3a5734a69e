"""Splits that the site makes: a row, a job, and the files of the command."""

import json

import pytest

from evaluation.benchmarks.kinds.labeled import benchmarks, paths
from evaluation.models import ReleaseSplit
from evaluation.release_splits import making, parts
from labeling.errors import Conflict, NotAllowed, NotYours, Refusal
from labeling.jobs import queue
from labeling.models import Job
from labeling.releases import freezing
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.commands import files_in

pytestmark = pytest.mark.django_db


def make(release, actor, **fields) -> ReleaseSplit:
    """A split whose job is done."""
    row = making.request(release, actor, **fields)
    queue.run(row.job_id)
    row.refresh_from_db()
    assert row.job.state == Job.State.DONE, row.job.error
    return row


@pytest.mark.parametrize("by", ["33/67", "10/90", "class:50/50", "per-class:4", "wsol:2,4"])
def test_the_site_writes_the_files_of_the_command(shell, alice, first, tmp_path, by):
    row = make(first, alice, by=by, seed=5, seal=True)
    options = ("--by", by, "--seed", 5, "--seal", "--out", tmp_path / "split")
    result = shell.result("split", freezing.folder_of(first), *options)

    with making.unpack_split(row) as folder:
        assert files_in(folder) == files_in(tmp_path / "split")
    assert row.head == result
    assert result["together"] == 10


def test_an_extension_is_the_command_s_and_moves_no_image(shell, alice, first, grow, tmp_path):
    early = make(first, alice, by="30/70", names=["dev", "final"])
    late = make(grow(), alice, extend=early)

    common = ("--by", "30/70", "--names", "dev,final", "--out")
    for row, more in ((early, ()), (late, ("--extend", tmp_path / f"{early.pk}" / "split.json"))):
        release = freezing.folder_of(row.release)
        shell.result("split", release, *common, tmp_path / f"{row.pk}", *more)
        with making.unpack_split(row) as folder:
            assert files_in(folder) == files_in(tmp_path / f"{row.pk}")
    assert late.head["extends"] == early.sha256
    for part in early.names:
        assert parts.images_of(early, part) < parts.images_of(late, part)


def test_equal_splits_are_one(alice, first):
    row = make(first, alice, by="30/70", names=["dev", "final"])

    assert making.request(first, alice, by="30/70", names=["dev", "final"], seed=0) == row
    assert making.request(first, alice, by="30/70", names=["dev", "final"], seed=1) != row
    assert making.request(first, alice, by="30/70", names=["dev", "final"], seal=True) != row


def test_a_split_is_extended_once(alice, first, grow):
    row = make(first, alice, by="30/70")
    second, third = grow(), grow()
    later = make(second, alice, extend=row)

    assert making.request(second, alice, extend=row) == later
    with pytest.raises(Conflict, match=f"Split {row.pk} is extended by split {later.pk} already"):
        making.request(third, alice, extend=row)
    assert make(third, alice, extend=later).extends == later


def test_an_extension_of_a_sealed_split_stays_sealed(alice, bob, first, grow):
    row = make(first, alice, by="30/70", seal=True)

    later = make(grow(), bob, extend=row)

    assert (later.created_by, later.sealed_by, later.head["sealed"]) == (bob, alice, "test")


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"by": "40"}, "by", "'40' is not a rule"),
        ({"by": "1/2", "names": ["a"]}, "names", "needs 2 different names"),
        ({"by": "wsol:1,1", "names": ["a", "b", "c"]}, "names", "give no names"),
        ({"extend": True, "by": "50/50"}, "extend", "has the rule 30/70"),
        ({"extend": True, "seed": 3}, "extend", "the seed 0"),
        ({"extend": True, "seal": True}, "seal", "is not sealed"),
        ({"extend": True}, "extend", "Extend it to a newer release"),
    ],
)
def test_a_wrong_request_is_refused_and_makes_nothing(alice, first, fields, field, message):
    if "extend" in fields:
        fields = fields | {"extend": make(first, alice, by="30/70")}
    before = ReleaseSplit.objects.count()

    with pytest.raises(Refusal, match=message) as refusal:
        making.request(first, alice, **fields)

    assert refusal.value.field == field
    assert ReleaseSplit.objects.count() == before


def test_a_split_keeps_its_interim_release(zoo, alice, grow):
    interim = freezing.freeze(zoo, alice, interim=True)
    interim.counts["interim"] = True
    interim.save()
    making.request(interim, alice, by="30/70")

    assert freezing.prune(zoo, grow()) == 0


@pytest.mark.usefixtures("wordnet")
def test_a_benchmark_on_a_part_has_only_its_images(alice, zoo, first):
    row = make(first, alice, by="30/70")

    made = world.make(alice, zoo, "classification", part=f"{row.pk}:val")

    truth = (paths.truth_folder(made) / "truth.csv").read_text().splitlines()[1:]
    assert {line.split(",")[0] for line in truth} == parts.images_of(row, "val")
    assert made.settings["truth"]["images"] == len(truth) == row.head["counts"]["val"]["images"]
    assert made.settings["part"] == f"{row.pk}:val"
    plan = benchmarks.plan(zoo, "classification", part=f"{row.pk}:val")
    assert plan is not None
    assert plan.truth.images == len(truth)
    assert world.make(alice, zoo, "classification", part=f"{row.pk}:val") == made
    with pytest.raises(Conflict, match="already called"):
        world.make(alice, zoo, "classification", part=f"{row.pk}:test")


@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize("kind", ["localization", "detection", "wsol"])
def test_every_kind_takes_a_part(alice, cats, kind):
    row = make(freezing.freeze(cats), alice, by="1/2", seed=1)
    counted = {}
    for part in row.names:
        images = parts.images_of(row, part)
        if "cats/1.png" in images or (kind == "detection" and "cats/0.png" in images):
            made = world.make(alice, cats, kind, name=part, part=f"{row.pk}:{part}")
            counted[part] = made.settings["truth"]["images"]
        else:
            with pytest.raises(Refusal):
                world.make(alice, cats, kind, name=part, part=f"{row.pk}:{part}")

    assert sum(counted.values()) == (3 if kind == "detection" else 1)


@pytest.mark.parametrize("text", ["x", "0:val", "{pk}", "{pk}:dev", "{pk}:", "9" * 30 + ":val"])
def test_an_unknown_part_is_refused(alice, zoo, first, text):
    row = make(first, alice, by="30/70")

    with pytest.raises(Refusal) as refusal:
        world.make(alice, zoo, "classification", part=text.format(pk=row.pk))

    assert refusal.value.field == "part"


def test_a_part_of_another_release_or_campaign_is_refused(alice, zoo, first, grow, cats):
    row = make(first, alice, by="30/70")

    with pytest.raises(Refusal, match="is of release 1, not of release 2"):
        world.make(alice, zoo, "classification", part=f"{row.pk}:val", release=grow())
    with pytest.raises(Refusal, match="names no split of"):
        world.make(alice, cats, "classification", part=f"{row.pk}:val")
    with pytest.raises(NotYours):
        parts.split_for(cats, row.pk)


def test_a_split_without_its_files_is_no_part_yet(alice, zoo, first):
    row = making.request(first, alice, by="30/70")

    with pytest.raises(Conflict, match="is not made yet"):
        world.make(alice, zoo, "classification", part=f"{row.pk}:val")
    with pytest.raises(NotYours, match="is not made yet"):
        parts.open_zip(row, alice)


@pytest.mark.usefixtures("wordnet")
def test_a_benchmark_s_part_follows_its_campaign(alice, zoo, first, grow):
    row = make(first, alice, by="30/70", seal=True)
    made = world.make(alice, zoo, "classification", part=f"{row.pk}:val")
    before = parts.images_of(row, "val")
    assert parts.images_for(made, first) == before

    second, third = grow(), grow()
    after = parts.images_for(made, third)

    assert after is not None
    assert after > before
    assert parts.images_for(made, second) == after
    [later] = ReleaseSplit.objects.filter(extends=row)
    assert (later.release, later.sealed_by) == (third, alice)
    # The job of the row has nothing left to do.
    queue.run(later.job_id)
    later.job.refresh_from_db()
    assert later.job.state == Job.State.DONE
    assert json.loads(json.dumps(later.head))["extends"] == row.sha256
    whole = world.make(alice, zoo, "classification", name="whole")
    assert parts.images_for(whole, third) is None


def test_a_split_is_deleted_once_nothing_uses_it(alice, bob, zoo, first, grow):
    row = making.make(making.request(first, alice, by="30/70"))
    later = making.extend_split(row, grow(), alice)
    benchmark = world.make(alice, zoo, "classification", part=f"{row.pk}:val")

    for split, user, words in (
        (row, bob, "Only who made"),
        (row, alice, f"Split {later.pk} extends it"),
        (later, alice, "Benchmarks use it: Classification"),
    ):
        with pytest.raises((NotAllowed, Conflict), match=words):
            making.delete(split, user)
    benchmark.delete()
    Job.objects.filter(pk=later.job_id).update(state=Job.State.RUNNING)
    with pytest.raises(Conflict, match="job is running"):
        making.delete(later, alice)
    Job.objects.filter(pk=later.job_id).update(state=Job.State.QUEUED)
    making.delete(later, alice)
    making.delete(row, alice)

    assert not ReleaseSplit.objects.exists()
    assert not Job.objects.filter(kind="split").exists()
    again = making.make(making.request(first, alice, by="30/70"))
    assert again.sha256 == row.sha256


def test_only_who_sealed_a_split_deletes_it(alice, bob, first):
    row = making.request(first, alice, by="30/70", seal=True)
    bob.is_staff = True

    with pytest.raises(NotAllowed):
        making.delete(row, bob)
    making.delete(row, alice)


def test_a_split_is_deleted_by_page_and_api(as_alice, alice, first):
    for number, send in enumerate((as_alice.post, as_alice.delete)):
        row = making.request(first, alice, by="30/70")
        address = f"campaigns/labels/releases/{first.number}/splits/{row.pk}/"
        response = send(f"/api/v1/{address}" if number else f"/{address}delete/")
        assert response.status_code == (204 if number else 302)
        assert not ReleaseSplit.objects.exists()
