"""Forms of MAD competitions."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from evaluation.benchmarks.forms import NamedForm, SubmissionForm, check_size
from evaluation.benchmarks.kinds.mad import competitions
from evaluation.models import Benchmark
from evaluation.readers import selections
from evaluation.readers.answers import parse_accuracies
from labeling.files import BadInput
from labeling.kinds import policies
from labeling.models import Dataset
from labeling.web.forms.common import LIST, WordedForm
from labeling.web.forms.kept import KeepsFiles, KeptFileInput

POLICY = ("votes", "seconds_per_answer", "cost_per_hour", "currency")
MAX_ACCURACIES = 1024 * 1024
# All of WordNet's nouns are 0.8 MB of wnids; a vocabulary is far shorter.
MAX_VOCABULARY = 512 * 1024
LABELS = {
    "votes": "Votes per question",
    "seconds_per_answer": "Seconds per answer",
    "cost_per_hour": "Pay per hour",
    "currency": "Currency",
}


class CompetitionForm(NamedForm):
    """A new competition: its selection, images and instructions."""

    title = forms.CharField(max_length=200, help_text="Shown to people above every question.")
    dataset = forms.ModelChoiceField(
        Dataset.objects.none(),
        to_field_name="name",
        help_text="Where the chosen images are. Images in reserve may be added later.",
    )
    selection = forms.FileField(
        help_text="selection.jsonl, as manage.py mad select wrote it.",
        widget=KeptFileInput(attrs={"accept": ".jsonl,.json,application/jsonl"}),
    )
    instructions = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Shown next to each image. Markdown. They can be changed later.",
    )
    vocabulary = forms.FileField(
        required=False,
        label="Classes",
        help_text=(
            "classes.txt, one class per line: the choices for true labels. By default the classes "
            "of the selection."
        ),
        widget=KeptFileInput(attrs={"accept": ".txt,text/plain"}),
    )
    smoothing = forms.ChoiceField(
        choices=[("laplace", "Laplace: (correct + 1) / (images + 2)"), ("none", "none")],
        initial="laplace",
    )
    bootstrap = forms.IntegerField(
        min_value=0, max_value=100_000, initial=2000, label="Bootstrap rounds"
    )
    seed = forms.IntegerField(min_value=0, max_value=2**32 - 1, initial=0)

    # Filled in by New campaign for a selection.
    from_address = ("title", "name", "dataset")
    fault_field = "selection"
    groups = {
        "main": ("title", "name", "dataset", "selection", "instructions"),
        "cost": POLICY,
        "conventions": ("vocabulary", "smoothing", "bootstrap", "seed"),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "dataset" in self.fields:
            mine = Dataset.objects.visible_to(self.user).order_by("name")
            self.fields["dataset"].queryset = mine  # type: ignore[attr-defined]
        for key in POLICY:
            self.fields[key] = _policy_field(key)
        self.order_fields([name for names in self.groups.values() for name in names])

    def clean_vocabulary(self) -> list[str]:
        upload: UploadedFile | None = self.cleaned_data["vocabulary"]
        lines = _read_text(upload, MAX_VOCABULARY).splitlines() if upload else []
        return [name for line in lines if (name := line.strip())]

    def create_arguments(self) -> dict[str, object]:
        """Return the arguments of competitions.create. Raises BadInput for an invalid selection."""
        data = self.cleaned_data
        return {
            **self.source(),
            "policy": {key: data[key] for key in POLICY},
            "settings": {key: data[key] for key in competitions.DEFAULTS},
            **{key: data[key] for key in ("name", "title", "instructions", "vocabulary")},
        }

    def source(self) -> dict[str, object]:
        """Return the dataset, the lines of the selection, and WordNet where they need it."""
        net, name = selections.wordnet_for(self.path("selection")), self.cleaned_data["selection"]
        lines = selections.read(self.path("selection"), net, name.name)
        return {"dataset": self.cleaned_data["dataset"], "lines": lines, "wordnet": net}


class FailureTagsForm(WordedForm):
    """The failure tags to choose from."""

    vocabulary = forms.CharField(
        label="Tags",
        max_length=4000,
        help_text="One a line. A tag that is on an image cannot be removed.",
        widget=forms.Textarea(attrs=LIST),
    )


def _policy_field(key: str) -> forms.Field:
    if key == "currency":
        return forms.CharField(
            max_length=3, min_length=3, initial=policies.DEFAULTS["currency"], label=LABELS[key]
        )
    rule = policies.RULES[key]
    assert isinstance(rule, policies.PolicyRule), f"{key} is not a number"
    common: dict[str, Any] = {
        "min_value": rule.low,
        "max_value": rule.high,
        "initial": rule.default,
        "label": LABELS[key],
        "help_text": rule.help,
    }
    return forms.IntegerField(**common) if rule.whole else forms.FloatField(**common)


class JoinForm(SubmissionForm):
    """A classifier to add."""

    file = None  # type: ignore[assignment]
    file_field = "selection"
    selection = forms.FileField(
        label="Selection",
        help_text=(
            "more.jsonl, as manage.py mad add --into selection.jsonl wrote it: the new pairs only."
        ),
        widget=KeptFileInput(attrs={"accept": ".jsonl,.json,application/jsonl"}),
    )


class AccuracyForm(KeepsFiles):
    """Published accuracies to compare the ranks with, typed or from a file."""

    file = forms.FileField(
        required=False,
        label="From a file",
        help_text="CSV with the columns classifier and accuracy. It overrides typed values.",
        widget=KeptFileInput(attrs={"accept": ".csv,text/csv"}),
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names = {}
        for row in benchmark.submissions.all():
            # By position, because a classifier's name may be invalid as a field name.
            key = f"accuracy_{row.position}"
            self.names[key] = row.name
            self.fields[key] = forms.FloatField(
                required=False,
                min_value=0,
                max_value=100,
                label=row.name,
                initial=row.accuracy,
                widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
            )

    def clean_file(self) -> dict[str, float]:
        upload: UploadedFile | None = self.cleaned_data["file"]
        if upload is None:
            return {}
        try:
            return parse_accuracies(_read_text(upload, MAX_ACCURACIES), upload.name or "the file")
        except BadInput as error:
            raise forms.ValidationError(str(error)) from error

    def accuracies(self) -> dict[str, float | None]:
        typed = {name: self.cleaned_data.get(key) for key, name in self.names.items()}
        return typed | self.cleaned_data["file"]

    def number_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in self.names]


def _read_text(upload: UploadedFile, most: int) -> str:
    """Return the text of a file of at most `most` bytes. Raises ValidationError."""
    check_size(upload, most)
    try:
        return upload.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise forms.ValidationError("The file is not UTF-8. Save it as UTF-8.") from None
