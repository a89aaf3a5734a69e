"""Forms that every kind of benchmark has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet

from evaluation.benchmarks.truth_versions import FOLLOWING, MAX_IMAGES, Following
from evaluation.models import Benchmark
from labeling.campaigns.access import RESEARCHER, campaigns_for
from labeling.models import Campaign, User
from labeling.web.forms.common import CampaignField
from labeling.web.forms.kept import KeepsFiles, KeptFileInput


def add_fault(form: forms.Form, error: Exception, field: str) -> None:
    """Add the error to the field that it names, else to `field`."""
    error_field = getattr(error, "field", None)
    target_field = error_field if error_field in form.fields else field
    form.add_error(target_field if target_field in form.fields else None, str(error))


def check_size(file: UploadedFile | None, most: int) -> UploadedFile | None:
    """Return the file. Raises ValidationError if it is larger than `most` bytes."""
    if file is not None and (file.size is None or file.size > most):
        size = f"{most // 1024**2} MiB" if most >= 1024**2 else f"{most // 1024} KiB"
        raise forms.ValidationError(f"The file is larger than {size}.")
    return file


class NamedForm(KeepsFiles):
    """Fields of every new benchmark. query: fills in the fields of `from_address`."""

    title = forms.CharField(max_length=200)
    name = forms.SlugField(
        max_length=80, help_text="Used in the address: lower-case letters, digits and hyphens."
    )
    from_address: tuple[str, ...] = ("title", "name", "campaign")
    # The field for errors that name none.
    fault_field = "campaign"
    # Fields that the template groups.
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, *args: Any, user: User, query: Mapping[str, str], **kwargs: Any) -> None:
        initial = {key: query[key] for key in self.from_address if key in query}
        super().__init__(*args, user=user, initial=initial, **kwargs)
        if not self.is_bound:
            self.offer_files(query)

    def grouped(self) -> dict[str, list[forms.BoundField]]:
        """Return `groups` with bound fields instead of names."""
        return {group: [self[name] for name in names] for group, names in self.groups.items()}

    def create_arguments(self) -> dict[str, object]:
        """Return the arguments of the kind's `plan` and `create`."""
        return dict(self.cleaned_data)

    def context(self) -> dict[str, object]:
        """Return further context for the form's template."""
        return {}


class NewBenchmarkForm(NamedForm):
    """A new benchmark on the answers of a campaign."""

    campaign = CampaignField(
        Campaign.objects.none(),
        to_field_name="name",
        help_text="Its latest release is used; without one, one is frozen now.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["campaign"].queryset = self.campaigns()  # type: ignore[attr-defined]

    def campaigns(self) -> QuerySet[Campaign]:
        rows = campaigns_for(self.user, RESEARCHER).filter(archived_at=None)
        return rows.order_by("title", "pk")


class FollowingFields(forms.Form):
    """How the truth follows the campaign."""

    pinned = forms.BooleanField(required=False, label="Keep the current labels; take no newer ones")
    every = forms.ChoiceField(
        choices=Benchmark.Every.choices,
        required=False,
        initial=Benchmark.Every.NIGHT,
        label="Take newer labels",
        help_text="Scores by the first labels are kept beside scores by the newest.",
    )
    min_images = forms.IntegerField(
        min_value=1,
        max_value=MAX_IMAGES,
        required=False,
        initial=Following.min_images,
        label="Minimum number of images (CDS: objects)",
        help_text="With fewer, newer labels change nothing.",
    )


class FollowingForm(FollowingFields):
    """Changes how the truth of a benchmark follows the campaign."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["every"].required = self.fields["min_images"].required = True


class FollowingBenchmarkForm(FollowingFields, NewBenchmarkForm):
    """A new benchmark whose truth follows the campaign."""

    def following(self) -> dict[str, object]:
        """Return the choices; pages opened before the fields existed send none of them."""
        return {name: value for name in FOLLOWING if (value := self.cleaned_data[name])}

    def following_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in FOLLOWING]


class SubmissionForm(KeepsFiles):
    """The predictions of one or more classifiers."""

    file = forms.FileField(label="Predictions", widget=KeptFileInput(attrs={"data-key": "u"}))
    # The field with the file. Subclasses keep its old name: older pages may still be open.
    file_field = "file"

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def sent(self) -> tuple[Path, str]:
        """Return the path of the upload and its original file name."""
        return self.path(self.file_field), self.cleaned_data[self.file_field].name


class NamedSubmissionForm(SubmissionForm):
    """The predictions of one classifier, with its name."""

    name = forms.CharField(
        max_length=100,
        label="Classifier",
        help_text="Under an existing name, the new file replaces the old one.",
        widget=forms.TextInput(attrs={"data-key": "n", "autocomplete": "off"}),
    )
    field_order = ("name", "file")
