"""The pages of a kind of question: by default one image and its answers."""

from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from annotator.kinds import tutorials
from annotator.pages import bodies
from labeling.answers.submitted_answers import SubmittedAnswer, read_form
from labeling.kinds import Kind
from labeling.models import Campaign, Question, Seat, User
from labeling.reports.boxes_picture import ShownStep
from labeling.reports.parts_picture import ObjectRow

Context = dict[str, object]


class SeatRow(TypedDict):
    """A seat as scripts and templates get it: its token and the signed URL of its image.

    Drawings add the object, the latest answer, the reviewer's note, the draft and, in campaigns
    with a model, whether it may be asked. Steps add what they show (kinds/boxes.py), pages of
    images the image size (kinds/grid.py).
    """

    seat: str
    topic: str
    image: str
    object: NotRequired[ObjectRow]
    answer: NotRequired[Any]
    sent_back: NotRequired[dict[str, str] | None]
    draft: NotRequired[Context | None]
    assisted: NotRequired[bool]
    shows: NotRequired[ShownStep]
    heading: NotRequired[str]
    size: NotRequired[list[int]]


class TopicDescription(TypedDict, total=False):
    """What annotators read about a class; for drawings also the parts of its category."""

    name: str
    article: str
    synonyms: list[str]
    definition: str
    url: str
    guidance: str
    siblings: list[dict[str, str]]
    examples: list[dict[str, str]]
    parts: list[Any]


class SeatsPayload(TypedDict):
    """Seats in order, and by key the topics that the page does not have yet.

    left: estimate of how many more the person could answer, as of `done` answers. at: the server's
    clock in milliseconds.
    """

    seats: list[SeatRow]
    topics: dict[str, TopicDescription]
    left: NotRequired[int | None]
    done: NotRequired[int]
    at: NotRequired[int]


@dataclass(frozen=True)
class SeatPage:
    """The seats that a request shows. values: latest answers by seat, if the URL asks for seats to
    revise.
    """

    request: HttpRequest
    campaign: Campaign
    payload: SeatsPayload
    values: dict[str, object] | None = None

    @property
    def seats(self) -> list[SeatRow]:
        return self.payload["seats"]


class Page:
    """The labeling and preview pages of one kind of question."""

    template = "annotator/label.html"
    training_template = "annotator/training.html"
    preview_template = "annotator/preview.html"
    # Template that shows a training answer and the known one; see compared.
    compared_template = ""
    # Training questions on one page; None for a full page.
    training_size: int | None = 1
    # Message for a form without an answer.
    missing = _("Choose one of the answers.")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        # The kind's template blocks: question, answers, about, keys.
        self.pieces = f"annotator/kinds/{kind.name}.html"
        self.script = f"js/kinds/{kind.name}.js"
        # Shown before a person's first real question of the kind.
        self.tutorial = tutorials.BY_KIND.get(kind.name)

    def context(self, campaign: Campaign) -> Context:
        """Return the context of every page of the kind."""
        return {
            "campaign": campaign,
            "kind": self.kind,
            "kind_template": self.pieces,
            "kind_script": self.script,
            "compared_template": self.compared_template,
            "kind_styles": (),
            "choices": self.kind.choices(campaign.settings),
            "swiping": self.kind.can_swipe and campaign.settings.get("swiping", True),
        }

    def label_context(self, page: SeatPage) -> Context:
        """Return extra context of the labeling page."""
        return {}

    def training_context(self, page: SeatPage) -> Context:
        """Return extra context of the training page."""
        return {}

    def preview_context(self, campaign: Campaign, question: Question) -> Context:
        """Return the context of a question's preview; "first" is the question as a seat row."""
        return {"first": self.preview_row(campaign, question)}

    def preview_row(self, campaign: Campaign, question: Question) -> SeatRow:
        """Return the question as a seat row without claiming a seat."""
        address = reverse("labeling:question_image", args=[campaign.name, question.pk])
        return {"seat": "", "topic": question.topic, "image": address}

    def setup(self, campaign: Campaign) -> Context:
        """Return extra campaign settings for the kind's script."""
        return {}

    def describe_seats(self, rows: list[SeatRow], user: User, campaign: Campaign) -> list[SeatRow]:
        """Return the rows with the kind's extra fields."""
        return rows

    def describe_topic(
        self, topic: TopicDescription, campaign: Campaign, key: str
    ) -> TopicDescription:
        """Return the topic of that key with the kind's extra fields."""
        return topic

    def last(self, request: HttpRequest, campaign: Campaign) -> SeatPage | None:
        """Return the last answered page with its answers; None for kinds that revise single seats.

        Raises NotYours.
        """
        return None

    def read(self, post: QueryDict, campaign: Campaign) -> list[SubmittedAnswer]:
        """Return the answers of a posted form. Raises Refusal."""
        return [read_form(post, gettext(self.missing))]

    def skipped(self, post: QueryDict) -> str | None:
        """Return the seat that a posted form skips."""
        return post.get("seat")

    def after(self, session: SessionBase, campaign: Campaign, seats: list[str]) -> str:
        """Return the query string of the page that follows accepted answers on these seats."""
        return f"?after={seats[0]}"

    def read_body(self, request: HttpRequest) -> bodies.Body:
        """Return the JSON body of the script's answers. Raises TooLarge or Refusal."""
        return bodies.read_object(request)

    def words_of(self, value: Any, campaign: Campaign) -> str:
        """Return an answer in the words of the page."""
        return self.kind.in_words(value, campaign.settings)

    def compared(self, value: Any, gold: Any, seat: Seat, campaign: Campaign) -> object:
        """Return an answer and the known one for the template; None if words are enough."""
        return None
