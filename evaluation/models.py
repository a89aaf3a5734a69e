"""Benchmarks, truth versions, submissions, runs, splits, registered models and pools."""

from django.db import models
from django.utils import timezone

from labeling.models import Release


class Benchmark(models.Model):
    """A benchmark of classifiers on the frozen answers of a campaign.

    mad: a competition over one campaign, frozen again for each run. cds: the objects of one release
    of a campaign that draws parts, revealed part by part. The others: the labels, boxes or parts of
    one release are the ground truth (evaluation/benchmarks/kinds/labeled/).
    """

    class Kind(models.TextChoices):
        MAD = "mad", "MAD competition"
        CDS = "cds", "CDS: how much of an object is needed"
        CLASSIFICATION = "classification", "Classification"
        LOCALIZATION = "localization", "Localization"
        DETECTION = "detection", "Detection"
        WSOL = "wsol", "WSOL: localization by score maps"

    class Every(models.TextChoices):
        NIGHT = "night", "every night"
        WEEK = "week", "once a week"
        MANUAL = "manual", "only on “Score now”"

    # Key of the newest done run, if there is one; only where a query adds it (hooks.py).
    newest_run: int | None

    name = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.MAD)
    # The campaign whose frozen answers are scored.
    campaign = models.ForeignKey(
        "labeling.Campaign", on_delete=models.PROTECT, related_name="benchmarks"
    )
    # The release whose objects are revealed (cds), or whose labels are the ground truth
    # (classification, localization, detection, wsol); null where each run freezes its own (mad).
    release = models.ForeignKey(
        "labeling.Release",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="benchmarks",
    )
    # The campaign that asks people for the true label where both classifiers were wrong (mad), or
    # for the content of single frames (cds).
    naming = models.OneToOneField(
        "labeling.Campaign",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="names_for",
    )
    # The pool's selection that a competition was made from, if the site made it (mad).
    pool_selection = models.ForeignKey(
        "PoolSelection",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="benchmarks",
    )
    # mad: the meta line of the selection, and how a Run ranks (smoothing, bootstrap, seed).
    # cds: schemes, part orders, mapping, and how a Run compares and averages.
    # classification, localization, detection, wsol: which split it is, and how a Run scores.
    settings = models.JSONField(default=dict)
    # Whether the truth takes no newer labels. If not, it follows the campaign (not mad): how often,
    # and how many images its first newer version must have.
    is_pinned = models.BooleanField(default=False, db_default=False)
    every = models.CharField(
        max_length=8, choices=Every.choices, default=Every.NIGHT, db_default=Every.NIGHT
    )
    min_images = models.PositiveIntegerField(default=50, db_default=50)
    # The release and the state of the campaign that the truth was last compared with.
    compared_with = models.CharField(max_length=40, blank=True, db_default="")
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    # Archived benchmarks are not in lists and are not scored.
    archived_at = models.DateTimeField(null=True, blank=True)
    # Whether the user of this request sees counts and scores only; access.benchmark_for sets it.
    hides_images = False

    def __str__(self) -> str:
        return self.title

    @property
    def own_release(self) -> Release:
        """Return the one release that the benchmark is based on; every kind but mad has one."""
        assert self.release is not None, "a benchmark of this kind has a release"
        return self.release


