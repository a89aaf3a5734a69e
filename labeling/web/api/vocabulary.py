"""The vocabulary of a dataset's parts and its versions."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.datasets import vocabulary_store
from labeling.db.lookups import get_or_404
from labeling.errors import NotYours
from labeling.models import Vocabulary
from labeling.web.api.base import MIB, Body, InDataset
from labeling.web.serializers.common import AnyField


class VersionSerializer(serializers.ModelSerializer):
    created_by = serializers.CharField(source="created_by.pseudonym", default=None)
    created_by_name = serializers.CharField(source="created_by.username", default=None)

    class Meta:
        model = Vocabulary
        fields: tuple[str, ...] = (
            "version",
            "sha256",
            "created_at",
            "created_by",
            "created_by_name",
        )


class VocabularySerializer(VersionSerializer):
    vocabulary = AnyField(
        source="content", help_text='{"title", "categories": [{"key", "name", "parts": [{…}]}]}.'
    )

    class Meta(VersionSerializer.Meta):
        fields = (*VersionSerializer.Meta.fields, "vocabulary")


class NewVocabularySerializer(Body):
    vocabulary = serializers.DictField(
        help_text="The format of docs/reference/objects-and-parts.md."
    )
    version = serializers.IntegerField(
        min_value=1,
        max_value=2**31,
        allow_null=True,
        default=None,
        help_text="The version that was edited. Refused if there is a later one.",
    )


class VocabularyViewSet(InDataset):
    queryset = Vocabulary.objects.none()
    serializer_class = VocabularySerializer
    max_body_bytes = 2 * MIB

    @extend_schema(responses=VocabularySerializer)
    def retrieve(self, request: Request, dataset: str) -> Response:
        """Return the latest version."""
        version = vocabulary_store.current(self.dataset)
        if version is None:
            raise NotYours("The dataset has no vocabulary yet.")
        return self.answer(VocabularySerializer, version)

    @extend_schema(request=NewVocabularySerializer, responses=VocabularySerializer)
    def update(self, request: Request, dataset: str) -> Response:
        """Add a version. An equal vocabulary changes nothing; the error lists every fault.

        Campaigns keep their version.
        """
        goal = self.dataset
        body = self.read(NewVocabularySerializer)
        made = vocabulary_store.add_version(
            goal, body["vocabulary"], self.user, instead_of=body["version"]
        )
        return self.answer(VocabularySerializer, made)


class VersionViewSet(InDataset):
    queryset = Vocabulary.objects.none()
    serializer_class = VocabularySerializer
    ordering = "-version"
    lookup_field = "version"

    @extend_schema(responses=VersionSerializer(many=True))
    def list(self, request: Request, dataset: str) -> Response:
        """Return every version, the newest first."""
        rows = self.dataset.vocabularies.select_related("created_by")
        return self.paged(rows, VersionSerializer)

    @extend_schema(responses=VocabularySerializer)
    def retrieve(self, request: Request, dataset: str, version: int) -> Response:
        """Return one version."""
        rows = self.dataset.vocabularies
        row = get_or_404(rows, "The vocabulary has no such version.", version=version)
        return self.answer(VocabularySerializer, row)
