"""Forms of campaigns: texts, settings, and everything for a new campaign."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from django import forms

from labeling.campaigns.access import RESEARCHER, campaigns_for
from labeling.errors import Refusal
from labeling.exchange import box_campaigns, lists, part_campaigns
from labeling.files import BadInput, parse_yaml
from labeling.graphs import store
from labeling.kinds import KINDS, policies
from labeling.kinds.base import ASKS, CANDIDATES, CHAINS, GRAPH, IMAGES, OBJECTS, PAIRS
from labeling.kinds.candidates import SETTINGS
from labeling.kinds.hierarchy import MAX_PRESENT
from labeling.kinds.naming import MAX_CLASSES
from labeling.models import Dataset, Release, User
from labeling.question_graph.graph import QuestionGraph, build
from labeling.releases import freezing
from labeling.reports import forecasts
from labeling.reports.forecasts import Forecast, known_number
from labeling.simulation.presets import PRESETS, error_of
from labeling.web.forms.common import (
    NAME_HELP,
    TALL,
    ListsForm,
    ReleaseField,
    WordedForm,
    list_file,
    list_text,
)
from labeling.web.forms.graph import (
    SOURCES,
    graph_file,
    price_field,
    read_graph,
    show_faults,
    words,
)
from labeling.web.forms.kept import KeptFileInput
from labeling.web.forms.policy import COST_KEYS, VOTE_COST_KEYS, PolicyForm
from labeling.web.forms.verification import stop_fields

MAX_POLICY_BYTES = 64 * 1024


class PresetRow(NamedTuple):
    """A preset in the estimate. votes: answers per question. error: None if it is not modeled."""

    title: str
    votes: float
    estimate: forecasts.CostEstimate
    error: float | None


def asks_of(kind: str) -> str:
    """Return the kind's `asks`; "" for an unknown kind."""
    return KINDS[kind].asks if kind in KINDS else ""


class CampaignForm(WordedForm):
    """A campaign's title and instructions."""

    title = forms.CharField(
        max_length=200,
        help_text="Shown to annotators.",
        widget=forms.TextInput(attrs={"data-slug-source": "id_name"}),
    )
    instructions = forms.CharField(
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs=TALL),
        help_text="What counts as the class and what does not. Shown next to each image. Markdown: "
        "lists, emphasis, headings, links, and images of the dataset: ![too loose](image:cat.jpg).",
    )


