"""What the API sends and takes. Types are checked here; what values mean, the actions check."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from labeling.kinds import KINDS
from labeling.kinds.policies import DEFAULTS
from labeling.models import (
    ApiToken,
    Campaign,
    Dataset,
    Decision,
    Example,
    Gold,
    Image,
    Invitation,
    Job,
    Membership,
    Policy,
    Question,
    Release,
    Topic,
)
from labeling.release_files.frozen import FILES
from labeling.web.api.base import Body, Key

Role = Membership.Role
NAME_HELP = "The username of researchers, reviewers and administrators, else the pseudonym."


@extend_schema_field(OpenApiTypes.ANY)
class AnyField(serializers.JSONField):
    """Any JSON value: what it may be is the question kind's affair."""


class Plain(serializers.Serializer):
    """Rows that are only sent."""


# Accounts


class HeldRoleSerializer(serializers.ModelSerializer):
    campaign = serializers.CharField(source="campaign.name")

    class Meta:
        model = Membership
        fields = ("campaign", "role", "answered", "joined_at")


class MeSerializer(Plain):
    username = serializers.CharField()
    pseudonym = serializers.CharField()
    is_researcher = serializers.BooleanField(
        help_text="Whether the account was granted the right to open campaigns."
    )
    is_staff = serializers.BooleanField(help_text="An administrator of the site.")
    may_open_campaigns = serializers.BooleanField(
        help_text="By that right or as an administrator. The role in each campaign is below."
    )
    memberships = HeldRoleSerializer(many=True)


class TokenSerializer(serializers.ModelSerializer):
    key = serializers.CharField(source="token_key", help_text="Names the token; no secret.")
    expires_at = serializers.DateTimeField(source="expiry")
    created_at = serializers.DateTimeField(source="created")

    class Meta:
        model = ApiToken
        fields = ("key", "name", "scope", "created_at", "expires_at")


class NewTokenSerializer(Body):
    name = serializers.CharField(max_length=100, allow_blank=True, default="")
    scope = serializers.ChoiceField(ApiToken.Scope.choices, default=ApiToken.Scope.READ)
    days = serializers.IntegerField(default=90, min_value=1, max_value=365)


class TokenSecretSerializer(TokenSerializer):
    secret = serializers.CharField(help_text="Shown this once.")

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "secret")  # type: ignore[assignment]


# Datasets


class DatasetSerializer(serializers.ModelSerializer):
    owner = serializers.CharField(source="owner.username")

    class Meta:
        model = Dataset
        fields = ("name", "description", "owner", "created_at")


class NewDatasetSerializer(Body):
    name = serializers.CharField(max_length=80)
    description = serializers.CharField(allow_blank=True, default="", max_length=10_000)


class ImageSerializer(serializers.ModelSerializer):
    class Meta:
        model = Image
        fields = (
            *("id", "name", "sha256", "media_type", "bytes", "width", "height", "licence"),
            *("source", "added_at"),
        )


class NewImagesSerializer(Body):
    """Files (each named by `names`, or by its own file name), a zip, or a path on the server."""

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
    licence = serializers.CharField(allow_blank=True, default="", max_length=200)
    source = serializers.CharField(allow_blank=True, default="", max_length=500)  # type: ignore[assignment]

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


class ReportSerializer(Plain):
    added = serializers.IntegerField()
    duplicates = DuplicateSerializer(many=True)
    refused = RefusedFileSerializer(many=True)


# Campaigns


class CampaignSerializer(serializers.ModelSerializer):
    """Annotators get null for what says how they are checked or where images come from."""

    dataset = serializers.CharField(source="dataset.name", allow_null=True, read_only=True)
    policy = serializers.SerializerMethodField()
    policy_version = serializers.IntegerField(
        source="policy.version", allow_null=True, read_only=True
    )
    settings = AnyField(read_only=True)
    choices = serializers.SerializerMethodField()

    # Not for annotators: the share of gold, the name of the dataset.
    HIDDEN = ("dataset", "policy", "policy_version", "created_at")

    class Meta:
        model = Campaign
        fields = (
            *("name", "title", "kind", "state", "instructions", "settings", "choices"),
            *("dataset", "policy", "policy_version", "created_at", "opened_at"),
            *("closed_at",),
        )

    @extend_schema_field({"type": "object", "nullable": True, "additionalProperties": {}})
    def get_policy(self, campaign: Campaign) -> dict[str, Any] | None:
        return campaign.policy.content if campaign.policy else None

    @extend_schema_field({"type": "array", "items": {"type": "object"}})
    def get_choices(self, campaign: Campaign) -> list[dict[str, str]]:
        return KINDS[campaign.kind].choices(campaign.settings)

    def to_representation(self, campaign: Campaign) -> dict[str, Any]:
        row = super().to_representation(campaign)
        if campaign.pk not in self.context["reads_all_of"]:
            row |= dict.fromkeys(self.HIDDEN)
        return row


