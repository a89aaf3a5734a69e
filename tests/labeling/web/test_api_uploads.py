"""Files sent in parts by tus: whose they are, where they continue, and what is refused."""

import errno
import hashlib
import io
import os
import threading
from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.benchmarks import runs
from labeling.errors import Conflict
from labeling.jobs import partial_uploads
from labeling.models import GivenLabel
from labeling.web.api.labels import GivenLabelViewSet
from tests import factories
from tests.clients import API, program

CONTENT = b"image,wnid\npond/0.png,n02018207\n"
PART_TYPE = "application/offset+octet-stream"


@pytest.fixture
def client(alice):
    return program(alice)


@pytest.fixture
def folder(alice, settings) -> Path:
    return Path(settings.DATA_DIR) / partial_uploads.STORED / str(alice.pk)


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def begun(client: Any, content: bytes = CONTENT, name: str = "labels.csv", **changes: str) -> Any:
    """The response to the beginning of an upload."""
    names = {"filename": name, "sha256": sha256_of(content)} | changes
    pairs = (f"{key} {b64encode(value.encode()).decode()}" for key, value in names.items())
    headers = {"Upload-Length": str(len(content)), "Upload-Metadata": ",".join(pairs)}
    return client.post(f"{API}uploads/", headers=headers)


def patched(client: Any, address: str, offset: object, content: bytes, **more: Any) -> Any:
    headers = {"Upload-Offset": str(offset)}
    return client.generic("PATCH", address, content, PART_TYPE, headers=headers, **more)


def uploaded(client: Any, content: bytes = CONTENT, name: str = "labels.csv") -> str:
    """The id of a complete upload."""
    response = begun(client, content, name)
    assert patched(client, response["Location"], 0, content).status_code == 204
    return str(response.json()["id"])


def import_labels(client: Any, dataset: Any, upload: str) -> Any:
    body = {"file": upload, "source": "me"}
    return client.post(f"{API}datasets/{dataset.name}/labels/", body, format="multipart")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_parts_become_a_file_of_a_form(client, dataset, folder):
    factories.make_image(dataset, "pond/0.png")
    response = begun(client)
    address = response["Location"]

    assert response.status_code == 201
    assert (response["Upload-Offset"], response["Tus-Resumable"]) == ("0", "1.0.0")
    first = patched(client, address, 0, CONTENT[:7])
    assert (first.status_code, first["Upload-Offset"], first.content) == (204, "7", b"")
    head = client.head(address)
    assert (head["Upload-Offset"], head["Upload-Length"]) == ("7", str(len(CONTENT)))
    assert head["Cache-Control"] == "no-store"
    assert patched(client, address, 7, b"")["Upload-Offset"] == "7"
    assert begun(client)["Upload-Offset"] == "7", "the same file continues"
    assert patched(client, address, 7, CONTENT[7:])["Upload-Offset"] == str(len(CONTENT))
    assert client.get(address).json() == {
        "id": sha256_of(CONTENT),
        "name": "labels.csv",
        "size": len(CONTENT),
        "offset": len(CONTENT),
    }

    taken = import_labels(client, dataset, sha256_of(CONTENT))

    assert taken.status_code == 201, taken.content
    assert GivenLabel.objects.get().key == "n02018207"
    assert names_in(folder) == [], "a used upload is removed"


def test_a_refused_request_keeps_the_upload(client, dataset, folder):
    upload = uploaded(client)

    refused = import_labels(client, dataset, upload)

    assert (refused.status_code, refused.json()["code"]) == (400, "refused")
    assert len(names_in(folder)) == 2


def test_an_upload_belongs_to_its_person(client, bob, charlie, dataset, folder):
    upload = uploaded(client)
    address = f"{API}uploads/{upload}/"
    theirs = program(factories.make_user("rita", is_researcher=True))

    assert theirs.get(address).status_code == 404
    assert patched(theirs, address, 0, b"x").status_code == 404
    assert begun(theirs)["Upload-Offset"] == "0", "their upload of the same file is another one"
    assert begun(program(charlie)).status_code == 403
    taken = import_labels(program(factories.make_user("otto", is_researcher=True)), dataset, upload)
    assert taken.status_code == 404
    assert len(names_in(folder)) == 2


@pytest.mark.parametrize("offset", ["5", "-1", "31", "1e3", "", "٣", "9" * 30])
def test_bytes_elsewhere_than_at_the_end_change_nothing(client, folder, offset):
    address = begun(client)["Location"]
    patched(client, address, 0, CONTENT[:4])
    before = names_in(folder)

    refused = patched(client, address, offset, b"wxyz")

    assert refused.status_code == (409 if offset in ("5", "31") else 400)
    assert refused.json()["errors"][0]["field"] == "Upload-Offset"
    if refused.status_code == 409:
        assert "has 4 bytes" in refused.json()["detail"]
    assert names_in(folder) == before
    assert client.get(address).json()["offset"] == 4


