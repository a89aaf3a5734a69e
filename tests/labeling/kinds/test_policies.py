import math

import pytest

from labeling.campaigns import lifecycle
from labeling.errors import Refusal
from labeling.kinds import policies
from tests.cases import for_each


def test_an_empty_policy_is_the_defaults():
    assert policies.clean(None) == policies.DEFAULTS


def test_given_keys_lie_over_the_defaults_and_inputs_stay_unchanged():
    overrides = {"votes": 3, "currency": "usd"}

    policy = policies.clean(overrides)

    assert policy["votes"] == 3
    assert policy["currency"] == "USD"
    assert policy["max_votes"] == policies.DEFAULTS["max_votes"]
    assert overrides == {"votes": 3, "currency": "usd"}


def test_new_policies_stop_early_and_older_ones_do_not(alice, dataset):
    campaign = lifecycle.create(
        alice, name="fresh", title="Fresh", kind="contains", dataset=dataset, policy={"votes": 7}
    )
    assert policies.for_campaign(campaign)["stop_early"] == "decided"
    lifecycle.change_policy(campaign, alice, {"votes": 5})
    campaign.refresh_from_db()
    assert policies.for_campaign(campaign)["stop_early"] == "decided"

    del campaign.policy.content["stop_early"]
    campaign.policy.save()

    assert policies.for_campaign(campaign)["stop_early"] == "never"
    lifecycle.change_policy(campaign, alice, policies.for_campaign(campaign))
    campaign.refresh_from_db()
    assert campaign.policy.version == 2
    lifecycle.change_policy(campaign, alice, {"votes": 3})
    campaign.refresh_from_db()
    assert policies.for_campaign(campaign)["stop_early"] == "never"
    lifecycle.change_policy(campaign, alice, {"votes": 3, "stop_early": "decided"})
    campaign.refresh_from_db()
    assert policies.first_votes(policies.for_campaign(campaign)) == 2


@for_each(
    ("key", "value"),
    [
        ("votes", 0),
        ("votes", 2.5),
        ("votes", True),
        ("votes", "5"),
        ("gold_share", 0.9),
        ("gold_share", math.nan),
        ("lease_minutes", -1),
        ("currency", "euro"),
        ("currency", 7),
        ("colour", "blue"),
    ],
)
def test_a_bad_value_is_refused_by_its_key(key, value):
    with pytest.raises(Refusal) as refused:
        policies.clean({key: value})

    assert refused.value.field == key
    assert key in refused.value.message


def test_fewer_votes_at_most_than_at_least_are_refused():
    with pytest.raises(Refusal) as refused:
        policies.clean({"votes": 7, "max_votes": 5})

    assert refused.value.field == "max_votes"
