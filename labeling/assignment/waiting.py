"""Whether work waits for a person in each of their campaigns; nothing is counted."""

from typing import NamedTuple

from django.db import connection

from labeling.db.sql import fetch
from labeling.models import User


class Waiting(NamedTuple):
    """What waits in a campaign. sent_back: a drawing to correct. more: the labeling page would show
    a question.

    Neither reveals gold: gold comes only with ordinary questions.
    """

    sent_back: bool
    more: bool


# The condition of candidates.py for the first question only: after the person's cursors, with a
# free seat and without their seat on the same subject; then what they gave back. {quota} depends on
# the database.
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
UNSEEN = """NOT EXISTS (SELECT 1 FROM labeling_assignment s
            WHERE s.annotator_id = b.user_id AND s.subject = COALESCE(q.subject, q.id)
            AND s.state <> 'closed'
            AND (s.question_id = q.id OR s.subject < 0 OR s.state <> 'returned'))"""
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
