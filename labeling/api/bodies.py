"""What the API sends and takes of graphs and quality; the rest is in serializers.py."""

from typing import Any

from rest_framework import serializers

from labeling.api.base import Body, Key
from labeling.models import Calibration, Graph, Membership
from labeling.serializers import AnyField, Plain

# Graphs


class GraphSerializer(serializers.ModelSerializer):
    graph = AnyField(source="content", help_text='{"nodes": [{"id", "question", "parents", …}]}.')

    class Meta:
        model = Graph
        fields = ("version", "sha256", "created_at", "graph")


class NewGraphSerializer(Body):
    graph = serializers.DictField(help_text="As a graph file has it: docs/hierarchy.md.")
    reason = serializers.CharField(allow_blank=True, default="", max_length=500)


class OpenImagesSerializer(Body):
    images = serializers.ListField(
        child=serializers.CharField(max_length=400),
        default=list,
        max_length=50_000,
        help_text="Names of images; none for every image of the dataset.",
    )


class OpenedSerializer(Plain):
    opened = serializers.IntegerField(
        allow_null=True, help_text="First questions opened; null while a job opens them."
    )


# People


class WatchedSerializer(serializers.ModelSerializer):
    """One person's stage and signals, as they were last looked at."""

    member = serializers.IntegerField(source="pk")
    pseudonym = serializers.CharField(source="user.pseudonym")
    standing = AnyField(help_text="{} before anybody looked.")

    class Meta:
        model = Membership
        fields = (
            "member",
            "pseudonym",
            "role",
            "stage",
            "working_since",
            "attempts",
            "gold_share",
            "answered",
            "standing",
        )


class MemberReasonSerializer(Body):
    reason = serializers.CharField(max_length=500)


class NewBlockSerializer(MemberReasonSerializer):
    member = Key(help_text="The id of a member.")


class BlockSerializer(Plain):
    member = serializers.IntegerField()
    pseudonym = serializers.CharField()
    stage = serializers.CharField()
    answers = serializers.IntegerField(help_text="Answers of theirs that count no more, or again.")
    questions = serializers.IntegerField(help_text="Questions whose consensus was looked at again.")


# Calibrations, audits, figures


class CalibrationSerializer(serializers.ModelSerializer):
    class Meta:
        model = Calibration
        fields = ("number", "reason", "created_at")


class WholeCalibrationSerializer(serializers.ModelSerializer):
    content = AnyField()

    class Meta:
        model = Calibration
        fields = ("number", "reason", "created_at", "content")


class NewAuditSerializer(Body):
    count = serializers.IntegerField(min_value=1, max_value=10_000)
    seed = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="For a sample that can be drawn again.",
    )


class DrawnSerializer(Plain):
    sample = serializers.IntegerField()
    drawn = serializers.IntegerField()


class BinSerializer(Plain):
    low = serializers.FloatField()
    high = serializers.FloatField()
    n = serializers.IntegerField()
    stated = serializers.FloatField()
    right = serializers.FloatField()
    interval = serializers.ListField(child=serializers.FloatField())


class AuditEstimateSerializer(Plain):
    audited = serializers.IntegerField()
    left = serializers.IntegerField(help_text="Drawn and not answered yet.")
    wrong = serializers.IntegerField()
    error = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(child=serializers.FloatField(), allow_null=True)
    stated = serializers.FloatField(
        allow_null=True, help_text="The error that the consensus itself states, on average."
    )
    calibration = BinSerializer(many=True)


class HistogramSerializer(Plain):
    n = serializers.IntegerField()
    count = serializers.IntegerField()


class QualitySerializer(Plain):
    decided = serializers.IntegerField()
    sampled = serializers.IntegerField(help_text="Decided questions that the figures come from.")
    alpha = serializers.FloatField(allow_null=True, help_text="Krippendorff's alpha.")
    votes = serializers.FloatField(allow_null=True, help_text="Mean answers a question.")
    abstained = serializers.FloatField(allow_null=True)
    histogram = HistogramSerializer(many=True)
    disputed = serializers.ListField(
        child=serializers.IntegerField(), help_text="Ids of questions, the most divided first."
    )


def clean_number(value: Any) -> float | None:
    """A figure for JSON, which knows no NaN."""
    return None if value is None or value != value else float(value)
