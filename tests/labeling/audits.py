"""Settled questions and their audits, for tests."""

from uuid import UUID

from labeling.models import Question, Settlement
from labeling.quality import auditing


def answer_ids(count):
    return [str(UUID(int=number)) for number in range(count)]


def settle(campaign, questions, probability=0.9):
    rows = list(questions)
    Settlement.objects.bulk_create(
        [
            Settlement(
                question=row,
                policy=campaign.policy,
                value=["yes", "no"][index % 2],
                probability=probability,
                answers=answer_ids(3),
            )
            for index, row in enumerate(rows)
        ]
    )
    Question.objects.filter(pk__in=[row.pk for row in rows]).update(state="settled", seats_free=0)


def audit_all(campaign, user, wrong=0, hard=0):
    """Answer the whole sample: the first ones otherwise than settled, then some as too hard."""
    count = 0
    while (audit := auditing.next_for(user, campaign)) is not None:
        value = audit.settlement.value
        if count < wrong:
            value = "no" if value == "yes" else "yes"
        elif count < wrong + hard:
            value = "hard"
        auditing.answer(audit, user, value)
        count += 1
    return count
