"""Access control: every view and API action calls this module first.

Campaigns, datasets and benchmarks of others answer as if they did not exist.
"""

from django.utils.translation import gettext

from labeling.errors import NotAllowed, NotYours
from labeling.models import Campaign, Dataset, Image, Membership, User

RESEARCHER = Membership.Role.RESEARCHER
REVIEWER = Membership.Role.REVIEWER
ANNOTATOR = Membership.Role.ANNOTATOR


def campaigns_for(user: User, *roles: str):
    """Return campaigns in which this person holds one of these roles; all for an administrator."""
    if user.is_staff:
        return Campaign.objects.all()
    return Campaign.objects.of(user, *roles)


def campaign_for(user: User, name: str, *roles: str) -> Campaign:
    """Return the campaign of that name if this person holds one of the roles in it (any, if none
    given).

    Raises NotYours for a non-member and NotAllowed for a member with another role.
    """
    campaign = Campaign.objects.filter(name=name).select_related("dataset", "policy").first()
    if campaign is None:
        raise NotYours(gettext("There is no such campaign, or you were not invited to it."))
    check_role(user, campaign, *roles)
    return campaign


def check_role(user: User, campaign: Campaign, *roles: str) -> None:
    """Raise NotYours or NotAllowed, like campaign_for, unless the person holds one of the roles."""
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
    # Blocked people neither decide nor see the answers of others.
    if roles and stage == Membership.Stage.BLOCKED:
        raise NotAllowed(gettext("Your work in this campaign has ended."), code="blocked")
    if roles and held not in roles:
        raise NotAllowed(f"This is for a {' or '.join(roles)} of the campaign; you are {held}.")


def dataset_for(user: User, name: str) -> Dataset:
    """Return the dataset of that name if this person may see it. Raises NotYours."""
    dataset = Dataset.objects.visible_to(user).filter(name=name).first()
    if dataset is None:
        raise NotYours("There is no such dataset, or it is not yours.")
    return dataset


def image_for(user: User, name: str, pk: int) -> Image:
    """Return an image, with its dataset, if this person may see the dataset. Raises NotYours."""
    datasets = Dataset.objects.visible_to(user).filter(name=name)
    rows = Image.objects.filter(pk=pk, dataset__in=datasets.values("pk"))
    image = rows.select_related("dataset").first()
    if image is None:
        raise NotYours("There is no such image, or its dataset is not yours.")
    return image


def check_may_open(user: User) -> None:
    """Raise NotAllowed unless the account may open campaigns, which also covers creating datasets
    and benchmarks, whatever its roles.
    """
    if not user.may_open_campaigns:
        raise NotAllowed(
            "Your account has no right to open campaigns, which is required to create campaigns, "
            "datasets and benchmarks. Ask an administrator for it."
        )


def check_researches(user: User) -> None:
    """Raise NotAllowed unless the person is a researcher of any campaign, may open campaigns, or
    owns a dataset.
    """
    if not user.researches_anywhere:
        raise NotAllowed(
            "This is for researchers of a campaign, owners of a dataset and accounts that may "
            "open campaigns."
        )


def check_administrator(user: User) -> None:
    """Raise NotAllowed unless the person administers the site."""
    if not user.is_staff:
        raise NotAllowed("This is for administrators of the site.")
