"""Forms of known labels and of exports."""

from typing import Any

from django import forms

from labeling.exchange import label_files
from labeling.files import BadInput
from labeling.formats.label_studio_project import LOCAL_FILES, MAX_BASE_LENGTH, check_base
from labeling.models import Campaign
from labeling.release_files import exporting
from labeling.web.forms.common import CampaignField, WordedForm
from labeling.web.forms.kept import KeepsFiles, KeptFileInput

BY_NAME = ("", "From the file name")


class KnownLabelsForm(KeepsFiles, WordedForm):
    """An import of known labels. campaigns: those whose graph can restrict the classes."""

    file = forms.FileField(
        label="File",
        help_text="CSV or JSON Lines with a row for each label, COCO JSON, Label Studio JSON, or a "
        "zip of PASCAL VOC annotations. Exports of this site can be imported as they are. At "
        f"most {label_files.MAX_BYTES // label_files.MIB} MiB and "
        f"{label_files.MAX_LABELS:,} labels.",
        error_messages={
            "required": "Choose a file.",
            "empty": "The file is empty. Choose another.",
        },
        widget=KeptFileInput(attrs={"accept": ".csv,.jsonl,.ndjson,.json,.xml,.zip"}),
    )
    format = forms.ChoiceField(required=False, choices=[BY_NAME, *label_files.formats()])
    source = forms.CharField(
        required=False,
        max_length=200,
        help_text="Source of rows that state none. By default the file’s name.",
    )
    repair = forms.BooleanField(
        required=False,
        label="Repair shapes that cross themselves or leave their image",
        help_text="Otherwise such a shape rejects the file.",
    )
    campaign = CampaignField(
        queryset=Campaign.objects.none(),
        required=False,
        label="Allow only classes of the question graph of",
        empty_label="no campaign",
        to_field_name="name",
        help_text="Other classes are rejected.",
    )

    def __init__(self, *args: Any, campaigns: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["campaign"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = campaigns
        if not campaigns:
            del self.fields["campaign"]


class ExportOptionsForm(WordedForm):
    """The options of a format for a release's labels."""

    names = forms.ChoiceField(
        required=False,
        label="Names of categories",
        choices=[
            ("unique", "Unique: cat, cat head, dog head"),
            ("plain", "Plain: cat, head, head"),
        ],
        help_text="Many COCO readers merge categories with the same name.",
    )
    rest = forms.BooleanField(
        required=False,
        label="Include areas that no part covers",
        help_text="Adds masks of two categories for each class: unlabeled-rest-object and "
        "unlabeled-rest-background.",
    )
    image_base = forms.CharField(
        required=False,
        max_length=MAX_BASE_LENGTH,
        label="Where the images are",
        help_text="Address of the folder of images, such as https://host/images/ or "
        f"s3://bucket/folder/. By default {LOCAL_FILES}, Label Studio’s local storage.",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "off"}),
    )

    with_images = forms.BooleanField(
        required=False,
        label="Include the photographs",
        help_text="Check that their licences allow it; the folder states each.",
    )

    def __init__(self, *args: Any, format_name: str, kind: str, **more: Any) -> None:
        super().__init__(*args, **{"auto_id": f"id_{format_name}_%s", **more})
        known = exporting.options_of(format_name, kind)
        for name in set(self.fields) - set(known):
            del self.fields[name]

    def clean_image_base(self) -> str:
        try:
            return check_base(self.cleaned_data["image_base"])
        except BadInput as bad:
            raise forms.ValidationError(f"This is not an address; {bad.cure}.") from None

    def options(self) -> exporting.FormatOptions:
        return exporting.FormatOptions(**{k: v for k, v in self.cleaned_data.items() if v})
