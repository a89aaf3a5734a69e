"""Forms of a question graph: a whole graph, one node, and the settings of asking."""

import re
from typing import Any

from django import forms

from labeling.errors import Refusal
from labeling.kinds import hierarchy
from labeling.question_graph import replaying
from labeling.web.forms.common import LIST, TALL, WordedForm, refusals_shown
from labeling.web.forms.kept import KeepsFiles, KeptFileInput

MAX_BYTES = 16 * 1024 * 1024
# NUL and half surrogate pairs, which databases reject, as characters or escapes.
HIGH, LOW = r"\\u[dD][89abAB]..", r"\\u[dD][c-fC-F]"
UNSTORABLE = re.compile(rf"\0|\\u0000|\\x00|\\0|{HIGH}(?!{LOW})|(?<!{HIGH}){LOW}")
ACCEPTED = ".json,.yaml,.yml,application/json"
SOURCES = [
    ("ilsvrc", "ILSVRC’s detection graph: 245 questions, 200 classes"),
    ("file", "A graph from a file"),
]


def words(setting: str) -> list[tuple[str, str]]:
    """Return the choices of a setting with their descriptions."""
    offered = hierarchy.SETTINGS[setting]
    return [(word, f"{word.capitalize()}: {hierarchy.WORDS[word]}") for word in offered]


def price_field(required: bool = False) -> forms.FloatField:
    return forms.FloatField(
        required=required,
        min_value=hierarchy.LOWEST_PRICE,
        max_value=1,
        label="Price of a question",
        help_text="Questions that prevent fewer missed labels are not asked. Example: 0.006.",
    )


class PriceForm(WordedForm):
    """The price of a question, in a campaign that has one."""

    price = price_field(required=True)


def graph_file() -> forms.FileField:
    return forms.FileField(
        label="Graph file",
        required=False,
        allow_empty_file=True,
        help_text='JSON or YAML: {"nodes": [{"id", "question", "parents", "class"}]}.',
        widget=KeptFileInput(attrs={"accept": ACCEPTED}),
    )


def version_field() -> forms.IntegerField:
    """Return a hidden field with the version that the form was opened with."""
    return forms.IntegerField(
        required=False, min_value=1, max_value=2**31, widget=forms.HiddenInput
    )


def read_graph(file: Any, text: str = "") -> dict[str, object]:
    """Return the raw graph of an upload, or of the text if there is no file. Raises Refusal."""
    name = ""
    if file is not None:
        name = file.name
        if file.size > MAX_BYTES:
            raise Refusal("The file is larger than 16 MB; a graph of 20,000 questions has 10.")
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Refusal(f"{name} is not UTF-8 text. Save it as UTF-8.") from error
    if UNSTORABLE.search(text):
        raise Refusal(
            "The graph contains a NUL or a lone surrogate, which is not valid text. Remove it."
        )
    return replaying.parse(text, name)


def show_faults(form: forms.Form, refusal: Refusal, field: str | None) -> None:
    """Add each fault of a graph as a separate error."""
    for fault in getattr(refusal, "faults", None) or [refusal.message]:
        form.add_error(field, fault)


class GraphForm(KeepsFiles, WordedForm):
    """A whole graph; `raw` is set once the form is valid."""

    graph_file = graph_file()
    graph = forms.CharField(
        label="Graph as text",
        required=False,
        widget=forms.Textarea(attrs={**LIST, "rows": 14, "class": "code"}),
        help_text="This is the active graph: edit it or paste another.",
    )
    version = version_field()
    raw: dict[str, object]

    def clean(self) -> None:
        super().clean()
        data = self.cleaned_data
        file = data.get("graph_file")
        if file is None and not data.get("graph"):
            self.add_error("graph", "Choose a file, or write the graph as text.")
            return
        with refusals_shown(self):
            self.raw = read_graph(file, data.get("graph", ""))
            replaying.build(self.raw)

    def show_refusal(self, refusal: Refusal) -> None:
        """Add each fault as a separate error, at the file or the text that was sent."""
        show_faults(self, refusal, "graph_file" if self.cleaned_data.get("graph_file") else "graph")


class NodeForm(WordedForm):
    """One question of the graph."""

    question = forms.CharField(max_length=500, help_text="The question as annotators read it.")
    name = forms.CharField(
        required=False,
        max_length=200,
        help_text="Short name of the class, if the question is longer.",
    )
    guidance = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs=TALL),
        help_text="What counts and what does not: “please do not confuse with …”. Shown as text.",
    )
    parents = forms.MultipleChoiceField(
        required=False,
        help_text="A “no” to them closes this question. Without any, it is asked about every "
        "image.",
        widget=forms.SelectMultiple(attrs={"size": 8}),
    )

    version = version_field()

    def __init__(
        self,
        graph: replaying.QuestionGraph,
        node: replaying.Node,
        data: Any = None,
        guidance: str = "",
        version: int | None = None,
    ) -> None:
        """guidance: text on the class's own page, used if the graph has none."""
        initial = {
            "question": node.question,
            "name": node.name,
            "guidance": node.guidance or guidance,
            "parents": list(node.parents),
            "version": version,
        }
        super().__init__(data, initial=initial)
        # Descendants cannot be parents, nor can leaves.
        below = {node.id, *graph.descendants(node.id)}
        offered = [
            candidate
            for candidate in graph.nodes
            if not candidate.leaf and candidate.id not in below
        ]
        self.fields["parents"].choices = [  # type: ignore[attr-defined]
            (candidate.id, f"{candidate.title} ({candidate.id})") for candidate in offered
        ]

    def show_refusal(self, refusal: Refusal) -> None:
        show_faults(self, refusal, None)
