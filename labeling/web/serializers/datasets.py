"""Serializers of datasets, images and imports."""

from typing import Any

from rest_framework import serializers

from labeling.models import (
    Dataset,
    Image,
)
from labeling.web.forms.datasets import ComingForm, DatasetForm
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
        help_text="[wnid, query] of each query that found it.",
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


class NewImagesSerializer(FormBody):
    """Files (named by `names` or their own names), a zip, or a path on the server.

    With `near` it is always an import (202).
    """

    form, only = ComingForm, ("licence", "source", "near")
    files = serializers.ListField(
        child=serializers.FileField(), required=False, max_length=100, allow_empty=False
    )
    names = serializers.ListField(child=serializers.CharField(max_length=400), required=False)
    zip = serializers.FileField(required=False)
    path = serializers.CharField(
        required=False,
        max_length=1000,
        help_text="A folder, zip or manifest.csv below the site's import folder. Never a URL.",
    )
    against = serializers.ListField(
        child=serializers.CharField(max_length=80),
        required=False,
        max_length=100,
        help_text="Names of further datasets, as other splits: what looks like one of their images "
        "is left out too.",
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
    of = serializers.CharField(help_text="Its dataset.")
    distance = serializers.IntegerField(help_text="Bits of 64 by which they differ.")


class ReportSerializer(Plain):
    added = serializers.IntegerField()
    duplicates = DuplicateSerializer(many=True)
    refused = RefusedFileSerializer(many=True)
    near_duplicates = NearDuplicateSerializer(many=True)
