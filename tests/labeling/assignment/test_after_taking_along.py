"""The migration that drops questions taken along: what becomes of the seats of a set."""

import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from labeling.answers import submitting
from labeling.answers.submitted_answers import SubmittedAnswer
from labeling.assignment import claiming
from labeling.models import Answer, Seat
from tests import factories


@pytest.mark.ci
@pytest.mark.django_db(transaction=True)
def test_seats_of_a_set_become_ordinary_ones_and_return_when_their_time_is_over(
    alice, bob, charlie, dataset
):
    pond = factories.make_campaign(alice, dataset, images=5, policy={"votes": 1})
    membership = factories.join(bob, pond)
    factories.join(charlie, pond)
    page = claiming.next_page(bob, pond)
    until = timezone.now() + timedelta(hours=3)
    executor = MigrationExecutor(connection)
    before = executor.migrate([("labeling", "0033_username_key")]).apps
    along = before.get_model("labeling", "TakenAlong").objects.create(
        key=uuid.uuid4(), membership_id=membership.pk, seats=5, until=until
    )
    before.get_model("labeling", "Assignment").objects.update(taken_along=along, leased_until=until)

    executor.loader.build_graph()
    executor.migrate(executor.loader.graph.leaf_nodes())

    assert claiming.next_page(bob, pond) == page
    assert set(Seat.objects.values_list("leased_until", flat=True)) == {until}
    assert send(bob, pond, page.seats[0]) == "accepted"
    Seat.objects.filter(state="leased").update(leased_until=timezone.now())
    assert claiming.return_expired() == 4
    assert len(claiming.next_page(charlie, pond).seats) == 4
    assert send(bob, pond, page.seats[1]) == "accepted"
    answers = Answer.objects.order_by("created_at")
    assert [answer.late for answer in answers] == [False, True]


def send(user, campaign, seat):
    [result] = submitting.submit(user, campaign, [SubmittedAnswer(uuid.uuid4(), seat.token, "yes")])
    return result.status
