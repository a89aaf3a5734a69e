"""API serializers of MAD competitions."""

from typing import Any

from rest_framework import serializers

from evaluation.benchmarks.kinds.mad.class_gallery import ClassImage
from evaluation.benchmarks.kinds.mad.failure_tags import TagCount
from evaluation.benchmarks.serializers import SelectionUpload
from evaluation.benchmarks.uploads import load_wordnet, uploaded
from evaluation.models import FailureTag, Selection
from evaluation.readers import selections
from labeling.campaigns.access import dataset_for
from labeling.models import User
from labeling.web.api.base import Body, JSONText, Key
from labeling.web.serializers.campaigns import POLICY_HELP, EstimateSerializer
from labeling.web.serializers.derived import rows_of


class PlanRequest(SelectionUpload):
    dataset = serializers.CharField(max_length=80)
    policy = JSONText(required=False, help_text=POLICY_HELP)

    def validate_policy(self, value: object) -> dict[str, object]:
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
        help_text="Classes to choose a true label from; by default those of the selection.",
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


class FailureTagSerializer(serializers.ModelSerializer):
    classifier = serializers.CharField(source="submission.name")
    by = serializers.CharField(source="tagged_by.username")

    class Meta:
        model = FailureTag
        fields = ("id", "image", "classifier", "tag", "by", "tagged_at")


class NewTagsSerializer(Body):
    image = serializers.CharField(max_length=400)
    classifier = serializers.CharField(max_length=100)
    tags = serializers.ListField(
        child=serializers.CharField(max_length=60), allow_empty=True, max_length=30
    )


class TagVocabularySerializer(Body):
    vocabulary = serializers.ListField(
        child=serializers.CharField(max_length=1000), allow_empty=False, max_length=1000
    )


class CaseThreeSerializer(serializers.Serializer):
    """A line of case-iii.csv."""

    first = serializers.CharField()
    second = serializers.CharField()
    image = serializers.CharField()
    rank = serializers.IntegerField()
    first_label = serializers.CharField()
    second_label = serializers.CharField()
    true_label = serializers.CharField(help_text="Empty until people named it.")
    first_distance = serializers.FloatField(allow_null=True)
    second_distance = serializers.FloatField(allow_null=True)
    mean_distance = serializers.FloatField(allow_null=True)


class PredictedClassSerializer(serializers.Serializer):
    key = serializers.CharField()
    name = serializers.CharField()


ClassImageSerializer = rows_of(ClassImage, "ClassImage")


class ClassGallerySerializer(serializers.Serializer):
    images = ClassImageSerializer(
        many=True, help_text="Images that a classifier predicts as the class."
    )
    references = ClassImageSerializer(many=True, help_text="Other images that show the class.")
    reference_count = serializers.IntegerField()


TagCountSerializer = rows_of(TagCount, "FailureTagCount")


NEW, PLAN, PLANNED = NewBenchmarkSerializer, PlanRequest, PlanSerializer
NEW_WORDS = (
    "A MAD competition from a selection, with its campaign in draft.\n\n"
    "The same selection under the same name again is the same benchmark."
)
PLAN_WORDS = "What a competition would ask and cost, and which images the dataset lacks."


def create_arguments(user: User, body: dict[str, Any]) -> dict[str, object]:
    """Return the arguments of competitions.create from a validated body."""
    dataset = dataset_for(user, body.pop("dataset"))
    with uploaded(body.pop("selection")) as path:
        net = selections.wordnet_for(path, load_wordnet)
        lines = selections.read(path, net, name="selection")
    return body | {"dataset": dataset, "lines": lines, "wordnet": net}
