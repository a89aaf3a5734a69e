"""What the API sends and takes of benchmarks."""

from typing import Any

from rest_framework import serializers

from evaluation.models import Benchmark, Run, Selection, Submission
from labeling.web.api.base import Body, Key
from labeling.web.serializers import POLICY_HELP, AnyField, EstimateSerializer


class BenchmarkSerializer(serializers.ModelSerializer):
    campaign = serializers.CharField(source="campaign.name")
    naming = serializers.CharField(source="naming.name", allow_null=True, default=None)
    dataset = serializers.CharField(source="campaign.dataset.name")
    release = serializers.IntegerField(
        source="release.number",
        allow_null=True,
        default=None,
        help_text="Whose objects are revealed (cds) or whose labels are the truth; null where each "
        "run freezes its own (mad).",
    )
    settings = serializers.DictField()

    class Meta:
        model = Benchmark
        fields = (
            "name",
            "title",
            "kind",
            "campaign",
            "naming",
            "dataset",
            "release",
            "settings",
            "created_at",
        )


class SelectionUpload(Body):
    selection = serializers.FileField(help_text="selection.jsonl, as `mad select` writes it.")


class PlanRequest(SelectionUpload):
    dataset = serializers.CharField(max_length=80)
    policy = serializers.JSONField(required=False, help_text=POLICY_HELP)

    def validate_policy(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise serializers.ValidationError("Send the policy as a JSON object.")
        return value


class NewBenchmarkSerializer(PlanRequest):
    name = serializers.CharField(max_length=80)
    title = serializers.CharField(max_length=200)
    instructions = serializers.CharField(allow_blank=True, default="", max_length=100_000)
    vocabulary = serializers.ListField(
        child=serializers.CharField(max_length=64),
        required=False,
        max_length=20_000,
        help_text="Wnids to choose a true label from; by default those of the selection.",
    )


class PlanSerializer(serializers.Serializer):
    classifiers = serializers.ListField(child=serializers.CharField())
    pairs = serializers.IntegerField()
    images = serializers.IntegerField()
    questions = serializers.IntegerField()
    wnids = serializers.IntegerField()
    estimate = EstimateSerializer()
    missing = serializers.ListField(child=serializers.CharField())
    missing_reserve = serializers.ListField(child=serializers.CharField())


class SubmissionSerializer(serializers.ModelSerializer):
    class Meta:
        model = Submission
        fields = ("name", "position", "accuracy", "sha256", "is_people", "created_at")


class JoinedSerializer(serializers.Serializer):
    joined = serializers.ListField(child=serializers.CharField())


class AccuraciesSerializer(Body):
    accuracies = serializers.DictField(
        child=serializers.FloatField(min_value=0, max_value=100, allow_null=True),
        allow_empty=False,
        help_text="Share or percentage by classifier; null takes one away.",
    )


class ChangedSerializer(serializers.Serializer):
    changed = serializers.IntegerField()


class SelectionSerializer(serializers.ModelSerializer):
    first = serializers.CharField(source="first.name")
    second = serializers.CharField(source="second.name")

    class Meta:
        model = Selection
        fields = (
            "id",
            "first",
            "second",
            "rank",
            "image",
            "first_label",
            "second_label",
            "first_confidence",
            "second_confidence",
            "distance",
            "state",
        )


class TrueLabelsSerializer(Body):
    selections = serializers.ListField(child=Key(), allow_empty=False, max_length=10_000)


class NamingSerializer(serializers.Serializer):
    campaign = serializers.CharField(source="name")
    state = serializers.CharField()


class RunSerializer(serializers.ModelSerializer):
    release = serializers.IntegerField(source="release.number", allow_null=True, default=None)

    class Meta:
        model = Run
        fields = ("id", "state", "release", "error", "created_at", "finished_at")


class RunResultSerializer(RunSerializer):
    result = AnyField(
        help_text=(
            "The ranking, as `mad rank --json` gives it, what `score cds --json` gives but its "
            "sequences, or for each classifier what `score KIND --json` gives; null until done."
        )
    )

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, "result")  # type: ignore[assignment]
