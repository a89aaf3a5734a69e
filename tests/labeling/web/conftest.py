"""What tests of the researcher's pages share."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tests.clients import program


@pytest.fixture
def desk(as_alice: Client) -> Client:
    """Alice's browser."""
    return as_alice


@pytest.fixture
def alices(alice) -> APIClient:
    """Alice's program."""
    return program(alice)
