"""Researchers' forms. What the domain refuses comes back at the field it names."""

import json
from collections.abc import Callable
from typing import Any

from django import forms

from labeling import lists, people, policies, reviewing, tokens
from labeling.errors import Refusal
from labeling.imports import SMALL_BYTES, SMALL_FILES
from labeling.kinds import KINDS
from labeling.models import ApiToken, Campaign, Dataset, Membership, Question, User

MAX_LIST_BYTES = 64 * 1024 * 1024
TALL = {"rows": 6, "spellcheck": "true"}
LIST = {"rows": 6, "spellcheck": "false", "autocapitalize": "off"}
NAME_HELP = "Lower-case letters, digits, - and _; it becomes part of the address."


def add_refusal(form: forms.Form, refusal: Refusal) -> None:
    """Says the refusal at the field that it names, or over the form."""
    field = refusal.field if refusal.field in form.fields else None
    form.add_error(field, refusal.message)


class WordedForm(forms.Form):
    """A form that names the field where one was left empty."""

    def full_clean(self) -> None:
        for name, field in self.fields.items():
            if field.error_messages["required"] == forms.Field.default_error_messages["required"]:
                label = field.label or name.replace("_", " ").capitalize()
                field.error_messages["required"] = f"{label} is missing. Fill it in."
        super().full_clean()


class ManyFilesInput(forms.ClearableFileInput):
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
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What the images are and where they come from.",
    )


class RightsForm(WordedForm):
    """Where images come from; for those that do not say so themselves."""

    licence = forms.CharField(
        required=False, max_length=200, help_text="Under which the images may be used: CC BY 4.0, …"
    )
    source = forms.CharField(
        required=False, max_length=500, help_text="Who made them, or where they were found."
    )


class UploadForm(RightsForm):
    # The stubs take `files` for the uploaded ones, which a bound field's name does not hide.
    files = ManyFilesField(  # type: ignore[assignment]
        label="Images, or a zip of them",
        help_text="Up to 100 files at once; put more into a zip. In a zip, folders become part of "
        "the names. What is there already is reported, never added twice. A zip, more than "
        f"{SMALL_FILES} files or more than {SMALL_BYTES // 2**20} MiB come in by an import, which "
        "goes on when you leave the page.",
        error_messages={"required": "Choose at least one image or zip."},
    )
    field_order = ["files", "licence", "source"]


class ImportForm(RightsForm):
    path = forms.CharField(
        label="Path in the import folder",
        max_length=1000,
        help_text="A folder, a zip, or a manifest (.csv with the columns file, name, licence, "
        "source) that lies on the server already.",
    )
    field_order = ["path", "licence", "source"]


LABELS = {
    "votes": "People per question",
    "max_votes": "At most, after ties",
    "drop_share": "Drop an image above",
    "lease_minutes": "Minutes to answer",
    "revise_minutes": "Minutes to change one's mind",
    "revise_answers": "… or further answers",
    "gold_share": "Share of gold",
    "page_size": "Questions handed out at once",
    "seconds_per_answer": "Seconds per answer",
    "cost_per_hour": "Pay per hour",
}


def rule_field(key: str, rule: policies.Rule | policies.Choice) -> forms.Field:
    label = LABELS.get(key) or key.replace("_", " ").capitalize()
    if isinstance(rule, policies.Choice):
        return forms.ChoiceField(
            label=label,
            initial=rule.default,
            choices=list(rule.words.items()),
            help_text=rule.help,
            required=False,
        )
    said: dict[str, Any] = {
        "label": label,
        "initial": rule.default,
        "min_value": int(rule.low) if rule.whole else rule.low,
        "max_value": int(rule.high) if rule.whole else rule.high,
        "help_text": f"{rule.help} {rule.low:g} to {rule.high:g}.",
        "widget": forms.NumberInput(attrs={"step": "1" if rule.whole else "any"}),
    }
    # What was there from the beginning is asked for; the rest may be left to its default.
    said["required"] = key in LABELS
    return forms.IntegerField(**said) if rule.whole else forms.FloatField(**said)


