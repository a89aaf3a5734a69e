"""The form of the rules that stop classes of candidates."""

from typing import Any

from django import forms

from labeling.kinds.candidates import SETTINGS
from labeling.web.forms.common import WordedForm
from labeling.web.forms.policy import rule_field

LABELS = {
    "precision": "Target precision",
    "wanted": "Target number of images per class",
    "audited": "Audits before a class is finished",
    "budget": "Budget per class",
}


def stop_fields(*, required: bool = True) -> dict[str, forms.Field]:
    """Return a field for each rule."""
    return {
        key: rule_field(key, rule, required=required, label=LABELS[key])
        for key, rule in SETTINGS.items()
    }


class StopRulesForm(WordedForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields |= stop_fields()
