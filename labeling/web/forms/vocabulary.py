"""Forms of a vocabulary of parts: a whole one, and one category with its parts."""

from typing import Any

from django import forms
from django.forms import BaseFormSet, formset_factory

from labeling.errors import Refusal
from labeling.vocabulary import reading
from labeling.vocabulary.checks import MAX_PARTS
from labeling.vocabulary.reading import MAX_CHARACTERS
from labeling.vocabulary.types import Category, PartName, PartVocabulary, VocabularyFault
from labeling.web.forms.common import LIST, WordedForm, refusals_shown
from labeling.web.forms.graph import show_faults, version_field
from labeling.web.forms.kept import KeepsFiles, KeptFileInput

MAX_BYTES = 4 * MAX_CHARACTERS
# A form sends eleven fields per part, and Django accepts a thousand.
MAX_ROWS = 85
OF_CATEGORY = ("key", "name", "aliases", "guidance")
PLAIN = {"spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}
SHORT = {"rows": 4, "spellcheck": "true"}


class VocabularyForm(KeepsFiles, WordedForm):
    """A whole vocabulary; `vocabulary` is set once the form is valid."""

    file = forms.FileField(
        label="File of the vocabulary",
        required=False,
        allow_empty_file=True,
        help_text="YAML, in the format of the download on this page.",
        widget=KeptFileInput(attrs={"accept": ".yaml,.yml,.json"}),
    )
    text = forms.CharField(
        label="Vocabulary as text",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={**LIST, "rows": 18, "class": "code"}),
        help_text="This is the latest version: edit it or paste another.",
    )
    version = version_field()
    vocabulary: PartVocabulary

    def clean(self) -> None:
        super().clean()
        file, text = self.cleaned_data.get("file"), self.cleaned_data.get("text", "")
        if file is None and not text.strip():
            if "text" not in self.errors:
                self.add_error("text", "Choose a file, or write the vocabulary as text.")
            return
        with refusals_shown(self):
            self.vocabulary = reading.parse(_text_of(file) if file is not None else text)

    def show_refusal(self, refusal: Refusal) -> None:
        """Add each fault as a separate error, at the file or the text that was sent."""
        show_faults(self, refusal, "file" if self.cleaned_data.get("file") else "text")


def _text_of(file: Any) -> str:
    if file.size > MAX_BYTES:
        raise Refusal("The file is larger than 2 MB; a vocabulary has some KB. Choose another.")
    try:
        return str(file.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Refusal(f"{file.name} is not UTF-8 text. Save it as UTF-8.") from error


def _names(text: str) -> list[str]:
    """Split names at commas."""
    return [name for part in text.split(",") if (name := part.strip())]


class NamesField(forms.CharField):
    """A list of names, separated by commas."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.TextInput(attrs=PLAIN), **kwargs)

    def prepare_value(self, value: Any) -> object:
        return ", ".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        return _names(super().to_python(value) or "")

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.prepare_value(initial or "") != (data or "")


class PiecesField(forms.CharField):
    """Names to merge, a dict of lists. As text, a line per instance: "left: luleg, llleg"."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={**LIST, "rows": 4}), **kwargs)

    def prepare_value(self, value: Any) -> object:
        if not isinstance(value, dict):
            return value
        return "\n".join(f"{instance}: {', '.join(names)}" for instance, names in value.items())

    def to_python(self, value: Any) -> dict[str, list[str]]:  # type: ignore[override]
        merge: dict[str, list[str]] = {}
        for number, line in enumerate((super().to_python(value) or "").splitlines(), 1):
            if not line.strip():
                continue
            instance, colon, names = (part.strip() for part in line.partition(":"))
            if not colon:
                raise forms.ValidationError(
                    f"Line {number} has no colon; write left: luleg, llleg."
                )
            if instance in merge:
                raise forms.ValidationError(
                    f"Line {number} repeats {instance}. Write all its pieces on one line."
                )
            merge[instance] = _names(names)
        return merge

    def has_changed(self, initial: Any, data: Any) -> bool:
        return (self.prepare_value(initial) or "") != (data or "")


class CategoryForm(WordedForm):
    """One category, without its parts."""

    key = forms.CharField(
        label="WordNet id",
        max_length=100,
        help_text="WordNet 3.0 ID of the category, such as n02084071. Objects and exports store "
        "it.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    name = forms.CharField(max_length=200, help_text="Common name, such as dog.")
    aliases = NamesField(
        label="Also called", help_text="Its names in imported files, separated by commas."
    )
    guidance = forms.CharField(
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs=SHORT),
        help_text="Shown to everybody who draws its parts.",
    )
    version = version_field()

    @staticmethod
    def initial_of(category: Category) -> dict[str, object]:
        return {name: getattr(category, name) for name in OF_CATEGORY}


class PartForm(WordedForm):
    """One part of a category."""

    key = forms.CharField(
        max_length=100,
        help_text="a–z, 0–9, - and _. Do not change it when you rename the part: labels store it.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    name = forms.CharField(
        required=False, max_length=200, help_text="Shown to annotators. By default the key."
    )
    aliases = NamesField(label="Also called", help_text="Other names, separated by commas.")
    merge = PiecesField(
        label="Made of",
        help_text="One line per instance: “left: luleg, llleg” joins two pieces into one left leg.",
    )
    mirror = forms.CharField(
        label="Mirrors",
        required=False,
        max_length=100,
        help_text="Key of the part whose mirror image can be copied; often its own.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    holds = NamesField(
        label="Holds",
        help_text="Keys of parts that may overlap with it, such as eyes with a head. Other parts "
        "may not.",
    )
    guidance = forms.CharField(
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs=SHORT),
        help_text="How to draw it.",
    )
    several = forms.BooleanField(label="An object may have several", required=False)
    holes = forms.BooleanField(label="It may have holes", required=False)

    @staticmethod
    def initial_of(part: PartName) -> dict[str, object]:
        values = {name: getattr(part, name) for name in PartForm.base_fields}
        return values | {"merge": dict(part.merge)}


