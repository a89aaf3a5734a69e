"""Serializers of campaigns, policies and decisions."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from labeling.campaigns.lifecycle import AskingCost
from labeling.kinds import KINDS
from labeling.kinds.policies import DEFAULTS
from labeling.models import Campaign, Decision, Policy
from labeling.quality.monitoring import Stopped
from labeling.reports.forecasts import CostEstimate
from labeling.reports.progress import CampaignProgress
from labeling.web.api.base import Body
from labeling.web.forms.campaigns import CampaignForm
from labeling.web.serializers.common import NAME_HELP, AnyField
from labeling.web.serializers.derived import FormBody, RowSerializer, rows_of


class CampaignSerializer(serializers.ModelSerializer):
    """For annotators, the policy, the dataset, audits and the creation date are null."""

    dataset = serializers.CharField(source="dataset.name", allow_null=True, read_only=True)
    policy = serializers.SerializerMethodField()
    policy_version = serializers.IntegerField(
        source="policy.version", allow_null=True, read_only=True
    )
    settings = AnyField(read_only=True)
    choices = serializers.SerializerMethodField()

    # Annotators get null: they must not know the dataset, nor the share of gold in the policy.
    HIDDEN = ("dataset", "policy", "policy_version", "nightly_audit", "created_at")

    class Meta:
        model = Campaign
        fields = (
            "name",
            "title",
            "kind",
            "state",
            "instructions",
            "settings",
            "choices",
            "dataset",
            "policy",
            "policy_version",
            "nightly_audit",
            "deadline",
            "created_at",
            "opened_at",
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


class NewCampaignSerializer(FormBody):
    form, only = CampaignForm, ("title", "instructions")
    name = serializers.CharField(max_length=80)
    kind = serializers.ChoiceField([])
    dataset = serializers.CharField(max_length=80)
    settings = serializers.DictField(required=False)
    policy = serializers.DictField(required=False, help_text=POLICY_HELP)

    def get_fields(self) -> dict[str, serializers.Field]:
        fields = super().get_fields()
        fields["kind"].choices = sorted(KINDS)  # type: ignore[attr-defined]
        return fields


class ChangedCampaignSerializer(FormBody):
    form, only, is_patch = CampaignForm, ("title", "instructions"), True
    settings = serializers.DictField(required=False)
    nightly_audit = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=1_000,
        help_text="Newly settled questions to audit each night; 0 for none.",
    )
    deadline = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="No new questions after this time. null for no deadline.",
    )


class CostSerializer(RowSerializer):
    row: ClassVar[type] = AskingCost
    without: ClassVar[tuple[str, ...]] = ("gold", "currency")


EstimateSerializer = rows_of(CostEstimate, "Estimate", "gold")


class PairField(serializers.ListField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_length=2, max_length=2, **kwargs)


class ProgressSerializer(RowSerializer):
    row = CampaignProgress
    questions_range = PairField(child=serializers.IntegerField())
    answers_left_range = PairField(child=serializers.IntegerField())
    cost_left_range = PairField(child=serializers.FloatField())


class PolicySerializer(serializers.ModelSerializer):
    content = serializers.DictField()

    class Meta:
        model = Policy
        fields = ("version", "content", "created_at")


class DecisionSerializer(serializers.ModelSerializer):
    """A decision. context: `names`, the VisibleNames of the campaign."""

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
        default=False,
        help_text="Required if the rules would pause or block all current annotators.",
    )


class AppliedPolicySerializer(NewPolicySerializer):
    apply = serializers.BooleanField(
        default=False, help_text="Also apply the policy to open questions without answers."
    )


class StoppedSerializer(RowSerializer):
    row, without = Stopped, ("membership",)
    member = serializers.IntegerField(source="membership")
