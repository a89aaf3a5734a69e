"""The form of labels that are known already."""

from typing import Any

from django import forms

from labeling import givenfiles
from labeling.forms.common import WordedForm
from labeling.models import Campaign

BY_NAME = ("", "As the file’s name says")


class CampaignField(forms.ModelChoiceField):
    def label_from_instance(self, obj: Campaign) -> str:
        return obj.title


class KnownLabelsForm(WordedForm):
    """campaigns: those whose question graph the classes may be held to."""

    file = forms.FileField(
        label="File",
        help_text="CSV or JSON Lines with a row for each label, COCO JSON, Label Studio JSON, or a "
        "zip of PASCAL VOC annotations. An export of this site comes back as the zip it is. At "
        f"most {givenfiles.MAX_BYTES // givenfiles.MIB} MiB and {givenfiles.MAX_LABELS:,} labels.",
        error_messages={
            "required": "Choose a file.",
            "empty": "The file is empty. Choose another.",
        },
        widget=forms.FileInput(attrs={"accept": ".csv,.jsonl,.ndjson,.json,.xml,.zip"}),
    )
    format = forms.ChoiceField(required=False, choices=[BY_NAME, *givenfiles.formats()])
    source = forms.CharField(
        required=False,
        max_length=200,
        help_text="Where the labels come from, for rows that do not say so; else the file’s name.",
    )
    campaign = CampaignField(
        queryset=Campaign.objects.none(),
        required=False,
        label="Hold the classes to the question graph of",
        empty_label="no campaign",
        to_field_name="name",
        help_text="Classes that its graph does not have are then refused.",
    )

    def __init__(self, *args: Any, campaigns: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["campaign"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = campaigns
        if not campaigns:
            del self.fields["campaign"]