class BasePartForms(BaseFormSet):
    """The parts of a category in order. Empty rows are ignored."""

    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        form.fields["ORDER"].label = "Position"
        form.fields["ORDER"].help_text = "Annotators draw the parts in this order."
        form.fields["DELETE"].label = "Remove"


def part_rows(parts: BaseFormSet) -> list[Any]:
    """Return the forms of the kept parts in order. Requires valid forms."""
    kept = [form for form in parts.forms if form.has_changed() or form in parts.initial_forms]
    kept = [form for form in kept if not form.cleaned_data.get("DELETE")]
    # A new part without a position comes last.
    return sorted(kept, key=lambda form: form.cleaned_data.get("ORDER") or len(parts.forms))


PartForms = formset_factory(
    PartForm,
    formset=BasePartForms,
    extra=1,
    can_order=True,
    can_delete=True,
    max_num=MAX_PARTS,
    absolute_max=MAX_PARTS,
)


class CategoryForms:
    """The form of a category with the forms of its parts. index: the category's; None for a new
    category.
    """

    def __init__(
        self,
        vocabulary: PartVocabulary | None,
        index: int | None,
        version: int | None,
        data: Any = None,
    ) -> None:
        self.vocabulary, self.index = vocabulary, index
        initial: dict[str, object] = {"version": version}
        parts: list[dict[str, object]] = []
        if vocabulary is not None and index is not None:
            category = vocabulary.categories[index]
            initial |= CategoryForm.initial_of(category)
            parts = [PartForm.initial_of(part) for part in category.parts]
        self.category = CategoryForm(data, initial=initial)
        self.parts = PartForms(data, initial=parts, prefix="parts")
        if index is not None:
            # Objects and campaigns refer to the key; only a new version of the text can change it.
            self.category.fields["key"].disabled = True

    def is_valid(self) -> bool:
        """Return whether each form is valid; `content` is validated as a whole later."""
        fine = self.category.is_valid()
        return self.parts.is_valid() and fine

    def content(self) -> dict[str, object]:
        """Return the content of the whole vocabulary with this category replaced."""
        content = (self.vocabulary or PartVocabulary("Parts", ())).content()
        entry = {name: self.category.cleaned_data[name] for name in OF_CATEGORY}
        entry["parts"] = [
            {name: form.cleaned_data[name] for name in PartForm.base_fields}
            for form in part_rows(self.parts)
        ]
        rows = content["categories"]
        position = len(rows) if self.index is None else self.index
        rows[position : position + 1] = [entry]
        return content

    def show_refusal(self, refusal: Refusal) -> None:
        """Show each fault at its field."""
        faults = getattr(refusal, "found", None) or [VocabularyFault((), refusal.message)]
        count = len(self.vocabulary.categories) if self.vocabulary else 0
        mine = ("categories", count if self.index is None else self.index)
        for fault in faults:
            if fault.path[:2] != mine:
                self.category.add_error(None, str(fault))
            elif len(fault.path) > 3 and fault.path[2] == "parts":
                _show_fault(part_rows(self.parts)[int(fault.path[3])], fault, fault.path[4:])
            else:
                _show_fault(self.category, fault, fault.path[2:])


def _show_fault(form: forms.Form, fault: VocabularyFault, path: tuple[str | int, ...]) -> None:
    field = str(path[0]) if path and path[0] in form.fields else None
    message = fault.message[:1].upper() + fault.message[1:]
    form.add_error(field, message if message.endswith(".") else f"{message}.")
