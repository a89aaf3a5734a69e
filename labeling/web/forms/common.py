"""Shared by researchers' forms: errors at fields, lists as file or text."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format

from labeling.errors import Refusal
from labeling.models import Campaign, Release
from labeling.web.forms.kept import KeepsFiles, KeptFileInput

MAX_LIST_BYTES = 64 * 1024 * 1024
TALL = {"rows": 6, "spellcheck": "true"}
LIST = {"rows": 6, "spellcheck": "false", "autocapitalize": "off"}
NAME_HELP = "Part of the page’s address. Use lower-case letters, digits, - and _."


class CampaignField(forms.ModelChoiceField):
    """A choice of campaigns by title, with the name in case titles are equal."""

    def label_from_instance(self, obj: Campaign) -> str:
        return f"{obj.title} ({obj.name})"


class ReleaseField(forms.ModelChoiceField):
    """A choice of releases, with their dates."""

    def label_from_instance(self, obj: Release) -> str:
        return f"{obj.campaign.title} ({obj}, {date_format(obj.created_at, 'j M Y')})"


def add_refusal(form: forms.Form, refusal: Refusal) -> None:
    """Show the refusal at the field it names, or above the form."""
    names = (refusal.field, f"{refusal.field}_file")
    field = next((name for name in names if name in form.fields), None)
    form.add_error(field, refusal.message)


class refusals_shown:
    """Context manager that shows a Refusal on a form or on the request's next page and
    continues.
    """

    def __init__(self, where: "WordedForm | HttpRequest") -> None:
        self.where = where

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if not isinstance(error, Refusal):
            return False
        if isinstance(self.where, WordedForm):
            self.where.show_refusal(error)
        else:
            messages.error(self.where, error.message)
        return True


def respond_if_valid(form: "WordedForm", act: Callable[[], HttpResponse]) -> HttpResponse | None:
    """Return the response of act() if the form is valid, else None.

    None also if act() raises Refusal, which the form then shows. Uploaded files are kept for the
    next submission.
    """
    if form.is_valid():
        with refusals_shown(form):
            response = act()
            if isinstance(form, KeepsFiles):
                form.forget_files()
            return response
    if isinstance(form, KeepsFiles):
        form.keep_files()
    return None


class WordedForm(forms.Form):
    """A form whose "required" errors name the field."""

    def show_refusal(self, refusal: Refusal) -> None:
        """Show a refusal of the domain, by default at the field it names."""
        add_refusal(self, refusal)

    def full_clean(self) -> None:
        for name, field in self.fields.items():
            if field.error_messages["required"] == forms.Field.default_error_messages["required"]:
                label = field.label or name.replace("_", " ").capitalize()
                field.error_messages["required"] = f"{label} is missing. Fill it in."
        super().full_clean()


class ListsForm(KeepsFiles, WordedForm):
    """A form with lists that come as a file or as text."""

    def read_list(self, name: str, read: Callable[[bytes | str], Any]) -> Any:
        """Return the list of that name from its file or text; empty without either."""
        file = self.cleaned_data.get(f"{name}_file")
        content = self.cleaned_data.get(name) or ""
        if file is not None and file.size > MAX_LIST_BYTES:
            self.add_error(f"{name}_file", "The file is larger than 64 MB. Split the list.")
            return []
        try:
            return read(file.read() if file is not None else content)
        except Refusal as refusal:
            error = forms.ValidationError(refusal.message, code=refusal.code)
            self.add_error(f"{name}_file" if file is not None else name, error)
            return []


def list_file(label: str, help_text: str) -> forms.FileField:
    attrs = {"accept": ".csv,.jsonl,.txt,text/csv"}
    return forms.FileField(
        label=label,
        required=False,
        help_text=help_text,
        widget=KeptFileInput(attrs=attrs),
        allow_empty_file=True,
    )


def list_text(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label, required=False, help_text=help_text, widget=forms.Textarea(attrs=LIST)
    )
