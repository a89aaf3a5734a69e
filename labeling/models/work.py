from django.db import models
from django.utils import timezone


class JobState(models.TextChoices):
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    DONE = "done", "done"
    FAILED = "failed", "failed"


class Job(models.Model):
    """A background job. The row is the truth; a broker only carries its id."""

    State = JobState
    ENDED = (JobState.DONE, JobState.FAILED)

    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=200)
    payload = models.JSONField(default=dict, blank=True)
    # The campaign whose page shows it; null for other work.
    campaign = models.ForeignKey(
        "labeling.Campaign", null=True, blank=True, on_delete=models.CASCADE, related_name="jobs"
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    # Id of the claim, so that a worker that lost its lease can neither renew nor finish.
    claim = models.CharField(max_length=32, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    progress_done = models.PositiveBigIntegerField(default=0)
    progress_total = models.PositiveBigIntegerField(default=0)
    # Of the job's child process, if any (labeling/jobs/child.py): last sign of life, exit status,
    # and the last line it printed, without secrets.
    child_seen_at = models.DateTimeField(null=True, blank=True)
    exit_code = models.SmallIntegerField(null=True, blank=True)
    last_line = models.CharField(max_length=500, blank=True, default="")
    # Start of waiting for its object store; null for jobs that do not wait.
    waits_since = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "key"],
                condition=models.Q(state="queued"),
                name="one_queued_job_per_kind_and_key",
            )
        ]
        indexes = [
            models.Index(
                fields=["leased_until"],
                condition=models.Q(state__in=["queued", "running"]),
                name="job_to_do",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class Release(models.Model):
    """Frozen files with hashes: a campaign's labels at one time."""

    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.PROTECT, related_name="releases"
    )
    number = models.PositiveIntegerField()
    # Relative to the releases folder.
    folder = models.CharField(max_length=300)
    sha256 = models.CharField(max_length=64)
    counts = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "number"], name="one_release_per_campaign_and_number"
            )
        ]

    def __str__(self) -> str:
        return f"{self.campaign.name} release {self.number}"

    @property
    def stated_error(self) -> dict[str, object] | None:
        """Return the labels' error as in release.json; None for older releases and drawings."""
        stated: dict[str, object] | None = self.counts.get("stated_error")
        return stated

    @property
    def unsettled(self) -> int:
        """Return how many questions were open or in review at that time; the release lacks them."""
        return int(self.counts.get("open", 0)) + int(self.counts.get("review", 0))


class ReplacedRelease(models.Model):
    """An interim release that a newer one replaced: number, date and hash are kept."""

    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.CASCADE, related_name="replaced_releases"
    )
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    replaced_by = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "number"], name="one_replaced_release_per_campaign_and_number"
            )
        ]

    def __str__(self) -> str:
        return f"{self.campaign.name} release {self.number}, replaced by {self.replaced_by}"
