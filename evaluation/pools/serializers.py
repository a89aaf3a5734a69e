"""What the API sends and takes of pools and registered models."""

from collections.abc import Mapping
from typing import ClassVar

from rest_framework import serializers

from evaluation.benchmarks.kinds.mad.serializers import NewBenchmarkSerializer
from evaluation.models import ModelRun, Pool, PoolSelection, RegisteredModel
from evaluation.pools.choosing import SelectionPlan
from evaluation.pools.forms import ModelForm, PredictionsForm, SelectionForm
from evaluation.pools.making import MAX_MODELS
from evaluation.selection.overlaps import SelectionOverlap
from labeling.models import Job
from labeling.web.api.base import Body, Key
from labeling.web.serializers.campaigns import EstimateSerializer
from labeling.web.serializers.common import AnyField
from labeling.web.serializers.derived import FormBody, RowSerializer, body_of, rows_of


class RegisteredModelSerializer(serializers.ModelSerializer):
    classes = serializers.SerializerMethodField(help_text="Number of its classes.")
    sha256 = serializers.CharField(
        source="source.sha256",
        default="",
        help_text="Of its file; empty for a model without a file.",
    )
    is_uploaded = serializers.SerializerMethodField(
        help_text="Whether an administrator uploaded its file."
    )
    state = serializers.ChoiceField(
        Job.State.choices,
        source="job.state",
        default=Job.State.DONE,
        help_text="Of the job that opens an uploaded file; a model is usable once it is done.",
    )
    error = serializers.CharField(
        source="job.error", default="", help_text="Why it cannot be used."
    )

    class Meta:
        model = RegisteredModel
        fields = ("name", "classes", "sha256", "is_uploaded", "state", "error", "registered_at")

    def get_classes(self, row: RegisteredModel) -> int:
        return len(row.classes)

    def get_is_uploaded(self, row: RegisteredModel) -> bool:
        return row.job_id is not None


NewModelSerializer = body_of(ModelForm, "NewModel")


class NewPoolSerializer(Body):
    models = serializers.ListField(
        child=serializers.CharField(max_length=100),
        allow_empty=False,
        max_length=MAX_MODELS,
        help_text="Names of registered models, which have the same classes.",
    )


class UploadedPoolSerializer(FormBody):
    form = PredictionsForm
    options: ClassVar[Mapping[str, Mapping[str, object]]] = {"file": {"required": False}}

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        if not attrs.get("file") and not attrs.get("address"):
            raise serializers.ValidationError({"file": "Predictions are missing. Send a zip."})
        return attrs


JOB_FIELDS = ("state", "error", "seen_at", "exit_code", "last_line")


class _OfJob(serializers.Serializer):
    """Fields of the job with a child process; uploaded predictions have none."""

    error = serializers.CharField(
        source="job.error", default="", help_text="Reason of the last failure."
    )
    seen_at = serializers.DateTimeField(
        source="job.child_seen_at",
        allow_null=True,
        default=None,
        help_text="When the process was last seen alive.",
    )
    exit_code = serializers.IntegerField(
        source="job.exit_code",
        allow_null=True,
        default=None,
        help_text="Of the process, once it has ended.",
    )
    last_line = serializers.CharField(
        source="job.last_line", default="", help_text="The last line that the process printed."
    )


class PoolSerializer(_OfJob, serializers.ModelSerializer):
    models = serializers.ListField(child=serializers.CharField(), source="names")
    state = serializers.ChoiceField(Job.State.choices)
    result = AnyField(
        help_text="By model: images, skipped, device, versions and sha256; of uploaded "
        "predictions: images, and missing ones of the dataset."
    )

    class Meta:
        model = Pool
        fields = ("id", "models", *JOB_FIELDS, "result", "created_at")


class NewSelectionSerializer(FormBody):
    form = SelectionForm
    classifiers = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        help_text="Of the pool; by default all.",
    )


class SelectionPlanSerializer(RowSerializer):
    row = SelectionPlan
    estimate = EstimateSerializer()


OverlapSerializer = rows_of(SelectionOverlap, "SelectionOverlap")


class PoolSelectionSerializer(_OfJob, serializers.ModelSerializer):
    state = serializers.ChoiceField(Job.State.choices, source="job.state")
    settings = serializers.DictField(help_text="Options of `mad select`.")
    summary = AnyField(
        help_text="Counts, and near-duplicates among the chosen images; {} until the job is done."
    )

    class Meta:
        model = PoolSelection
        fields = ("id", "settings", *JOB_FIELDS, "summary", "created_at")


class SelectedCompetitionSerializer(NewBenchmarkSerializer):
    """A competition on a selection that the site made."""

    selection = None  # type: ignore[assignment]
    dataset = None  # type: ignore[assignment]


class NewModelRunSerializer(Body):
    model = serializers.CharField(max_length=100, help_text="Name of a registered model.")
    pool = Key(
        required=False, help_text="Submit its predictions in this pool instead of running it."
    )
    method = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text="Method of score maps, as `scoremaps --method` (wsol).",
    )


class ModelRunSerializer(_OfJob, serializers.ModelSerializer):
    state = serializers.ChoiceField(Job.State.choices, source="job.state")
    result = AnyField(help_text="Name of the submission (classifier), preparation, device, sha256.")

    class Meta:
        model = ModelRun
        fields = ("id", "model", "pool", "method", *JOB_FIELDS, "result", "created_at")
