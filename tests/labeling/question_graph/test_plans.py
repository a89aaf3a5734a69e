"""How SQLite, which keeps no statistics, reads the tables for a page and for an answer."""

import re
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.models import Seat
from labeling.quality import monitoring
from labeling.quality.gold import add_gold
from tests import factories
from tests.labeling import hierarchies
from tests.labeling.crowd import vote

# Reads that grow with what a person or a campaign ever did.
GROWING = re.compile(
    r"SCAN (labeling_(question|assignment|answer)|[aq]\b)"
    r"|INDEX (?!assignment_open_by_annotator|assignment_given_back)\S+ \(annotator_id=\?\)"
    r"|question_by_state|\(campaign_id=\?\)"
)
# A campaign has as many counters as there were writers at once.
FEW = "labeling_questioncount"


@pytest.mark.skipif(connection.vendor != "sqlite", reason="asks SQLite for its query plans")
@pytest.mark.parametrize("kind", ["contains", "hierarchy"])
def test_no_statement_reads_all_that_a_person_or_campaign_ever_did(
    alice, bob, charlie, dataset, kind
):
    policy = {"votes": 2, "page_size": 4, "gold_share": 0.4}
    if kind == "hierarchy":
        topic = hierarchies.ROOTS[0]
        campaign = hierarchies.make(alice, dataset, images=12, policy=policy)
    else:
        topic = "n02018207"
        campaign = factories.make_campaign(alice, dataset, images=30, policy=policy)
    for index in range(5):
        factories.make_image(dataset, f"gold/{index}.png")
    rows = [{"image": f"gold/{index}.png", "topic": topic, "answer": "yes"} for index in range(5)]
    add_gold(campaign, alice, rows)
    for person in (bob, charlie):
        factories.join(person, campaign)
    plans: list[tuple[str, str]] = []

    def explain(execute, sql, params, many, context):
        if sql.lstrip().startswith(("SELECT", "WITH", "UPDATE", "INSERT")):
            with connection.cursor() as cursor:
                # The driver's own cursor: this wrapper must not be asked about its own question.
                cursor.cursor.execute("EXPLAIN QUERY PLAN " + sql, params)
                plans.extend((row[3], sql) for row in cursor.cursor.fetchall())
        return execute(sql, params, many, context)

    def work(person):
        seats = claiming.next_page(person, campaign).seats
        sent = [submitting.SubmittedAnswer(uuid.uuid4(), seat.token, "yes", 10) for seat in seats]
        submitting.submit(person, campaign, sent)

    with connection.execute_wrapper(explain):
        for person in (bob, charlie, bob, charlie):
            work(person)
        claiming.return_seat(bob, claiming.next_page(bob, campaign).seats[0].token)
        held = claiming.next_page(charlie, campaign).seats
    Seat.objects.filter(state="leased").update(leased_until=timezone.now() - timedelta(minutes=1))
    with connection.execute_wrapper(explain):
        claiming.return_expired()
        submitting.submit(
            charlie, campaign, [submitting.SubmittedAnswer(uuid.uuid4(), held[0].token, "yes", 10)]
        )

    assert len(plans) > 50
    by_topic = {step for step, _ in plans if "question_free_by_topic" in step}
    assert bool(by_topic) == (kind == "hierarchy")
    assert [(step, sql) for step, sql in plans if GROWING.search(step) and FEW not in step] == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="asks SQLite for its query plans")
def test_watching_reads_the_last_answers_of_a_person_and_no_others(coots, bob, monkeypatch):
    monkeypatch.setattr(monitoring, "RECENT", 2)
    vote(bob, coots)
    plans: list[str] = []

    def explain(execute, sql, params, many, context):
        with connection.cursor() as cursor:
            cursor.cursor.execute("EXPLAIN QUERY PLAN " + sql, params)
            plans.extend(row[3] for row in cursor.cursor.fetchall())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        recent = monitoring._recent(coots, coots.memberships.get(user=bob))

    assert len(recent) == 2
    steps = [step for step in plans if "labeling_assignment" in step]
    assert steps == [
        "SEARCH labeling_assignment USING INDEX assignment_by_ordinal "
        "(annotator_id=? AND ordinal>?)"
    ]
