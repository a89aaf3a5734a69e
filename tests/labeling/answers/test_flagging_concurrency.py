"""Two people, or two tabs, send a flag of one id at once: from threads, on both databases."""

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connections

from labeling.answers import flagging
from labeling.assignment import claiming
from labeling.errors import Conflict
from labeling.models import Campaign, Flag, User
from tests import factories


@pytest.mark.parametrize(("names", "flags"), [(("bob", "carol"), 1), (("bob", "bob"), 2)])
def test_one_of_an_id_is_kept_and_whoever_sent_the_same_is_told_so(throwaway, names, flags):
    alice = factories.make_user("alice", is_researcher=True)
    campaign = factories.make_campaign(alice, factories.make_dataset(alice), "coots", images=2)
    tokens = {}
    for name in set(names):
        factories.join(factories.make_user(name), campaign)
        user = User.objects.get(username=name)
        tokens[name] = claiming.next_page(user, campaign, 1).seats[0].token
    key, both = uuid4(), threading.Barrier(2)

    def send(name: str) -> bool:
        try:
            user, campaign = User.objects.get(username=name), Campaign.objects.get()
            both.wait(10)
            return flagging.flag(user, campaign, key, tokens[name], "Blurred.").pk == key
        except Conflict:
            return False
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        taken = [*pool.map(send, names)]

    assert sum(taken) == flags
    kept = Flag.objects.get()
    assert kept.annotator.username == names[taken.index(True)]
