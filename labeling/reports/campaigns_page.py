"""The list of campaigns."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Sum

from labeling.db import question_counts
from labeling.models import Campaign, Membership, User


@dataclass(frozen=True)
class CampaignRow:
    """A campaign in a list. role: of the viewer. share: of its questions that are finished."""

    campaign: Campaign
    role: str
    questions: int
    finished: int
    share: float | None
    review: int
    answers: int


def campaign_rows(campaigns: Sequence[Campaign], user: User) -> list[CampaignRow]:
    pks = [campaign.pk for campaign in campaigns]
    counts = question_counts.of_campaigns(pks)
    members = Membership.objects.filter(campaign__in=pks).order_by()
    answers = dict(members.values_list("campaign").annotate(Sum("answered")))
    roles = dict(members.active().filter(user=user).values_list("campaign", "role"))
    rows = []
    for campaign in campaigns:
        counted = counts[campaign.pk]
        total, finished = counted.questions, counted.settled + counted.dropped
        rows.append(
            CampaignRow(
                campaign=campaign,
                role=roles.get(campaign.pk, "staff"),
                questions=total,
                finished=finished,
                share=finished / total if total else None,
                review=counted.review,
                answers=answers.get(campaign.pk) or 0,
            )
        )
    return rows
