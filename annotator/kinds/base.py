"""What the site shows of a kind of question: by default one image and its answers."""

from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from annotator.kinds import tutorials
from annotator.pages import bodies
from labeling.answers.sent import Sent, read_form
from labeling.kinds import Kind
from labeling.models import Campaign, Question, Seat, User
from labeling.reports.box_overview import Shown
from labeling.reports.part_overview import ObjectRow

Context = dict[str, object]


class SeatRow(TypedDict):
    """A seat as scripts and templates have it: its token and the signed address of its image; of a
    drawing also its object, the latest answer, a reviewer's note, the draft and, where there is a
    model, whether it may be asked; of a step what it shows (kinds/boxes.py); of a page of images
    the image's width and height (kinds/grid.py)."""

    seat: str
    topic: str
    image: str
    object: NotRequired[ObjectRow]
    answer: NotRequired[Any]
    sent_back: NotRequired[dict[str, str] | None]
    draft: NotRequired[Context | None]
    assisted: NotRequired[bool]
    shows: NotRequired[Shown]
    heading: NotRequired[str]
    size: NotRequired[list[int]]


class TopicRow(TypedDict, total=False):
    """What people read about a class; of a drawing with the parts of its category."""

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
    """Seats in their order, and by key the topics that the page lacks. left: about how many more
    the person could answer when `done` were answered. at: the server's clock in milliseconds."""

    seats: list[SeatRow]
    topics: dict[str, TopicRow]
    left: NotRequired[int | None]
    done: NotRequired[int]
    at: NotRequired[int]


@dataclass(frozen=True)
class SeatPage:
    """The seats that a request is shown. given: the latest answers by seat, where the address
    asks for seats to go back to."""

    request: HttpRequest
    campaign: Campaign
    payload: SeatsPayload
    values: dict[str, object] | None = None

    @property
    def seats(self) -> list[SeatRow]:
        return self.payload["seats"]


class Page:
    """The pages on which people label, and researchers preview, questions of one kind."""

    template = "annotator/label.html"
    training_template = "annotator/training.html"
    preview_template = "annotator/preview.html"
    # What shows an answer of training beside the known one: see compared.
    compared_template = ""
    # Questions of training that are asked at once; None for as many as a page has.
    training_size: int | None = 1
    # The message for a form without an answer.
    missing = _("Choose one of the answers.")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        # The pieces of the kind: question, answers, about, keys.
        self.pieces = f"annotator/kinds/{kind.name}.html"
        self.script = f"js/kinds/{kind.name}.js"
        # What people see before their first real question of the kind.
        self.tutorial = tutorials.BY_KIND.get(kind.name)

    def context(self, campaign: Campaign) -> Context:
        """What every page of the kind gets."""
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
        """What the labeling page gets beside that."""
        return {}

    def training_context(self, page: SeatPage) -> Context:
        """What the page of training gets beside that."""
        return {}

    def preview_context(self, campaign: Campaign, question: Question) -> Context:
        """What the preview of a question gets, with "first": the question in place of a seat."""
        return {"first": self.preview_row(campaign, question)}

    def preview_row(self, campaign: Campaign, question: Question) -> SeatRow:
        """Return the question as a seat, though nothing is claimed."""
        address = reverse("labeling:question_image", args=[campaign.name, question.pk])
        return {"seat": "", "topic": question.topic, "image": address}

    def setup(self, campaign: Campaign) -> Context:
        """What the kind's script gets of the campaign beside what every kind's gets."""
        return {}

    def describe_seats(self, rows: list[SeatRow], user: User, campaign: Campaign) -> list[SeatRow]:
        """Return the seats of a page with what the kind shows of each."""
        return rows

    def describe_topic(self, topic: TopicRow, campaign: Campaign, key: str) -> TopicRow:
        """Return the topic of that key with what the kind shows of it."""
        return topic

    def last(self, request: HttpRequest, campaign: Campaign) -> SeatPage | None:
        """Return the page answered last with its answers; None where people go back to single
        seats. Raises NotYours.
        """
        return None

    def read(self, post: QueryDict, campaign: Campaign) -> list[Sent]:
        """Return the answers of a posted form. Raises Refusal."""
        return [read_form(post, gettext(self.missing))]

    def skipped(self, post: QueryDict) -> str | None:
        """Return the seat that a posted form gives back."""
        return post.get("seat")

    def after(self, session: SessionBase, campaign: Campaign, seats: list[str]) -> str:
        """Return the query of the page that follows accepted answers on these seats."""
        return f"?after={seats[0]}"

    def read_body(self, request: HttpRequest) -> bodies.Body:
        """Return the JSON body in which the script sends answers. Raises TooLarge or Refusal."""
        return bodies.read_object(request)

    def words_of(self, value: Any, campaign: Campaign) -> str:
        """Return an answer in the words of the page."""
        return self.kind.in_words(value, campaign.settings)

    def compared(self, value: Any, gold: Any, seat: Seat, campaign: Campaign) -> object:
        """Return an answer beside the known one, for the template; None where words suffice."""
        return None
