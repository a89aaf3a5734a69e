import io
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.db import connection

from evaluation.benchmarks import runs
from labeling.campaigns import lifecycle
from labeling.datasets import images, imports
from labeling.errors import Conflict, NotAllowed, Refusal
from labeling.exchange import label_files, part_imports
from labeling.models import Answer, Campaign, Image, Item, Job, Question, Release, Seat
from labeling.quality import memberships
from labeling.releases import freezing
from labeling.removal.undo import CampaignUndo, DatasetUndo, ImageUndo
from tests import factories
from tests.evaluation import crowd
from tests.labeling import part_files
from tests.labeling.label_files import rows, upload

COOT = "n02018207"


def answered(alice, bob, dataset) -> Campaign:
    campaign = factories.make_campaign(
        alice, dataset, "coots", images=2, policy={"votes": 1, "gold_share": 0}
    )
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], crowd.right_is(campaign.topics.get().key))
    return campaign


@pytest.mark.django_db(transaction=True)
def test_an_archived_campaign_is_deleted_with_answers_and_files_and_nothing_else(alice, bob):
    dataset = factories.make_dataset(alice, "lake")
    campaign = answered(alice, bob, dataset)
    others = factories.make_campaign(alice, dataset, "ducks", images=1)
    release = freezing.freeze(campaign, alice)
    folder = freezing.folder_of(release)
    undo = CampaignUndo(campaign, alice)
    assert folder.is_dir()

    with pytest.raises(Conflict, match="Archive the campaign first"):
        undo.delete("coots")
    undo.archive()
    with pytest.raises(Refusal, match="Type coots"):
        undo.delete("coot")
    assert "2 answers" in undo.dependents().goes
    undo.delete("coots")

    assert [row.name for row in Campaign.objects.all()] == ["ducks"]
    assert not Answer.objects.exists()
    assert not Seat.objects.exists()
    assert not Release.objects.exists()
    assert not folder.exists()
    assert Question.objects.count() == others.questions.count() == 1
    assert dataset.images.count() == Item.objects.count() == 3
    connection.check_constraints()


def test_a_draft_is_deleted_at_once_and_only_by_its_owner(alice, charlie, dataset):
    campaign = lifecycle.create(alice, name="x", title="X", kind="contains", dataset=dataset)

    with pytest.raises(NotAllowed):
        CampaignUndo(campaign, charlie).delete("x")
    CampaignUndo(campaign, alice).delete("x")

    assert not Campaign.objects.exists()


def test_archived_work_pauses_leaves_lists_and_does_not_open(as_alice, as_bob, alice, bob, dataset):
    campaign = answered(alice, bob, dataset)
    CampaignUndo(campaign, alice).archive()

    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.PAUSED
    assert campaign.title not in as_bob.get("/").content.decode()
    assert "Archived (1)" in as_alice.get("/campaigns/").content.decode()
    assert campaign.title in as_alice.get("/campaigns/?archived=1").content.decode()
    assert as_alice.get("/api/v1/campaigns/").json()["results"] == []
    assert len(as_alice.get("/api/v1/campaigns/?archived=true").json()["results"]) == 1
    with pytest.raises(Conflict, match="archived"):
        lifecycle.change_state(campaign, alice, "resume")

    CampaignUndo(campaign, alice).unarchive()
    assert lifecycle.change_state(campaign, alice, "resume").state == Campaign.State.OPEN


def test_an_archived_campaign_takes_no_invitations_and_releases(
    as_alice, alice, bob, dataset, shell, tmp_path
):
    campaign = answered(alice, bob, dataset)
    CampaignUndo(campaign, alice).archive()

    with pytest.raises(Conflict, match="archived"):
        memberships.invite(campaign, alice)
    address, body = "/api/v1/campaigns/coots/invitations/", {"role": "annotator"}
    invited = as_alice.post(address, body, content_type="application/json")
    frozen = [
        as_alice.post("/api/v1/campaigns/coots/releases/").status_code,
        as_alice.post("/campaigns/coots/releases/freeze/").status_code,
    ]
    assert (invited.status_code, frozen) == (409, [409, 409])
    refused = shell.refusal("campaign", "freeze", "coots", "--out", tmp_path / "release")
    assert "archived" in str(refused)
    assert runs.nightly()["releases"] == 0
    assert not campaign.releases.exists()


def test_a_campaign_is_renamed_until_a_release_carries_its_name(alice, bob, dataset):
    campaign = answered(alice, bob, dataset)
    factories.make_campaign(alice, dataset, "ducks", images=1)
    undo = CampaignUndo(campaign, alice)

    with pytest.raises(Conflict, match="already called"):
        undo.rename("ducks")
    undo.rename("mud-hens", "Mud hens")
    assert (campaign.name, campaign.title) == ("mud-hens", "Mud hens")
    freezing.freeze(campaign, alice)
    with pytest.raises(Conflict, match="title"):
        undo.rename("coots")
    undo.rename("mud-hens", "Coots")
    assert campaign.title == "Coots"


