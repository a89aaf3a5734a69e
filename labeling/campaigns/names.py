"""Who sees whose name: one rule for pages, API and messages.

Staff of a campaign (researchers and reviewers) see each other's usernames and annotators'
pseudonyms; annotators see nobody. Site administrators count as staff. Former members keep their
role here. Objects outside campaigns (datasets, vocabularies, imports, runs) show usernames, since
only researchers make and see them. Releases have their own names (votes.py).
"""

from functools import cached_property

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.models import Campaign, Membership, User

STAFF = (RESEARCHER, REVIEWER)


def name_of(membership: Membership) -> str:
    """Return the member's name as staff of the campaign see it."""
    is_staff = membership.role in STAFF or membership.user.is_staff
    return membership.user.username if is_staff else membership.user.pseudonym


class VisibleNames:
    """Names of people as staff of one campaign see them. One query, at the first lookup."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign

    @cached_property
    def staff(self) -> frozenset[int]:
        members = self.campaign.memberships.filter(role__in=STAFF)
        return frozenset(members.values_list("user", flat=True))

    def of(self, user: User) -> str:
        return user.username if user.is_staff or user.pk in self.staff else user.pseudonym