class SettingsForm(CampaignForm):
    """A campaign's texts, deadline and audit, and the settings of its kind."""

    COLUMNS = ("title", "instructions", "deadline", "nightly_audit")
    deadline = forms.DateTimeField(
        required=False,
        help_text="Shown to annotators, who get no new questions from then on. Time zone: UTC.",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    nightly_audit = forms.IntegerField(
        label="Questions audited each night",
        min_value=0,
        max_value=1_000,
        help_text="Reviewers answer this many newly settled questions again. They are drawn at "
        "random, once the last ones are answered. 0: no audit.",
    )
    swiping = forms.BooleanField(
        required=False,
        label="Allow answering by swiping",
        help_text="For touch screens; each annotator can turn it on. The page Quality compares the "
        "errors of keys, taps and swipes.",
    )

    def __init__(self, kind: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not KINDS[kind].can_swipe:
            del self.fields["swiping"]
        if not KINDS[kind].has_words:
            del self.fields["nightly_audit"]


class NewCampaignForm(CampaignForm, PolicyForm, ListsForm):
    """All fields of a new campaign."""

    name = forms.CharField(max_length=80, help_text=NAME_HELP)
    kind = forms.ChoiceField(widget=forms.RadioSelect, help_text="It cannot be changed later.")
    dataset = forms.ModelChoiceField(
        queryset=Dataset.objects.none(), empty_label="Choose a dataset…"
    )
    questions_file = list_file(
        "File of questions",
        "CSV with image,wnid in each line, or JSON Lines. A wnid is a WordNet ID.",
    )
    questions = list_text(
        "Questions as text",
        "Instead of a file: image,wnid in each line. You can also add questions later.",
    )
    candidates_file = list_file(
        "File of candidates",
        "CSV with image,wnid,query in each line, or JSON Lines. The search query is optional.",
    )
    candidates = list_text(
        "Candidates as text",
        "Instead of a file: image,wnid,query in each line. You can also add candidates later.",
    )
    topics_file = list_file(
        "File of classes",
        "CSV with wnid,name,definition,synonyms,url in each line. Classes without a line get their "
        "names from WordNet, if it is installed.",
    )
    gold_file = list_file(
        "File of gold and practice questions",
        "CSV with image,wnid,answer,explanation in each line; for naming, wnid is the word label. "
        "For boxes image,wnid,x0,y0,x1,y1 of pairs that are not listed above. For parts "
        "image,object,answer, with the answer in JSON as in the API. Otherwise a listed question "
        "becomes gold. Training and test use them too.",
    )
    gold = list_text("Gold and practice questions as text", "Instead of a file: the same lines.")
    release = ReleaseField(
        label="Labels of a release",
        queryset=Release.objects.none(),
        required=False,
        empty_label="No release",
        help_text="Used instead of a list of questions.",
    )
    complete = forms.BooleanField(
        required=False,
        label="The list is complete for these classes",
        help_text="If checked, classes that are not listed for an image count as absent. Otherwise "
        "they count as unknown.",
    )
    proposals_file = list_file(
        "File of proposed boxes",
        "CSV with image,wnid,confidence,x0,y0,x1,y1 in each line, in pixels of the upright image. "
        "Annotators check these boxes before they draw, if that saves time.",
    )
    vocabulary_file = list_file(
        "File of the vocabulary",
        "CSV with key,name in each line. A wnid alone is named by WordNet.",
    )
    vocabulary = list_text(
        "Vocabulary as text",
        "The classes to choose from, instead of a file: key,name in each line, or a wnid alone.",
    )
    most = forms.IntegerField(
        label="Maximum number of classes per answer",
        min_value=1,
        max_value=MAX_CLASSES,
        initial=1,
        required=False,
        help_text="The most likely class comes first. If several are allowed, annotators can also "
        "browse WordNet and compare similar classes.",
    )
    examples_file = list_file(
        "File of example images",
        "CSV with image,wnid in each line. Annotators see up to 13 images of a class and get no "
        "questions about them. Used if an answer may list several classes.",
    )
    images = list_text("Images", "One name per line. Leave empty for every image of the dataset.")
    graph = forms.ChoiceField(
        label="Question graph", choices=SOURCES, initial="ilsvrc", widget=forms.RadioSelect
    )
    graph_file = graph_file()
    mode = forms.ChoiceField(
        label="Questions that a “no” skips", choices=words("mode"), initial="safe"
    )
    order = forms.ChoiceField(
        label="Order of the questions", choices=words("order"), initial="breadth"
    )
    price = price_field()
    present = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=MAX_PRESENT,
        label="Expected classes per image",
        help_text="Average number, for the cost estimate; 2.8 by default. After 20 finished "
        "images, the real average is used.",
    )
    categories = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="Categories",
        help_text="One wnid or name of the dataset's vocabulary per line. Leave empty for all "
        "categories with objects.",
    )
    ask_half = forms.BooleanField(
        required=False,
        initial=True,
        label="Ask first whether at least half of the missing parts can be drawn",
    )
    ask_outline = forms.BooleanField(
        required=False, label="Also ask for the object's outline if the import has none"
    )
    preset = forms.ChoiceField(
        label="Votes, gold and training",
        choices=[(key, preset.title) for key, preset in PRESETS.items()],
        initial="standard",
        required=False,
        help_text="The estimate compares the three. Careful has a training and a test. Rules that "
        "you change below or put into a policy file override those of the preset.",
    )
    policy_file = forms.FileField(
        label="Policy file",
        required=False,
        help_text="YAML with a rule on each line, such as votes: 7.",
        widget=KeptFileInput(attrs={"accept": ".yaml,.yml"}),
    )
    expected = forms.IntegerField(
        label="Expected number of questions",
        required=False,
        min_value=1,
        max_value=100_000_000,
        help_text="For the cost estimate, if you add the questions later.",
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, user=user, **kwargs)
        kinds = [(kind.name, kind.title) for kind in KINDS.values()]
        self.fields |= stop_fields(required=False)
        self.fields["price"].help_text += (
            " Only for the learned order with safe skipping, once enough images are finished. The "
            "labels of other questions are inferred. Leave empty to ask all questions."
        )
        self.fields["kind"].choices = kinds  # type: ignore[attr-defined]
        self.fields["kind"].initial = kinds[0][0]
        datasets = Dataset.objects.visible_to(user).filter(archived_at=None).order_by("name")
        self.fields["dataset"].queryset = datasets  # type: ignore[attr-defined]
        releases = Release.objects.filter(campaign__in=campaigns_for(user, RESEARCHER))
        releases = releases.select_related("campaign").order_by("campaign__name", "-number")
        self.fields["release"].queryset = releases  # type: ignore[attr-defined]

    def word_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("title", "name", "dataset", "kind", "preset")]

    def kind_choices(self) -> list[tuple[str, Any]]:
        """Return (picture, radio button) of each kind; the picture is "" if it has none."""
        kinds = KINDS.values()
        return [(kind.picture, radio) for kind, radio in zip(kinds, self["kind"], strict=True)]

    def has_rule_faults(self) -> bool:
        """Return whether a folded field has an error, so that all of them must be visible."""
        keys = ("instructions", "policy_file", "expected", *VOTE_COST_KEYS, *COST_KEYS)
        return self.has_fine_faults() or any(self.has_error(key) for key in keys if self.is_bound)

    def contains_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("questions_file", "questions")]

    def class_fields(self) -> list[forms.BoundField]:
        return [self["topics_file"]]

    def gold_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("gold_file", "gold")]

    def candidates_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("candidates_file", "candidates", *SETTINGS)]

    def boxes_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("complete", "release", "proposals_file")]

    def naming_fields(self) -> list[forms.BoundField]:
        names = ("vocabulary_file", "vocabulary", "most", "examples_file")
        return [self[key] for key in names]

    def hierarchy_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("graph", "graph_file", "mode", "order", "price", "present")]

    def policies_by_kind(self) -> dict[str, dict[str, object]]:
        """Return each kind's policy defaults that differ from the general ones."""
        return {kind.name: dict(kind.policy_defaults) for kind in KINDS.values()}

    def kinds(self) -> dict[str, str]:
        """Return group of fields → names of the kinds that show it.

        A group is a value of `asks`, or one of listed, listed_pairs, classes, votes, vocabulary.
        """
        asking = {asks: [k.name for k in KINDS.values() if k.asks == asks] for asks in ASKS}
        asking["listed"] = asking[IMAGES] + asking[GRAPH]
        asking["listed_pairs"] = asking[PAIRS] + asking[CHAINS]
        asking["classes"] = asking["listed_pairs"] + asking[CANDIDATES]
        asking["votes"] = [kind.name for kind in KINDS.values() if kind.asks != CHAINS]
        asking["vocabulary"] = [kind.name for kind in KINDS.values() if kind.has_vocabulary]
        return {key: " ".join(names) for key, names in asking.items()}

    def parts_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in ("categories", "ask_half", "ask_outline")]

    def kind_asks(self) -> str:
        return asks_of(self.data.get("kind", ""))

    def full_clean(self) -> None:
        # Fields of other kinds may be missing.
        needed = not self.is_bound or self.kind_asks() == GRAPH
        for key in ("graph", "mode", "order"):
            self.fields[key].required = needed
        super().full_clean()
        for key in ("graph", "mode", "order"):
            self.fields[key].required = True

    def clean(self) -> None:
        super().clean()
        data = self.cleaned_data
        asks = asks_of(data.get("kind", ""))
        vocabulary = asks and KINDS[data["kind"]].has_vocabulary
        pairs = asks in (PAIRS, CHAINS)
        by_class = pairs or asks == CANDIDATES
        data["pairs"] = self.read_list("questions", lists.read_questions) if pairs else []
        data["found"] = (
            self.read_list("candidates", lists.read_candidates) if asks == CANDIDATES else []
        )
        data["topics_list"] = self.read_list("topics", lists.read_topics) if by_class else []
        read_gold = partial(lists.read_gold, kind=data.get("kind", ""))
        data["gold_rows"] = self.read_list("gold", read_gold) if asks else []
        data["names"] = [] if by_class else lists.read_names(data.get("images", ""))
        data["classes"] = self.read_list("vocabulary", lists.read_vocabulary) if vocabulary else []
        if vocabulary and not data["classes"] and not self.has_error("vocabulary_file"):
            self.add_error("vocabulary", "List the classes that people choose from.")
        several_classes = vocabulary and (data.get("most") or 1) > 1
        data["examples"] = (
            self.read_list("examples", lists.read_examples) if several_classes else []
        )
        if asks == CHAINS:
            self._boxes()
        if asks == GRAPH:
            data["question_graph"] = self._graph()
        if asks == OBJECTS:
            data["items"] = self._objects()

    def _boxes(self) -> None:
        """Read the pairs whose boxes are asked for, and the proposed boxes."""
        data = self.cleaned_data
        release, dataset = data.get("release"), data.get("dataset")
        release = None if data["pairs"] else release
        data["from_release"] = release
        try:
            if release is not None:
                data["pairs"] = box_campaigns.pairs_of(freezing.read(release))
        except BadInput as error:
            self.add_error("release", f"The release {error}")
        rows = self.read_list("proposals", lists.read_proposals)
        data["proposed"] = None
        try:
            if rows and dataset is not None:
                data["proposed"] = box_campaigns.propose(dataset, data["pairs"], rows)
        except Refusal as refusal:
            self.add_error("proposals_file", refusal.message)

    def _objects(self) -> list[int]:
        """Return the objects of the chosen categories; faults are shown at their field."""
        dataset = self.cleaned_data.get("dataset")
        if dataset is None:
            return []
        words = lists.read_names(self.cleaned_data.get("categories", ""))
        try:
            return part_campaigns.objects_of(dataset, words)
        except Refusal as refusal:
            field = "categories" if refusal.field == "categories" else "dataset"
            self.add_error(field, refusal.message)
            return []

    def _graph(self) -> QuestionGraph | None:
        """Return the validated graph; None if it is faulty, which is shown at its field."""
        if self.cleaned_data.get("graph") == "ilsvrc":
            return store.load_ilsvrc()
        file = self.cleaned_data.get("graph_file")
        if file is None:
            self.add_error("graph_file", "Choose a graph file.")
            return None
        try:
            return build(read_graph(file))
        except Refusal as refusal:
            show_faults(self, refusal, "graph_file")
            return None

    def estimate(self) -> forecasts.CostEstimate:
        """Return the cost of the campaign from the valid fields."""
        return forecasts.estimate(self._forecast(), self._rules())

    def presets(self) -> list[PresetRow]:
        """Return the cost of the campaign under each preset, and its error where it is modeled."""
        kind = KINDS.get(self.cleaned_data.get("kind", ""))
        if kind is None:
            return []
        rows, money = [], self.policy()
        for preset in PRESETS.values():
            chosen = preset.rules(kind)
            chosen |= {"cost_per_hour": money["cost_per_hour"], "currency": money["currency"]}
            rules = policies.clean_new(chosen, kind)
            cost = forecasts.estimate(self._forecast(), rules)
            error = error_of(rules, kind)
            rows.append(PresetRow(preset.title, forecasts.answers_each(rules), cost, error))
        return rows

    def _policy_content(self) -> dict[str, object]:
        """Return the rules: changed fields win over the file, and the file over the preset."""
        content = super()._policy_content()
        kind = KINDS.get(self.cleaned_data.get("kind", ""))
        preset = PRESETS.get(self.cleaned_data.get("preset") or "")
        base = preset.rules(kind) if preset and kind else {}
        base |= self.cleaned_data.get("policy_file") or {}
        defaults: Mapping[str, object] = policies.clean_new(None, kind)
        for key, value in base.items():
            field = self.fields.get(key)
            initial = field.initial if field else None
            if content.get(key) in (None, defaults.get(key), initial):
                content[key] = value
        return content

    def clean_policy_file(self) -> dict[str, object]:
        """Return the rules in the file."""
        file = self.cleaned_data.get("policy_file")
        if file is None:
            return {}
        if file.size > MAX_POLICY_BYTES:
            raise forms.ValidationError("A policy file may have at most 64 KiB.")
        try:
            return parse_yaml(file.read(), file.name)
        except BadInput as error:
            raise forms.ValidationError(str(error)) from None

    def _rules(self) -> policies.WholePolicy:
        """Return the policy that the campaign would have."""
        kind = KINDS.get(self.cleaned_data.get("kind", ""))
        return policies.whole({**(kind.policy_defaults if kind else {}), **self.policy()})

    def _forecast(self) -> Forecast:
        data = self.cleaned_data
        asks = asks_of(data.get("kind", ""))
        if asks in (PAIRS, CHAINS):
            pairs = len(data.get("pairs", [])) or data.get("expected") or 0
            if asks == PAIRS:
                return known_number(pairs)
            return forecasts.of_pairs(pairs, self._rules()["second_looks"])
        if asks == CANDIDATES:
            questions = {row[:2] for row in data.get("found", [])}
            return known_number(len(questions) or data.get("expected") or 0)
        if asks == OBJECTS:
            return known_number(len(data.get("items", [])) or data.get("expected") or 0)
        dataset = data.get("dataset")
        images = len(data.get("names", [])) or (dataset.images.count() if dataset else 0)
        graph = data.get("question_graph")
        if graph is not None:
            rules = {key: data[key] for key in ("mode", "order", "present") if data.get(key)}
            return forecasts.of_images(graph, images, **rules)
        return known_number(images or data.get("expected") or 0)
