"""API serializers of every benchmark.

A kind's own module of serializers has `NEW`, `PLAN` and `PLANNED` (the bodies of creating and
planning a benchmark, and the plan), their descriptions (NEW_WORDS, PLAN_WORDS) and `chosen`.
"""

import dataclasses
from typing import Any

from rest_framework import serializers

from evaluation.benchmarks.forms import FollowingFields
from evaluation.benchmarks.truth_versions import TruthVersionRow
from evaluation.models import Benchmark, Run, Submission, TruthVersion
from labeling.campaigns.access import RESEARCHER, campaign_for
from labeling.errors import Conflict
from labeling.models import User
from labeling.releases.freezing import release_for
from labeling.web.api.base import Body, SentFile
from labeling.web.serializers.common import AnyField
from labeling.web.serializers.derived import FormBody


class BenchmarkSerializer(serializers.ModelSerializer):
    campaign = serializers.CharField(source="campaign.name")
    naming = serializers.CharField(source="naming.name", allow_null=True, default=None)
    dataset = serializers.CharField(source="campaign.dataset.name")
    release = serializers.IntegerField(
        source="release.number",
        allow_null=True,
        default=None,
        help_text="Whose objects are revealed (cds) or whose labels are the truth; null where each "
        "run freezes its own (mad).",
    )
    selection = serializers.IntegerField(
        source="pool_selection_id",
        allow_null=True,
        default=None,
        help_text="The pool's selection that a competition was made from (mad).",
    )
    settings = serializers.DictField()
    pinned = serializers.BooleanField(source="is_pinned", read_only=True)

    class Meta:
        model = Benchmark
        fields = (
            "name",
            "title",
            "kind",
            "campaign",
            "naming",
            "dataset",
            "release",
            "selection",
            "settings",
            "pinned",
            "every",
            "min_images",
            "created_at",
        )


class OnReleaseRequest(Body):
    campaign = serializers.CharField(max_length=80, help_text="Whose labels are the truth.")
    release = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text="By default the latest one; without any, one is frozen.",
    )


class FollowingChangeRequest(FormBody):
    """How the truth of a benchmark follows its campaign; fields that are left out stay."""

    form = FollowingFields
    is_patch = True


class FollowingRequest(FollowingChangeRequest, OnReleaseRequest):
    """A body that creates a benchmark whose truth can follow its campaign."""


class NewOnReleaseSerializer(OnReleaseRequest):
    name = serializers.CharField(max_length=80)
    title = serializers.CharField(max_length=200)


class SubmissionSerializer(serializers.ModelSerializer):
    class Meta:
        model = Submission
        fields = (
            "name",
            "position",
            "accuracy",
            "sha256",
            "attempts",
            "is_people",
            "missing_frames",
            "created_at",
        )
        extra_kwargs = {
            "missing_frames": {"help_text": "cds: frames that its file lacks; they count as wrong."}
        }


class ReleasedSubmissionSerializer(SubmissionSerializer):
    """The same serializer under the name that generated clients know from `submissions/`."""


CAMPAIGN_HELP = (
    "In place of the file, of a classification: a naming campaign of yours, whose release is sent."
)
NUMBER_HELP = "Of the release; by default the newest."


class NewSubmissionSerializer(Body):
    file = SentFile(
        help_text="mad: more.jsonl, as `mad add` writes it. cds: CSV with the columns frame, "
        "classifier and wnid. Others: CSV or COCO JSON, as `score KIND` takes it; of wsol a zip of "
        "<image>.npy; of a classification also the zip of a naming release.",
        required=False,
    )
    campaign = serializers.CharField(max_length=80, required=False, help_text=CAMPAIGN_HELP)
    number = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text=NUMBER_HELP
    )
    name = serializers.CharField(
        max_length=100,
        required=False,
        help_text="Of the classifier; not of mad and cds, whose files name their classifiers.",
    )


class SubmissionUpload(Body):
    file = SentFile(
        help_text="CSV or COCO JSON, as `score KIND` takes it; of wsol a zip of <image>.npy, with "
        "predictions.csv (id,class) for top-1 localization; of a classification also the zip of a "
        "naming release.",
        required=False,
    )
    campaign = serializers.CharField(max_length=80, required=False, help_text=CAMPAIGN_HELP)
    number = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text=NUMBER_HELP
    )
    annotator = serializers.CharField(
        max_length=80,
        required=False,
        help_text="Pseudonym in the release's votes.jsonl: this person's answers alone.",
    )
    baseline = serializers.BooleanField(
        default=False, help_text="wsol: submit the center-Gaussian baseline, without a file."
    )


class SelectionUpload(Body):
    selection = SentFile(help_text="selection.jsonl, as `mad select` writes it.")


class PredictionsUpload(Body):
    predictions = SentFile(
        help_text="CSV with the columns frame, classifier and wnid; others are passed over."
    )


class TruthVersionSerializer(serializers.ModelSerializer):
    """A version of a benchmark's truth. The context has its row as truth_versions.rows states it,
    by number.
    """

    version = serializers.IntegerField(source="number")
    release = serializers.IntegerField(source="release.number")
    reviews = serializers.SerializerMethodField()
    report = serializers.SerializerMethodField()

    class Meta:
        model = TruthVersion
        fields = tuple(f.name for f in dataclasses.fields(TruthVersionRow) if f.name != "unknown")

    def get_reviews(self, version: TruthVersion) -> list[str]:
        return self._row(version).reviews

    def get_report(self, version: TruthVersion) -> dict[str, list[str]]:
        return self._row(version).report.to_json()

    def _row(self, version: TruthVersion) -> TruthVersionRow:
        row: TruthVersionRow = self.context["rows"][version.number]
        return row


class JoinedSerializer(serializers.Serializer):
    joined = serializers.ListField(child=serializers.CharField())
    missing_frames = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="cds: for each classifier that lacks frames, how many; they count as wrong.",
    )


class RunSerializer(serializers.ModelSerializer):
    release = serializers.IntegerField(source="release.number", allow_null=True, default=None)

    class Meta:
        model = Run
        fields = ("id", "state", "release", "error", "created_at", "finished_at")


class RunResultSerializer(RunSerializer):
    result = AnyField(
        help_text=(
            "The ranking, as `mad rank --json` gives it, what `score cds --json` gives but its "
            "sequences, or for each classifier what `score KIND --json` gives; null until done."
        )
    )

    class Meta(RunSerializer.Meta):
        fields = (*RunSerializer.Meta.fields, "result")  # type: ignore[assignment]


NEW, PLAN, PLANNED = NewOnReleaseSerializer, OnReleaseRequest, serializers.DictField
NEW_WORDS = "A benchmark on the labels of a campaign's release."
PLAN_WORDS = "What a benchmark would have."


def create_arguments(user: User, body: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the kind's `plan` and `create` from a validated body."""
    campaign = campaign_for(user, body.pop("campaign"), RESEARCHER)
    if campaign.archived_at:
        raise Conflict(
            "The campaign is archived. Take it out of the archive first.", field="campaign"
        )
    if "release" in body:
        body["release"] = release_for(campaign, body["release"])
    return body | {"campaign": campaign}