class Submission(models.Model):
    """A classifier in a benchmark, with the accuracy published for it elsewhere, if any."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="submissions")
    name = models.CharField(max_length=100)
    # Index in the matrices of results; it stays when another classifier joins.
    position = models.PositiveIntegerField()
    accuracy = models.FloatField(null=True, blank=True)
    # SHA-256 of the uploaded predictions; empty without an upload (mad, people).
    sha256 = models.CharField(max_length=64, blank=True)
    # Whether this classifier stands for the answers of the naming campaign (cds).
    is_people = models.BooleanField(default=False)
    # Number of different predictions under this name; a test split should have one.
    attempts = models.PositiveIntegerField(default=1)
    # Number of the truth version that it was checked against; it covers that version's images.
    version = models.PositiveIntegerField(default=1, db_default=1)
    # Frames of that version that its file lacks; they count as wrong (cds).
    missing_frames = models.PositiveIntegerField(default=0, db_default=0)
    submitted_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "name"], name="one_submission_per_benchmark_and_name"
            ),
            models.UniqueConstraint(
                fields=["benchmark", "position"], name="one_submission_per_benchmark_and_position"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Selection(models.Model):
    """A line of a selection: the image of a pair of classifiers at a rank."""

    class State(models.TextChoices):
        CHOSEN = "chosen", "chosen"
        RESERVE = "reserve", "in reserve"
        DROPPED = "dropped", "dropped"

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="selections", db_index=False
    )
    first = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    rank = models.PositiveIntegerField()
    image = models.CharField(max_length=400)
    first_label = models.CharField(max_length=64)
    second_label = models.CharField(max_length=64)
    first_confidence = models.FloatField()
    second_confidence = models.FloatField()
    distance = models.FloatField()
    state = models.CharField(max_length=8, choices=State.choices)

    class Meta:
        ordering = ["first__position", "second__position", "rank"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "first", "second", "rank"],
                name="one_selection_per_pair_and_rank",
            ),
            models.UniqueConstraint(
                fields=["benchmark", "first", "second", "image"],
                name="one_selection_per_pair_and_image",
            ),
        ]
        indexes = [models.Index(fields=["benchmark", "image"], name="selection_by_image")]

    def __str__(self) -> str:
        return f"{self.first} – {self.second} #{self.rank}: {self.image}"


class FailureTag(models.Model):
    """One researcher's tag of a wrong prediction: why the classifier fails on the image."""

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="failure_tags", db_index=False
    )
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="+")
    image = models.CharField(max_length=400)
    tag = models.CharField(max_length=60)
    tagged_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    tagged_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "image", "submission", "tag", "tagged_by"],
                name="one_failure_tag_per_person",
            )
        ]

    def __str__(self) -> str:
        return f"{self.image}: {self.tag}"


