"""Pools of uploaded predictions: checked whole, and refused with a sentence."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from evaluation.models import Pool
from evaluation.pools import choosing, making, uploading
from evaluation.pools.forms import PredictionsForm
from evaluation.readers import sharded_pools
from labeling.errors import NotAllowed, Refusal
from labeling.jobs import queue
from labeling.models import Dataset
from tests import factories
from tests.evaluation.pool import make_pool
from tests.evaluation.pools.pool_rows import images_of, zipped
from tests.evaluation.pools.test_selections import SETTINGS, WORDS

pytestmark = pytest.mark.django_db
Files = dict[str, bytes]


@pytest.fixture
def dataset(alice) -> Dataset:
    alice.is_researcher = True
    alice.save()
    return factories.make_dataset(alice, "lake")


@pytest.fixture
def folder(dataset, tmp_path) -> Path:
    """Predictions of 12 of the 15 images of the dataset."""
    return make_pool(tmp_path / "pool", ids=images_of(dataset, 15)[:12], classes=WORDS)


def packed(files: Files) -> SimpleUploadedFile:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return SimpleUploadedFile("pool.zip", file.getvalue())


def array(values: Any, kind: str) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values).astype(kind))
    return file.getvalue()


def test_uploaded_predictions_are_a_pool_whose_selection_can_be_made(
    dataset, folder, tmp_path, shell
):
    pool = uploading.from_zip(dataset, dataset.owner, SimpleUploadedFile("p.zip", zipped(folder)))

    assert (pool.job, pool.state, pool.names) == (None, "done", ["alpha", "beta", "gamma"])
    assert pool.result["alpha"] == {"images": 12, "missing": 3}
    with making.unpack_pool(pool) as stored:
        assert {path.name: path.read_bytes() for path in stored.iterdir()} == {
            path.name: path.read_bytes() for path in folder.iterdir()
        }
    chosen = choosing.settings_of(pool, SETTINGS | {"distance": "zero-one"})
    row = choosing.request(chosen, dataset.owner)
    queue.run(row.job_id)
    row.refresh_from_db()
    out = tmp_path / "shell.jsonl"
    shell.result(
        *("mad", "select", "--predictions", folder, "--out", out, "--distance", "zero-one"),
        *("--top-k", 5, "--min-confidence", 0.6, "--max-per-label", 2, "--reserve", 3),
    )
    with choosing.open_file(row) as file:
        assert file.read() == out.read_bytes()


def lacking(name: str) -> Callable[[Files], object]:
    return lambda files: files.pop(name)


def having(name: str, content: bytes) -> Callable[[Files], object]:
    return lambda files: files.update({name: content})


def nested(files: Files) -> None:
    for name in list(files):
        files[f"predictions/{name}"] = files.pop(name)


def bomb(files: Files) -> None:
    files["big.txt"] = bytes(200 << 20)


def many(files: Files) -> None:
    for number in range(98):
        for end in uploading.ARRAY_SUFFIXES:
            files[f"c{number}{end}"] = files[f"alpha{end}"]


def of_length(length: int) -> bytes:
    """The head of an array that declares this length."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<i2", "fortran_order": False, "shape": (length,)}
    )
    return file.getvalue()


