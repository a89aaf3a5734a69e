"""Base classes of the kinds of question, with all defaults.

A kind describes itself by attributes and methods. Some have no default, and `load` refuses a kind
that omits them. Higher packages choose their behaviour by a value of the kind (ASKS, RELEASES),
never by its name.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from labeling.errors import Refusal
from labeling.kinds.policy_keys import WholePolicy
from labeling.kinds.votes import Choices, Verdict, choice_rows, clean_choice, plurality
from labeling.sentences import gettext

if TYPE_CHECKING:
    from labeling.geometry.polygons import Polygons

# What questions are made of: listed pairs of image and class, every image, the first questions of a
# question graph, the dataset's objects, listed pairs whose questions follow one another, or images
# that queries found for a class.
PAIRS, IMAGES, GRAPH, OBJECTS, CHAINS, CANDIDATES = ASKS = (
    "pairs",
    "images",
    "graph",
    "objects",
    "chains",
    "candidates",
)
# What a settled question says in a release, in the order of RELEASES: whether the image contains
# the class that was asked for; which class it shows; as the first, for a question graph; where the
# parts of an object are; how right the class is that was asked about; where every instance is.
JUDGED, BOXES = "judged", "boxes"
CONTAINS, CLASS, *_ = RELEASES = ("contains", "class", GRAPH, OBJECTS, JUDGED, BOXES)
REQUIRED = ("name", "title", "asks", "release")
BINARY = ("no", "yes")
# An answer: a word, or a JSON object.
Answer = str | Mapping[str, object]


class GivenProposal(NamedTuple):
    """The model's outline of a part on a seat. sha256: of the network."""

    part: str
    polygons: "Polygons"
    sha256: str


@dataclass(frozen=True)
class DrawingContext:
    """The context of a drawing: the object's category and the image size in upright pixels.

    For a step: its name and what it shows beside the image. proposals: the model's outlines on this
    seat, by token.
    """

    topic: str
    width: int
    height: int
    step: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    proposals: Mapping[str, GivenProposal] = field(default_factory=dict)


