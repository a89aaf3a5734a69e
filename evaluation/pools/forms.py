"""The form of a new pool."""

from typing import Any

from django import forms

from evaluation.pools import registering
from labeling.web.forms.common import LIST, WordedForm
from labeling.web.forms.kept import KeepsFiles, KeptFileInput

PLAIN = forms.TextInput(attrs={"autocomplete": "off"})
IMAGENET = ("0.485,0.456,0.406", "0.229,0.224,0.225")


class PoolForm(WordedForm):
    """Which of the registered models shall predict."""

    models = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["models"].choices = [  # type: ignore[attr-defined]
            (model.name, f"{model.name} ({len(model.classes):,} classes)")
            for model in registering.usable()
        ]


class ModelForm(KeepsFiles, WordedForm):
    """An ONNX file, its classes, and how it takes images."""

    most_kept = registering.MAX_BYTES

    name = forms.CharField(
        max_length=100, help_text="A word: letters, digits, -, _ and dots.", widget=PLAIN
    )
    file = forms.FileField(
        label="ONNX file",
        help_text=f"One file of at most {registering.MAX_BYTES // 1024**2} MiB, without external "
        "data. It takes images as (images, 3, height, width) and gives a number for each class.",
        widget=KeptFileInput(attrs={"accept": ".onnx", "data-key": "u"}),
    )
    classes = forms.CharField(
        help_text="A wnid or word of WordNet a line, in the order of the outputs; ilsvrc: the 1000 "
        "of ILSVRC 2012.",
        widget=forms.Textarea(attrs=LIST),
    )
    size = forms.CharField(
        required=False,
        label="Input size",
        help_text="Pixels, such as 224 or 240x320. By default as the file says, else 224.",
        widget=PLAIN,
    )
    mean = forms.CharField(
        required=False, help_text=f"Of colours in [0, 1]. ImageNet: {IMAGENET[0]}.", widget=PLAIN
    )
    std = forms.CharField(
        required=False,
        label="Deviation",
        help_text=f"Of colours in [0, 1]. ImageNet: {IMAGENET[1]}.",
        widget=PLAIN,
    )
    fit = forms.ChoiceField(
        required=False,
        choices=[
            ("crop", "crop: the middle of the photograph"),
            ("squash", "squash: the whole photograph, stretched"),
            ("pad", "pad: the whole photograph, its proportions kept"),
        ],
        help_text="Frames and score maps are never cropped.",
    )
