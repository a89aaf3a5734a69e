"""Images in an object store, by settings alone."""

import socket
import time

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotator import health
from labeling.jobs import image_store
from tests import factories
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


def test_nothing_is_written_over(images):
    first = default_storage.save("a.png", ContentFile(b"1"))
    second = default_storage.save("a.png", ContentFile(b"2"))

    assert first != second
    assert sorted(images.objects.values()) == [b"1", b"2"]


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

        with pytest.raises(Exception, match="Read timeout"):
            health._ask_image_store()

    assert time.monotonic() - start < 60


@pytest.mark.parametrize("missing", KEY)
def test_a_bucket_without_its_key_is_refused_at_the_start(fresh_settings, missing):
    given = {name: value for name, value in KEY.items() if name != missing}

    with pytest.raises(
        ImproperlyConfigured, match=f"ASSAY_S3_BUCKET is set and {missing} is empty"
    ):
        fresh_settings({"ASSAY_S3_BUCKET": "images", **given})


def test_without_a_bucket_images_are_files(fresh_settings):
    backend = fresh_settings({}).STORAGES["default"]["BACKEND"]

    assert backend == "django.core.files.storage.FileSystemStorage"
