from django.db import models
from django.utils import timezone

from labeling.models.campaigns import Campaign
from labeling.models.images import Image
from labeling.models.questions import Seat


class NamedProposal(models.Model):
    """Classes that models predict for an image. Kept from the second edition; unused."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="+")
    # No index: the unique constraint has one, with the campaign.
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+", db_index=False)
    keys = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "image"], name="one_named_proposal_per_campaign_and_image"
            )
        ]

    def __str__(self) -> str:
        return f"proposal for {self.image}"


class SecondAnswer(models.Model):
    """An answer given with a model's proposal visible. Kept from the second edition; read-only.

    The first answer of the seat cannot be revised (window.py).
    """

    assignment = models.OneToOneField(Seat, on_delete=models.PROTECT, related_name="second_answer")
    shown = models.JSONField()
    value = models.JSONField(null=True, blank=True)
    looks = models.JSONField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    shown_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"second answer on {self.assignment}"
