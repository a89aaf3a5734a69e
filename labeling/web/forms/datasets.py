"""Forms of datasets and image imports."""

from typing import Any, TypedDict

from django import forms

from labeling.datasets.imports import SMALL_BYTES, SMALL_FILES
from labeling.models import Dataset, User
from labeling.web.forms.common import NAME_HELP, WordedForm
from labeling.web.forms.kept import KeepsFiles, KeptFileInput


class ManyFilesInput(KeptFileInput):
    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """A list of uploaded files."""

    widget = ManyFilesInput

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        files = data if isinstance(data, list | tuple) and data else [data or None]
        return [super(ManyFilesField, self).clean(file, initial) for file in files]


class DatasetForm(WordedForm):
    name = forms.CharField(max_length=80, help_text=NAME_HELP)
    description = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What the images are and where they come from.",
    )


class ImportDefaults(TypedDict):
    """Options of an import; against: datasets to compare with, None for no comparison."""

    licence: str
    source: str
    against: list[Dataset] | None


class ImportDefaultsForm(WordedForm):
    """Default licence and source of images, and the near-duplicate filter.

    user: whose datasets are offered for comparison.
    """

    licence = forms.CharField(
        required=False, max_length=200, help_text="Licence of the images, such as CC BY 4.0."
    )
    source = forms.CharField(
        required=False, max_length=500, help_text="Author or source of the images."
    )
    near = forms.BooleanField(
        required=False,
        label="Leave out near-duplicates",
        help_text="Resized, compressed, slightly cropped or recolored copies. The images are then "
        "imported in the background, and the report lists the near-duplicates.",
    )
    against = forms.ModelMultipleChoiceField(
        Dataset.objects.none(),
        required=False,
        to_field_name="name",
        label="Also compare with these datasets",
        help_text="Such as other splits that must not share images.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, user: User, dataset: Dataset, **kwargs: Any) -> None:
        if isinstance(self, KeepsFiles):
            kwargs["user"] = user
        super().__init__(*args, **kwargs)
        others = Dataset.objects.visible_to(user).exclude(pk=dataset.pk).order_by("name")
        self.fields["against"].queryset = others  # type: ignore[attr-defined]
        if not others.exists():
            del self.fields["against"]

    def import_options(self) -> ImportDefaults:
        """Return licence, source and the datasets to compare with."""
        data = self.cleaned_data
        chosen = list(data.get("against") or ())
        near = data["near"] or bool(chosen)
        against = chosen if near else None
        return {"licence": data["licence"], "source": data["source"], "against": against}


class UploadForm(ImportDefaultsForm, KeepsFiles):
    # mypy takes `files` for the form's attribute of uploaded files, which a field does not hide.
    files = ManyFilesField(  # type: ignore[assignment]
        label="Images, or a zip of them",
        help_text="Up to 100 files at once; put more into a zip. Folders in a zip become part of "
        "the names; candidates.csv (wnid, image, query) records which query returned an "
        f"image. Duplicates are reported, not added. A zip, more than {SMALL_FILES} files "
        f"or more than {SMALL_BYTES // 2**20} MiB are imported in the background.",
        error_messages={"required": "Choose at least one image or zip."},
    )
    field_order = ["files", "licence", "source", "near", "against"]


class ImportForm(ImportDefaultsForm):
    path = forms.CharField(
        label="Path in the import folder",
        max_length=1000,
        help_text="A folder, a zip, or a manifest (.csv with the columns file, name, licence, "
        "source, wnid, query, or wnid, image, query) already on the server.",
    )
    field_order = ["path", "licence", "source", "near", "against"]
