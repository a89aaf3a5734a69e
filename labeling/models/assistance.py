from django.db import models
from django.utils import timezone

from labeling.models.campaigns import Campaign
from labeling.models.images import Image
from labeling.models.people import new_token
from labeling.models.questions import Seat
from labeling.models.work import Job


class SegmentationNetwork(models.Model):
    """The promptable network of a campaign: two files in the storage and the preparation of images.

    sha256: of both files and the preparation; proposals refer to it. budget: bytes for all
    embeddings; embedding_bytes: for one.
    """

    campaign = models.OneToOneField(
        Campaign, on_delete=models.CASCADE, related_name="segmentation_network"
    )
    name = models.CharField(max_length=100)
    sha256 = models.CharField(max_length=64)
    encoder_sha256 = models.CharField(max_length=64)
    decoder_sha256 = models.CharField(max_length=64)
    preparation = models.JSONField()
    embedding_bytes = models.PositiveIntegerField()
    budget = models.PositiveBigIntegerField()
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class ImageEmbedding(models.Model):
    """A network's embedding of an image. Its file is complete once the row exists."""

    network = models.ForeignKey(
        SegmentationNetwork, on_delete=models.CASCADE, related_name="embeddings", db_index=False
    )
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="+")
    file = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    bytes = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["network", "image"], name="one_embedding_per_network_and_image"
            )
        ]

    def __str__(self) -> str:
        return f"embedding of {self.image_id}"


class Assistance(models.Model):
    """Whether a seat may ask the model: decided once, when its page is first given out.

    Seats without a row may not.
    """

    assignment = models.OneToOneField(Seat, on_delete=models.CASCADE, related_name="assistance")
    assisted = models.BooleanField()
    decided_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{'with' if self.assisted else 'without'} the model: {self.assignment}"


class Proposal(models.Model):
    """The model's outline of a part on a seat. Never changed.

    polygons: as in answers; score: the network's predicted IoU. sha256: the network's. digest: of
    part and prompts, so that repeating a request returns the same row.
    """

    assignment = models.ForeignKey(
        Seat, on_delete=models.CASCADE, related_name="proposals", db_index=False
    )
    token = models.CharField(max_length=32, default=new_token)
    part = models.CharField(max_length=200)
    prompts = models.JSONField()
    digest = models.CharField(max_length=64)
    polygons = models.JSONField()
    score = models.FloatField(null=True, blank=True)
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "digest"], name="one_proposal_per_seat_and_question"
            ),
            models.UniqueConstraint(fields=["token"], name="one_proposal_per_token"),
        ]
        # For the rate limit per minute.
        indexes = [models.Index(fields=["created_at"], name="proposal_by_moment")]

    def __str__(self) -> str:
        return f"proposal of {self.part}"
