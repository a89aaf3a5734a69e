"""Images in an object store, by settings alone: a small server with four verbs of S3 stands in."""

import http.server
import socket
import threading
import time

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotator import health
from labeling.jobs import image_store
from tests import factories

KEY = {"ASSAY_S3_KEY_ID": "of-the-site", "ASSAY_S3_SECRET": "never sent"}


class Bucket(http.server.BaseHTTPRequestHandler):
    """PUT, HEAD, GET and DELETE of objects, in memory."""

    objects: dict[str, bytes] = {}
    seen: list[str] = []

    def do_PUT(self) -> None:
        self.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200)

    def do_GET(self) -> None:
        found = self.objects.get(self.path)
        self.answer(404 if found is None else 200, found or b"")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.objects.pop(self.path, None)
        self.answer(204)

    def answer(self, status: int, body: bytes = b"") -> None:
        self.seen.append(f"{self.command} {self.headers['Authorization'].split('/')[0]}")
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"0"')
        self.send_header("Last-Modified", "Mon, 23 Nov 2026 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def bucket(fresh_settings, settings):
    Bucket.objects, Bucket.seen = {}, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        point_to(endpoint, fresh_settings, settings)
        yield Bucket
        server.shutdown()


def point_to(endpoint, fresh_settings, settings):
    given = {"ASSAY_S3_BUCKET": "images", "ASSAY_S3_ENDPOINT": endpoint, **KEY}
    settings.STORAGES = fresh_settings(given).STORAGES


def test_an_image_is_kept_in_the_bucket_read_and_removed(bucket):
    content = factories.picture()

    name = image_store.write("file", content, "image/png")

    assert list(bucket.objects) == [f"/images/{name}"]
    with default_storage.open(name) as file:
        assert file.read() == content
    assert default_storage.size(name) == len(content)
    image_store.remove("file", name)
    assert bucket.objects == {}
    assert {each.split()[1] for each in bucket.seen} == {"AWS4-HMAC-SHA256"}


def test_nothing_is_written_over(bucket):
    first = default_storage.save("a.png", ContentFile(b"1"))
    second = default_storage.save("a.png", ContentFile(b"2"))

    assert first != second
    assert sorted(bucket.objects.values()) == [b"1", b"2"]


def test_readiness_asks_the_bucket_and_leaves_nothing(bucket):
    health._ask_image_store()

    assert bucket.objects == {}
    assert [each.split()[0] for each in bucket.seen][-2:] == ["PUT", "DELETE"]


@pytest.mark.slow
def test_a_store_that_accepts_and_is_silent_is_given_up(fresh_settings, settings):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        point_to(f"http://127.0.0.1:{listener.getsockname()[1]}", fresh_settings, settings)
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
