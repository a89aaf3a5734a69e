import pytest

from evaluation.models import Benchmark
from tests.evaluation import crowd


@pytest.fixture
def birds(alice, dataset, wordnet) -> Benchmark:
    return crowd.make(alice, dataset, wordnet)


@pytest.fixture
def people(birds):
    return crowd.people_of(birds.campaign)
