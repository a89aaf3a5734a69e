"""A campaign of cats whose parts are drawn."""

import pytest

from labeling.models import Campaign
from tests.evaluation.benchmarks.kinds.labeled import world


@pytest.fixture
def cats(alice, bob, dataset) -> Campaign:
    return world.campaign_of(alice, bob, dataset)
