"""WordNet for all tests of this folder; without it they are skipped, or fail in CI."""

import pytest

from evaluation.metrics import wordnet as wn
from tests.conftest import skip_or_fail


@pytest.fixture(scope="session")
def wordnet() -> wn.WordNet:
    try:
        return wn.load()
    except wn.WordNetMissing as error:
        skip_or_fail(str(error))
        raise
