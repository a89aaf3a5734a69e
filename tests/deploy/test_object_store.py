"""Images in an object store, by settings alone."""

import io
import socket
import time
import zipfile

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse

from annotator import health
from labeling.datasets import imports
from labeling.datasets.images import add_file, open_display
from labeling.jobs import image_store, queue, uploads
from tests import factories
from tests.clients import text_of, upload
from tests.object_store import KEY


@pytest.fixture
def images(bucket, fresh_settings, settings):
    """The bucket, in which this site keeps its images."""
    settings.STORAGES = fresh_settings(bucket.site).STORAGES
    return bucket


def test_an_image_is_kept_in_the_bucket_read_and_removed(images):
    content = factories.picture()

    name = image_store.write("file", content, "image/png")

    assert list(images.objects) == [name]
    with default_storage.open(name) as file:
        assert file.read() == content
    assert default_storage.size(name) == len(content)
    image_store.remove("file", name)
    assert images.objects == {}


def test_an_import_is_one_request_for_an_image_and_so_is_looking_at_it(images, alice, run_jobs):
    dataset = factories.make_dataset(alice)

    image = add_file(dataset, "a.png", io.BytesIO(factories.picture())).image
    added = [each.method for each in images.requests]
    run_jobs()
    derived = [each.method for each in images.requests][len(added) :]
    image.refresh_from_db()
    with open_display(image) as file:
        assert file.read()

    assert added == ["PUT"]
    assert derived == ["GET", "PUT", "PUT"]
    assert [each.method for each in images.requests][4:] == ["GET"]


def test_an_upload_of_another_of_the_same_name_is_kept_too(images):
    first, second = (uploads.keep(ContentFile(b"zip"), "imports/") for _ in range(2))

    assert first != second
    assert sorted(images.objects) == sorted([first, second])


def test_an_import_waits_for_a_store_that_is_away_and_is_whole_afterwards(images, alice, run_jobs):
    dataset = factories.make_dataset(alice)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for seed, name in enumerate(("a.png", "b.png")):
            archive.writestr(name, factories.picture(seed=seed))
    sent = imports.NamedUpload("two.zip", upload("two.zip", zipped.getvalue()), True)
    row = imports.of_uploads(dataset, alice, [sent])

    with images.refusing(503, "PUT"):
        queue.run(row.job_id)
    row.job.refresh_from_db()
    waited = row.job.state, row.job.attempts, row.job.error
    queue.run(row.job_id)
    row.refresh_from_db()

    assert waited[:2] == ("queued", 0)
    assert waited[2].startswith("The object store does not answer (503 SlowDown).")
    assert (row.added, row.report["refused"]) == (2, [])
    assert set(images.objects) == {image.file.name for image in dataset.images.all()}


def test_a_page_says_that_the_store_is_away_or_refuses(images, as_alice, alice):
    dataset = factories.make_dataset(alice)
    image = add_file(dataset, "a.png", io.BytesIO(factories.picture())).image
    address = reverse("labeling:thumbnail", args=[dataset.name, image.pk])

    with images.refusing(503):
        response = as_alice.get(address)
    with images.refusing(403):
        refused = as_alice.get(address)

    assert "The object store does not answer (503 SlowDown)" in text_of(response, 503)
    assert "The object store refuses this site: 403 SlowDown" in text_of(refused, 503)


def test_readiness_asks_the_bucket_and_leaves_nothing(images):
    health._ask_image_store()

    assert [each.method for each in images.requests][-2:] == ["PUT", "DELETE"]
    assert images.objects == {}


@pytest.mark.slow
def test_a_store_that_accepts_and_is_silent_is_given_up(fresh_settings, settings):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        site = {"ASSAY_S3_BUCKET": "images", "ASSAY_S3_ENDPOINT": endpoint, **KEY}
        settings.STORAGES = fresh_settings(site).STORAGES
        start = time.monotonic()

        with pytest.raises(Exception, match="ReadTimeoutError"):
            health._ask_image_store()

    assert time.monotonic() - start < 60


@pytest.mark.parametrize("missing", KEY)
def test_a_bucket_without_its_key_is_refused_at_the_start(fresh_settings, missing):
    settings = {name: value for name, value in KEY.items() if name != missing}

    with pytest.raises(
        ImproperlyConfigured, match=f"ASSAY_S3_BUCKET is set and {missing} is empty"
    ):
        fresh_settings({"ASSAY_S3_BUCKET": "images", **settings})


def test_without_a_bucket_images_are_files(fresh_settings):
    backend = fresh_settings({}).STORAGES["default"]["BACKEND"]

    assert backend == "django.core.files.storage.FileSystemStorage"
