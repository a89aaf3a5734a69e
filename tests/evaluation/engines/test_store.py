import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evaluation.engines.store import Store
from labeling.files import BadInput


@pytest.fixture
def s3(bucket, monkeypatch) -> Store:
    """A store in a bucket, which does not wait and ask again where it is refused."""
    for name, value in bucket.tasks.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("evaluation.engines.store.RETRIES", 0)
    return Store.at(f"s3://{bucket.name}/made")


@pytest.fixture(params=["folder", "s3"])
def store(request, tmp_path) -> Store:
    if request.param == "folder":
        return Store.at(str(tmp_path / "work"))
    return request.getfixturevalue("s3")


def test_an_object_comes_back_and_is_listed(store):
    assert store.put("a/1", b"one") is True

    assert store.has("a/1")
    assert not store.has("a/2")
    assert store.get("a/1") == b"one"
    assert store.keys("a/") == {"a/1"}
    assert store.keys("b/") == set()


def test_what_is_there_stays_as_it_is(store):
    store.put("a/1", b"one")

    assert store.put("a/1", b"two") is False
    assert store.get("a/1") == b"one"


def test_a_missing_object_is_refused_with_its_place(store):
    with pytest.raises(BadInput, match="a/1: is not in the store"):
        store.get("a/1")


def test_of_many_who_put_one_object_one_does(store):
    with ThreadPoolExecutor(8) as pool:
        put = list(pool.map(lambda n: store.put("a/1", bytes([n])), range(8)))

    assert put.count(True) == 1
    assert store.get("a/1") == bytes([put.index(True)])


def test_all_of_more_objects_than_a_listing_holds_are_listed(s3, bucket, monkeypatch):
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "10")
    for number in range(23):
        bucket.put(f"made/a/{number:04}", b"")

    assert len(s3.keys("a/")) == 23
    assert [request.method for request in bucket.requests].count("GET") == 3


@pytest.mark.parametrize("length", [0, 10, 40])
def test_half_an_object_of_a_bucket_is_refused(s3, bucket, length):
    s3.put("a/1", b"x" * 100)
    bucket.put("made/a/1", bucket.get("made/a/1")[:length])

    with pytest.raises(BadInput, match="made/a/1: is not whole; delete it"):
        s3.get("a/1")


def copy(store: Store, folder: Path) -> None:
    store.copy("a/1", folder / "copied", "bring it back")


ACTIONS = {
    "get": lambda store, folder: store.get("a/1"),
    "copy": copy,
    "has": lambda store, folder: store.has("a/1"),
    "put": lambda store, folder: store.put("a/2", b"two"),
    "keys": lambda store, folder: store.keys("a/"),
}


NO_RIGHT = "may not be read or written; check the rights"


@pytest.mark.parametrize(
    ("action", "status", "sentence"),
    [
        *((action, 403, NO_RIGHT) for action in ACTIONS),
        (next(iter(ACTIONS)), 401, NO_RIGHT),
        (
            next(iter(ACTIONS)),
            503,
            "the store does not answer (503 Service Unavailable); check the address",
        ),
    ],
)
def test_a_bucket_that_refuses_is_said_in_one_sentence(
    s3, bucket, tmp_path, action, status, sentence
):
    s3.put("a/1", b"one")

    with bucket.refusing(status), pytest.raises(BadInput, match=re.escape(sentence)) as caught:
        ACTIONS[action](s3, tmp_path)

    assert str(caught.value).startswith(f"s3://{bucket.name}/made/a/")
    assert "\n" not in str(caught.value)
    assert set(bucket.objects) == {"made/a/1"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("action", ["get", "copy", "keys"])
def test_an_answer_that_breaks_off_is_said_and_leaves_no_file(s3, bucket, tmp_path, action):
    s3.put("a/1", b"x" * 100_000)

    with (
        bucket.halving(),
        pytest.raises(BadInput, match=r"the store does not answer \(.*broke off"),
    ):
        ACTIONS[action](s3, tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_broke_off_is_asked_for_again(bucket, monkeypatch):
    for name, value in bucket.tasks.items():
        monkeypatch.setenv(name, value)
    store = Store.at(f"s3://{bucket.name}/made")
    store.put("a/1", b"x" * 100_000)

    with bucket.halving(1):
        assert store.get("a/1") == b"x" * 100_000


@pytest.mark.parametrize("action", ACTIONS)
def test_a_bucket_that_goes_on_refusing_is_asked_again_only_so_many_times(
    bucket, monkeypatch, tmp_path, action
):
    for name, value in bucket.tasks.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("evaluation.engines.store.RETRIES", 2)
    store = Store.at(f"s3://{bucket.name}/made")

    with bucket.refusing(503), pytest.raises(BadInput, match="does not answer"):
        ACTIONS[action](store, tmp_path)

    assert len(bucket.requests) == 3


@pytest.mark.parametrize("action", ["put", "keys"])
def test_a_bucket_that_is_not_there_is_refused(s3, tmp_path, action):
    with pytest.raises(BadInput, match="there is no such bucket; create it"):
        ACTIONS[action](Store.at("s3://no-such-bucket/made"), tmp_path)


def test_an_object_is_asked_for_once(s3, bucket):
    s3.put("a/1", b"one")
    s3.get("a/1")

    assert [request.method for request in bucket.requests] == ["PUT", "GET"]


@pytest.mark.parametrize("length", [0, 10, 40])
def test_half_an_object_is_refused(tmp_path, length):
    store = Store.at(str(tmp_path / "work"))
    store.put("a/1", b"x" * 100)
    file = tmp_path / "work" / "a" / "1"
    file.write_bytes(file.read_bytes()[:length])

    with pytest.raises(BadInput, match="is not whole; delete it"):
        store.get("a/1")


def test_another_address_is_refused():
    for address in ["ftp://there/x", "s3://", "gs://bucket"]:
        with pytest.raises(BadInput, match="is not an address of a store"):
            Store.at(address)


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(BadInput, match="is a file, expected a folder"):
        Store.at(str(tmp_path / "file"))


@pytest.mark.parametrize("action", ACTIONS)
def test_a_store_that_is_down_is_said_in_one_sentence(monkeypatch, tmp_path, action):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setattr("evaluation.engines.store.RETRIES", 0)

    with pytest.raises(BadInput, match=r"s3://bucket/made/a/.*does not answer") as caught:
        ACTIONS[action](Store.at("s3://bucket/made"), tmp_path)

    assert "(error sending request); check the address, AWS_ENDPOINT_URL" in str(caught.value)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_folder_that_cannot_be_is_said_in_one_sentence(tmp_path, action):
    (tmp_path / "file").write_text("")
    work = tmp_path / "file" / "work"

    with pytest.raises(BadInput, match=r"cannot be used .*; check the folder") as caught:
        ACTIONS[action](Store.at(str(work)), tmp_path)

    assert str(caught.value).startswith(f"{work}/a/")
    assert "\n" not in str(caught.value)
