"""Serializers shared by several resources."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from labeling.models import Job

NAME_HELP = "The username of researchers, reviewers and administrators, else the pseudonym."


@extend_schema_field(OpenApiTypes.ANY)
class AnyField(serializers.JSONField):
    """Any JSON value, defined by the question kind."""


class Plain(serializers.Serializer):
    """A response row."""


class JobSerializer(serializers.ModelSerializer):
    class Meta:
        model = Job
        fields = (
            "id",
            "kind",
            "state",
            "attempts",
            "error",
            "progress_done",
            "progress_total",
            "created_at",
            "finished_at",
        )
