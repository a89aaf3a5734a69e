from django.db import models
from django.utils import timezone


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def visible_to(self, user) -> "DatasetQuerySet":
        """Return datasets that this person owns or uses as a researcher of a campaign."""
        if user.is_staff:
            return self
        return self.filter(
            models.Q(owner=user)
            | models.Q(
                campaigns__memberships__user=user,
                campaigns__memberships__role="researcher",
                campaigns__memberships__left_at=None,
            )
        ).distinct()


class Dataset(models.Model):
    """A pool of images under one owner."""

    name = models.SlugField(max_length=80, unique=True)
    description = models.TextField(blank=True)
    owner = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="datasets")
    created_at = models.DateTimeField(default=timezone.now)
    # Archived datasets are not in lists.
    archived_at = models.DateTimeField(null=True, blank=True)
    # When the job that sorts the images of a large dataset (datasets/image_ranks.py) was last
    # queued, and when its last finished run began.
    sort_queued_at = models.DateTimeField(null=True, blank=True)
    sorted_at = models.DateTimeField(null=True, blank=True)

    objects = DatasetQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class ImageManager(models.Manager["Image"]):
    """All images except those removed for privacy, which are reached only from their questions."""

    def get_queryset(self) -> models.QuerySet["Image"]:
        return super().get_queryset().filter(removed_at=None)


class Image(models.Model):
    """A file of a dataset. `name`, a relative path, is its id in lists and predictions."""

    dataset = models.ForeignKey(
        Dataset, on_delete=models.CASCADE, related_name="images", db_index=False
    )
    name = models.CharField(max_length=400)
    sha256 = models.CharField(max_length=64)
    file = models.FileField(upload_to="images/", max_length=200)
    # What annotators get: upright, without metadata. Empty until its job has run.
    display = models.FileField(upload_to="display/", max_length=200, blank=True)
    thumbnail = models.FileField(upload_to="thumbnails/", max_length=200, blank=True)
    media_type = models.CharField(max_length=40)
    bytes = models.PositiveBigIntegerField()
    # Pixels of the upright image (EXIF orientation applied).
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    licence = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=500, blank=True)
    # [wnid, query] of each query that found it, sorted; the wnid is "" for a query without a class.
    queries = models.JSONField(default=list, blank=True)
    # Fingerprint (near_duplicates/fingerprints.py); empty if the image is too plain, null until
    # somebody looks for near duplicates.
    fingerprint = models.BinaryField(null=True)
    # Shows an interrupted import what it has added already.
    came_with = models.ForeignKey(
        "labeling.Import", null=True, blank=True, on_delete=models.SET_NULL, related_name="images"
    )
    added_at = models.DateTimeField(default=timezone.now)
    # When it was removed for privacy. Its row then has no name, hash or files.
    removed_at = models.DateTimeField(null=True, blank=True)

    objects = ImageManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "name"], name="one_image_per_dataset_and_name"
            ),
            models.UniqueConstraint(
                fields=["dataset", "sha256"], name="one_image_per_dataset_and_content"
            ),
        ]
        # For the image browser, which continues from the last image of a page in each order.
        indexes = [
            models.Index(fields=["dataset", "id"], name="image_by_id"),
            models.Index(fields=["dataset", "bytes", "id"], name="image_by_size"),
        ]

    def __str__(self) -> str:
        return self.name


class ImageRank(models.Model):
    """The sort keys of an image: by what people said in a campaign, or by its known labels.

    Written by datasets/image_ranks.py. Every sorted image has a row without a campaign.
    """

    dataset = models.ForeignKey(
        Dataset, on_delete=models.CASCADE, related_name="image_ranks", db_index=False
    )
    campaign = models.ForeignKey(
        "labeling.Campaign",
        null=True,
        on_delete=models.CASCADE,
        related_name="image_ranks",
        db_index=False,
    )
    image = models.ForeignKey(Image, on_delete=models.CASCADE, related_name="ranks", db_index=False)
    # "0" and the first label by the alphabet, in lower case; "1" without one.
    label = models.CharField(max_length=201)
    # The lowest probability of a label, less 2 where answers differ; 9 without one.
    doubt = models.FloatField()

    class Meta:
        verbose_name = "sort key"
        constraints = [
            models.UniqueConstraint(
                fields=["image", "campaign"], name="one_rank_per_image_and_campaign"
            ),
            models.UniqueConstraint(
                fields=["image"],
                condition=models.Q(campaign=None),
                name="one_rank_per_image_without_campaign",
            ),
        ]
        indexes = [
            models.Index(
                fields=["campaign", "dataset", "label", "image"], name="image_rank_by_label"
            ),
            models.Index(
                fields=["campaign", "dataset", "doubt", "image"], name="image_rank_by_doubt"
            ),
        ]

    def __str__(self) -> str:
        return f"rank of {self.image}"


