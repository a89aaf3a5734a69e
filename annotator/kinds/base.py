"""What the site shows of a kind of question: by default one image and its answers."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, QueryDict
from django.urls import reverse

from annotator.pages import bodies
from labeling.answers import submitting
from labeling.answers.sent import Sent, read_form
from labeling.kinds import Kind
from labeling.models import Assignment, Campaign, Question, User

Row = dict[str, Any]


class Page:
    """The pages on which people label, and researchers preview, questions of one kind."""

    template = "annotator/label.html"
    training_template = "annotator/training.html"
    preview_template = "annotator/preview.html"
    # Questions of training that are asked at once; None for as many as a page has.
    training_size: int | None = 1
    # What a form without an answer is told.
    missing = "Choose one of the answers."

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        # The pieces of the kind: question, answers, about, keys.
        self.pieces = f"annotator/kinds/{kind.name}.html"
        self.script = f"js/kinds/{kind.name}.js"

    def context(self, campaign: Campaign) -> dict[str, Any]:
        """What every page of the kind gets."""
        return {
            "campaign": campaign,
            "kind": self.kind,
            "kind_template": self.pieces,
            "kind_script": self.script,
            "choices": self.kind.choices(campaign.settings),
        }

    def label_context(
        self,
        request: HttpRequest,
        campaign: Campaign,
        rows: Sequence[Row],
        given: dict[str, Any] | None,
    ) -> dict[str, Any]:
        """What the labeling page gets beside that. given: answers by seat, where they are shown to
        be changed."""
        return {}

    def training_context(
        self, request: HttpRequest, campaign: Campaign, shown: dict[str, Any]
    ) -> dict[str, Any]:
        """What the page of training gets beside that. shown: as seats.describe."""
        return {}

    def preview_context(self, campaign: Campaign, question: Question) -> dict[str, Any]:
        """What the preview of a question gets, with "first": what stands in a seat's place."""
        return {"first": self.preview_row(campaign, question)}

    def preview_row(self, campaign: Campaign, question: Question) -> Row:
        """The question as a seat, though nothing is claimed."""
        address = reverse("labeling:question_image", args=[campaign.name, question.pk])
        return {"seat": "", "topic": question.topic, "image": address}

    def setup(self, campaign: Campaign) -> dict[str, Any]:
        """What the kind's script gets of the campaign beside what every kind's gets."""
        return {}

    def describe_seats(self, rows: list[Row], user: User, campaign: Campaign) -> list[Row]:
        """The seats of a page with what the kind shows of each."""
        return rows

    def describe_topic(self, topic: Row, campaign: Campaign, key: str) -> Row:
        """The topic of that key with what the kind shows of it."""
        return topic

    def last(
        self, request: HttpRequest, campaign: Campaign
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The page answered last, and what was answered; None where single seats are gone back
        to. Raises NotYours."""
        return None

    def read(self, post: QueryDict) -> list[Sent]:
        """The answers of a posted form. Raises Refusal."""
        return [read_form(post, self.missing)]

    def skipped(self, post: QueryDict) -> str | None:
        """The seat that a posted form gives back."""
        return post.get("seat")

    def after(
        self,
        request: HttpRequest,
        campaign: Campaign,
        sent: Sequence[Sent],
        results: Sequence[submitting.Result],
    ) -> str:
        """The query of the page that follows posted answers."""
        accepted = results[0].status == submitting.ACCEPTED
        return f"?after={sent[0].seat}" if accepted else ""

    def read_body(self, request: HttpRequest) -> dict[str, Any]:
        """The JSON body in which the script sends answers. Raises TooLarge or Refusal."""
        return bodies.read_object(request)

    def words_of(self, value: Any, campaign: Campaign) -> str:
        """An answer in the words of the page."""
        word = value.get("key") if isinstance(value, dict) else value
        return self.kind.words(campaign.settings).get(str(word), str(word))

    def compared(
        self, value: Any, gold: Any, seat: Assignment, campaign: Campaign
    ) -> dict[str, Any] | None:
        """An answer beside the known one, where words do not say it."""
        return None
