"""Forms of benchmarks on released labels."""

from pathlib import Path
from typing import Any

from django import forms

from evaluation.benchmarks import naming_releases
from evaluation.benchmarks.forms import FollowingBenchmarkForm, NamedSubmissionForm
from evaluation.benchmarks.kinds.labeled import pages, scoremap_zips, wording
from evaluation.benchmarks.kinds.labeled.benchmarks import max_bytes
from evaluation.benchmarks.kinds.labeled.settings import DEFAULTS
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import CLASSIFICATION
from evaluation.metrics.wsol.box_scores import LARGEST_SIZE, MAX_THRESHOLDS
from evaluation.models import Benchmark
from evaluation.release_splits.parts import part_choices
from labeling.campaigns.access import RESEARCHER, campaigns_for
from labeling.models import Campaign, User
from labeling.web.forms.common import CampaignField
from labeling.web.forms.kept import KeptFileInput

WSOL = "wsol"


class TruthCampaignForm(forms.Form):
    """The campaign whose labels become the truth."""

    campaign = CampaignField(
        Campaign.objects.none(),
        to_field_name="name",
        empty_label="Choose …",
        help_text="Its latest release becomes the first ground truth.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = campaigns_for(user, RESEARCHER).order_by("title", "pk")
        self.fields["campaign"].queryset = mine  # type: ignore[attr-defined]


class LabeledForm(FollowingBenchmarkForm):
    """A new benchmark on the labels of a campaign: its kind, its split, how to score."""

    kind = forms.ChoiceField(
        choices=list(wording.KINDS.items()), error_messages={"required": "Choose a kind."}
    )
    fault_field = "kind"
    from_address = ("title", "name", "campaign", "part")
    split = forms.ChoiceField(choices=list(wording.SPLITS.items()), widget=forms.RadioSelect)
    part = forms.ChoiceField(
        required=False, help_text="A part of a split: its release and its images are the truth."
    )
    protocol = forms.ChoiceField(choices=list(wording.PROTOCOLS.items()))
    normalize = forms.ChoiceField(
        choices=list(wording.NORMALIZATIONS.items()), label="Scores of a map"
    )
    size = forms.IntegerField(
        min_value=1,
        max_value=LARGEST_SIZE,
        help_text="Side of the maps under the reference protocol.",
    )
    thresholds = forms.IntegerField(
        min_value=1, max_value=MAX_THRESHOLDS, help_text="At 0, 1/n, 2/n, …"
    )
    inclusive = forms.BooleanField(
        required=False, label="x1 and y1 are the last pixel of a box, not one past it"
    )
    strict = forms.BooleanField(
        required=False, label="IoU must be above 0.5; the published kit accepts 0.5 itself"
    )
    confidence = forms.FloatField(
        min_value=0.5,
        max_value=0.9999,
        label="Confidence level",
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    seed = forms.IntegerField(min_value=0, max_value=2**32 - 1, help_text="For the intervals.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        query = kwargs["query"]
        campaign_data = (
            {"campaign": self.data.get("campaign", "")} if self.is_bound else query or None
        )
        self.choosing = TruthCampaignForm(campaign_data, user=self.user)
        self.chosen_campaign = _campaign(self.choosing)
        self.initial.setdefault("campaign", self.chosen_campaign)
        self.fields["campaign"].widget = forms.HiddenInput()
        self.fields["part"].choices = part_choices(self.chosen_campaign)  # type: ignore[attr-defined]
        kind = self.data.get("kind", "")
        for settings in DEFAULTS.values():
            for name, usual in settings.items():
                self.fields[name].initial = usual
        for name in self.fields.keys() & {
            key for defaults in DEFAULTS.values() for key in defaults
        }:
            # Settings of other kinds are hidden, and may be missing.
            if kind in DEFAULTS and name not in DEFAULTS[kind]:
                self.fields[name].required = False

    def create_arguments(self) -> dict[str, Any]:
        """Return the arguments of `create`, with only the settings of the chosen kind."""
        defaults = DEFAULTS[self.cleaned_data["kind"]]
        names = ("kind", "name", "title", "campaign", *defaults)
        return {name: self.cleaned_data[name] for name in names} | self.following()

    def context(self) -> dict[str, object]:
        campaign = self.chosen_campaign
        kinds = pages.choices(campaign) if campaign is not None else []
        possible = [choice.kind for choice in kinds if not choice.fault]
        chosen_kind = self["kind"].value()
        return {
            "choosing": self.choosing,
            "campaign": campaign,
            "kinds": kinds,
            "is_possible": bool(possible),
            "has_release": any(choice.release for choice in kinds),
            "shown_kind": chosen_kind if chosen_kind in possible else next(iter(possible), ""),
        }

    def main_fields(self) -> list[forms.BoundField]:
        has_parts = len(self.fields["part"].choices) > 1  # type: ignore[attr-defined]
        return [self[name] for name in ("title", "name", "split", *["part"] * has_parts)]

    def map_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("protocol", "normalize", "size", "thresholds")]

    def other_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("confidence", "seed")]

    def has_scoring_faults(self) -> bool:
        """Return whether the collapsed part has errors to show."""
        names = {key for defaults in DEFAULTS.values() for key in defaults} - {"split", "part"}
        return any(self[name].errors for name in names)


def _campaign(form: TruthCampaignForm) -> Campaign | None:
    """Return the campaign in the query, or the only one that can be chosen."""
    if form.is_bound:
        return form.cleaned_data["campaign"] if form.is_valid() else None
    mine = list(form.fields["campaign"].queryset[:2])  # type: ignore[attr-defined]
    if len(mine) != 1:
        return None
    form.initial["campaign"] = mine[0]
    return mine[0]


class LabeledPredictionsForm(NamedSubmissionForm):
    """The predictions of one classifier for every image."""

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, benchmark=benchmark, **kwargs)
        self.most_kept = max_bytes(benchmark.kind)
        is_wsol = benchmark.kind == WSOL
        accept = ".zip,application/zip" if is_wsol else ".csv,.json,text/csv,application/json"
        field = self.fields["file"]
        field.label = "Score maps" if is_wsol else "Predictions"
        if is_wsol:
            field.required = False
            field.help_text = (
                "A zip with one .npy per image. Add predictions.csv (id,class rows of a "
                "classifier) to score top-1 localization too."
            )
            self.fields["baseline"] = forms.BooleanField(
                required=False, label="Submit the center-Gaussian baseline, without a file"
            )
        if benchmark.kind == CLASSIFICATION:
            accept += ",.zip,application/zip"
            field.required = False
            self.fields["release"] = naming_releases.release_field(self.user)
            self.fields["annotator"] = forms.CharField(
                max_length=80,
                required=False,
                help_text="Scores the answers of one person in the release. Copy the pseudonym "
                "from its votes.jsonl. Empty: the merged labels.",
            )
            self.order_fields(("name", "file", "release", "annotator"))
        field.widget = KeptFileInput(attrs={"accept": accept, "data-key": "u"})

    def clean(self) -> None:
        super().clean()
        if self.has_error("file"):
            return
        sources = [self.cleaned_data.get(name) for name in ("file", "baseline", "release")]
        if sum(map(bool, sources)) != 1:
            is_wsol = "baseline" in self.fields
            choice = "the baseline" if is_wsol else "a release of what people named"
            self.add_error("file", f"Choose a file, or {choice}.")
        if self.cleaned_data.get("annotator") and not self.cleaned_data.get("release"):
            self.add_error("annotator", "Choose the release that this pseudonym is from.")

    def sent(self) -> tuple[Path, str]:
        if self.cleaned_data.get("baseline"):
            return scoremap_zips.BASELINE_FOLDER, "the baseline"
        release = self.cleaned_data.get("release")
        if release is None:
            return super().sent()
        return naming_releases.sent(release, self.cleaned_data["annotator"])
