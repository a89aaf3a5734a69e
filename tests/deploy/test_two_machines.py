"""One site on two machines: each its own data folder, a database and a bucket for both."""

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from django.test import override_settings

from evaluation.benchmarks import runs
from labeling.jobs import kept_files, partial_uploads, queue
from labeling.models import Job
from labeling.releases import freezing
from tests.clients import logged_in, upload
from tests.conftest import own_world
from tests.evaluation.benchmarks.kinds.labeled import world

pytestmark = pytest.mark.ci

Machine = Callable[[str], AbstractContextManager[Path]]


@pytest.fixture
def machine(bucket, fresh_settings, tmp_path) -> Machine:
    """Inside, this process is the site on the machine of that name; gives its data folder."""
    storages = fresh_settings(bucket.site).STORAGES

    @contextmanager
    def on(name: str) -> Iterator[Path]:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        with override_settings(**own_world(folder) | {"STORAGES": storages}):
            yield folder

    return on


@pytest.fixture
def cats(machine, alice, bob, request):
    """A campaign whose images came in on machine A."""
    with machine("A"):
        return world.campaign_of(alice, bob, request.getfixturevalue("dataset"))


def test_what_one_machine_froze_and_scored_is_downloaded_from_the_other(
    machine, cats, alice, tmp_path
):
    with machine("B") as on_b:
        release = freezing.freeze(cats, alice)
        benchmark = world.make(alice, cats, thresholds=20)
        assert freezing.folder_of(release).is_relative_to(on_b)
    with machine("A"):
        world.submit(benchmark, alice, tmp_path)
    with machine("B"):
        run = runs.request(benchmark, alice)
        queue.run(Job.objects.get(kind="score", key=f"run {run.pk}").pk)
        run.refresh_from_db()

    with machine("A") as on_a:
        client = logged_in(alice)
        images = client.get(f"/benchmarks/wsol/runs/{run.pk}/images.jsonl")
        truth = client.get("/benchmarks/wsol/truth.zip")
        assert b"".join(images.streaming_content).count(b"\n") == 1
        with zipfile.ZipFile(io.BytesIO(b"".join(truth.streaming_content))) as archive:
            assert archive.testzip() is None
        # As frozen, by its hashes.
        assert freezing.read(release).meta["number"] == 1
        assert freezing.folder_of(release).is_relative_to(on_a)
    assert (run.state, run.error) == ("done", "")


def test_a_form_that_comes_back_to_the_other_machine_finds_its_file(machine, alice):
    with machine("A"):
        token = kept_files.keep(alice, upload("labels.csv", "image,wnid\n"))

    with machine("B"):
        assert kept_files.find(alice, token).read_text() == "image,wnid\n"


def test_parts_of_an_upload_come_to_either_machine(machine, alice, bucket):
    content, parts = b"one two three", [b"one ", b"two ", b"three"]
    sha256 = hashlib.sha256(content).hexdigest()
    with machine("A"):
        partial_uploads.begin(alice, sha256, "words.txt", len(content))
    for name, part in zip("BAB", parts, strict=True):
        with machine(name):
            upload = partial_uploads.find(alice, sha256)
            upload.append(upload.offset(), io.BytesIO(part))

    with machine("A") as on_a:
        upload = partial_uploads.find(alice, sha256)
        with upload.whole() as whole:
            assert whole.read() == content
        upload.remove()
        assert not [path for path in on_a.rglob("*") if sha256 in path.name]
    with machine("B"):
        assert upload.offset() == 0
        partial_uploads.forget_old()
