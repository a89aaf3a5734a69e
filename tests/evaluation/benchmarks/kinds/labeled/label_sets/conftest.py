import pytest

from evaluation.models import Benchmark
from tests.evaluation.benchmarks.kinds.labeled.label_sets import ducks


@pytest.fixture
def drakes(wordnet, alice, bob, dataset, tmp_path) -> Benchmark:
    return ducks.make(alice, bob, dataset, tmp_path)
