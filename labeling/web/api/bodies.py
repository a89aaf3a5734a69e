"""What the API sends and takes of graphs, people, quality, objects, quotas; else serializers.py."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from labeling.assignment import quotas
from labeling.campaigns.names import name_of
from labeling.models import Calibration, Graph, Membership
from labeling.web.api.base import Body, Key
from labeling.web.serializers.campaigns import POLICY_HELP
from labeling.web.serializers.common import NAME_HELP, AnyField, Plain

# Graphs


class GraphSerializer(serializers.ModelSerializer):
    graph = AnyField(source="content", help_text='{"nodes": [{"id", "question", "parents", …}]}.')

    class Meta:
        model = Graph
        fields = ("version", "sha256", "created_at", "graph")


class NewGraphSerializer(Body):
    graph = serializers.DictField(help_text="As a graph file has it: docs/hierarchy.md.")
    reason = serializers.CharField(allow_blank=True, default="", max_length=500)
    version = serializers.IntegerField(
        min_value=1,
        max_value=2**31,
        allow_null=True,
        default=None,
        help_text="The version that this one was made from: refused if another is in force now.",
    )


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


# Policies


class NewPolicySerializer(Body):
    content = serializers.DictField(help_text=POLICY_HELP)
    confirmed = serializers.BooleanField(
        default=False, help_text="Needed for rules that would stop everybody who is at work."
    )


class StoppedSerializer(Plain):
    member = serializers.IntegerField(source="membership")
    pseudonym = serializers.CharField()
    action = serializers.CharField()
    reason = serializers.CharField()


# People


class StandingSerializer(Plain):
    right = serializers.IntegerField()
    total = serializers.IntegerField()
    accuracy = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(child=serializers.FloatField())


class MemberSerializer(serializers.ModelSerializer):
    pseudonym = serializers.CharField(source="user.pseudonym")
    name = serializers.SerializerMethodField(help_text=NAME_HELP)
    seconds_per_answer = serializers.SerializerMethodField()
    standing = serializers.SerializerMethodField()

    class Meta:
        model = Membership
        fields = (
            "id",
            "pseudonym",
            "name",
            "role",
            "joined_at",
            "left_at",
            "stage",
            "answered",
            "seconds_per_answer",
            "last_answered_at",
            "standing",
        )

    def get_name(self, row: Membership) -> str:
        return name_of(row)

    def get_seconds_per_answer(self, row: Membership) -> float | None:
        return row.worked_ms / 1000 / row.answered if row.answered else None

    @extend_schema_field(StandingSerializer(allow_null=True))
    def get_standing(self, row: Membership) -> dict[str, Any] | None:
        found = self.context["standings"].get(row.user_id)
        return StandingSerializer(found).data if found else None


class WatchedSerializer(serializers.ModelSerializer):
    """One person's stage and signals, as they were last looked at."""

    member = serializers.IntegerField(source="pk")
    pseudonym = serializers.CharField(source="user.pseudonym")
    name = serializers.SerializerMethodField(help_text=NAME_HELP)
    standing = AnyField(help_text="{} before anybody looked.")

    class Meta:
        model = Membership
        fields = (
            "member",
            "pseudonym",
            "name",
            "role",
            "stage",
            "working_since",
            "attempts",
            "gold_share",
            "answered",
            "standing",
        )

    def get_name(self, row: Membership) -> str:
        return name_of(row)


class MemberReasonSerializer(Body):
    reason = serializers.CharField(max_length=500)


class NewBlockSerializer(MemberReasonSerializer):
    member = Key(help_text="The id of a member.")


class BlockSerializer(Plain):
    member = serializers.IntegerField()
    changed = serializers.BooleanField(help_text="False where the person was blocked already.")
    answers = serializers.IntegerField(help_text="Answers that count no more.")
    decided = serializers.IntegerField(help_text="Questions that stand otherwise now.")
    reopened = serializers.IntegerField(help_text="Decided questions that need more answers.")


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


