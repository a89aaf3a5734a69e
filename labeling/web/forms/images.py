"""Forms of the browser of a dataset's images."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms

from labeling.models import Campaign
from labeling.reports.image_browser import ORDER_WORDS, OUTCOME_WORDS, STATE_WORDS, ImageFilter
from labeling.web.forms.common import WordedForm


def _search(label: str, key: str = "", **options: Any) -> forms.CharField:
    attrs = {"type": "search", "data-key": key} if key else {"type": "search"}
    widget = forms.TextInput(attrs=attrs)
    return forms.CharField(label=label, required=False, max_length=200, widget=widget, **options)


class ImageFilterForm(WordedForm):
    q = _search("File name", "/")
    label = _search("Label", "l")
    state = forms.ChoiceField(required=False, choices=[("", "any"), *STATE_WORDS.items()])
    campaign = forms.ChoiceField(required=False)
    query = _search("Search query")
    prediction = _search("Predicted class")
    submission = forms.ChoiceField(required=False, label="Predicted by")
    outcome = forms.ChoiceField(
        required=False, label="Prediction is", choices=[("", "any"), *OUTCOME_WORDS.items()]
    )
    least_px = forms.IntegerField(
        label="Both sides at least, px", required=False, min_value=1, max_value=100_000
    )
    order = forms.ChoiceField(
        label="Order",
        required=False,
        choices=list(ORDER_WORDS.items()),
        widget=forms.Select(attrs={"data-key": "s"}),
    )

    def __init__(
        self,
        campaigns: Sequence[Campaign],
        submissions: Callable[[], Sequence[tuple[str, str]]],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        titles = [("", "any"), *((row.name, f"{row.title} ({row.name})") for row in campaigns)]
        self.fields["campaign"].choices = titles  # type: ignore[attr-defined]
        # Read only when a page lists them or a value must be among them.
        self.fields["submission"].choices = (  # type: ignore[attr-defined]
            lambda: [("", "any"), *submissions()]
        )

    @property
    def has_submissions(self) -> bool:
        return len(list(self.fields["submission"].choices)) > 1  # type: ignore[attr-defined]

    @property
    def image_filter(self) -> ImageFilter:
        """Return the filter; invalid values match all."""
        self.full_clean()
        values = {key: value for key, value in self.cleaned_data.items() if value}
        return ImageFilter(**values)


class SavedViewForm(WordedForm):
    name = forms.CharField(label="Save this view as", max_length=80)
    query = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)
