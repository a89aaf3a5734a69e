"""Large files of the Python client: after a break only the rest is sent."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from assay_client import AssayClient, Problem, transport

from evaluation.benchmarks.kinds.labeled import paths
from evaluation.readers.wsol_folders import read_boxes
from labeling.files import file_sha256
from labeling.jobs import partial_uploads
from labeling.web import tokens
from tests.evaluation.benchmarks.kinds.labeled import world

pytestmark = pytest.mark.django_db(transaction=True)
PART = 64 * 1024
PARTS = 24
CLIENT = Path(transport.__file__).parents[1]
PROGRAM = """
import sys
from assay_client import AssayClient, transport

transport.PART = int(sys.argv[1])
with AssayClient(sys.argv[2], sys.argv[3]) as assay:
    print(assay.upload(sys.argv[4]))
"""


class Line:
    """A connection to the site that counts the bytes sent, and is cut once after `limit`.

    reached: set at the limit. go: cleared to hold the line there before it is cut.
    """

    def __init__(self, url: str) -> None:
        self.goal = httpx.URL(url)
        self.sent, self.limit, self.cuts = 0, -1, 0
        self.reached, self.go = threading.Event(), threading.Event()
        self.go.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection((self.goal.host, self.goal.port or 80))
                for way in ((near, far, True), (far, near, False)):
                    threading.Thread(target=self._pump, args=way, daemon=True).start()

    def _pump(self, source: socket.socket, goal: socket.socket, is_sent: bool) -> None:
        with contextlib.suppress(OSError), source, goal:
            while data := source.recv(16 * 1024):
                self.sent += len(data) * is_sent
                if 0 <= self.limit < self.sent:
                    self.limit = -1
                    self.cuts += 1
                    self.reached.set()
                    self.go.wait()
                    goal.shutdown(socket.SHUT_RDWR)
                    source.shutdown(socket.SHUT_RDWR)
                    return
                goal.sendall(data)


@pytest.fixture
def line(live_server) -> Iterator[Line]:
    made = Line(live_server.url)
    yield made
    made.listener.close()


@pytest.fixture
def secret(alice) -> str:
    return tokens.create_token(alice, scope="write")[1]


@pytest.fixture
def large(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(transport, "PART", PART)
    path = tmp_path / "large.zip"
    path.write_bytes(os.urandom(PART * PARTS))
    return path


def test_after_a_cut_line_only_the_rest_is_sent(alice, line, secret, large):
    line.limit = PART * PARTS // 2
    with AssayClient(line.url, secret, sleep=lambda _: None) as assay:
        upload = assay.upload(large)

    assert line.cuts == 1
    with partial_uploads.find(alice, upload).whole() as whole:
        assert whole.read() == large.read_bytes()
    # The part that was under way, and the heads of the requests.
    assert line.sent < PART * (PARTS + 2)


def test_after_the_death_of_the_program_only_the_rest_is_sent(alice, line, secret, large):
    command = [sys.executable, "-c", PROGRAM, str(PART), line.url, secret, str(large)]
    sha256 = file_sha256(large)

    line.limit = PART * PARTS // 2
    line.go.clear()
    with subprocess.Popen(command, cwd=CLIENT) as killed:
        assert line.reached.wait(60)
        killed.send_signal(signal.SIGKILL)
    line.go.set()
    before = partial_uploads.find(alice, sha256).offset()
    assert PART < before < PART * PARTS
    line.sent = 0

    again = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=True)

    assert again.stdout.strip() == sha256
    assert line.sent < large.stat().st_size - before + 2 * PART
    with partial_uploads.find(alice, sha256).whole() as whole:
        assert whole.read() == large.read_bytes()


def test_large_predictions_are_sent_in_parts(alice, bob, dataset, line, secret, large, settings):
    benchmark = world.make(alice, world.campaign_of(alice, bob, dataset), thresholds=10)
    images = read_boxes(paths.truth_folder(benchmark))
    maps = {f"{image.name}.npy": world.npy(world.ramp()) for image in images}
    large.write_bytes(world.packed(maps, zipfile.ZIP_STORED))
    size = large.stat().st_size
    line.limit = size // 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "PART", size // 5)
        with AssayClient(line.url, secret, sleep=lambda _: None) as assay:
            assay.submit("wsol", "alpha", large)

    assert line.cuts == 1
    assert line.sent < 1.5 * size + 8_000
    assert benchmark.submissions.get().name == "alpha"
    folder = Path(settings.DATA_DIR) / partial_uploads.STORED / str(alice.pk)
    assert [*folder.iterdir()] == []


def test_an_upload_that_the_site_lost_is_refused_and_not_sent_for_ever(
    alice, line, secret, large, dataset, monkeypatch
):
    monkeypatch.setattr(partial_uploads.PartialUpload, "offset", lambda _: 0)
    with AssayClient(line.url, secret) as assay, pytest.raises(Problem) as refused:
        assay.post(f"datasets/{dataset.name}/images/", files={"zip": large})

    assert refused.value.status in (400, 409)


def test_a_file_that_changes_under_way_is_refused(line, secret, large, dataset, monkeypatch):
    read = transport.hashlib.file_digest

    def digest(file, name):
        made = read(file, name)
        large.write_bytes(b"y" * PART)
        return made

    monkeypatch.setattr(transport.hashlib, "file_digest", digest)
    with (
        AssayClient(line.url, secret) as assay,
        pytest.raises(Problem, match="Send the rest first"),
    ):
        assay.post(f"datasets/{dataset.name}/images/", files={"zip": large})