POLICY_HELP = f"Keys that differ from the defaults: {', '.join(sorted(DEFAULTS))}."


class NewCampaignSerializer(Body):
    name = serializers.CharField(max_length=80)
    title = serializers.CharField(max_length=200)
    kind = serializers.ChoiceField([])
    dataset = serializers.CharField(max_length=80)
    instructions = serializers.CharField(allow_blank=True, default="", max_length=100_000)
    settings = serializers.DictField(required=False)
    policy = serializers.DictField(required=False, help_text=POLICY_HELP)

    def get_fields(self) -> dict[str, serializers.Field]:
        fields = super().get_fields()
        fields["kind"].choices = sorted(KINDS)  # type: ignore[attr-defined]
        return fields


class ChangedCampaignSerializer(Body):
    title = serializers.CharField(max_length=200, required=False)
    instructions = serializers.CharField(allow_blank=True, required=False, max_length=100_000)
    settings = serializers.DictField(required=False)


class CostSerializer(Plain):
    questions = serializers.IntegerField()
    answers = serializers.IntegerField()
    hours = serializers.FloatField()
    cost = serializers.FloatField()


class EstimateSerializer(CostSerializer):
    """What is likely; low and high are a range where a graph decides what is asked, else equal."""

    currency = serializers.CharField()
    low = CostSerializer()
    high = CostSerializer()


class ProgressSerializer(Plain):
    questions = serializers.IntegerField()
    by_state = serializers.DictField(child=serializers.IntegerField())
    finished = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)
    answers = serializers.IntegerField()
    questions_range = serializers.ListField(
        child=serializers.IntegerField(), min_length=2, max_length=2
    )
    answers_left = serializers.IntegerField()
    answers_left_range = serializers.ListField(
        child=serializers.IntegerField(), min_length=2, max_length=2
    )
    hours = serializers.FloatField()
    cost = serializers.FloatField()
    cost_left = serializers.FloatField()
    cost_left_range = serializers.ListField(
        child=serializers.FloatField(), min_length=2, max_length=2
    )
    currency = serializers.CharField()
    minutes_left = serializers.FloatField(allow_null=True)


class PolicySerializer(serializers.ModelSerializer):
    content = serializers.DictField()

    class Meta:
        model = Policy
        fields = ("version", "content", "created_at")


class DecisionSerializer(serializers.ModelSerializer):
    """context: `names` of the campaign."""

    actor = serializers.CharField(source="actor.pseudonym", allow_null=True, default=None)
    actor_name = serializers.SerializerMethodField(help_text=NAME_HELP)
    content = AnyField()

    class Meta:
        model = Decision
        fields = ("id", "kind", "actor", "actor_name", "content", "reason", "at")

    def get_actor_name(self, row: Decision) -> str | None:
        return self.context["names"].of(row.actor) if row.actor else None


# Topics


class ExampleSerializer(serializers.ModelSerializer):
    image = serializers.CharField(source="image.name")

    class Meta:
        model = Example
        fields = ("id", "image", "answer", "caption")


class NewExampleSerializer(Body):
    image = serializers.CharField(max_length=400)
    answer = serializers.ChoiceField(["yes", "no"])
    caption = serializers.CharField(allow_blank=True, default="", max_length=200)


class TopicSerializer(serializers.ModelSerializer):
    synonyms = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Topic
        fields = ("key", "name", "synonyms", "definition", "url", "guidance")


class TopicBody(Body):
    key = serializers.CharField(max_length=64)
    name = serializers.CharField(
        max_length=200,
        required=False,
        help_text="Without it the site's glossary describes the key.",
    )
    synonyms = serializers.ListField(
        child=serializers.CharField(max_length=200), default=list, max_length=100
    )
    definition = serializers.CharField(allow_blank=True, default="", max_length=10_000)
    url = serializers.URLField(allow_blank=True, default="", max_length=400)


class NewTopicsSerializer(Body):
    topics = TopicBody(many=True, allow_empty=False, max_length=5_000)  # type: ignore[call-arg]


class ChangedTopicSerializer(Body):
    name = serializers.CharField(max_length=200, required=False)
    synonyms = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=100
    )
    definition = serializers.CharField(allow_blank=True, required=False, max_length=10_000)
    url = serializers.URLField(allow_blank=True, required=False, max_length=400)
    guidance = serializers.CharField(allow_blank=True, required=False, max_length=20_000)