def test_of_concurrent_parts_at_an_offset_the_first_counts(alice, client, folder):
    address = begun(client)["Location"]
    [upload] = [partial_uploads.find(alice, sha256_of(CONTENT))]

    class Slow:
        """A body that arrives while another request stores its part."""

        def read(self, size: int) -> bytes:
            if upload.offset():
                return b""
            assert patched(client, address, 0, CONTENT[:9]).status_code == 204
            return CONTENT[:3]

    with pytest.raises(Conflict, match="has 9 bytes"):
        upload.append(0, Slow())  # type: ignore[arg-type]

    assert upload.offset() == 9
    assert len(names_in(folder)) == 2, "nothing of the later part is left"


@pytest.mark.parametrize(("earlier", "later"), [(9, 3), (3, 9), (9, 9)])
def test_parts_stored_at_once_lose_no_byte(alice, client, folder, monkeypatch, earlier, later):
    """A line breaks within a part, and the site stores what arrived after the part sent again."""
    begun(client)
    upload = partial_uploads.find(alice, sha256_of(CONTENT))
    check, checks = partial_uploads.PartialUpload._check, []

    def check_and_wait(self, offset: int) -> None:
        check(self, offset)
        checks.append(offset)
        if len(checks) == 2:
            upload.append(0, io.BytesIO(CONTENT[:earlier]))

    monkeypatch.setattr(partial_uploads.PartialUpload, "_check", check_and_wait)
    upload.append(0, io.BytesIO(CONTENT[:later]))
    assert upload.offset() == 9

    assert [path.stat().st_size for path in folder.glob("*.0")] == [9]
    upload.append(9, io.BytesIO(CONTENT[9:]))

    with upload.whole() as whole:
        assert whole.read() == CONTENT


def test_a_part_of_an_earlier_version_of_the_site_counts(alice, client, folder):
    address = begun(client)["Location"]
    (folder / f"{sha256_of(CONTENT)}.0").write_bytes(CONTENT[:4])

    assert patched(client, address, 4, CONTENT[4:]).status_code == 204
    with partial_uploads.find(alice, sha256_of(CONTENT)).whole() as whole:
        assert whole.read() == CONTENT


def test_many_threads_write_one_file(alice):
    """Whoever loses is refused; the file is whole all the same."""
    content = os.urandom(50_000)
    upload = partial_uploads.begin(alice, sha256_of(content), "a.bin", len(content))

    def send() -> None:
        while (offset := upload.offset()) < len(content):
            try:
                upload.append(offset, io.BytesIO(content[offset : offset + 5_000]))
            except Conflict:
                continue

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with upload.whole() as whole:
        assert whole.read() == content


def test_a_size_that_is_a_lie_is_refused(client, dataset, folder, settings):
    address = begun(client)["Location"]
    longer = patched(client, address, 0, CONTENT + b"more")
    assert (longer.status_code, longer.json()["code"]) == (413, "too_large")
    assert client.get(address).json()["offset"] == 0
    patched(client, address, 0, CONTENT[:5])
    early = import_labels(client, dataset, sha256_of(CONTENT))
    assert early.status_code == 409
    assert "5 of 32 bytes" in early.json()["detail"]
    settings.ASSAY_MAX_UPLOAD_BYTES = 20
    assert begun(client, b"y" * 21).status_code == 413


@pytest.mark.parametrize("length", ["", "-1", "x", "1.5", "9" * 25])
def test_a_length_is_a_number_of_bytes(client, length):
    response = client.post(f"{API}uploads/", headers={"Upload-Length": length})

    assert response.status_code == 400


def test_a_file_with_another_hash_is_removed(client, dataset, folder):
    address = begun(client)["Location"]
    patched(client, address, 0, CONTENT[::-1])

    refused = import_labels(client, dataset, sha256_of(CONTENT))

    assert refused.status_code == 400
    assert "another SHA-256" in refused.json()["detail"]
    assert names_in(folder) == []


def test_of_two_requests_with_one_upload_the_later_is_refused(
    alice, client, dataset, folder, monkeypatch
):
    upload = uploaded(client)
    parts = partial_uploads.find(alice, upload)._parts()
    monkeypatch.setattr(partial_uploads.PartialUpload, "_parts", lambda _: parts)
    [part] = folder.glob("*.0")
    part.unlink()

    refused = import_labels(client, dataset, upload)

    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "file")


