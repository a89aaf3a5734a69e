"""Forms of campaigns: their words and everything that a new one is made of."""

from typing import Any

from django import forms

from labeling import lists
from labeling.forms.common import NAME_HELP, TALL, ListsForm, WordedForm, list_file, list_text
from labeling.forms.policy import PolicyForm
from labeling.kinds import KINDS
from labeling.models import Dataset, User


class CampaignForm(WordedForm):
    """A campaign's words."""

    title = forms.CharField(
        max_length=200,
        help_text="What people see on their page.",
        widget=forms.TextInput(attrs={"data-slug-source": "id_name"}),
    )
    instructions = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs=TALL),
        help_text="What counts and what does not, in plain words. Shown as text beside each image.",
    )


class NewCampaignForm(CampaignForm, PolicyForm, ListsForm):
    """Everything that a new campaign is made of."""

    name = forms.CharField(max_length=80, help_text=NAME_HELP)
    kind = forms.ChoiceField(
        widget=forms.RadioSelect, initial="contains", help_text="It cannot be changed later."
    )
    dataset = forms.ModelChoiceField(
        queryset=Dataset.objects.none(), empty_label="Choose a dataset…"
    )
    questions_file = list_file("Questions, as a file", "CSV: image,wnid on every line; JSON Lines.")
    questions = list_text(
        "… or as text",
        "image,wnid on every line. You may also add questions later.",
    )
    topics_file = list_file(
        "Classes, as a file",
        "wnid,name,definition,synonyms,url. Classes that are not listed are described by WordNet "
        "where the site knows it.",
    )
    vocabulary_file = list_file("Vocabulary, as a file", "CSV: key,name on every line.")
    vocabulary = list_text("… or as text", "key,name on every line: what people choose from.")
    images = list_text("Images", "One name a line; none means every image of the dataset.")
    expected = forms.IntegerField(
        label="Expected questions",
        required=False,
        min_value=1,
        max_value=100_000_000,
        help_text="For the estimate, as long as there is no list.",
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds = [(kind.NAME, kind.TITLE) for kind in KINDS.values()]
        self.fields["kind"].choices = kinds  # type: ignore[attr-defined]
        datasets = Dataset.objects.visible_to(user).order_by("name")
        self.fields["dataset"].queryset = datasets  # type: ignore[attr-defined]

    def word_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("title", "name", "dataset", "kind", "instructions")]

    def contains_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("questions_file", "questions", "topics_file")]

    def naming_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("vocabulary_file", "vocabulary", "images")]

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        naming = data.get("kind") == "naming"
        data["pairs"] = [] if naming else self.listed("questions", lists.read_questions)
        data["topics_list"] = [] if naming else self.listed("topics", lists.read_topics)
        data["names"] = lists.read_names(data.get("images", "")) if naming else []
        data["classes"] = self.listed("vocabulary", lists.read_vocabulary) if naming else []
        if naming and not data["classes"] and not self.has_error("vocabulary_file"):
            self.add_error("vocabulary", "List the classes that people choose from.")
        return data

    def question_count(self) -> int:
        """How many questions the form asks for, as far as it can be read."""
        data = self.cleaned_data
        dataset = data.get("dataset")
        if data.get("kind") == "naming":
            listed = len(data.get("names", []))
            return listed or (dataset.images.count() if dataset else 0) or data.get("expected") or 0
        return len(data.get("pairs", [])) or data.get("expected") or 0
