"""Forms of pools and their selections."""

from typing import Any

from django import forms

from evaluation.benchmarks.kinds.mad.forms import CompetitionForm
from evaluation.metrics.wordnet.distances import DISTANCES
from evaluation.models import Benchmark, ModelRun, Pool, PoolSelection
from evaluation.pools import choosing, model_runs, registering
from evaluation.readers.selections import MAX_TOP_K
from evaluation.selection.selecting import DEFAULTS, SETTINGS
from labeling.models import User
from labeling.web.forms.common import LIST, ListsForm, WordedForm
from labeling.web.forms.kept import KeepsFiles, KeptFileInput

PLAIN = forms.TextInput(attrs={"autocomplete": "off"})
IMAGENET = ("0.485,0.456,0.406", "0.229,0.224,0.225")


class PoolForm(WordedForm):
    """The registered models that predict for a pool."""

    models = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["models"].choices = [  # type: ignore[attr-defined]
            (model.name, f"{model.name} ({len(model.classes):,} classes)")
            for model in registering.usable()
        ]


class ModelForm(KeepsFiles, WordedForm):
    """An ONNX file, its classes, and how its input images are prepared."""

    most_kept = registering.MAX_BYTES

    name = forms.CharField(
        max_length=100, help_text="A word: letters, digits, -, _ and dots.", widget=PLAIN
    )
    file = forms.FileField(
        label="ONNX file",
        help_text=f"One file of at most {registering.MAX_BYTES // 1024**2} MiB, without external "
        "data. It takes images as (images, 3, height, width) and gives a number for each class.",
        widget=KeptFileInput(attrs={"accept": ".onnx", "data-key": "u"}),
    )
    classes = forms.CharField(
        help_text="One wnid or WordNet noun per line, in the order of the outputs. Or ilsvrc: the "
        "1000 classes of ILSVRC 2012.",
        widget=forms.Textarea(attrs=LIST),
    )
    size = forms.CharField(
        required=False,
        label="Input size",
        help_text="Pixels, such as 224 or 240x320. Default: the size in the file, else 224.",
        widget=PLAIN,
    )
    mean = forms.CharField(
        required=False,
        help_text=f"R,G,B in [0, 1]. Default: 0,0,0. ImageNet: {IMAGENET[0]}.",
        widget=PLAIN,
    )
    std = forms.CharField(
        required=False,
        label="Standard deviation",
        help_text=f"R,G,B in [0, 1]. Default: 1,1,1. ImageNet: {IMAGENET[1]}.",
        widget=PLAIN,
    )
    fit = forms.ChoiceField(
        required=False,
        choices=[
            ("crop", "crop: the middle of the photograph"),
            ("squash", "squash: the whole photograph, stretched"),
            ("pad", "pad: the whole photograph, its proportions kept"),
        ],
        help_text="Frames and score maps are never cropped.",
    )


class PredictionsForm(WordedForm):
    """A zip of predictions made elsewhere; administrators may name a bucket."""

    file = forms.FileField(
        label="Predictions",
        error_messages={"required": "Predictions are missing. Choose a zip."},
        help_text="A zip with classes.txt, images.txt and, for each classifier, NAME.labels.npy "
        "and NAME.confidences.npy.",
        widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
    )
    address = forms.CharField(
        required=False,
        max_length=1000,
        label="Or from a bucket",
        help_text="s3://BUCKET/PREFIX/pool.jsonl, for administrators.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if user.is_staff:
            self.fields["file"].required = not self.data.get("address")
        else:
            del self.fields["address"]


def _label(setting: str) -> str:
    return SETTINGS[setting][0].upper() + SETTINGS[setting][1:]


def _number(setting: str, least: int) -> forms.IntegerField:
    return forms.IntegerField(
        min_value=least, max_value=MAX_TOP_K, initial=DEFAULTS[setting], label=_label(setting)
    )


class SelectionForm(ListsForm):
    """The settings of `mad select`."""

    classifiers = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Default: all classifiers of the pool.",
    )
    top_k = _number("top_k", 1)
    min_confidence = forms.FloatField(
        min_value=0,
        max_value=1,
        initial=DEFAULTS["min_confidence"],
        label=_label("min_confidence"),
    )
    max_per_label = _number("max_per_label", 1)
    reserve = _number("reserve", 0)
    unique_pairs = forms.BooleanField(required=False, label=_label("unique_pairs"))
    distance = forms.ChoiceField(
        choices=[(name, name) for name in DISTANCES],
        initial=DEFAULTS["distance"],
        help_text="Between two labels. zero-one takes any class names; the others need WordNet.",
    )
    distances = forms.FileField(
        required=False,
        label="Custom distances",
        help_text=(
            "Replaces the distance above. A CSV: a tree with columns child and parent, or a square "
            "matrix with the classes in its first row and column."
        ),
        widget=KeptFileInput(attrs={"accept": ".csv,text/csv"}),
    )

    def __init__(self, *args: Any, pool: Pool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["classifiers"].choices = [(name, name) for name in pool.names]  # type: ignore[attr-defined]


class SelectedCompetitionForm(CompetitionForm):
    """A new competition on a selection that the site made."""

    selection = None  # type: ignore[assignment]
    dataset = None  # type: ignore[assignment]
    groups = {**CompetitionForm.groups, "main": ("title", "name", "instructions")}
    fault_field = "name"

    def __init__(self, *args: Any, row: PoolSelection, **kwargs: Any) -> None:
        self.row = row
        dataset = row.pool.dataset.name
        query = {"title": f"MAD on {dataset}", "name": f"{dataset[:60]}-mad-{row.pk}"}
        super().__init__(*args, query=query, **kwargs)

    def source(self) -> dict[str, object]:
        return choosing.competition_arguments(self.row)


def pool_words(pool: Pool) -> str:
    """Return the source of the predictions. Uploaded pools have one class per image."""
    words = f"from pool {pool.pk} of {pool.created_at:%Y-%m-%d}"
    return words if pool.job_id else f"{words}, top 1 only"


class ModelRunForm(WordedForm):
    """A model to run for a benchmark, or the pool whose predictions are submitted."""

    source = forms.ChoiceField(label="Model")
    method = forms.ChoiceField(
        label="Method",
        help_text="Of score maps. TorchScript files support only vanilla (gradients).",
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.benchmark = benchmark
        use = model_runs.use_of(benchmark)
        models = list(registering.usable())
        self.faults = {model.name: fault for model in models if (fault := use.fault(model.spec))}
        choices = [
            (f":{model.name}", f"{model.name}: run it now")
            for model in models
            if model.name not in self.faults
        ]
        choices += [
            (f"{pool.pk}:{name}", f"{name}: {pool_words(pool)}")
            for pool, name in model_runs.pools_of(benchmark)
        ]
        self.fields["source"].choices = choices  # type: ignore[attr-defined]
        self.fields["method"].choices = [(name, name) for name in use.methods]  # type: ignore[attr-defined]
        if not use.methods:
            del self.fields["method"]

    def request(self, actor: User) -> ModelRun:
        """Request what was chosen. Raises Refusal."""
        pool, _, name = self.cleaned_data["source"].partition(":")
        method = self.cleaned_data.get("method", "")
        number = int(pool) if pool else None
        return model_runs.request(self.benchmark, actor, name, pool=number, method=method)
