"""Serializers of datasets, images and imports."""

from typing import Any

from rest_framework import serializers

from labeling.models import Dataset, Image
from labeling.reports.image_browser import ORDER_WORDS, OUTCOME_WORDS, STATE_WORDS
from labeling.web.api.base import Body, SentFile
from labeling.web.forms.datasets import DatasetForm, ImportDefaultsForm
from labeling.web.serializers.common import Plain
from labeling.web.serializers.derived import FormBody, body_of


class DatasetSerializer(serializers.ModelSerializer):
    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = Dataset
        fields = ("name", "description", "owner", "created_at")


NewDatasetSerializer = body_of(DatasetForm, "NewDataset")


class ImageSerializer(serializers.ModelSerializer):
    queries = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="[wnid, query] of each query that returned the image.",
    )

    class Meta:
        model = Image
        fields = (
            "id",
            "name",
            "sha256",
            "media_type",
            "bytes",
            "width",
            "height",
            "licence",
            "source",
            "queries",
            "added_at",
        )


class ImageAnswerSerializer(Plain):
    person = serializers.CharField(source="pseudonym")
    answer = serializers.CharField(source="words")
    answered_at = serializers.DateTimeField(source="answer.created_at")
    late = serializers.BooleanField(source="answer.late")
    counted = serializers.BooleanField()
    void = serializers.BooleanField(help_text="Whether the person is blocked.")
    replaced = serializers.BooleanField(help_text="Whether the same person changed it later.")


class ImageSettlementSerializer(Plain):
    label = serializers.CharField(source="words")  # type: ignore[assignment]
    answers = serializers.ListField(source="settlement.answers", child=serializers.CharField())
    reviewed = serializers.BooleanField(source="settlement.reviewed")
    settled_at = serializers.DateTimeField(source="settlement.created_at")


class ImageLabelSerializer(Plain):
    campaign = serializers.CharField(source="campaign.name")
    question = serializers.IntegerField(source="question.pk")
    topic = serializers.CharField(source="question.topic")
    topic_name = serializers.CharField(source="topic")
    state = serializers.CharField(source="question.state")
    label = serializers.CharField(  # type: ignore[assignment]
        help_text='The label in words; "" unless the question is settled.'
    )
    probability = serializers.FloatField(allow_null=True)
    answers = ImageAnswerSerializer(many=True)
    settlements = ImageSettlementSerializer(many=True)


class KnownLabelSerializer(Plain):
    key = serializers.CharField()
    value = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]


class ImageObjectSerializer(Plain):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    box = serializers.ListField(source="region", child=serializers.FloatField())


class ImageUseSerializer(Plain):
    title = serializers.CharField()
    page = serializers.CharField(source="url")
    words = serializers.CharField(help_text="Result of the image in the benchmark.")


class ImageFilterSerializer(Body):
    """The filter and the order of the image browser, and the image that the page follows."""

    q = serializers.CharField(required=False, help_text="Text in the file name.")
    label = serializers.CharField(  # type: ignore[assignment]
        required=False, help_text="Key or name of a class."
    )
    state = serializers.ChoiceField([*STATE_WORDS], required=False)
    campaign = serializers.CharField(required=False)
    query = serializers.CharField(required=False, help_text="Text in a search query.")
    prediction = serializers.CharField(
        required=False, help_text="Key or name of a class that a submission predicts."
    )
    submission = serializers.CharField(required=False, help_text="BENCHMARK/NAME of a submission.")
    outcome = serializers.ChoiceField(
        [*OUTCOME_WORDS], required=False, help_text="right or wrong; empty for all."
    )
    least_px = serializers.IntegerField(
        min_value=1, required=False, help_text="Smallest length of both sides in pixels."
    )
    order = serializers.ChoiceField(
        [*ORDER_WORDS],
        default="name",
        help_text="More than 2,000 images are sorted by label and doubt in the background.",
    )
    after = serializers.IntegerField(required=False, help_text="`next` of the previous page.")


class ImagePageSerializer(Plain):
    next = serializers.IntegerField(source="after", allow_null=True)
    seen_to = serializers.CharField(
        help_text="The last image tested, if the page has too few matches. `next` continues there."
    )
    results = ImageSerializer(source="images", many=True)


class ImageFactsSerializer(ImageSerializer):
    """An image with its labels and votes in your campaigns, and the results that use it."""

    labels = ImageLabelSerializer(source="facts.questions", many=True, required=False)
    more_labels = serializers.BooleanField(
        source="facts.more", required=False, help_text="Whether further questions are left out."
    )
    known = KnownLabelSerializer(source="facts.known", many=True, required=False)
    objects = ImageObjectSerializer(source="facts.objects", many=True, required=False)
    uses = ImageUseSerializer(source="facts.uses", many=True, required=False)

    class Meta:
        model = Image
        fields = (*ImageSerializer.Meta.fields, "labels", "more_labels", "known", "objects", "uses")


class NewImagesSerializer(FormBody):
    """Files (named by `names` or their own names), a zip, or a path on the server.

    With `near` it is always an import (202).
    """

    form, only = ImportDefaultsForm, ("licence", "source", "near")
    files = serializers.ListField(
        child=serializers.FileField(), required=False, max_length=100, allow_empty=False
    )
    names = serializers.ListField(child=serializers.CharField(max_length=400), required=False)
    zip = SentFile(required=False)
    path = serializers.CharField(
        required=False,
        max_length=1000,
        help_text="A folder, zip or manifest.csv below the site's import folder. Never a URL.",
    )
    against = serializers.ListField(
        child=serializers.CharField(max_length=80),
        required=False,
        max_length=100,
        help_text="Names of further datasets, such as other splits. Near-duplicates of their "
        "images are also left out.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len({"files", "zip", "path"} & set(attrs)) != 1:
            raise serializers.ValidationError("Send exactly one of files, zip and path.")
        if "names" in attrs and len(attrs["names"]) != len(attrs.get("files", [])):
            raise serializers.ValidationError({"names": "Send one name for each of the files."})
        return attrs


class DuplicateSerializer(Plain):
    file = serializers.CharField()
    same_as = serializers.CharField()


class RefusedFileSerializer(Plain):
    file = serializers.CharField()
    why = serializers.CharField()


class NearDuplicateSerializer(Plain):
    file = serializers.CharField()
    looks_like = serializers.CharField()
    of = serializers.CharField(help_text="Dataset of the similar image.")
    distance = serializers.IntegerField(help_text="Number of differing bits, of 64.")


class ReportSerializer(Plain):
    added = serializers.IntegerField()
    duplicates = DuplicateSerializer(many=True)
    refused = RefusedFileSerializer(many=True)
    near_duplicates = NearDuplicateSerializer(many=True)
