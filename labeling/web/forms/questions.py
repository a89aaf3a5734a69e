"""Forms of questions, gold, classes and verdicts."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from django import forms

from labeling.consensus import reviewing
from labeling.errors import Refusal
from labeling.exchange import lists
from labeling.kinds import KINDS
from labeling.kinds.base import CANDIDATES, CHAINS, PAIRS
from labeling.models import Campaign, Question
from labeling.quality import stated_errors
from labeling.web.forms.common import ListsForm, WordedForm, list_file, list_text


class QuestionsForm(ListsForm):
    """Questions to add to a campaign; most kinds list only images. asks: the kind's `asks`."""

    LINES: ClassVar[dict[str, str]] = {
        PAIRS: "image,wnid on every line, or JSON Lines",
        CHAINS: "image,wnid on every line, or JSON Lines",
        CANDIDATES: "image,wnid,query on every line, or JSON Lines",
    }

    def __init__(self, *args: Any, asks: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.asks = asks
        self.name = "candidates" if asks == CANDIDATES else "questions"
        line = self.LINES.get(asks, "one image name per line")
        words = f"File of {self.name}"
        self.fields[f"{self.name}_file"] = list_file(words, f"CSV: {line}.")
        self.fields[self.name] = list_text(
            f"{self.name.capitalize()} as text", f"{line.capitalize()}."
        )
        if asks in self.LINES:
            self.fields["topics_file"] = list_file(
                "File of classes",
                "CSV with wnid,name,definition,synonyms,url in each line; semicolons separate "
                "synonyms. Other classes get their names from WordNet, if it is installed.",
            )

    def clean(self) -> None:
        super().clean()
        data = self.cleaned_data
        if self.asks == CANDIDATES:
            data["found"] = self.read_list("candidates", lists.read_candidates)
        elif self.asks in self.LINES:
            data["pairs"] = self.read_list("questions", lists.read_questions)
        else:
            data["names"] = self.read_list("questions", lists.read_names)
        if self.asks in self.LINES:
            data["topics"] = self.read_list("topics", lists.read_topics)


def answer_choices(campaign: Campaign, *, abstentions: bool = True) -> list[tuple[str, str]]:
    """Return (text, label) of each possible answer."""
    kind = KINDS[campaign.kind]
    return [
        (value if isinstance(value, str) else json.dumps(value), label)
        for value, label, _ in kind.answers(campaign.settings)
        if abstentions or kind.vote(value) is not None
    ]


def answer_of(text: str) -> object:
    """Return the answer that a text of answer_choices stands for."""
    return json.loads(text) if text.startswith("{") else text


def _replace() -> forms.BooleanField:
    return forms.BooleanField(
        label="Replace a question that nobody answered",
        required=False,
        help_text="If the campaign asks about this image and class already, that question becomes "
        "gold, unless somebody has answered it or is answering it.",
    )


def _explanation() -> forms.CharField:
    return forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Why this answer is right. Shown in training.",
    )


class GoldForm(WordedForm):
    image = forms.CharField(
        max_length=400,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose one of the images; search for it by name."},
    )
    topic = forms.ChoiceField(label="Class")
    answer = forms.ChoiceField(label="The right answer")
    explanation = _explanation()
    replace = _replace()

    def __init__(self, campaign: Campaign, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        topics = campaign.topics.order_by("name").values_list("key", "name")
        self.fields["topic"].choices = list(topics)  # type: ignore[attr-defined]
        self.fields["answer"].choices = answer_choices(campaign)  # type: ignore[attr-defined]

    def other_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("topic", "answer", "explanation", "replace")]

    def clean_answer(self) -> object:
        return answer_of(self.cleaned_data["answer"])


class GoldDrawingForm(WordedForm):
    """The known parts of an object, validated in gold.py."""

    answer = forms.CharField(error_messages={"required": "Draw a part, or choose its state."})
    explanation = _explanation()

    def clean_answer(self) -> object:
        try:
            return answer_of(self.cleaned_data["answer"])
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError("This is not a valid drawing. Draw it again.") from error

    def show_refusal(self, refusal: Refusal) -> None:
        # There is only one row, so its number is confusing.
        self.add_error("answer", refusal.message.removeprefix("Row 1: "))


