import pytest


@pytest.fixture(scope="package", autouse=True)
def _key(wordnet):
    """The demonstration's passwords follow from a key."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("django.conf.settings.SECRET_KEY", "the key of this test")
        yield
