import io
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command
from PIL import Image as Pillow

from annotator import backup
from labeling.campaigns import lifecycle
from labeling.datasets import images
from labeling.errors import Conflict, NotAllowed, NotYours, Refusal
from labeling.exchange import export_files
from labeling.follow_ups import opening
from labeling.image_files import DISPLAY_PX
from labeling.jobs import queue
from labeling.models import Answer, Draft, Image, Job, Question, Seat, Tombstone
from labeling.releases import freezing
from labeling.removal import privacy
from tests import factories
from tests.evaluation import crowd

COOT = "n02018207"
pytestmark = pytest.mark.django_db(transaction=True)


def photograph(form: str = "PNG", seed: int = 1) -> bytes:
    """A photograph with more pixels than annotators get, so that it has tiles."""
    image = Pillow.effect_noise((DISPLAY_PX + 200, 300), 40 + seed).convert("RGB")
    stream = io.BytesIO()
    image.save(stream, form)
    return stream.getvalue()


def site_files() -> dict[Path, bytes]:
    folders = {path.resolve() for path in backup.site_folders().values()}
    database = {path.resolve() for path in backup.database_files()}
    paths = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    return {path: path.read_bytes() for path in paths if path.resolve() not in database}


@pytest.fixture
def lake(alice, bob):
    """A dataset with one large photograph, asked about, answered, drafted and released."""
    lake = factories.make_dataset(alice, "lake")
    lake.content = photograph()
    images.add_file(lake, "anna.png", io.BytesIO(lake.content))
    images.add_file(lake, "other.png", io.BytesIO(factories.picture(5)))
    for job in Job.objects.filter(kind=images.DERIVATIVES):
        queue.run(job.pk)
    policy = {"votes": 1, "gold_share": 0}
    campaign = opening.draft(
        alice,
        pairs=[("anna.png", COOT), ("other.png", COOT)],
        topics=[{"key": COOT, "name": "coot"}],
        name="coots",
        title="Coots",
        kind="contains",
        dataset=lake,
        policy=policy,
    )
    lifecycle.add_example(campaign, COOT, lake.images.get(name="anna.png"), "yes")
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], crowd.right_is(COOT))
    seat = Seat.objects.get(question__item__image__name="anna.png")
    Draft.objects.create(assignment=seat, content={"note": "her face"})
    freezing.freeze(campaign, alice)
    return lake


def test_no_file_of_the_site_has_the_pixels_afterwards(lake, alice):
    image = lake.images.get(name="anna.png")
    campaign = lake.campaigns.get()
    others = {
        str(Path(getattr(lake.images.get(name="other.png"), key).path)) for key in privacy.STORED
    }
    release = campaign.releases.get()
    zip_path = export_files._path(release, "voc", export_files.exporting.DEFAULT)
    zip_path.parent.mkdir(parents=True, exist_ok=True)
    zip_path.write_bytes(lake.content)
    before = site_files()
    media = {p for p in before if {"images", "display", "thumbnails", "details"} & set(p.parts)}
    assert len([p for p in media if "details" in p.parts]) > 2
    pixels = {before[path] for path in media if str(path) not in others} | {lake.content}

    published = privacy.remove(image, alice, "anna.png")

    after = site_files()
    assert [path for path, content in after.items() if content in pixels] == []
    assert {p for p in after if p in media} == {p for p in media if str(p) in others}
    assert published == [f"{campaign.title}, release 1"]
    assert not Draft.objects.exists()
    assert not campaign.topics.get().examples.exists()
    assert list(lake.images.values_list("name", flat=True)) == ["other.png"]
    assert Answer.objects.count() == 2
    row = Image._base_manager.get(pk=image.pk)
    assert "anna" not in row.name
    assert (row.sha256 != image.sha256, row.file.name, row.licence) == (True, "", "")
    states = dict(Question.objects.values_list("item__image_id", "state"))
    assert states[image.pk] == Question.State.WITHDRAWN
    assert [line["image"] for line in frozen_answers(campaign, alice)] == ["other.png"]


def frozen_answers(campaign, alice):
    release = freezing.freeze(campaign, alice)
    assert release.number == 2
    return list(freezing.read(release).lines("answers.jsonl"))


def test_the_job_removes_what_a_killed_process_left(lake, alice, settings):
    places, settings.ASSAY_PIXEL_PLACES = settings.ASSAY_PIXEL_PLACES, []
    image = lake.images.get(name="anna.png")
    privacy.remove(image, alice, "anna.png")
    assert lake.content in site_files().values()
    settings.ASSAY_PIXEL_PLACES = places

    queue.run(Job.objects.get(kind=privacy.KIND).pk)

    assert lake.content not in site_files().values()


def test_only_the_owner_removes_it_and_not_while_a_job_reads(lake, alice, bob):
    image = lake.images.get(name="anna.png")

    with pytest.raises(NotAllowed):
        privacy.remove(image, bob, "anna.png")
    with pytest.raises(Refusal, match="Type anna"):
        privacy.remove(image, alice, "anna")
    Job.objects.filter(kind=images.DERIVATIVES).update(state=Job.State.RUNNING)
    with pytest.raises(Conflict, match="is reading"):
        privacy.remove(image, alice, "anna.png")
    assert lake.images.count() == 2


def test_the_same_file_and_pixels_are_refused_after_a_restored_backup(
    lake, alice, tmp_path_factory, settings
):
    settings.SECRET_KEY = "of this site"
    privacy.remove(lake.images.get(name="anna.png"), alice, "anna.png")
    assert Tombstone.objects.get().dataset == lake
    goal = tmp_path_factory.mktemp("backups") / "monday"
    call_command("backup", str(goal))
    call_command("flush", interactive=False, verbosity=0)
    for folder in backup.site_folders().values():
        shutil.rmtree(folder, ignore_errors=True)
    call_command("restore", str(goal))

    # The operator takes a new key; the data folder has the restored one.
    settings.SECRET_KEY = "another key"
    stream = io.BytesIO()
    Pillow.open(io.BytesIO(lake.content)).save(stream, "TIFF")
    again = factories.make_dataset(alice, "again")
    for dataset, name, content in (
        (lake, "anna.png", lake.content),
        (again, "b.png", lake.content),
        (again, "b.tif", stream.getvalue()),
    ):
        with pytest.raises(Refusal, match="removed from this site for privacy"):
            images.add_file(dataset, name, io.BytesIO(content))
    assert images.add_file(again, "c.png", io.BytesIO(photograph(seed=2))).image is not None
    assert images.add_file(lake, "anna.png", io.BytesIO(photograph(seed=3))).image is not None
    assert not [p for p, content in site_files().items() if content == lake.content]


def test_a_second_click_finds_the_image_removed(lake, alice):
    """Both clicks have read the image before the first removes it."""
    image, again = (lake.images.get(name="anna.png") for _ in range(2))
    privacy.remove(image, alice, "anna.png")

    with pytest.raises(NotYours, match="removed for privacy"):
        privacy.remove(again, alice, "anna.png")
    assert Tombstone.objects.count() == 1


def test_pages_of_its_questions_still_open(lake, alice, as_alice):
    image = lake.images.get(name="anna.png")
    campaign = lake.campaigns.get()
    privacy.remove(image, alice, "anna.png")
    question = campaign.questions.get(item__image=image.pk)

    for page in ("", "questions/", "questions/?state=withdrawn", f"questions/{question.pk}/"):
        response = as_alice.get(f"/campaigns/{campaign.name}/{page}")
        assert (response.status_code, "anna" in response.content.decode()) == (200, False), page
