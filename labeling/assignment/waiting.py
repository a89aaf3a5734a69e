"""Tells whether work waits for a person in each of their campaigns, without counting it."""

from typing import NamedTuple

from django.db import connection

from labeling.db.sql import fetch
from labeling.models import User


class Waiting(NamedTuple):
    """Whether work waits for a person in a campaign.

    sent_back: they have a drawing to correct. more: the labeling page would show them a question.
    Neither reveals gold, because the page shows gold only together with ordinary questions.
    """

    sent_back: bool
    more: bool


# sent_back: a leased seat with an ordinal was answered before. more: the person has a leased seat,
# or one question meets the conditions of candidates.py. Such a question has a free seat, follows
# the person's cursor in its lane (1: fresh, 0: returned) and is unseen; or they gave it back.
# A quota of {} is used up.
STATEMENT = """
SELECT b.id,
    EXISTS (SELECT 1 FROM labeling_assignment a JOIN labeling_question q ON q.id = a.question_id
        WHERE a.annotator_id = b.user_id AND a.state = 'leased' AND a.ordinal IS NOT NULL
        AND q.campaign_id = b.campaign_id),
    EXISTS (SELECT 1 FROM labeling_assignment a JOIN labeling_question q ON q.id = a.question_id
        WHERE a.annotator_id = b.user_id AND a.state = 'leased'
        AND q.campaign_id = b.campaign_id)
    OR (b.topics IS NULL OR CAST(b.topics AS TEXT) <> '{{}}') AND (EXISTS (SELECT 1
        FROM labeling_question q
        WHERE q.campaign_id = b.campaign_id AND q.lane = 1 AND q.seats_free > 0
        AND q.ticket > b.cursor_fresh AND q.ticket > c.floor_fresh AND {unseen} AND {quota})
    OR EXISTS (SELECT 1 FROM labeling_question q
        WHERE q.campaign_id = b.campaign_id AND q.lane = 0 AND q.seats_free > 0
        AND q.ticket > b.cursor_returned AND q.ticket > c.floor_returned AND {unseen} AND {quota})
    OR EXISTS (SELECT 1 FROM labeling_assignment a JOIN labeling_question q ON q.id = a.question_id
        WHERE a.annotator_id = b.user_id AND a.state = 'returned'
        AND q.campaign_id = b.campaign_id AND q.lane IN (0, 1) AND q.seats_free > 0 AND {quota}))
FROM labeling_membership b JOIN labeling_campaign c ON c.id = b.campaign_id
WHERE b.user_id = %s AND b.left_at IS NULL AND c.state = 'open'
"""
# The person has no seat that excludes question q; see candidates.py for the cases.
UNSEEN = """NOT EXISTS (SELECT 1 FROM labeling_assignment s
            WHERE s.annotator_id = b.user_id AND s.subject = COALESCE(q.subject, q.id)
            AND s.state <> 'closed'
            AND (s.question_id = q.id OR s.subject < 0 OR s.state <> 'returned'))"""
# The topic of q is in the person's quota, if they have one.
QUOTA = {
    "postgresql": "(b.topics IS NULL OR jsonb_exists(b.topics, q.topic))",
    "sqlite": "(b.topics IS NULL OR EXISTS "
    "(SELECT 1 FROM json_each(b.topics) t WHERE t.key = q.topic))",
}


def waiting_for(user: User) -> dict[int, Waiting]:
    """Return what waits in each of the person's open campaigns, by membership id. One query."""
    statement = STATEMENT.format(unseen=UNSEEN, quota=QUOTA[connection.vendor])
    return {
        pk: Waiting(bool(sent_back), bool(more))
        for pk, sent_back, more in fetch(statement, [user.pk])
    }
