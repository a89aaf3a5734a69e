"""What tests of the researcher's pages share."""

import pytest
from django.test import Client


@pytest.fixture
def desk(as_alice: Client) -> Client:
    """Alice's browser."""
    return as_alice