# Questions and gold


class QuestionSerializer(serializers.ModelSerializer):
    image = serializers.CharField(source="item.image.name")
    value = AnyField(help_text="What stands; null unless the question is settled or dropped.")
    probability = serializers.FloatField(allow_null=True)
    votes = serializers.SerializerMethodField(
        help_text="People who could answer, of those that what stands counts."
    )
    interval = serializers.SerializerMethodField(
        help_text="95 % interval of the probability where that is a share of votes, else null."
    )

    class Meta:
        model = Question
        fields = (
            *("id", "image", "topic", "state", "seats_free", "value", "probability"),
            *("votes", "interval"),
        )

    def get_votes(self, row: Question) -> int | None:
        found = self.context.get("support", {}).get(row.pk)
        return found.votes if found else None

    def get_interval(self, row: Question) -> list[float] | None:
        found = self.context.get("support", {}).get(row.pk)
        return list(found.interval) if found and found.interval else None


class AskedSerializer(Body):
    image = serializers.CharField(max_length=400)
    topic = serializers.CharField(max_length=64)


class NewQuestionsSerializer(Body):
    questions = AskedSerializer(many=True, allow_empty=False, max_length=50_000)  # type: ignore[call-arg]


class AddedQuestionsSerializer(Plain):
    created = serializers.IntegerField()
    existing = serializers.IntegerField()


class QuestionKeysSerializer(Body):
    questions = serializers.ListField(child=Key(), allow_empty=False, max_length=10_000)


class WithdrawalSerializer(QuestionKeysSerializer):
    reason = serializers.CharField(max_length=500)


class SettlementSerializer(Plain):
    question = serializers.IntegerField(source="question_id")
    value = AnyField()
    probability = serializers.FloatField(allow_null=True)
    created_at = serializers.DateTimeField()


class CountSerializer(Plain):
    count = serializers.IntegerField()


class GoldSerializer(serializers.ModelSerializer):
    question = serializers.IntegerField(source="question_id")
    image = serializers.CharField(source="question.item.image.name")
    topic = serializers.CharField(source="question.topic")
    answer = AnyField()

    class Meta:
        model = Gold
        fields = ("question", "image", "topic", "answer", "explanation", "source", "retired_at")


class GoldBody(AskedSerializer):
    object = serializers.CharField(
        allow_blank=True, default="", max_length=80, help_text="Its name, where parts are drawn."
    )
    answer = AnyField()
    explanation = serializers.CharField(allow_blank=True, default="", max_length=10_000)
    source = serializers.CharField(allow_blank=True, default="", max_length=200)  # type: ignore[assignment]


class NewGoldSerializer(Body):
    gold = GoldBody(many=True, allow_empty=False, max_length=5_000)  # type: ignore[call-arg]


class ReasonSerializer(Body):
    reason = serializers.CharField(allow_blank=True, default="", max_length=500)


# People


class RoleSerializer(Body):
    role = serializers.ChoiceField(Role.choices)


class InvitationSerializer(serializers.ModelSerializer):
    class Meta:
        model = Invitation
        fields = (
            *("id", "role", "note", "max_uses", "uses", "created_at", "expires_at"),
            *("revoked_at",),
        )


class NewInvitationSerializer(Body):
    role = serializers.ChoiceField(Role.choices, default=Role.ANNOTATOR)
    days = serializers.IntegerField(default=7, min_value=1, max_value=90)
    max_uses = serializers.IntegerField(default=1, min_value=1, max_value=1000)
    note = serializers.CharField(allow_blank=True, default="", max_length=200)


class InvitationSecretSerializer(InvitationSerializer):
    secret = serializers.CharField(help_text="Shown this once; the link is /join/<secret>/.")

    class Meta(InvitationSerializer.Meta):
        fields = (*InvitationSerializer.Meta.fields, "secret")  # type: ignore[assignment]


class SecretSerializer(Body):
    secret = serializers.CharField(max_length=200)


# Releases and jobs


class ReleaseSerializer(serializers.ModelSerializer):
    counts = serializers.DictField()
    files = serializers.SerializerMethodField()

    class Meta:
        model = Release
        fields = ("number", "sha256", "counts", "created_at", "files")

    def get_files(self, release: Release) -> list[str]:
        return ["release.json", *FILES]


class JobSerializer(serializers.ModelSerializer):
    class Meta:
        model = Job
        fields = (
            *("id", "kind", "state", "attempts", "error", "progress_done"),
            *("progress_total", "created_at", "finished_at"),
        )
