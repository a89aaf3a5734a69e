"""A campaign of cats whose parts are drawn, and a benchmark that reveals them."""

import pytest
from django.test import Client

from evaluation.models import Benchmark
from labeling.models import Campaign
from tests.evaluation.cds import world


@pytest.fixture
def as_alice(alice) -> Client:
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def cats(alice, bob, dataset) -> Campaign:
    return world.campaign_of(alice, bob, dataset)


@pytest.fixture
def reveal(alice, cats) -> Benchmark:
    return world.make(alice, cats)
