"""Campaigns, policies and decisions, as the API has them."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from labeling.kinds import KINDS
from labeling.kinds.policies import DEFAULTS
from labeling.models import (
    Campaign,
    Decision,
    Policy,
)
from labeling.web.api.base import Body
from labeling.web.serializers.common import NAME_HELP, AnyField, Plain


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
            "closed_at",
        )

    @extend_schema_field({"type": "object", "nullable": True, "additionalProperties": {}})
    def get_policy(self, campaign: Campaign) -> dict[str, object] | None:
        return campaign.policy.content if campaign.policy else None

    @extend_schema_field({"type": "array", "items": {"type": "object"}})
    def get_choices(self, campaign: Campaign) -> list[dict[str, str]]:
        return KINDS[campaign.kind].choices(campaign.settings)

    def to_representation(self, campaign: Campaign) -> dict[str, object]:
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


class NewPolicySerializer(Body):
    content = serializers.DictField(help_text=POLICY_HELP)
    confirmed = serializers.BooleanField(
        default=False, help_text="Needed for rules that would stop everybody who is at work."
    )


class AppliedPolicySerializer(NewPolicySerializer):
    apply = serializers.BooleanField(
        default=False, help_text="Apply it to open questions without answers, too."
    )


class StoppedSerializer(Plain):
    member = serializers.IntegerField(source="membership")
    pseudonym = serializers.CharField()
    action = serializers.CharField()
    reason = serializers.CharField()
