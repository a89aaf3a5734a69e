"""Forms of label sets: open a review, apply a review."""

from typing import Any

from django import forms

from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.models import Benchmark
from labeling.campaigns.access import RESEARCHER, campaigns_for
from labeling.kinds import policies
from labeling.models import Campaign, User
from labeling.web.forms.common import CampaignField
from labeling.web.forms.kept import KeepsFiles, KeptFileInput


class OpenReviewForm(forms.Form):
    """The submissions to review, and the new campaign."""

    title = forms.CharField(max_length=200, help_text="Title of the campaign, shown to annotators.")
    name = forms.SlugField(
        max_length=80, help_text="Used in the address: lower-case letters, digits and hyphens."
    )
    models = forms.MultipleChoiceField(
        label="Submissions to review",
        widget=forms.CheckboxSelectMultiple,
        help_text="All images on which one of them contradicts the label sets are reviewed.",
    )
    agreements = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=reviews.SHARE,
        label="Share of the other images",
        help_text="Drawn by hash. With 0, labels on which all agree are not checked.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**32 - 1, initial=0, help_text="For drawing the other images."
    )
    votes = forms.IntegerField(
        min_value=1,
        max_value=int(policies.DEFAULTS["max_votes"]),
        initial=policies.DEFAULTS["votes"],
        label="Answers for each pair of image and class",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = list(benchmark.submissions.values_list("name", flat=True))
        models: Any = self.fields["models"]
        models.choices, models.initial = [(name, name) for name in names], names


class AskAgainForm(forms.Form):
    """How many of the most doubtful labels to ask about again, and how many people."""

    count = forms.IntegerField(
        label="Labels from the top", min_value=1, max_value=5_000, initial=50
    )
    people = forms.IntegerField(label="More people for each", min_value=1, max_value=25, initial=2)


class ApplyReviewForm(KeepsFiles):
    """The campaign whose answers become label sets."""

    campaign = CampaignField(
        Campaign.objects.none(),
        to_field_name="name",
        empty_label="Choose …",
        help_text="A label review of this benchmark.",
    )
    release = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Release number. Leave empty to freeze the settled answers now.",
    )
    queue = forms.FileField(
        required=False,
        label="Queue",
        help_text=(
            "queue.jsonl from “mistakes queue”; only needed if the campaign was opened by command."
        ),
        widget=KeptFileInput(attrs={"accept": ".jsonl"}),
    )

    def __init__(self, *args: Any, user: User, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, user=user, **kwargs)
        self.fields["campaign"].queryset = (  # type: ignore[attr-defined]
            campaigns_for(user, RESEARCHER)
            .filter(kind=reviews.KIND, dataset=benchmark.campaign.dataset_id)
            .order_by("title", "pk")
        )
