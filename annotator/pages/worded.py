"""Campaigns with their texts in the page's language, if researchers gave them
(campaigns/texts.py).
"""

from collections.abc import Iterable

from django.utils.translation import get_language

from labeling.campaigns import access, texts
from labeling.models import Campaign, User


def campaign_for(user: User, name: str, *roles: str) -> Campaign:
    """Return access.campaign_for with texts in the page's language."""
    return worded(access.campaign_for(user, name, *roles))


def worded(campaign: Campaign) -> Campaign:
    return all_worded([campaign])[0]


def all_worded(campaigns: Iterable[Campaign]) -> list[Campaign]:
    return texts.in_language(campaigns, get_language())