class PolicyForm(WordedForm):
    """The quality policy, a field for every rule."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for key, rule in policies.RULES.items():
            self.fields[key] = rule_field(key, rule)
        self.fields["currency"] = forms.CharField(
            initial=policies.DEFAULTS["currency"],
            max_length=3,
            help_text="Three letters, like EUR.",
        )

    def cost_fields(self) -> list[forms.BoundField]:
        """What decides the price."""
        keys = ["votes", "seconds_per_answer", "cost_per_hour", "currency", "gold_share"]
        return [self[key] for key in keys]

    def fine_fields(self) -> list[forms.BoundField]:
        """What most campaigns leave as it is."""
        shown = {field.name for field in self.cost_fields()}
        return [self[key] for key in policies.RULES if key not in shown]

    def policy(self) -> dict[str, Any]:
        """The rules as far as they were understood, for the rest the defaults."""
        keys = [*policies.RULES, "currency"]
        content = {
            key: self.cleaned_data[key]
            for key in keys
            if self.cleaned_data.get(key) not in (None, "")
        }
        try:
            return policies.clean(content)
        except Refusal:
            return policies.clean(None)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        keys = [*policies.RULES, "currency"]
        try:
            policies.clean({key: data[key] for key in keys if data.get(key) not in (None, "")})
        except Refusal as refusal:
            add_refusal(self, refusal)
        return data


class ListsForm(WordedForm):
    """Lists as a file or as text."""

    def listed(self, name: str, read: Callable[[bytes | str], Any]) -> Any:
        """The list of that name, from its file or its text; empty when neither is there."""
        file = self.cleaned_data.get(f"{name}_file")
        content = self.cleaned_data.get(name) or ""
        if file is not None and file.size > MAX_LIST_BYTES:
            self.add_error(f"{name}_file", "The file is larger than 64 MB. Split the list.")
            return []
        try:
            return read(file.read() if file is not None else content)
        except Refusal as refusal:
            self.add_error(f"{name}_file" if file is not None else name, refusal.message)
            return []


def list_file(label: str, help_text: str) -> forms.FileField:
    attrs = {"accept": ".csv,.jsonl,.txt,text/csv"}
    return forms.FileField(
        label=label,
        required=False,
        help_text=help_text,
        widget=forms.FileInput(attrs=attrs),
        allow_empty_file=True,
    )


def list_text(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label, required=False, help_text=help_text, widget=forms.Textarea(attrs=LIST)
    )


class QuestionsForm(ListsForm):
    """Questions to add to a campaign; a naming campaign lists images only."""

    def __init__(self, *args: Any, naming: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.naming = naming
        line = "one image name a line" if naming else "image,wnid on every line, or JSON Lines"
        self.fields["questions_file"] = list_file("Questions, as a file", f"CSV: {line}.")
        self.fields["questions"] = list_text("… or as text", f"{line.capitalize()}.")
        if not naming:
            self.fields["topics_file"] = list_file(
                "Classes, as a file",
                "wnid,name,definition,synonyms,url; synonyms apart by semicolons. Classes that "
                "are not listed are described by WordNet where the site knows it.",
            )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if self.naming:
            data["names"] = self.listed("questions", lists.read_names)
        else:
            data["pairs"] = self.listed("questions", lists.read_questions)
            data["topics"] = self.listed("topics", lists.read_topics)
        return data


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


class InvitationForm(WordedForm):
    role = forms.ChoiceField(choices=Membership.Role.choices, initial=Membership.Role.ANNOTATOR)
    days = forms.IntegerField(
        label="Valid for days", initial=7, min_value=1, max_value=people.MAX_DAYS
    )
    max_uses = forms.IntegerField(
        label="For how many people", initial=1, min_value=1, max_value=people.MAX_USES
    )
    note = forms.CharField(
        required=False, max_length=200, help_text="For yourself: whom it is meant for."
    )


class RoleForm(WordedForm):
    role = forms.ChoiceField(choices=Membership.Role.choices)


def answer_choices(campaign: Campaign, *, abstentions: bool = True) -> list[tuple[str, str]]:
    """(text of the answer, label) of everything that may be answered."""
    kind = KINDS[campaign.kind]
    vocabulary = [
        (json.dumps({"key": entry["key"]}), entry["name"])
        for entry in campaign.settings.get("vocabulary", [])
    ]
    words = [
        (choice["value"], choice["label"])
        for choice in kind.choices(campaign.settings)
        if abstentions or kind.vote(choice["value"]) is not None
    ]
    return vocabulary + words


def answer_of(text: str) -> Any:
    """The answer that a choice's text stands for."""
    return json.loads(text) if text.startswith("{") else text


