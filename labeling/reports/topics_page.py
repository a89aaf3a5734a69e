"""The list of a campaign's classes."""

from typing import Any

from django.db.models import Count, Q, QuerySet

from labeling.models import Campaign


def topic_rows(campaign: Campaign, search: str = "") -> QuerySet[Any]:
    """Return the campaign's topics by name, each with its number of examples."""
    topics = campaign.topics.annotate(example_count=Count("examples"))
    if search:
        topics = topics.filter(Q(name__icontains=search) | Q(key__icontains=search))
    return topics.order_by("name", "pk")
