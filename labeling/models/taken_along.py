from django.db import models
from django.utils import timezone


class TakenAlong(models.Model):
    """Questions that a person took along, to answer them without a connection. Their seats name it.

    Written by assignment/taking_along.py alone.
    """

    # Made by the browser, so that a retry is recognised.
    key = models.UUIDField(unique=True)
    membership = models.ForeignKey(
        "labeling.Membership", on_delete=models.CASCADE, related_name="taken_along"
    )
    # How many were taken, gold included.
    seats = models.PositiveSmallIntegerField()
    taken_at = models.DateTimeField(default=timezone.now)
    # Until when the seats are leased.
    until = models.DateTimeField()
    # When the rest was given back before that, and the researcher who called it back, if one did.
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        verbose_name_plural = "taken along"
        indexes = [
            models.Index(fields=["membership", "taken_at"], name="taken_along_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.seats} taken along until {self.until:%Y-%m-%d %H:%M}"

    @property
    def is_open(self) -> bool:
        """Whether its lease runs."""
        return self.ended_at is None and self.until > timezone.now()