class GoldForm(WordedForm):
    image = forms.CharField(
        max_length=400,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose one of the images; search for it by name."},
    )
    topic = forms.ChoiceField(label="Class")
    answer = forms.ChoiceField(label="The right answer")
    explanation = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Why it is so. People may see it in training.",
    )

    def __init__(self, campaign: Campaign, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        topics = campaign.topics.order_by("name").values_list("key", "name")
        self.fields["topic"].choices = list(topics)  # type: ignore[attr-defined]
        self.fields["answer"].choices = answer_choices(campaign)  # type: ignore[attr-defined]

    def other_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("topic", "answer", "explanation")]

    def clean_answer(self) -> Any:
        return answer_of(self.cleaned_data["answer"])


class GoldListForm(ListsForm):
    gold_file = list_file("Gold, as a file", "CSV: image,wnid,answer,explanation on every line.")

    def __init__(self, kind: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.fields["gold_file"].required = True

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if self.errors:
            return data
        data["rows"] = self.listed("gold", lambda content: lists.read_gold(content, self.kind))
        return data


class TopicForm(WordedForm):
    name = forms.CharField(max_length=200)
    synonyms = forms.CharField(required=False, help_text="Apart by semicolons.")
    definition = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    url = forms.URLField(
        label="Link",
        required=False,
        max_length=400,
        assume_scheme="https",
        help_text="Where people can read more.",
    )
    guidance = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What counts as this class here, and what does not.",
    )

    def clean_synonyms(self) -> list[str]:
        words = self.cleaned_data["synonyms"].split(";")
        return [word.strip() for word in words if word.strip()]


class ExampleForm(WordedForm):
    image = forms.CharField(
        max_length=400,
        error_messages={"required": "Choose one of the images; search for it by name."},
    )
    answer = forms.ChoiceField(
        label="It shows", choices=[("yes", "a yes"), ("no", "a no")], initial="yes"
    )
    caption = forms.CharField(required=False, max_length=200, help_text="What to look at.")

    def other_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("answer", "caption")]


class VerdictForm(WordedForm):
    """A reviewer's verdict on one question."""

    value = forms.CharField(error_messages={"required": "Choose a verdict."})
    reason = forms.CharField(
        required=False,
        max_length=500,
        help_text="Kept with the verdict.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, campaign: Campaign, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.campaign = campaign

    def clean_value(self) -> Any:
        try:
            return reviewing.clean_verdict(self.campaign, answer_of(self.cleaned_data["value"]))
        except (Refusal, ValueError) as error:
            raise forms.ValidationError("Choose one of the verdicts.") from error


class QuestionFilterForm(WordedForm):
    state = forms.ChoiceField(required=False)
    topic = forms.ChoiceField(label="Class", required=False)
    q = forms.CharField(
        label="Image name",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "data-key": "/"}),
    )

    def __init__(self, campaign: Campaign, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        states = [choice for choice in Question.State.choices if choice[0] != Question.State.GOLD]
        topics = campaign.topics.order_by("name").values_list("key", "name")
        self.fields["state"].choices = [("", "any"), *states]  # type: ignore[attr-defined]
        self.fields["topic"].choices = [("", "any"), *topics]  # type: ignore[attr-defined]


class TokenForm(WordedForm):
    name = forms.CharField(max_length=100, help_text="What will use it.")
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices, initial=ApiToken.Scope.READ)
    days = forms.IntegerField(
        label="Valid for days", initial=90, min_value=1, max_value=tokens.MAX_DAYS
    )
