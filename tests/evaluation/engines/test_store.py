import pytest

from evaluation.engines.store import Store
from labeling.files import BadInput


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.at(str(tmp_path / "work"))


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


@pytest.mark.parametrize("length", [0, 10, 40])
def test_half_an_object_is_refused(store, tmp_path, length):
    store.put("a/1", b"x" * 100)
    file = tmp_path / "work" / "a" / "1"
    file.write_bytes(file.read_bytes()[:length])

    with pytest.raises(BadInput, match="is not whole; delete it"):
        store.get("a/1")


@pytest.mark.parametrize("place", ["ftp://there/x", "s3://", "gs://bucket"])
def test_another_address_is_refused(place):
    with pytest.raises(BadInput, match="is no address of a store"):
        Store.at(place)


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(BadInput, match="is a file, expected a folder"):
        Store.at(str(tmp_path / "file"))


def test_a_store_that_is_down_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setattr("evaluation.engines.store.RETRIES", 0)

    with pytest.raises(BadInput, match="s3://bucket/made/a/1: the store does not answer") as caught:
        Store.at("s3://bucket/made").get("a/1")
    assert "\n" not in str(caught.value)
