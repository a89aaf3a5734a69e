"""The form that imports objects with parts."""

from django import forms

from labeling.exchange import part_reading
from labeling.exchange.part_imports import ImportOptions
from labeling.parts.simplifying import CAP
from labeling.web.forms.common import WordedForm
from labeling.web.forms.kept import KeepsFiles, KeptFileInput

WORDS = {
    "pascal-part": "PASCAL-Part .mat",
    "coco": "COCO JSON with parts",
    "label-studio": "Label Studio JSON",
    "png": "Indexed PNG masks",
    "csv": "CSV list of objects",
}


class PartsImportForm(KeepsFiles, WordedForm):
    """An import of objects with parts. cap: a percentage of the object's diagonal."""

    file = forms.FileField(
        label="File",
        help_text="PASCAL-Part .mat, COCO JSON, Label Studio JSON or indexed PNG masks with their "
        "labels.json: one file, or a zip of many. Or a CSV list of objects that have no parts yet. "
        "Exports of this site can be imported as they are.",
        error_messages={
            "required": "Choose a file.",
            "empty": "The file is empty. Choose another.",
        },
        widget=KeptFileInput(attrs={"accept": ".mat,.json,.png,.csv,.zip"}),
    )
    format = forms.ChoiceField(
        required=False,
        choices=[
            ("", "From the file names"),
            *((name, WORDS.get(name, name)) for name in part_reading.FORMAT_NAMES),
        ],
    )
    source = forms.CharField(
        required=False,
        max_length=180,
        help_text="Source of objects that state none. By default the file’s name.",
    )
    cap = forms.FloatField(
        label="Merge pieces up to",
        min_value=0,
        max_value=100,
        initial=round(100 * CAP),
        help_text="Largest merge radius in percent of the object’s diagonal. Pieces further apart "
        "are not merged and are flagged. 100: no limit.",
    )
    repair = forms.BooleanField(
        label="Repair polygons that cross themselves or leave the image",
        required=False,
        help_text="Repairs are listed. Otherwise such an object is rejected.",
    )

    def how(self) -> ImportOptions:
        """Return the import's options."""
        data = self.cleaned_data
        cap = None if data["cap"] >= 100 else data["cap"] / 100
        return ImportOptions(source=data["source"], cap=cap, repair=data["repair"])
