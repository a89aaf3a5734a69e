"""API serializers of reviews of mistakes and versions of label sets."""

from rest_framework import serializers

from evaluation.benchmarks.kinds.labeled.label_sets.reviews import SHARE
from evaluation.models import MistakeReview
from labeling.web.api.base import Body, SentFile
from labeling.web.serializers.common import AnyField


class MistakeReviewSerializer(serializers.ModelSerializer):
    campaign = serializers.CharField(source="campaign.name")
    release = serializers.IntegerField(
        source="release.number", allow_null=True, default=None, help_text="Whose answers they are."
    )
    meta = AnyField(help_text="The meta line of its queue: models, settings, counts.")
    version = serializers.IntegerField(
        allow_null=True, help_text="Of the label sets; null until the answers are applied."
    )
    result = AnyField(help_text="version.json, once the answers are applied; else {}.")

    class Meta:
        model = MistakeReview
        fields = (
            "id",
            "campaign",
            "meta",
            "version",
            "release",
            "sha256",
            "result",
            "created_at",
            "applied_at",
        )


class NewMistakeReviewSerializer(Body):
    name = serializers.CharField(max_length=80, help_text="Of the campaign that is made.")
    title = serializers.CharField(max_length=200)
    models = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        help_text="Submissions whose every disagreement is reviewed; without it all.",
    )
    agreements = serializers.FloatField(
        min_value=0, max_value=1, default=SHARE, help_text="Share of the other images."
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**32 - 1, default=0)
    policy = serializers.DictField(
        required=False, help_text="Of the campaign; what it does not name is as usual."
    )


class ApplyMistakeReviewSerializer(Body):
    campaign = serializers.CharField(max_length=80, help_text="Of the kind mistake.")
    release = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text="Without it, what is settled now is frozen.",
    )
    queue = SentFile(
        required=False,
        help_text="queue.jsonl, where the campaign was opened by command, as mistakes queue wrote "
        "it.",
    )