class Run(models.Model):
    """One scoring of a benchmark on one release."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="runs")
    release = models.ForeignKey(
        "labeling.Release", null=True, blank=True, on_delete=models.PROTECT, related_name="runs"
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    settings = models.JSONField(default=dict)
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True)
    requested_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.benchmark}"


class MistakeReview(models.Model):
    """A review of the mistakes on a labeled benchmark, in a campaign of the kind mistake. Once
    applied, its answers are a version of the label sets.

    Its files: evaluation/benchmarks/kinds/labeled/label_sets/reviews.py.
    """

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="reviews", db_index=False
    )
    campaign = models.ForeignKey("labeling.Campaign", on_delete=models.PROTECT, related_name="+")
    # The meta line of the queue: models, settings, counts.
    meta = models.JSONField()
    # Version of the label sets; null until the answers are applied. 1 is the truth's one class.
    version = models.PositiveIntegerField(null=True, blank=True)
    # The release with the answers, and the hash of sets.csv.
    release = models.ForeignKey(
        "labeling.Release", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    sha256 = models.CharField(max_length=64, blank=True)
    # The content of version.json, once applied.
    result = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    applied_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "campaign"], name="one_review_per_benchmark_and_campaign"
            ),
            models.UniqueConstraint(
                fields=["benchmark", "version"], name="one_review_per_benchmark_and_version"
            ),
        ]

    def __str__(self) -> str:
        return f"review of {self.benchmark} by {self.campaign}"


class ReleaseSplit(models.Model):
    """A split of a release's images into parts, once its job is done.

    The last part may be sealed: then only `sealed_by` sees its images and labels. An extension
    keeps every assignment of the split that it extends, and its seal.
    """

    release = models.ForeignKey("labeling.Release", on_delete=models.PROTECT, related_name="splits")
    # The rule as `split --by` states it, the names of the parts, and the seed.
    method = models.CharField(max_length=80)
    names = models.JSONField()
    seed = models.PositiveBigIntegerField()
    sealed_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    # One extension per split, so that all later splits agree about every image.
    extends = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="extension"
    )
    job = models.OneToOneField(
        "labeling.Job", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    # A zip in the storage "data"; empty until it is made, as are the content of split.json and its
    # hash.
    file = models.CharField(max_length=200, blank=True)
    head = models.JSONField(default=dict, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"split {self.pk} of {self.release}"

    @property
    def sealed(self) -> str | None:
        """Return the name of the sealed part."""
        return self.names[-1] if self.sealed_by_id else None

    @property
    def state(self) -> str:
        """Return the state of its job, or done if a run needed the split before."""
        return "done" if self.file else self.job.state if self.job else "queued"


class TruthVersion(models.Model):
    """A version of a benchmark's truth; a row never changes.

    Version 1 is the release that the benchmark was opened on. A later version comes from a newer
    release, or from an applied review of mistakes.
    """

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="truth_versions", db_index=False
    )
    number = models.PositiveIntegerField()
    release = models.ForeignKey("labeling.Release", on_delete=models.PROTECT, related_name="+")
    review = models.OneToOneField(
        MistakeReview, null=True, blank=True, on_delete=models.CASCADE, related_name="truth_version"
    )
    # Hash of the version and all before it; the hash of sets.csv if a review made it.
    sha256 = models.CharField(max_length=64)
    # Numbers of images (cds: of objects) that differ from the version before.
    added = models.PositiveIntegerField(default=0)
    removed = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    # A VersionReport.
    report = models.JSONField(default=dict)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "number"], name="one_truth_version_per_benchmark_and_number"
            ),
        ]

    def __str__(self) -> str:
        return f"truth {self.number} of {self.benchmark}"


class RegisteredModel(models.Model):
    """A network that may be named on the site.

    It was registered by `manage.py models`, or it is an ONNX file that an administrator uploaded.

    spec: as `predict --model` takes it, a file by its absolute path; of an uploaded file its name
    in the storage "data". options: further arguments of `predict`. Neither is shown on the site.
    """

    name = models.CharField(max_length=100, unique=True)
    spec = models.CharField(max_length=4000)
    options = models.JSONField(default=list)
    # Wnids in the order of its outputs.
    classes = models.JSONField()
    # The source of the registered network, as in results (Classifier.source).
    source = models.JSONField()
    # Only of uploaded files: the uploader, and the job that must open the file before it is used.
    uploaded_by = models.ForeignKey(
        "labeling.User", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    job = models.OneToOneField(
        "labeling.Job", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    registered_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Pool(models.Model):
    """The predictions of classifiers on the photographs of a dataset: of registered models, once
    its job is done, or uploaded.
    """

    dataset = models.ForeignKey(
        "labeling.Dataset", on_delete=models.CASCADE, related_name="pools", db_index=False
    )
    # Names of the classifiers.
    names = models.JSONField()
    # None for uploaded predictions.
    job = models.OneToOneField(
        "labeling.Job", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    # In the storage "data"; empty until it is made.
    file = models.CharField(max_length=200, blank=True)
    # By name, the result of `predict` for each model, or the counts of uploaded predictions.
    result = models.JSONField(default=dict)
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["dataset", "-id"], name="pool_of_dataset")]

    def __str__(self) -> str:
        return f"pool {self.pk} of {self.dataset}"

    @property
    def state(self) -> str:
        """Return the state of its job; uploaded predictions are done."""
        return self.job.state if self.job else "done"


class PoolSelection(models.Model):
    """Images of a pool on which classifiers differ most, once its job is done."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="selections")
    # Options of `mad select`.
    settings = models.JSONField()
    job = models.OneToOneField("labeling.Job", on_delete=models.PROTECT, related_name="+")
    # In the storage "data"; empty until it is made, as is the summary.
    file = models.CharField(max_length=200, blank=True)
    summary = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"selection {self.pk} of {self.pool}"


class ModelRun(models.Model):
    """A submission by a registered model: the job runs the model or reads its predictions in a
    pool.
    """

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="model_runs", db_index=False
    )
    # Name of the registered model.
    model = models.CharField(max_length=100)
    # The pool whose predictions are submitted; null if the model is run.
    pool = models.ForeignKey(
        Pool, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    # Method of score maps (wsol).
    method = models.CharField(max_length=40, blank=True)
    job = models.OneToOneField("labeling.Job", on_delete=models.PROTECT, related_name="+")
    # "classifier": the submission's name; and what the command printed. Empty until it is done.
    result = models.JSONField(default=dict)
    created_by = models.ForeignKey("labeling.User", on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["benchmark", "-id"], name="model_run_of_benchmark")]

    def __str__(self) -> str:
        return f"{self.model} for {self.benchmark}"