def test_a_clone_is_a_draft_with_texts_classes_and_rules_and_no_question(alice, bob, dataset):
    campaign = answered(alice, bob, dataset)
    image = dataset.images.first()
    lifecycle.add_example(campaign, campaign.topics.get().key, image, "yes", "White bill.")

    copy = CampaignUndo(campaign, alice).clone("again", "")

    assert (copy.state, copy.title, copy.kind) == ("draft", campaign.title, campaign.kind)
    assert copy.policy.content == campaign.policy.content
    assert copy.policy != campaign.policy
    topic, original = copy.topics.get(), campaign.topics.get()
    assert (topic.key, topic.pk != original.pk) == (original.key, True)
    assert topic.examples.get().token != original.examples.get().token
    assert not copy.questions.exists()
    assert copy.memberships.get().user == alice


@pytest.mark.django_db(transaction=True)
def test_a_dataset_is_deleted_with_its_files_once_no_campaign_asks(alice):
    dataset = factories.make_dataset(alice, "lake")
    path = Path(factories.make_image(dataset, "a.png").file.path)
    campaign = factories.make_campaign(alice, dataset, "coots", images=1)
    undo = DatasetUndo(dataset, alice)

    with pytest.raises(Conflict, match="1 campaign"):
        undo.delete("lake")
    with pytest.raises(Conflict, match="Close or archive"):
        undo.archive()
    assert path.exists()
    CampaignUndo(campaign, alice).archive()
    undo.archive()
    CampaignUndo(campaign, alice).delete("coots")
    undo.delete("lake")

    assert not Image.objects.exists()
    assert not path.exists()


@pytest.mark.django_db(transaction=True)
def test_an_image_is_deleted_while_no_campaign_has_asked_about_it(alice):
    dataset = factories.make_dataset(alice, "lake")
    campaign = factories.make_campaign(alice, dataset, "coots", images=1)
    spare, used = factories.make_image(dataset, "spare.png"), campaign.questions.get().item.image
    path = Path(spare.file.path)

    with pytest.raises(Conflict, match=campaign.title):
        ImageUndo(used, alice).delete(used.name)
    ImageUndo(spare, alice).delete("spare.png")

    assert list(dataset.images.all()) == [used]
    assert not path.exists()


def test_an_image_whose_part_another_image_shows_is_kept(alice, dataset):
    for seed, name in enumerate(("whole.png", "frame.png")):
        images.add_file(dataset, name, io.BytesIO(factories.picture(seed)))
    whole, frame = dataset.images.order_by("pk")
    derived = Item.objects.create(image=frame, derived_from=Item.objects.create(image=whole))
    undo = ImageUndo(whole, alice)

    assert undo.dependents().prevents == [f"1 item ({derived})"]
    with pytest.raises(Conflict, match=r"in use by 1 item"):
        undo.delete(whole.name)
    # The frame itself can go, and the whole dataset.
    ImageUndo(frame, alice).delete(frame.name)
    connection.check_constraints()


def test_an_archived_dataset_opens_no_campaign(as_alice, alice, dataset):
    campaign = lifecycle.create(alice, name="x", title="X", kind="contains", dataset=dataset)
    undo = DatasetUndo(dataset, alice)
    undo.archive()
    body = {"name": "y", "title": "Y", "kind": "contains", "dataset": dataset.name}

    for path, sent in (("", body), ("x/clone/", {"name": "z"})):
        response = as_alice.post(f"/api/v1/campaigns/{path}", sent, "application/json")
        assert (response.status_code, "archived" in response.json()["detail"]) == (409, True)
    assert [row.name for row in Campaign.objects.all()] == ["x"]

    undo.unarchive()
    assert CampaignUndo(campaign, alice).clone("z").state == Campaign.State.DRAFT


def test_a_dataset_is_kept_while_one_of_its_jobs_runs(alice):
    meadow = part_files.meadow(alice)
    picture = upload(factories.picture(9), "late.png")
    jobs = [
        imports.of_uploads(meadow, alice, [imports.NamedUpload("late.png", picture, False)]).job,
        part_imports.import_upload(meadow, alice, part_files.sent()),
    ]
    undo = DatasetUndo(meadow, alice)
    for job in jobs:
        Job.objects.filter(pk=job.pk).update(state=Job.State.RUNNING)
        with pytest.raises(Conflict, match="A job of the dataset is running"):
            undo.delete(meadow.name)
        Job.objects.filter(pk=job.pk).update(state=Job.State.DONE)
    undo.delete(meadow.name)


@pytest.mark.django_db(transaction=True)
def test_jobs_that_wait_for_a_deleted_dataset_end_without_fault(alice, run_jobs, monkeypatch):
    meadow = part_files.meadow(alice)
    monkeypatch.setattr(label_files, "SMALL_BYTES", 10)
    picture = upload(factories.picture(9), "late.png")
    sent = imports.NamedUpload("late.png", picture, False)
    waiting = [
        imports.of_uploads(meadow, alice, [sent]).job,
        label_files.import_upload(meadow, alice, rows("0.png,n02084071,yes"), source="a list"),
        part_imports.import_upload(meadow, alice, part_files.sent()),
    ]
    DatasetUndo(meadow, alice).delete(meadow.name)

    run_jobs()

    for job in waiting:
        job.refresh_from_db()
        assert (job.state, job.error) == (Job.State.DONE, "")
    folders = (label_files.FOLDER, part_imports.FOLDER)
    assert [default_storage.listdir(folder)[1] for folder in folders] == [[], []]
    connection.check_constraints()
