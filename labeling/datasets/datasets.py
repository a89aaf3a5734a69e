"""Creating datasets. images.py adds their images."""

from django.db import IntegrityError, transaction

from labeling.campaigns.lifecycle import check_name
from labeling.errors import Conflict, NotAllowed
from labeling.models import Dataset, User


def create(owner: User, *, name: str, description: str = "") -> Dataset:
    """Create an empty dataset and return it. Raises Conflict for a name in use, whoever owns it."""
    check_name(name)
    try:
        with transaction.atomic():
            return Dataset.objects.create(owner=owner, name=name, description=description)
    except IntegrityError as error:
        raise Conflict(
            f"A dataset is already called {name!r}. Choose another name.", field="name"
        ) from error


def may_add(user: User, dataset: Dataset) -> bool:
    """Return whether this person may add images and labels: the dataset's owner and staff may."""
    return user.is_staff or dataset.owner_id == user.pk


def check_may_add(user: User, dataset: Dataset) -> None:
    """Raise NotAllowed unless this person may add images and labels."""
    if not may_add(user, dataset):
        raise NotAllowed(
            "Only the dataset's owner can add images and labels. Ask the owner, or create your own "
            "dataset."
        )