class NewPilotSerializer(Body):
    per_topic = serializers.IntegerField(
        min_value=1, max_value=10_000, help_text="Questions of each topic, drawn at random."
    )
    seed = serializers.IntegerField(
        default=0, min_value=0, max_value=2**31 - 1, help_text="The same draws the same sample."
    )


class PilotPlanSerializer(Plain):
    """What a pilot would ask beyond what is asked already."""

    questions = serializers.IntegerField()
    answers = serializers.IntegerField(help_text="Gold mixed in.")
    hours = serializers.FloatField()
    cost = serializers.FloatField()
    currency = serializers.CharField()


class PilotStateSerializer(Plain):
    asked = serializers.IntegerField(help_text="Questions that want ten votes.")
    decided = serializers.IntegerField()
    topics = serializers.IntegerField(help_text="Topics of those questions.")
    tables = serializers.IntegerField(help_text="How many of the topics have a vote table.")
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="Names of some that have none."
    )
    missing_count = serializers.IntegerField()


class NewAuditSerializer(Body):
    n = serializers.IntegerField(min_value=1, max_value=10_000, help_text="Questions.")
    seed = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="For a sample that can be drawn again.",
    )


class BinSerializer(Plain):
    low = serializers.FloatField()
    high = serializers.FloatField()
    n = serializers.IntegerField()
    stated = serializers.FloatField()
    right = serializers.FloatField()
    interval = serializers.ListField(child=serializers.FloatField())


class ErrorShareSerializer(Plain):
    audited = serializers.IntegerField()
    wrong = serializers.IntegerField()
    error = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(child=serializers.FloatField(), help_text="95 %.")


class ReliabilitySerializer(Plain):
    bins = BinSerializer(many=True)
    error = serializers.FloatField(help_text="Expected calibration error.")
    n = serializers.IntegerField()


class AuditEstimateSerializer(ErrorShareSerializer):
    """What the latest sample says; `audited` leaves out what was too hard to tell."""

    sample = serializers.IntegerField()
    drawn = serializers.IntegerField()
    answered = serializers.IntegerField()
    unclear = serializers.IntegerField()
    stated = serializers.FloatField(
        allow_null=True, help_text="The error that the consensus itself states, on average."
    )
    stated_holds = serializers.BooleanField(
        allow_null=True, help_text="Whether that lies in the interval."
    )
    calibration = ReliabilitySerializer(allow_null=True)
    by_answer = serializers.DictField(child=ErrorShareSerializer())


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


class ObjectsSerializer(Body):
    categories = serializers.ListField(
        child=serializers.CharField(max_length=200),
        default=list,
        max_length=1_000,
        help_text="Names or wnids of the dataset's vocabulary.",
    )
    images = serializers.ListField(
        child=serializers.CharField(max_length=400), default=list, max_length=10_000
    )


class QuotaSerializer(Body):
    topic = serializers.CharField(max_length=64)
    images = serializers.IntegerField(min_value=1, max_value=quotas.MOST)
    done = serializers.IntegerField(read_only=True)


class QuotasSerializer(Body):
    quotas = QuotaSerializer(many=True)
    reason = serializers.CharField(max_length=500, default="", write_only=True)


# Review


def seen_field() -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=1,
        max_value=2**63 - 1,
        allow_null=True,
        default=None,
        help_text="The settlement that was looked at: refused if another one stands by now.",
    )


class AcceptanceSerializer(Body):
    seen = seen_field()
    reason = serializers.CharField(allow_blank=True, default="", max_length=500)


class VerdictSerializer(AcceptanceSerializer):
    value = AnyField(help_text='An answer that is no abstention, or "drop".')


class SendBackSerializer(Body):
    seen = seen_field()
    note = serializers.CharField(max_length=2_000, help_text="What to mend; they read it.")
    answers = serializers.ListField(
        child=serializers.UUIDField(),
        allow_null=True,
        default=None,
        max_length=50,
        help_text="Which of the drawings that count; null for all whose people still work here.",
    )


class SentBackSerializer(Plain):
    answer = serializers.UUIDField(source="answer_id")
    note = serializers.CharField()
    created_at = serializers.DateTimeField()
