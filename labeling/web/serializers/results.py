"""Releases, as the API has them."""

from rest_framework import serializers

from labeling.models import (
    Release,
)
from labeling.release_files.frozen import FILES


class ReleaseSerializer(serializers.ModelSerializer):
    counts = serializers.DictField()
    files = serializers.SerializerMethodField()

    class Meta:
        model = Release
        fields = ("number", "sha256", "counts", "created_at", "files")

    def get_files(self, release: Release) -> list[str]:
        return ["release.json", *FILES]
