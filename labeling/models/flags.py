from uuid import uuid4

from django.db import models
from django.utils import timezone


class Flag(models.Model):
    """An annotator's message about one image, and the researchers' reply."""

    # Made by the client, like an answer's id, so that a retry creates no second flag.
    id = models.UUIDField(primary_key=True, default=uuid4)
    # The order of the list, since UUIDs have none.
    created_at = models.DateTimeField(default=timezone.now)
    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.CASCADE, related_name="flags", db_index=False
    )
    assignment = models.ForeignKey("labeling.Seat", on_delete=models.PROTECT, related_name="flags")
    annotator = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="flags")
    note = models.CharField(max_length=500)
    reply = models.CharField(max_length=500, blank=True)
    replied_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    replied_at = models.DateTimeField(null=True, blank=True)
    # When the annotator first saw the reply.
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["campaign", "created_at"],
                condition=models.Q(replied_at=None),
                name="flag_to_answer",
            ),
            models.Index(fields=["campaign", "-created_at"], name="flag_of_campaign"),
        ]

    def __str__(self) -> str:
        return f"flag: {self.note[:60]}"
