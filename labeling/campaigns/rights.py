"""The right of an account to open campaigns, which administrators grant and revoke.

Changes are recorded in the admin log, as those made in the admin are.
"""

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.db.models import Q, QuerySet

from labeling.models import User, canonical_username


def accounts(search: str = "") -> QuerySet[User]:
    """Return active accounts by name: those whose username contains the search, or without one
    those that may open campaigns.
    """
    users = User.objects.filter(is_active=True)
    if search:
        users = users.filter(
            Q(username_key__contains=canonical_username(search)) | Q(username__contains=search)
        )
    else:
        users = users.filter(Q(is_researcher=True) | Q(is_staff=True))
    return users.order_by("username")


def grant(user: User, actor: User) -> None:
    """Let the account open campaigns. Idempotent."""
    _set(user, actor, True, "Granted the right to open campaigns.")


def revoke(user: User, actor: User) -> None:
    """Stop the account from opening campaigns; its roles, datasets and tokens stay."""
    _set(user, actor, False, "Revoked the right to open campaigns.")


def _set(user: User, actor: User, may: bool, message: str) -> None:
    with transaction.atomic():
        rows = User.objects.filter(pk=user.pk)
        if rows.exclude(is_researcher=may).update(is_researcher=may):
            LogEntry.objects.log_actions(actor.pk, rows, CHANGE, message, single_object=True)
    user.is_researcher = may