IDS = [f"pool/{number:03d}.png" for number in range(12)]
FAULTS = {
    "no classes": (lacking("classes.txt"), "classes.txt: the file is missing"),
    "no images": (lacking("images.txt"), "images.txt: the file is missing"),
    "no confidences": (
        lacking("beta.confidences.npy"),
        "beta.confidences.npy: the file is missing",
    ),
    "float64": (
        having("beta.confidences.npy", array(np.ones(12), "float64")),
        "beta.confidences.npy: has dtype float64",
    ),
    "int64": (having("beta.labels.npy", array([0] * 12, "int64")), "has dtype int64"),
    "too short": (
        having("beta.labels.npy", array([0] * 11, "int16")),
        "beta.labels.npy: has 11 values, expected 12",
    ),
    "label too large": (
        having("beta.labels.npy", array([0] * 11 + [14], "int16")),
        "label at index 11 .* is 14, outside classes.txt",
    ),
    "confidence too large": (
        having("beta.confidences.npy", array([1.5] * 12, "float32")),
        "is 1.5, expected 0 to 1",
    ),
    "NaN": (having("beta.confidences.npy", array([np.nan] * 12, "float16")), "is nan, expected"),
    "an object": (
        having("beta.labels.npy", array(["a"] * 12, "object")),
        "is not a whole .npy array",
    ),
    "two dimensions": (having("beta.labels.npy", array([[0]] * 12, "int16")), "has shape"),
    "no array": (having("beta.labels.npy", b"\x93NUMPY"), "is not a whole .npy array"),
    "a length beyond 2^63": (
        having("beta.labels.npy", of_length(1 << 70)),
        "is not a whole .npy array",
    ),
    "another array": (having("beta.label.npy", b""), "is neither labels nor confidences"),
    "a bad name": (
        having("be ta.labels.npy", array([0] * 12, "int16")),
        "the model's name is 'be ta'",
    ),
    "repeated image": (
        having("images.txt", "\n".join([*IDS[:11], IDS[0]]).encode()),
        "images.txt, line 12",
    ),
    "repeated class": (having("classes.txt", b"a\na\n"), "a is already in line 1"),
    "long class": (
        having("classes.txt", "\n".join(["x" * 65, *WORDS[1:]]).encode()),
        "has over 64 characters",
    ),
    "NUL in a class": (
        having("classes.txt", "\n".join(["x\0", *WORDS[1:]]).encode()),
        "classes.txt, line 1: 'x\\\\x00' is not valid text",
    ),
    "too many classes": (
        having("classes.txt", "".join(f"{number}\n" for number in range(100_001)).encode()),
        "classes.txt: has 100,001 classes, at most 100,000 are taken",
    ),
    "too many classifiers": (many, "Send at most 100 classifiers"),
    "unknown images": (
        having("images.txt", "\n".join([*IDS[:5], *"abcdefg"]).encode()),
        "7 of 12 images are not in lake: a, b, c, d, e, …. Add them first",
    ),
    "a folder": (nested, "has a folder, 'predictions'. Pack the files alone"),
    "a way out": (having("../x.txt", b"x"), "leaves the folder"),
    "a bomb": (bomb, "zip bomb"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_zip_are_one_sentence_and_change_nothing(dataset, folder, fault):
    change, message = FAULTS[fault]
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    change(files)

    with pytest.raises(Refusal, match=message) as refused:
        uploading.from_zip(dataset, dataset.owner, packed(files))

    assert refused.value.field in ("file", "name")
    assert "/tmp" not in str(refused.value)
    assert not Pool.objects.exists()


@pytest.mark.parametrize(("content", "message"), [(b"no zip", "not a zip"), (b"", "not a zip")])
def test_what_is_no_zip_is_refused(dataset, content, message):
    with pytest.raises(Refusal, match=message):
        uploading.from_zip(dataset, dataset.owner, SimpleUploadedFile("p.zip", content))


@pytest.mark.parametrize(
    ("is_staff", "address", "missing"),
    [(False, "", True), (True, "", True), (True, "s3://b/pool.jsonl", False)],
)
def test_only_an_administrators_address_replaces_the_zip(alice, is_staff, address, missing):
    alice.is_staff = is_staff
    form = PredictionsForm({"address": address}, {}, user=alice)

    assert ("file" in form.errors) == missing


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("damage", ["content", "start"])
def test_a_damaged_zip_is_refused(dataset, method, damage):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("images.txt", np.random.default_rng(0).bytes(1000))
    content = bytearray(file.getvalue())
    if damage == "start":
        del content[:20]
    else:
        content[50:500] = bytes(450)

    with pytest.raises(Refusal, match="damaged"):
        uploading.from_zip(dataset, dataset.owner, SimpleUploadedFile("p.zip", bytes(content)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_twice_in_the_zip_is_refused(dataset, folder):
    file = io.BytesIO(zipped(folder))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("classes.txt", "cat\n")

    with pytest.raises(Refusal, match=r"classes.txt is in the zip twice"):
        uploading.from_zip(dataset, dataset.owner, SimpleUploadedFile("p.zip", file.getvalue()))


def test_a_zip_beyond_the_sites_limit_is_refused(dataset, folder, settings):
    settings.ASSAY_MAX_UPLOAD_BYTES = 1000
    with pytest.raises(Refusal, match="larger than"):
        uploading.from_zip(dataset, dataset.owner, SimpleUploadedFile("p.zip", zipped(folder)))


def test_who_may_not_open_campaigns_may_not_upload(dataset, folder, bob):
    with pytest.raises(NotAllowed):
        uploading.from_zip(dataset, bob, SimpleUploadedFile("p.zip", zipped(folder)))


def test_an_administrator_brings_a_pool_from_a_bucket(
    dataset, tmp_path, bucket, monkeypatch, alice
):
    for name, value in bucket.tasks.items():
        monkeypatch.setenv(name, value)
    ids = images_of(dataset, 15)
    folder = make_pool(tmp_path / "pool", ids=ids, classes=WORDS)
    sharded_pools.write_sharded(folder, 3, tmp_path / "pool.jsonl")
    for file in [tmp_path / "pool.jsonl", *tmp_path.glob("pool.shards/*/*")]:
        bucket.put(f"at/{file.relative_to(tmp_path)}", file.read_bytes())
    address = f"s3://{bucket.name}/at/pool.jsonl"

    with pytest.raises(NotAllowed):
        uploading.from_bucket(dataset, alice, address)
    alice.is_staff = True
    pool = uploading.from_bucket(dataset, alice, address)

    with making.unpack_pool(pool) as stored:
        assert (stored / "images.txt").read_text().split() == ids
        labels = np.load(stored / "beta.labels.npy")
        assert (labels == np.load(folder / "beta.labels.npy")).all()
    for wrong, message in (("/etc/passwd", "s3://BUCKET"), (address + "x", "pool.jsonlx")):
        with pytest.raises(Refusal, match=message):
            uploading.from_bucket(dataset, alice, wrong)
    assert Pool.objects.get() == pool


def test_page_and_api_take_a_zip(dataset, folder, as_alice):
    page = as_alice.get("/datasets/lake/pools/").content.decode()
    assert 'name="file"' in page
    assert 'name="address"' not in page
    assert "optional" not in page

    sent = as_alice.post(
        "/datasets/lake/pools/",
        {"upload": "1", "file": SimpleUploadedFile("p.zip", zipped(folder))},
    )
    made = as_alice.post(
        "/api/v1/datasets/lake/pools/upload/", {"file": SimpleUploadedFile("p.zip", zipped(folder))}
    )

    assert sent.status_code == 302
    assert (
        "3 images of the dataset without predictions"
        in as_alice.get(sent["Location"]).content.decode()
    )
    assert made.status_code == 201, made.json()
    assert (made.json()["state"], made.json()["error"], made.json()["exit_code"]) == (
        "done",
        "",
        None,
    )
    empty = as_alice.post("/datasets/lake/pools/", {"upload": "1"})
    assert (empty.status_code, "Choose a zip" in empty.content.decode()) == (400, True)
    assert as_alice.post("/api/v1/datasets/lake/pools/upload/", {}).status_code == 400
    refused = as_alice.post(
        "/api/v1/datasets/lake/pools/upload/",
        json.dumps({"address": "s3://b/pool.jsonl"}),
        "application/json",
    )
    assert refused.status_code == 403
