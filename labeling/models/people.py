import secrets
import unicodedata
from functools import cached_property
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext
from knox.models import AbstractAuthToken

# Casefolding can triple the length; PostgreSQL indexes at most 2,700 bytes.
MAX_USERNAME_KEY = 450


def new_pseudonym() -> str:
    """Return a name that reveals nothing about the person: 40 random bits, so collisions are
    unlikely.
    """
    return f"annotator-{secrets.token_hex(5)}"


def new_token() -> str:
    """Return 128 random bits in hexadecimal: unguessable, and always of the same length."""
    return secrets.token_hex(16)


def canonical_username(username: str) -> str:
    """Return the form in which usernames are compared: NFKC and casefolded, the same on every
    database.

    >>> canonical_username("ＡLICE"), canonical_username("Straße")
    ('alice', 'strasse')
    """
    folded = unicodedata.normalize("NFKC", username).casefold()
    return unicodedata.normalize("NFKC", folded)[:MAX_USERNAME_KEY]


class PersonManager(UserManager["User"]):
    use_in_migrations = False

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the person of that name.

        Older usernames may differ only in case: an exact match comes first.
        """
        rows = self.filter(
            models.Q(username=username) | models.Q(username_key=canonical_username(username or ""))
        )
        people = sorted(rows, key=lambda person: person.username != username)
        if not people:
            raise self.model.DoesNotExist
        return people[0]


# knox is untyped, so the type of its manager is unknown here.
class User(AbstractUser):  # type: ignore[django-manager-missing]
    """A person. labeling/campaigns/names.py decides who sees the username and who the pseudonym."""

    # canonical_username of the name; null if an older account has the same one.
    username_key = models.CharField(  # noqa: DJ001 (unique, but for those that collided)
        max_length=MAX_USERNAME_KEY, unique=True, null=True, editable=False
    )
    pseudonym = models.CharField(max_length=64, unique=True, default=new_pseudonym)
    is_researcher = models.BooleanField(
        "may open campaigns",
        default=False,
        help_text="Makes datasets, campaigns and benchmarks. A right of the account; what "
        "somebody does in one campaign is their role there.",
    )

    # Kinds of questions whose tutorial the person has seen.
    tutorials = models.JSONField(default=list, blank=True)

    objects: ClassVar[PersonManager] = PersonManager()

    def save(self, *args: Any, **kwargs: Any) -> None:
        fields = kwargs.get("update_fields")
        key = canonical_username(self.username)
        if (fields is None or "username" in fields) and key != self.username_key:
            # Keep accounts whose names collided before the key was introduced.
            if self._state.adding or self.username_key or not self._is_taken(key):
                self.username_key = key
            if fields is not None:
                kwargs["update_fields"] = {*fields, "username_key"}
        super().save(*args, **kwargs)

    def clean(self) -> None:
        super().clean()
        key = canonical_username(self.username)
        if key != self.username_key and self._is_taken(key):
            message = gettext("A user with that username already exists.")
            raise ValidationError({"username": message}, "unique")

    def _is_taken(self, key: str) -> bool:
        return type(self).objects.filter(username_key=key).exclude(pk=self.pk).exists()

    @property
    def may_open_campaigns(self) -> bool:
        """Return whether the account may open campaigns; administrators always may."""
        return self.is_researcher or self.is_staff

    @cached_property
    def campaign_roles(self) -> frozenset[str]:
        """Return current roles in all campaigns. One query."""
        return frozenset(self.memberships.active().values_list("role", flat=True))

    @cached_property
    def researches_anywhere(self) -> bool:
        """Return whether this person may have datasets and benchmarks, for the navigation."""
        return (
            self.may_open_campaigns
            or Membership.Role.RESEARCHER in self.campaign_roles
            # The right may have been revoked since.
            or self.datasets.exists()
        )

    @property
    def is_campaign_staff(self) -> bool:
        """Return whether this person is a researcher or reviewer of any campaign."""
        return self.researches_anywhere or Membership.Role.REVIEWER in self.campaign_roles


class ApiToken(AbstractAuthToken):
    """A hashed, expiring API token, limited to its scope."""

    class Scope(models.TextChoices):
        READ = "read", "read"
        WRITE = "write", "read and write"

    name = models.CharField(max_length=100, blank=True)
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.READ)


class MembershipQuerySet(models.QuerySet["Membership"]):
    def active(self) -> "MembershipQuerySet":
        return self.filter(left_at=None)


class Membership(models.Model):
    """A person's role in a campaign, and their reading cursor in each lane of its questions."""

    class Role(models.TextChoices):
        RESEARCHER = "researcher", "researcher"
        REVIEWER = "reviewer", "reviewer"
        ANNOTATOR = "annotator", "annotator"

    class Stage(models.TextChoices):
        # Gold with feedback, then gold without: how a person starts (qualifying.py).
        TRAINING = "training", "in training"
        TEST = "test", "in the test"
        FAILED = "failed", "did not pass"
        WORKING = "working", "working"
        PAUSED = "paused", "paused"
        # Their answers are void in this stage (blocking.py).
        BLOCKED = "blocked", "blocked"

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.ANNOTATOR)
    # Questions at or below the cursor were seen by this person or had no free seat.
    cursor_returned = models.BigIntegerField(default=0)
    cursor_fresh = models.BigIntegerField(default=0)
    cursor_gold = models.BigIntegerField(default=0)
    # Updated by submitting.py in the statement that accepts a batch, so that no page counts
    # answers.
    answered = models.PositiveIntegerField(default=0)
    worked_ms = models.PositiveBigIntegerField(default=0)
    last_answered_at = models.DateTimeField(null=True, blank=True)
    pages = models.PositiveIntegerField(default=0)
    stage = models.CharField(max_length=8, choices=Stage.choices, default=Stage.WORKING)
    # Gold answered before this does not count for the person's reputation: it is set after
    # training, test and pardon.
    working_since = models.DateTimeField(default=timezone.now)
    # Tests taken, passed or not.
    attempts = models.PositiveSmallIntegerField(default=0)
    # The person's share of gold; null for the policy's.
    gold_share = models.FloatField(null=True, blank=True)
    # Remaining quota by topic, null without one; written by quotas.py.
    topics = models.JSONField(null=True, blank=True)
    # Latest results of monitoring.py: figures of each signal, and their date.
    standing = models.JSONField(default=dict, blank=True)
    joined_at = models.DateTimeField(default=timezone.now)
    # The campaign's settled_nightly when this person joined; null for older memberships.
    settled_before = models.PositiveIntegerField(null=True, blank=True)
    left_at = models.DateTimeField(null=True, blank=True)
    # Date of the instructions that the person was last notified of; null for none.
    instructions_seen = models.DateTimeField(null=True, blank=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "campaign"], name="one_membership_per_user_and_campaign"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user.pseudonym} as {self.role}"


class Quota(models.Model):
    """How many images of one topic a person should answer; people with quotas get no other
    topics.
    """

    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="quotas")
    topic = models.CharField(max_length=64)
    images = models.PositiveIntegerField()
    # Answered so far, without questions skipped with a reason.
    done = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["membership", "topic"], name="one_quota_per_membership_and_topic"
            )
        ]

    def __str__(self) -> str:
        return f"{self.done} of {self.images} of {self.topic}"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def usable(self) -> "InvitationQuerySet":
        return self.filter(
            revoked_at=None, expires_at__gt=timezone.now(), uses__lt=models.F("max_uses")
        )


class Invitation(models.Model):
    """A link to join one campaign with one role. Only the digest of its secret is stored."""

    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.CASCADE, related_name="invitations"
    )
    role = models.CharField(
        max_length=12, choices=Membership.Role.choices, default=Membership.Role.ANNOTATOR
    )
    digest = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)
    max_uses = models.PositiveIntegerField(default=1)
    uses = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(uses__lte=models.F("max_uses")),
                name="an_invitation_is_used_at_most_max_uses_times",
            )
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk} ({self.role})"
