"""The labeling page as an ordinary form, for browsers that run no scripts."""

import json
import uuid
from typing import Any

from django import forms

from annotator.pages.bodies import MAX_DRAWING_BYTES, MAX_DURATION_MS
from labeling.errors import Refusal


class AnswerForm(forms.Form):
    """One answer: its id was made with the page, so a form sent twice counts once."""

    id = forms.UUIDField(error_messages={"required": "The answer has no id. Reload the page."})
    seat = forms.RegexField(r"^[0-9a-zA-Z]{1,32}$")
    value = forms.CharField(
        max_length=400, error_messages={"required": "Choose one of the answers."}
    )
    duration_ms = forms.IntegerField(required=False, min_value=0, max_value=MAX_DURATION_MS)

    def clean_value(self) -> Any:
        """A word, or the object that an option of a list stands for."""
        text = self.cleaned_data["value"]
        if not text.startswith("{"):
            return text
        try:
            return json.loads(text)
        except ValueError as error:
            raise forms.ValidationError("Choose one of the answers.") from error

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """The answer's parts, checked. Raises Refusal."""
        form = cls(data)
        if not form.is_valid():
            field, errors = next(iter(form.errors.items()))
            raise Refusal(str(errors[0]), field=str(field))
        return form.cleaned_data


class DrawingForm(AnswerForm):
    """One answer that may be a drawing."""

    value = forms.CharField(
        max_length=MAX_DRAWING_BYTES, error_messages={"required": "Draw a part, or skip the image."}
    )


def new_answer_id() -> str:
    return str(uuid.uuid4())


def read_answer_id(text: str | None) -> uuid.UUID:
    """An answer's id as a form sent it. Raises Refusal."""
    try:
        return uuid.UUID(text or "")
    except ValueError as error:
        raise Refusal("An answer has no id. Reload the page.", field="id") from error
