"""The form of a new pool."""

from typing import Any

from django import forms

from evaluation.models import RegisteredModel
from labeling.web.forms.common import WordedForm


class PoolForm(WordedForm):
    """Which of the registered models shall predict."""

    models = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["models"].choices = [  # type: ignore[attr-defined]
            (model.name, f"{model.name} ({len(model.classes):,} classes)")
            for model in RegisteredModel.objects.all()
        ]