class GoldListForm(ListsForm):
    gold_file = list_file(
        "File of gold questions", "CSV with image,wnid,answer,explanation in each line."
    )
    replace = _replace()

    def __init__(self, kind: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.fields["gold_file"].required = True
        if KINDS[kind].asks == CHAINS:
            del self.fields["replace"]
            self.fields["gold_file"].help_text = (
                "CSV with image,wnid,x0,y0,x1,y1 in each line, in pixels of the upright image. "
                "List every object of the class in the image. They become gold questions for "
                "drawing, checking and looking for more."
            )

    def clean(self) -> None:
        super().clean()
        if not self.errors:
            read = partial(lists.read_gold, kind=self.kind)
            self.cleaned_data["rows"] = self.read_list("gold", read)

    def show_refusal(self, refusal: Refusal) -> None:
        self.add_error("gold_file", refusal.message)


class TopicForm(WordedForm):
    name = forms.CharField(max_length=200)
    synonyms = forms.CharField(required=False, help_text="Separated by semicolons.")
    definition = forms.CharField(
        required=False, max_length=10_000, widget=forms.Textarea(attrs={"rows": 2})
    )
    url = forms.URLField(
        label="Link",
        required=False,
        max_length=400,
        assume_scheme="https",
        help_text="A page where annotators can read more.",
    )
    guidance = forms.CharField(
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What counts as this class here, and what does not.",
    )
    siblings = forms.CharField(
        label="Do not confuse with",
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One class per line: “name: what it is”.",
    )

    def clean_synonyms(self) -> list[str]:
        words = self.cleaned_data["synonyms"].split(";")
        return [word.strip() for word in words if word.strip()]

    def clean_siblings(self) -> list[dict[str, str]]:
        lines = [line.partition(":") for line in self.cleaned_data["siblings"].splitlines()]
        return [
            {"name": name.strip()[:200], "definition": meaning.strip()}
            for name, _, meaning in lines
            if name.strip()
        ]


def sibling_lines(siblings: Sequence[Mapping[str, str]]) -> str:
    """Return the siblings as the text of TopicForm's field."""
    return "\n".join(": ".join(filter(None, [row["name"], row["definition"]])) for row in siblings)


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


class SeenForm(WordedForm):
    """An action on a question in review. seen: the settlement that the reviewer saw."""

    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)


class VerdictForm(SeenForm):
    """A reviewer's verdict on one question."""

    value = forms.CharField(error_messages={"required": "Choose a verdict."})
    reason = forms.CharField(
        required=False,
        max_length=500,
        help_text="Stored with the decision.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(
        self, campaign: Campaign, *args: Any, question: Question | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.campaign, self.question = campaign, question
        # A rejected drawing to continue with.
        self.refused: Any = None

    def clean_value(self) -> object:
        drawn = self.question is not None and KINDS[self.campaign.kind].has_geometry
        value: object = None
        try:
            value = answer_of(self.cleaned_data["value"])
            context = (
                reviewing.question_context(self.campaign, self.question.pk)
                if self.question
                else None
            )
            return reviewing.clean_verdict(self.campaign, value, context)
        except Refusal as refusal:
            if drawn:
                self.refused = value if isinstance(value, dict) else None
                raise forms.ValidationError(refusal.message) from refusal
            raise forms.ValidationError("Choose one of the verdicts.") from refusal
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError("Choose one of the verdicts.") from error


class SendBackForm(SeenForm):
    """A note to the annotators whose drawings are sent back."""

    note = forms.CharField(
        label="What to correct",
        max_length=reviewing.MAX_NOTE_LENGTH,
        error_messages={"required": "Say what to correct; the annotator reads it."},
        widget=forms.Textarea(attrs={"rows": 3}),
    )


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


class AuditForm(WordedForm):
    """The size and seed of an audit sample of settled questions."""

    n = forms.IntegerField(
        label="Questions",
        initial=100,
        min_value=1,
        max_value=10_000,
        help_text="Example: 2 wrong of 100 means an error between 0.2 % and 7 %. Four times as "
        "many questions halve this interval.",
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="The same seed draws the same sample. Leave empty for a random one.",
    )


class RandomGoldForm(AuditForm):
    """The size and seed of a sample of questions that become gold."""

    n = forms.IntegerField(
        label="Images",
        initial=stated_errors.PROPOSED,
        min_value=1,
        max_value=10_000,
        help_text="You and the reviewers answer them without seeing votes or label.",
    )


class AskMoreForm(WordedForm):
    """The number of further people to ask about settled questions."""

    people = forms.IntegerField(min_value=1, max_value=25)
    reason = forms.CharField(required=False, max_length=500)


class PilotForm(WordedForm):
    """The size and seed of a pilot: a random sample of each class that gets ten votes."""

    per_topic = forms.IntegerField(
        label="Questions of each class",
        initial=50,
        min_value=1,
        max_value=10_000,
        help_text="Drawn at random, including settled ones.",
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="The same seed draws the same sample. Leave empty for a random one.",
    )


class AuditAnswerForm(WordedForm):
    """An answer in the audit, validated in auditing.py."""

    value = forms.CharField(max_length=500)

    def clean_value(self) -> object:
        try:
            return answer_of(self.cleaned_data["value"])
        except ValueError as error:
            raise forms.ValidationError("Choose one of the answers.") from error
