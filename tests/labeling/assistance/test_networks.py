"""Naming a network on the command line, and its embeddings under a budget."""

import hashlib
import json
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from labeling.assistance import embedding, networks
from labeling.errors import Conflict, Refusal
from labeling.files import BadInput
from labeling.jobs import child, hashed_files, queue
from labeling.models import Campaign, ImageEmbedding, Job, SegmentationNetwork
from tests import factories
from tests.labeling import parted, prompted
from tests.labeling.promptable import made_up

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.django_db
ONE = 3 * made_up.GRID**2 * 4


@pytest.fixture
def campaign(alice, dataset, tmp_path) -> Campaign:
    return prompted.campaign_of(alice, dataset, tmp_path, embedded=False)


def hashes() -> dict[int, str]:
    """By image, of the files as they lie on disk."""
    return {
        row.image_id: hashlib.sha256(hashed_files.path_of(row.file).read_bytes()).hexdigest()
        for row in ImageEmbedding.objects.all()
    }


def test_the_command_names_embeds_tells_and_removes(alice, dataset, tmp_path, capsys):
    parted.parts_campaign(alice, dataset, policy={"votes": 2})
    encoder, decoder = made_up.files(tmp_path)

    def proposals(*words: object) -> dict[str, object]:
        call_command("proposals", *map(str, words), "--json")
        return json.loads(capsys.readouterr().out)

    files = ("--encoder", encoder, "--decoder", decoder, "--budget", "100k")

    result = proposals("name", "cats", *files)
    started = proposals("start", "cats")

    assert result["embedding_bytes"] == ONE
    assert (result["images"], result["fits"]) == (3, 2)
    assert (started["embedded"], started["bytes"]) == (2, 2 * ONE)
    assert proposals("remove", "cats") == {"removed": True}
    assert proposals("status", "cats") == {"network": None}
    assert not list((Path(settings.DATA_DIR) / "embeddings").rglob("*.npy"))
    assert not list((Path(settings.DATA_DIR) / "networks").glob("*.onnx"))


def test_a_campaign_of_one_vote_is_refused_with_its_cure(alice, dataset, tmp_path):
    campaign = parted.parts_campaign(alice, dataset)
    encoder, decoder = made_up.files(tmp_path)

    with pytest.raises(Refusal, match=r"asks one person a question.*Set votes to 2 or more"):
        networks.name(campaign, "Made up", encoder, decoder, budget=1 << 30)
    assert not SegmentationNetwork.objects.exists()


def test_a_campaign_that_draws_nothing_is_refused(alice, dataset, tmp_path):
    campaign = factories.make_campaign(alice, dataset, images=1)
    encoder, decoder = made_up.files(tmp_path)

    with pytest.raises(Refusal, match="draw no parts"):
        networks.name(campaign, "Made up", encoder, decoder, budget=1 << 30)


def test_a_budget_below_one_image_is_refused(campaign, tmp_path):
    encoder, decoder = made_up.files(tmp_path)

    with pytest.raises(Refusal, match="The budget is 100 bytes, but one image needs 49,152"):
        networks.name(campaign, "Made up", encoder, decoder, budget=100)


def test_another_network_beside_it_is_refused_and_the_same_changes_the_budget(campaign, tmp_path):
    encoder, decoder = made_up.files(tmp_path)
    networks.name(campaign, "Made up", encoder, decoder, budget=ONE)

    assert SegmentationNetwork.objects.get().budget == ONE
    with pytest.raises(Conflict, match="Remove it first"):
        networks.name(campaign, "Other", encoder, decoder, budget=1 << 30, mean=(0.5, 0.5, 0.5))


def test_bad_files_leave_nothing_behind(alice, dataset, tmp_path):
    campaign = parted.parts_campaign(alice, dataset, policy={"votes": 2})
    encoder, decoder = made_up.files(tmp_path)

    with pytest.raises(BadInput):
        networks.name(campaign, "Made up", decoder, encoder, budget=1 << 30)
    assert not SegmentationNetwork.objects.exists()
    assert not list((Path(settings.DATA_DIR) / "networks").glob("*"))


@pytest.mark.usefixtures("commands_here")
def test_the_budget_chooses_by_hash_and_another_budget_adds_to_it(campaign):
    network = networks.for_campaign(campaign)
    assert network is not None
    SegmentationNetwork.objects.update(budget=2 * ONE)
    prompted.embed(campaign)
    first = hashes()

    SegmentationNetwork.objects.update(budget=3 * ONE)
    prompted.embed(campaign)
    every = hashes()
    SegmentationNetwork.objects.update(budget=2 * ONE)
    prompted.embed(campaign)

    assert (len(first), len(every)) == (2, 3)
    assert first.items() <= every.items()
    assert hashes() == first
    state = embedding.state(SegmentationNetwork.objects.select_related("campaign").get())
    assert (state.images, state.embedded, state.fits, state.bytes) == (3, 2, 2, 2 * ONE)


@pytest.mark.usefixtures("commands_here")
def test_a_job_that_was_killed_goes_on_and_gives_the_same_bytes(campaign, monkeypatch):
    prompted.embed(campaign)
    expected = hashes()
    ImageEmbedding.objects.all().delete()
    monkeypatch.setattr(embedding, "BATCH", 1)
    manage, calls = child.manage, []

    def killed(*args: object, **kwargs: object) -> str:
        calls.append(args)
        if len(calls) == 2:
            raise child.ChildFailed("The command was killed by signal 9.")
        return manage(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(child, "manage", killed)
    job = queue.run(embedding.start(campaign).pk)
    assert job is not None
    half = len(hashes())
    queue.run(job.pk)

    assert half == 1
    assert hashes() == expected
    # What was there was not made again.
    assert len(calls) == 4


def test_the_encoder_is_ended_when_its_job_is_stopped(campaign, monkeypatch):
    job = queue.claim(embedding.start(campaign).pk)
    assert job is not None

    assert embedding.stop(campaign)
    with pytest.raises(queue.LeaseLost):
        embedding.execute(job)
    assert not ImageEmbedding.objects.exists()
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.FAILED, "Stopped by hand.")
    prompted.embed(campaign)
    assert ImageEmbedding.objects.count() == 3


@pytest.mark.usefixtures("commands_here")
def test_an_image_that_cannot_be_read_leaves_the_others(campaign):
    image = campaign.dataset.images.first()
    assert image is not None
    image.file.storage.delete(image.file.name)
    with image.file.storage.open(image.file.name, "wb") as file:
        file.write(b"no photograph")

    prompted.embed(campaign)

    assert ImageEmbedding.objects.count() == 2
    assert image.pk not in hashes()
