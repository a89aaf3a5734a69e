"""The form of a new split."""

from typing import Any

from django import forms

from evaluation.models import ReleaseSplit
from evaluation.splits import rules
from labeling.models import Release
from labeling.web.forms.common import WordedForm


class SplitField(forms.ModelChoiceField):
    def label_from_instance(self, split: Any) -> str:
        return f"Split {split.pk} of release {split.release.number}: {split.method}"


class SplitForm(WordedForm):
    """A rule, or an earlier split to extend."""

    by = forms.CharField(
        max_length=80,
        required=False,
        label="Rule",
        help_text="33/67 or 80/10/10: shares of the images of each class. class:80/20: shares of "
        "the classes. per-class:50: 50 images of each class in the first part, the others in the "
        "second. wsol:10,50: 10 fully supervised and 50 test images of each class.",
    )
    names = forms.CharField(
        max_length=200,
        required=False,
        label="Names of the parts",
        help_text="Separated by commas; by default val,test or train,val,test.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**32 - 1,
        required=False,
        help_text="Another seed assigns other images to each part. 0 by default.",
    )
    extend = SplitField(
        ReleaseSplit.objects.none(),
        required=False,
        label="Earlier split to extend",
        empty_label="None",
        help_text="Its images keep their part, and its rule is used for the new images.",
    )
    seal = forms.BooleanField(
        required=False,
        label="Seal the last part",
        help_text="In benchmarks on it, only you see its images and labels. Only you can download "
        "its list.",
    )

    def __init__(self, *args: Any, release: Release, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Offer only the newest split of each chain of extensions.
        self.fields["extend"].queryset = (  # type: ignore[attr-defined]
            ReleaseSplit.objects.filter(
                release__campaign=release.campaign_id,
                release__number__lt=release.number,
                extension=None,
            ).select_related("release")
        )

    def clean_names(self) -> tuple[str, ...]:
        return rules.names_of(self.cleaned_data["names"])

    def clean(self) -> None:
        if not self.cleaned_data.get("by") and not self.cleaned_data.get("extend"):
            self.add_error("by", f"Give a rule, such as {rules.FORMS}, or an earlier split.")
