"""Add the demo's annotators to its campaigns."""

from collections.abc import Sequence

from labeling.models import Campaign, User
from labeling.quality import memberships


def join(campaign: Campaign, owner: User, members: Sequence[User]) -> None:
    """Make these users annotators of the campaign by one invitation of its owner."""
    note = "the demonstration's annotators"
    _, secret = memberships.invite(campaign, owner, "annotator", max_uses=len(members), note=note)
    for user in members:
        memberships.accept(secret, user)
