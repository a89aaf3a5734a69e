"""A campaign of cats whose parts are drawn, and a benchmark that reveals them."""

import pytest

from evaluation.models import Benchmark
from labeling.models import Campaign
from tests.evaluation.cds import world


@pytest.fixture
def cats(alice, bob, dataset) -> Campaign:
    return world.campaign_of(alice, bob, dataset)


@pytest.fixture
def reveal(alice, cats) -> Benchmark:
    return world.make(alice, cats)
