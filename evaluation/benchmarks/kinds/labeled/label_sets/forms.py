"""Forms of label sets: open a review, apply a review."""

from typing import Any

from django import forms

from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.models import Benchmark
from labeling.campaigns.access import RESEARCHER, campaigns_for
from labeling.kinds import policies
from labeling.models import Campaign, User
from labeling.web.forms.kept import KeepsFiles, KeptFileInput


class OpenReviewForm(forms.Form):
    """Whose mistakes are reviewed, and the new campaign."""

    title = forms.CharField(max_length=200, help_text="Of the campaign; people see it.")
    name = forms.SlugField(
        max_length=80, help_text="Its part of the address: lower-case letters, digits and hyphens."
    )
    models = forms.MultipleChoiceField(
        label="Whose mistakes",
        widget=forms.CheckboxSelectMultiple,
        help_text="Every image on which one of them says another class than the label sets.",
    )
    agreements = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=reviews.SHARE,
        label="Share of the other images",
        help_text="Drawn by hash. Without any, nothing is learned of labels on which all agree.",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**32 - 1, initial=0, help_text="Of the images that are drawn."
    )
    votes = forms.IntegerField(
        min_value=1,
        max_value=int(policies.DEFAULTS["max_votes"]),
        initial=policies.DEFAULTS["votes"],
        label="People who judge each pair",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = list(benchmark.submissions.values_list("name", flat=True))
        models: Any = self.fields["models"]
        models.choices, models.initial = [(name, name) for name in names], names


class ApplyReviewForm(KeepsFiles):
    """The campaign whose answers become label sets."""

    campaign = forms.ModelChoiceField(
        Campaign.objects.none(),
        to_field_name="name",
        empty_label="Choose …",
        help_text="Of the kind mistake.",
    )
    release = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Its number. Leave it empty to freeze what is settled now.",
    )
    queue = forms.FileField(
        required=False,
        label="Queue",
        help_text=(
            "queue.jsonl, as mistakes queue wrote it, if the campaign was opened by command. A "
            "review that was opened here knows its own."
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
