import pytest

from tests import factories
from tests.labeling.audits import settle
from tests.labeling.crowd import make_gold


@pytest.fixture
def settled(alice, bob, dataset):
    """A campaign of forty settled questions, half yes, stated with 0.9, and two gold ones."""
    campaign = factories.make_campaign(alice, dataset, "settled", images=40)
    make_gold(campaign, alice, ["yes", "no"])
    factories.join(bob, campaign)
    settle(campaign, campaign.questions.filter(state="open"))
    return campaign
