"""Who may do what: the one question every view and API action asks first.

A campaign, dataset or benchmark that is not yours answers as if it did not exist.
"""

from django.utils.translation import gettext

from labeling.errors import NotAllowed, NotYours
from labeling.models import Campaign, Dataset, Membership, User

RESEARCHER = Membership.Role.RESEARCHER
REVIEWER = Membership.Role.REVIEWER
ANNOTATOR = Membership.Role.ANNOTATOR


def campaigns_for(user: User, *roles: str):
    """Campaigns this person may see in one of these roles; all of them for staff."""
    if user.is_staff:
        return Campaign.objects.all()
    return Campaign.objects.of(user, *roles)


def campaign_for(user: User, name: str, *roles: str) -> Campaign:
    """Return the campaign of that name, if this person holds one of the roles in it (any, if none
    named).

    Raises NotYours for a stranger and NotAllowed for a member whose role does not reach.
    """
    campaign = Campaign.objects.filter(name=name).select_related("dataset", "policy").first()
    if campaign is None:
        raise NotYours(gettext("There is no such campaign, or you were not invited to it."))
    check_role(user, campaign, *roles)
    return campaign


def check_role(user: User, campaign: Campaign, *roles: str) -> None:
    """Pass in silence, or raises as campaign_for does."""
    if user.is_staff:
        return
    role_and_stage = (
        Membership.objects.active()
        .filter(user=user, campaign=campaign)
        .values_list("role", "stage")
        .first()
    )
    if role_and_stage is None:
        raise NotYours(gettext("There is no such campaign, or you were not invited to it."))
    held, stage = role_and_stage
    # Whose answers are void neither decides nor looks at those of others.
    if roles and stage == Membership.Stage.BLOCKED:
        raise NotAllowed(gettext("Your work in this campaign has ended."), code="blocked")
    if roles and held not in roles:
        raise NotAllowed(f"This is for a {' or '.join(roles)} of the campaign; you are {held}.")


def dataset_for(user: User, name: str) -> Dataset:
    """Return the dataset of that name, if this person may see it. Raises NotYours."""
    dataset = Dataset.objects.visible_to(user).filter(name=name).first()
    if dataset is None:
        raise NotYours("There is no such dataset, or it is not yours.")
    return dataset


def check_may_open(user: User) -> None:
    """Pass for accounts that may open campaigns: who makes datasets, campaigns and benchmarks,
    whatever their role in any campaign. Raises NotAllowed.
    """
    if not user.may_open_campaigns:
        raise NotAllowed(
            "Your account may not open campaigns, which is needed to make campaigns, datasets and "
            "benchmarks. Ask an administrator to grant it."
        )


def check_researches(user: User) -> None:
    """Pass for researchers of any campaign, accounts that may open one, and owners of datasets.

    Raises NotAllowed.
    """
    if not user.researches_anywhere:
        raise NotAllowed(
            "This is for researchers of a campaign and for accounts that may open campaigns."
        )


def check_administrator(user: User) -> None:
    """Raise NotAllowed for everybody but administrators of the site."""
    if not user.is_staff:
        raise NotAllowed("This is for administrators of the site.")
