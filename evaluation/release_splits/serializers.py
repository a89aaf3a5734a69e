"""What the API sends and takes of splits."""

from rest_framework import serializers

from evaluation.models import ReleaseSplit
from evaluation.release_splits.forms import SplitForm
from labeling.models import Job
from labeling.web.api.base import Key
from labeling.web.serializers.common import AnyField
from labeling.web.serializers.derived import FormBody


class NewSplitSerializer(FormBody):
    form = SplitForm
    only = ("by", "names", "seed", "seal")
    extend = Key(required=False, help_text="The id of an earlier split, in place of a rule.")


class ReleaseSplitSerializer(serializers.ModelSerializer):
    names = serializers.ListField(child=serializers.CharField())
    sealed = serializers.CharField(
        allow_null=True, help_text="The part whose images only the user who sealed it sees."
    )
    state = serializers.ChoiceField(Job.State.choices)
    error = serializers.CharField(source="job.error", default="", help_text="Why it failed.")
    counts = AnyField(source="head.counts", default=None, help_text="As in split.json, or null.")
    notes = serializers.ListField(child=serializers.CharField(), source="head.notes", default=list)

    class Meta:
        model = ReleaseSplit
        fields = (
            "id",
            "method",
            "names",
            "seed",
            "sealed",
            "extends",
            "state",
            "error",
            "sha256",
            "counts",
            "notes",
            "created_at",
        )
