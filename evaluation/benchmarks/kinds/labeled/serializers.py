"""API serializers of benchmarks on released labels."""

from rest_framework import serializers

from evaluation.benchmarks.kinds.labeled.settings import SPLITS
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import KINDS
from evaluation.benchmarks.serializers import FollowingRequest, OnReleaseRequest, create_arguments
from evaluation.metrics.wsol import box_scores


class ReleasedRequest(OnReleaseRequest):
    kind = serializers.ChoiceField(choices=KINDS)
    part = serializers.CharField(
        max_length=80,
        required=False,
        help_text="SPLIT:PART, such as 3:val: only these images of the split's release count.",
    )


class NewReleasedSerializer(ReleasedRequest, FollowingRequest):
    name = serializers.CharField(max_length=80)
    title = serializers.CharField(max_length=200)
    split = serializers.ChoiceField(
        choices=SPLITS, required=False, help_text="Of a test split each further look is counted."
    )
    confidence = serializers.FloatField(
        required=False, help_text="Of the intervals, between 0 and 1. Not of wsol."
    )
    seed = serializers.IntegerField(
        min_value=0, max_value=2**32 - 1, required=False, help_text="Not of wsol."
    )
    inclusive = serializers.BooleanField(
        required=False,
        help_text="x1 and y1 of rows are the last pixel. Of localization and detection.",
    )
    strict = serializers.BooleanField(
        required=False, help_text="An IoU of 0.5 is not enough. Of localization."
    )
    protocol = serializers.ChoiceField(
        choices=box_scores.PROTOCOLS, required=False, help_text="Of wsol."
    )
    normalize = serializers.ChoiceField(
        choices=box_scores.NORMALIZATIONS, required=False, help_text="Of wsol."
    )
    size = serializers.IntegerField(
        min_value=1,
        max_value=box_scores.LARGEST_SIZE,
        required=False,
        help_text="Side of the maps under `reference`, of wsol.",
    )
    thresholds = serializers.IntegerField(
        min_value=1,
        max_value=box_scores.MAX_THRESHOLDS,
        required=False,
        help_text="How many, of wsol.",
    )


class LeftOutSerializer(serializers.Serializer):
    why = serializers.CharField()
    images = serializers.IntegerField()


class TruthSerializer(serializers.Serializer):
    images = serializers.IntegerField()
    classes = serializers.IntegerField()
    objects = serializers.IntegerField(help_text="Boxes; 0 of classification.")
    masks = serializers.BooleanField(help_text="Whether pixels are scored too (wsol of parts).")
    left_out = LeftOutSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField())


class ReleasedPlanSerializer(serializers.Serializer):
    release = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=KINDS)
    truth = TruthSerializer()


NEW, PLAN, PLANNED = NewReleasedSerializer, ReleasedRequest, ReleasedPlanSerializer
NEW_WORDS = (
    "A benchmark whose ground truth is the labels of a campaign's release.\n\n"
    "The same again under the same name is the same benchmark."
)
PLAN_WORDS = "What a benchmark would use. A campaign without a release is refused: freeze it."
__all__ = ["NEW", "NEW_WORDS", "PLAN", "PLANNED", "PLAN_WORDS", "create_arguments"]
