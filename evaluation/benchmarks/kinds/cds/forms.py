"""Forms of CDS benchmarks."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from evaluation.benchmarks.forms import FollowingBenchmarkForm, SubmissionForm, check_size
from evaluation.benchmarks.kinds.cds.choosing import MAX_BOOTSTRAP, CdsChoice, parts_asked
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import RANDOM
from evaluation.metrics.wordnet.nouns import WordNetMissing, load
from evaluation.metrics.wordnet.similarity import BY, CONVENTIONS
from evaluation.readers.mappings import read_mapping
from evaluation.scoring.cds import wording
from evaluation.scoring.cds.scoring import MEASURES
from evaluation.sequences.part_orders import Orders, read_orders
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.jobs import kept_files
from labeling.kinds import KINDS
from labeling.kinds.base import OBJECTS
from labeling.web.forms.kept import KeptFileInput

MEASURED = {
    "wup": "Wu–Palmer (wup)",
    "path": "shortest path (path)",
    "lin": "Lin (lin)",
    "vector": "glosses (vector)",
    "vector_pairs": "glosses of neighbours too (vector_pairs)",
}
WAYS = {"clean": "clean: Assay’s", "wnsim": "wnsim: WordNet::Similarity, as in the paper"}
NAMED_BY = {"wnid": "by wnid: exact", "word": "by word and its first noun sense, as in the paper"}
# Enough for all of WordNet's nouns in each of twenty categories.
MAX_FILE = 16 * 1024 * 1024


class CDSForm(FollowingBenchmarkForm):
    """A new benchmark on the objects of a parts campaign."""

    random = forms.BooleanField(
        required=False, initial=True, label="Random order of the parts (by the seed)"
    )
    orders = forms.FileField(
        required=False,
        label="Other orders",
        help_text=(
            "orders.json, as manage.py sequences writes it from eye fixations. All its orders are "
            "used."
        ),
        widget=KeptFileInput(attrs={"accept": ".json,application/json"}),
    )
    content_schemes = forms.MultipleChoiceField(
        choices=wording.content_choices(),
        initial=CONTENT_SCHEMES,
        label="Frame content outside the parts",
        widget=forms.CheckboxSelectMultiple,
    )
    include_empty = forms.BooleanField(
        required=False,
        label="Start with a frame without parts",
        help_text="As in the authors’ program, but not in their text.",
    )
    mapping = forms.FileField(
        required=False,
        label="Right classes",
        help_text=(
            "mapping.csv with the columns category and wnid: which classes are right for each of "
            "the campaign’s categories (wnids). With it come B-CDS, errors and CL-ratios."
        ),
        widget=KeptFileInput(attrs={"accept": ".csv,text/csv"}),
    )
    measure = forms.ChoiceField(
        choices=[(key, MEASURED[key]) for key in MEASURES], label="Similarity"
    )
    convention = forms.ChoiceField(choices=[(key, WAYS[key]) for key in CONVENTIONS])
    by = forms.ChoiceField(choices=[(key, NAMED_BY[key]) for key in BY], label="Classes")
    bootstrap = forms.IntegerField(
        min_value=0,
        max_value=MAX_BOOTSTRAP,
        initial=1000,
        label="Bootstrap rounds",
        help_text="Number of resamples for intervals; 0 for no intervals.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**32 - 1,
        initial=0,
        help_text="For the random order and the bootstrap.",
    )
    most_kept = MAX_FILE
    groups = {
        "main": ("title", "name", "campaign"),
        "revealed": ("random", "orders", "content_schemes", "include_empty"),
        "scored": ("measure", "convention", "by", "bootstrap", "seed"),
    }

    def campaigns(self) -> Any:
        draw = [kind.name for kind in KINDS.values() if kind.asks == OBJECTS]
        return super().campaigns().filter(kind__in=draw)

    def clean_orders(self) -> UploadedFile | None:
        return check_size(self.cleaned_data["orders"], MAX_FILE)

    def clean_mapping(self) -> UploadedFile | None:
        return check_size(self.cleaned_data["mapping"], MAX_FILE)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        for field, read in (("orders", self._orders), ("mapping", self._mapping)):
            file = data.get(field)
            if file is None:
                continue
            try:
                with kept_files.naming_file(file.name):
                    data[field] = read(self.path(field))
            except (BadInput, Refusal, WordNetMissing) as error:
                self.add_error(field, str(error))
        if not self.errors and not self.part_schemes():
            self.add_error("random", "Choose the random order, or upload others.")
        return data

    def _orders(self, path: Path) -> Orders | None:
        campaign = self.cleaned_data.get("campaign")
        return None if campaign is None else read_orders(path, parts_asked(campaign))

    def _mapping(self, path: Path) -> dict[str, list[str]]:
        return read_mapping(path, load()).classes

    def part_schemes(self) -> list[str]:
        schemes = list(self.cleaned_data.get("orders") or {})
        return schemes + [RANDOM] * (self.cleaned_data["random"] and RANDOM not in schemes)

    def create_arguments(self) -> dict[str, Any]:
        names = ("name", "title", "campaign", *asdict(CdsChoice()))
        data = self.cleaned_data | {"part_schemes": self.part_schemes()}
        return {key: data[key] for key in names} | self.following()

    @property
    def fault_field(self) -> str:  # type: ignore[override]
        return "orders" if self.cleaned_data["orders"] else "campaign"


class CdsPredictionsForm(SubmissionForm):
    """The predictions of classifiers for every frame."""

    file = forms.FileField(
        label="Predictions",
        help_text="predictions.csv, as manage.py classify writes it; of one classifier or many.",
        widget=KeptFileInput(attrs={"accept": ".csv,text/csv", "data-key": "u"}),
    )
