"""Photographs larger than their display image: a preview, and tiles."""

import io

import pytest
from PIL import Image as Pillow

from labeling.datasets import details, images
from labeling.errors import NotYours, Refusal, Unavailable
from labeling.models import Image, Job
from tests.cases import for_each
from tests.labeling import samples

pytestmark = pytest.mark.django_db


@pytest.fixture
def large(dataset):
    content = samples.jpeg((5000, 40))
    return images.add_file(dataset, "wide.jpg", io.BytesIO(content)).image


def size_of(picture):
    with picture:
        return Pillow.open(picture).size


def test_the_job_of_a_large_image_makes_its_preview_and_tiles(large, run_jobs):
    run_jobs()
    large.refresh_from_db()

    assert size_of(images.open_preview(large)) == (2048, 16)
    assert size_of(images.open_detail(large, "0,4,0")) == (904, 40)
    assert size_of(images.open_detail(large, "1,2,0")) == (452, 20)
    assert size_of(images.open_display(large)) == (4096, 33)


def test_tiles_are_made_once(large, run_jobs, monkeypatch):
    run_jobs()
    monkeypatch.setattr(details, "make", None)

    images._enqueue_derivatives(large)
    run_jobs()

    assert {job.state for job in Job.objects.all()} == {"done"}


def test_tiles_of_an_older_image_are_made_when_somebody_looks_at_it(large, run_jobs):
    images.open_display(large).close()
    Job.objects.all().delete()

    assert size_of(images.open_preview(large)) == (4096, 33)
    with pytest.raises(Unavailable):
        images.open_detail(large, "0,0,0")
    assert Job.objects.count() == 1
    run_jobs()

    assert size_of(images.open_preview(large)) == (2048, 16)
    images.open_detail(large, "0,0,0").close()


def test_tiles_that_could_not_be_made_wait_for_a_person(large, run_jobs):
    images.open_display(large).close()
    large.file.storage.delete(large.file.name)
    run_jobs()
    job = Job.objects.get()
    assert job.state == "failed"

    images.open_preview(large).close()

    assert list(Job.objects.all()) == [job]


def test_tiles_are_made_though_another_block_failed(large, run_jobs):
    images.open_display(large).close()
    Job.objects.all().delete()
    images.open_preview(large).close()
    Job.objects.update(key=f"{large.dataset_id}:999", state="failed")

    images.open_preview(large).close()
    run_jobs()

    images.open_detail(large, "0,0,0").close()


def test_tiles_under_way_are_not_asked_for_again(large):
    images.open_display(large).close()
    Job.objects.all().delete()
    images.open_preview(large).close()
    Job.objects.update(state="running")

    images.open_preview(large).close()

    assert Job.objects.count() == 1


def test_tiles_cut_off_by_a_full_disk_are_made_again(large, monkeypatch):
    images.open_display(large).close()
    storage = large.display.storage
    save = storage.save
    count = iter(range(100))

    def fill(name, content):
        if next(count) == 3:
            raise OSError(28, "No space left on device")
        return save(name, content)

    monkeypatch.setattr(storage, "save", fill)
    with pytest.raises(Refusal, match="full"):
        details.make(large)
    assert not details.tiles_exist(large)

    details.make(large)

    names = storage.listdir(details._path(large, "x").rpartition("/")[0])[1]
    assert len(names) == 5 + 3 + 1
    assert details.tiles_exist(large)


@for_each("name", ["0,5,0", "2,0,0", "9,9,9", "preview", "0,0", "../x", "", "0,0,0\n", "٠,٠,٠"])
def test_names_of_no_tile_are_turned_away(large, run_jobs, name):
    run_jobs()
    large.refresh_from_db()

    with pytest.raises(NotYours):
        images.open_detail(large, name)


def test_a_small_image_has_no_tiles(dataset, run_jobs):
    image = images.add_file(dataset, "coot.jpg", io.BytesIO(samples.jpeg((4096, 40)))).image
    run_jobs()
    image = Image.objects.get(pk=image.pk)

    assert size_of(images.open_preview(image)) == (4096, 40)
    with pytest.raises(NotYours):
        images.open_detail(image, "0,0,0")