class SavedView(models.Model):
    """One person's filter and order of a dataset's images, under a name."""

    user = models.ForeignKey(
        "labeling.User", on_delete=models.CASCADE, related_name="saved_views", db_index=False
    )
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    # The query string of the browser's address.
    query = models.CharField(max_length=2000, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "dataset", "name"], name="one_saved_view_per_user_and_name"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Tombstone(models.Model):
    """Keyed hashes of an image that was removed for privacy (datasets/tombstones.py)."""

    # The owner of the dataset sees the tombstone. The tombstone outlives the dataset.
    dataset = models.ForeignKey(
        Dataset, null=True, on_delete=models.SET_NULL, related_name="tombstones"
    )
    content = models.CharField(max_length=64)
    # Empty where the file was damaged or missing.
    pixels = models.CharField(max_length=64, blank=True)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["width", "height"], name="tombstone_by_size")]

    def __str__(self) -> str:
        return f"tombstone {self.pk}"


class Import(models.Model):
    """An import of images by a job: the uploads and the result of each file.

    The job has the progress and the error.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="imports")
    # The source in the user's terms: a file name, or the path below the import folder.
    name = models.CharField(max_length=1000)
    # Below ASSAY_IMPORT_ROOT; empty for uploads.
    path = models.CharField(max_length=1000, blank=True)
    # {"file", "stored", "bytes", "zip"} of each upload; emptied when the import is done.
    uploads = models.JSONField(default=list, blank=True)
    licence = models.CharField(max_length=200, blank=True)
    source = models.CharField(max_length=500, blank=True)
    # Whether near duplicates are left out: {"near": True, "against": [ids of other datasets]}; {}
    # if not.
    options = models.JSONField(default=dict, blank=True)
    job = models.OneToOneField("labeling.Job", on_delete=models.PROTECT, related_name="+")
    added = models.PositiveBigIntegerField(default=0)
    duplicates = models.PositiveBigIntegerField(default=0)
    refused = models.PositiveBigIntegerField(default=0)
    near = models.PositiveBigIntegerField(default=0)
    # {"duplicates", "refused", "near"}: the first files of each, with the reason.
    report = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(
        "labeling.User", on_delete=models.PROTECT, related_name="imports"
    )
    created_at = models.DateTimeField(default=timezone.now)
    # Time of completion; null while waiting, running or failed.
    finished_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.dataset.name}: {self.name}"


class Item(models.Model):
    """The subject of questions: a whole image, or a region of it with its origin."""

    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="items")
    # x0, y0, x1, y1 in image pixels, x1 and y1 exclusive; null for the whole image.
    region = models.JSONField(null=True, blank=True)
    # False for an object without a box in its file: its region is the whole image.
    is_boxed = models.BooleanField(default=True, db_default=True)
    # An object's name within its image, "cat-2". Empty for the whole image.
    name = models.CharField(max_length=80, blank=True, default="", db_default="")
    derived_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="derived"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["image"],
                condition=models.Q(region__isnull=True),
                name="one_item_per_whole_image",
            ),
            models.UniqueConstraint(
                fields=["image", "name"],
                condition=models.Q(region__isnull=False),
                name="one_object_per_image_and_name",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.image} {self.name}".rstrip()


class GivenLabel(models.Model):
    """A label of an item from an import, before anybody was asked."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="given_labels")
    # A class as topics and graphs name it: a wnid. For objects also each part, by its key, and the
    # outline ("object"); objects.py.
    key = models.CharField(max_length=64)
    value = models.CharField(max_length=3, choices=[("yes", "yes"), ("no", "no")], default="yes")
    # As in the file ({"boxes": [[x0, y0, x1, y1]]}, {"polygons": …}); null for the whole item. For
    # parts: {"polygons", "state", "names", "merges", "apart"}.
    geometry = models.JSONField(null=True, blank=True)
    source = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "key", "source"], name="one_given_label_per_item_key_and_source"
            )
        ]

    def __str__(self) -> str:
        return f"{self.item}: {self.key} {self.value}"


class Vocabulary(models.Model):
    """A version of a dataset's categories and their parts.

    Never changed: a change is a new version.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="vocabularies")
    version = models.PositiveIntegerField()
    # The canonical content of vocabulary.PartVocabulary, and its digest.
    content = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "vocabularies"
        constraints = [
            models.UniqueConstraint(
                fields=["dataset", "version"], name="one_vocabulary_per_dataset_and_version"
            )
        ]

    def __str__(self) -> str:
        return f"vocabulary {self.version} of {self.dataset.name}"
