"""Make datasets. Their images come in through images.py."""

from django.db import IntegrityError, transaction

from labeling.campaigns.lifecycle import check_name
from labeling.errors import Conflict, NotAllowed
from labeling.models import Dataset, User


def create(owner: User, *, name: str, description: str = "") -> Dataset:
    """Return an empty dataset. Raises Conflict for a name that is taken, whoever has it."""
    check_name(name)
    try:
        with transaction.atomic():
            return Dataset.objects.create(owner=owner, name=name, description=description)
    except IntegrityError as error:
        raise Conflict(
            f"A dataset is already called {name!r}. Choose another name.", field="name"
        ) from error


def may_add(user: User, dataset: Dataset) -> bool:
    """Return whether this person adds images: the dataset's owner does, and staff."""
    return user.is_staff or dataset.owner_id == user.pk


def check_may_add(user: User, dataset: Dataset) -> None:
    """Pass in silence. Raises NotAllowed."""
    if not may_add(user, dataset):
        raise NotAllowed("Only the dataset's owner adds images. Ask them, or make your own.")
