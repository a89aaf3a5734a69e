"""What the API sends and takes of pools and registered models."""

from rest_framework import serializers

from evaluation.models import Pool, RegisteredModel
from evaluation.pools.making import MOST_MODELS
from labeling.models import Job
from labeling.web.api.base import Body
from labeling.web.serializers.common import AnyField


class RegisteredModelSerializer(serializers.ModelSerializer):
    classes = serializers.SerializerMethodField(help_text="How many it tells apart.")
    sha256 = serializers.CharField(
        source="source.sha256", default="", help_text="Of its file; empty where it is none."
    )

    class Meta:
        model = RegisteredModel
        fields = ("name", "classes", "sha256", "registered_at")

    def get_classes(self, row: RegisteredModel) -> int:
        return len(row.classes)


class NewPoolSerializer(Body):
    models = serializers.ListField(
        child=serializers.CharField(max_length=100),
        allow_empty=False,
        max_length=MOST_MODELS,
        help_text="Names of registered models, which have the same classes.",
    )


class PoolSerializer(serializers.ModelSerializer):
    models = serializers.ListField(child=serializers.CharField(), source="names")
    state = serializers.ChoiceField(Job.State.choices, source="job.state")
    error = serializers.CharField(source="job.error", help_text="Why it failed, or stopped once.")
    seen_at = serializers.DateTimeField(
        source="job.child_seen_at",
        allow_null=True,
        help_text="When the process that predicts was last seen alive.",
    )
    exit_code = serializers.IntegerField(
        source="job.exit_code", allow_null=True, help_text="Of that process, once it ended."
    )
    last_line = serializers.CharField(source="job.last_line", help_text="That it printed.")
    result = AnyField(help_text="By model: images, skipped, device, versions and sha256.")

    class Meta:
        model = Pool
        fields = (
            "id",
            "models",
            "state",
            "error",
            "seen_at",
            "exit_code",
            "last_line",
            "result",
            "created_at",
        )