def test_a_full_disk_keeps_what_arrived(client, folder, monkeypatch):
    address = begun(client)["Location"]
    patched(client, address, 0, CONTENT[:4])
    before = names_in(folder)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        refused = patched(client, address, 4, CONTENT[4:])

    assert (refused.status_code, refused.json()["code"]) == (507, "storage_full")
    assert names_in(folder) == before
    assert patched(client, address, 4, CONTENT[4:]).status_code == 204


@pytest.mark.parametrize(
    ("name", "kept"),
    [("../../etc/passwd", "passwd"), ("C:\\a\\b.csv", "b.csv"), ("a\n\0b.csv", "ab.csv")],
)
def test_a_name_loses_its_folders(client, name, kept):
    assert begun(client, name=name).json()["name"] == kept


def test_a_name_with_a_long_ending_is_a_name(alice, client):
    upload = uploaded(client, name=f"a.{'x' * 300}")

    with partial_uploads.find(alice, upload).whole() as whole:
        assert len(whole.name or "") <= 255


@pytest.mark.parametrize(
    "changes", [{"filename": ".."}, {"filename": ""}, {"sha256": "../../x"}, {"sha256": "A" * 64}]
)
def test_an_upload_needs_a_name_and_a_hash(client, folder, changes):
    refused = begun(client, **changes)

    assert (refused.status_code, names_in(folder)) == (400, [])


def test_metadata_is_base64(client):
    headers = {"Upload-Length": "3", "Upload-Metadata": "filename ???"}

    assert client.post(f"{API}uploads/", headers=headers).status_code == 400


@pytest.mark.parametrize("upload", ["0" * 64, "..", "x", "A" * 64])
def test_what_is_no_upload_is_no_file(client, dataset, upload):
    refused = import_labels(client, dataset, upload)

    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "file")


def test_a_form_has_its_limit_for_uploads_too(client, dataset, monkeypatch):
    monkeypatch.setattr(GivenLabelViewSet, "max_upload_bytes", 10)

    assert import_labels(client, dataset, uploaded(client)).status_code == 413


def test_other_versions_and_bodies_are_refused(client):
    address = begun(client)["Location"]

    refused = client.get(address, headers={"Tus-Resumable": "0.2.2"})
    assert (refused.status_code, refused["Tus-Version"]) == (412, "1.0.0")
    assert client.patch(address, {}, format="json").status_code == 415
    options = client.options(address)
    assert (options["Tus-Extension"], options["Tus-Max-Size"]) == ("creation", str(2 * 1024**3))


def test_a_person_keeps_no_more_than_twice_the_largest_file(alice, client, folder, settings):
    settings.ASSAY_MAX_UPLOAD_BYTES = 1000
    addresses = []
    for number in range(3):
        content = bytes([number]) * 900
        addresses.append(begun(client, content)["Location"])
        patched(client, addresses[-1], 0, content[:800])
        for path in folder.glob(f"{sha256_of(content)}.*"):
            os.utime(path, (number, number))

    assert [client.get(address).status_code for address in addresses] == [404, 200, 200]
    assert sum(path.stat().st_size for path in folder.glob("*.0")) <= 2000


def test_the_number_of_parts_is_bounded(client, folder, monkeypatch):
    monkeypatch.setattr(partial_uploads, "MAX_PARTS", 3)
    address = begun(client)["Location"]
    statuses = [patched(client, address, n, CONTENT[n : n + 1]).status_code for n in range(4)]

    assert statuses == [204, 204, 204, 400]
    assert names_in(folder) == []


def test_unfinished_uploads_are_removed_at_night(client, folder):
    old, fresh = (begun(client, content)["Location"] for content in (b"old", b"fresh"))
    patched(client, old, 0, b"o")
    patched(client, fresh, 0, b"f")
    long_ago = (partial_uploads.UPLOAD_LIFETIME + timedelta(hours=1)).total_seconds()
    for path in folder.iterdir():
        if not (path.name.startswith(sha256_of(b"fresh")) and path.name.endswith(".0")):
            written = path.stat().st_mtime - long_ago
            os.utime(path, (written, written))

    runs.start_night()

    assert [client.get(address).status_code for address in (old, fresh)] == [404, 200]


def test_no_query_runs_while_a_body_is_read(client):
    address = begun(client)["Location"]
    with CaptureQueriesContext(connection) as queries:
        patched(client, address, 0, CONTENT)

    written = [row["sql"] for row in queries if not row["sql"].startswith("SELECT")]
    assert written == [], "no transaction and no lock"