class Kind(ABC):
    """One kind of question. Answers are JSON values that only the kind interprets."""

    # Stored with campaigns and releases; letters and _.
    name: ClassVar[str]
    # The name for researchers, and the heading of a page without a class (default: the name).
    title: ClassVar[str]
    heading: ClassVar[str] = ""
    # A small drawing among the static files, for the page that chooses a kind; "" for none.
    picture: ClassVar[str] = ""
    asks: ClassVar[str]
    release: ClassVar[str]
    # A page is one question about many images.
    topic_pages: ClassVar[bool] = False
    # People may answer yes and no by a swipe, unless the setting "swiping" is false.
    can_swipe: ClassVar[bool] = False
    # Answers are drawings: see DrawnKind.
    drawn: ClassVar[bool] = False
    # Answers are validated against a DrawingContext.
    has_geometry: ClassVar[bool] = False
    # Questions that follow one another are steps, by name, each with its own answers.
    steps: ClassVar[Mapping[str, "Kind"]] = {}
    # The settings contain the vocabulary of classes.
    has_vocabulary: ClassVar[bool] = False
    # Tally names of abstentions.
    abstentions: ClassVar[frozenset[str]] = frozenset()
    # The policy methods that can judge the votes; None for all.
    methods: ClassVar[tuple[str, ...] | None] = None
    # An answer that took longer was a pause.
    longest_work_ms: ClassVar[int] = 120_000
    # Settings written by a separate action.
    kept_settings: ClassVar[tuple[str, ...]] = ()
    # The label of each tag.
    tag_labels: ClassVar[Mapping[str, str]] = {}
    # Policy keys with other defaults than in most kinds.
    policy_defaults: ClassVar[Mapping[str, object]] = {}

    def at(self, step: str) -> "Kind":
        """Return the kind of questions at that step; itself if there are no steps."""
        return self.steps.get(step, self)

    def clean_settings(self, settings: Mapping[str, object]) -> Mapping[str, object]:
        """Return the validated settings; by default a kind has none. Raises Refusal."""
        self.refuse_unknown(settings, ())
        return {}

    def refuse_unknown(self, settings: Iterable[str], known: Sequence[str]) -> None:
        """Raise Refusal for an unknown setting."""
        if unknown := sorted(set(settings) - set(known)):
            choices = f"; it has {' and '.join(known)}" if known else ""
            raise Refusal(
                f"A campaign of the kind {self.name} has no setting {unknown[0]!r}{choices}.",
                field="settings",
            )

    @abstractmethod
    def choices(self, settings: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return {"value", "label", "key"} of each button on the page, in order."""

    def answers(self, settings: Mapping[str, Any]) -> list[tuple[Answer, str, str]]:
        """Return (value, label, key) of every answer that can be listed."""
        return [(row["value"], row["label"], row["key"]) for row in self.choices(settings)]

    def words(self, settings: Mapping[str, Any]) -> dict[str, str]:
        """Return the label of each tally name."""
        return {self.tally_name(value): label for value, label, _ in self.answers(settings)}

    def in_words(self, value: Any, settings: Mapping[str, Any]) -> str:
        """Return the label of an answer with its tags."""
        name = self.tally_name(value)
        labels = [gettext(self.tag_labels[tag]) for tag in self.tags(value)]
        return " · ".join([self.words(settings).get(name, name), *labels])

    def class_names(self, settings: Mapping[str, Any]) -> dict[str, str]:
        """Return the names of the classes that an answer can name; none if it is about its
        topic.
        """
        return {}

    def question(self, topic: str, settings: Mapping[str, Any]) -> str:
        """Return the question about a topic as a heading."""
        return topic if topic.endswith("?") else f"{topic}?"

    @abstractmethod
    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        """Return the validated answer. context: only if the kind has_geometry. Raises Refusal."""

    def answer_of(self, word: str) -> Answer:
        """Return the answer for a word in a list."""
        return word

    def vote(self, value: Any) -> str | None:
        """Return the word that an answer votes for; None for an abstention."""
        word = self.tally_name(value)
        return None if word in self.abstentions else word

    @abstractmethod
    def classes(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the words that votes can count for."""

    @property
    def is_binary(self) -> bool:
        """Return whether votes count for no and yes in every campaign."""
        return False

    @property
    def has_words(self) -> bool:
        """Return whether answers are words, whose error is stated; not drawings or their checks."""
        return not self.drawn and self.asks != CHAINS

    @abstractmethod
    def tally_name(self, value: Any) -> str:
        """Return the word under which exports count this answer, including abstentions."""

    def tags(self, value: Any) -> list[str]:
        """Return the tags of an answer, which do not affect the verdict; a release counts them."""
        return []

    def ranked(self, values: Sequence[Any], settled: Any) -> list[str]:
        """Return the classes in these answers, the most likely first, where an answer may list
        several.

        settled: the settled value, which comes first; None without one.
        """
        return []

    @abstractmethod
    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        """Return the verdict of these answers, one per person."""

    def agrees(self, value: Any, reference: Any) -> bool:
        """Return whether two answers agree."""
        return self.tally_name(value) == self.tally_name(reference)

    def grade(self, value: Any, gold: Any) -> float:
        """Return how right the answer is, in [0, 1]: by default 1 for the known answer, else 0.

        On gold, an abstention is wrong.
        """
        return float(value == gold)

    def is_right(self, value: Any, gold: Any, policy: WholePolicy) -> bool:
        """Return whether the answer counts as the known one."""
        return self.grade(value, gold) >= 1

    def fits(self, value: Any, settled: Any, policy: WholePolicy) -> bool:
        """Return whether the answer agrees with the settled value.

        A settled value may have another shape than a known one, which is_right reads.
        """
        return self.is_right(value, settled, policy)

    def likeness(self, value: Any, gold: Any) -> dict[str, float]:
        """Return how right each part of the answer is, by key; {} without parts."""
        return {}


class ChoiceKind(Kind):
    """A kind with a few fixed answers, settled by counting."""

    # (value, label, key), in the order of the page.
    options: ClassVar[Choices]

    def choices(self, settings: Mapping[str, Any]) -> list[dict[str, str]]:
        return choice_rows(self.options)

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        return clean_choice(value, self.options)

    def classes(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(sorted(word for word, _, _ in self.options if word not in self.abstentions))

    @property
    def is_binary(self) -> bool:
        return self.classes({}) == BINARY

    def class_names(self, settings: Mapping[str, Any]) -> dict[str, str]:
        classes = {word: label for word, label, _ in self.options if word not in self.abstentions}
        return classes if self.release == CLASS else {}

    def tally_name(self, value: Any) -> str:
        return str(value)

    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        """Return the plurality; see votes.plurality."""
        return plurality([self.vote(value) for value in values], policy)


class DrawnKind(Kind):
    """A kind whose answers are drawings: validated in context, kept as drafts, sent back for
    correction.

    Gold is balanced by topic, and audits skip drawings.
    """

    drawn = True
    has_geometry = True

    @abstractmethod
    def settle_weighted(
        self, values: Sequence[Any], weights: Sequence[float], policy: WholePolicy
    ) -> Verdict:
        """Settle like `settle`, with a weight for each person's answer."""

    @abstractmethod
    def learn(
        self, votes: Iterable[tuple[dict[int, Any], Any]], policy: WholePolicy
    ) -> Mapping[str, object]:
        """Return what a calibration stores of people.

        votes: for each question the answers by person id, and the known answer or None.
        """

    @abstractmethod
    def likeness(self, value: Any, gold: Any) -> dict[str, float]: ...


def load(path: str) -> Kind:
    """Return the kind of a dotted path. Raises TypeError for missing attributes and
    unknown values.
    """
    module, _, attribute = path.rpartition(".")
    cls = getattr(import_module(module), attribute)
    if not (isinstance(cls, type) and issubclass(cls, Kind)):
        raise TypeError(f"{path} is not a question kind: derive it from labeling.kinds.base.Kind.")
    needed = (*REQUIRED, "options") if issubclass(cls, ChoiceKind) else REQUIRED
    missing = [key for key in needed if not hasattr(cls, key)] + sorted(cls.__abstractmethods__)
    if missing:
        raise TypeError(f"The question kind {path} lacks: {', '.join(missing)}.")
    for key, known in (("asks", ASKS), ("release", RELEASES)):
        if (value := getattr(cls, key)) not in known:
            raise TypeError(f"{path}.{key} is {value!r}; give one of: {', '.join(known)}.")
    return cls()
