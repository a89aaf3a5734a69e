"""A dataset's images, filtered and in order, with keyset pagination.

No page counts or skips rows. A page tests its conditions on at most SCAN_IMAGES images, through
indexes, so it costs the same in a small and in a large dataset. If too few of them match, the page
names the last image tested, and the next page continues from there.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils.module_loading import import_string

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.datasets import image_ranks
from labeling.datasets.image_orders import Place, order_of
from labeling.models import (
    Campaign,
    Dataset,
    GivenLabel,
    Image,
    Item,
    Membership,
    Question,
    Topic,
    User,
)

PAGE_IMAGES, SCAN_IMAGES = 60, 2_000
ORDER_WORDS = {
    "name": "Name",
    "-name": "Name, from the end",
    "-added": "Newest first",
    "added": "Oldest first",
    "-size": "Largest file first",
    "size": "Smallest file first",
    "label": "Label",
    "doubtful": "Disputed and doubtful first",
}
STATE_WORDS = {
    "undecided": "Undecided: open or in review",
    "review": "In review",
    "settled": "Settled",
    "disputed": "Disputed: answers differ",
    "doubtful": "Doubtful: settled below 95 %",
}
DOUBTFUL_BELOW = 0.95
UNDECIDED = [Question.State.OPEN, Question.State.REVIEW]
NO_LABEL = ['"no"', '"dropped"', "null"]


OUTCOME_WORDS = {"right": "right", "wrong": "wrong"}


@dataclass(frozen=True)
class PredictionFilter:
    """Filter values for predictions; empty ones match all, but an image needs some prediction.

    text: key or name of the predicted class. submission: BENCHMARK/NAME. outcome: a key of
    OUTCOME_WORDS.
    """

    text: str = ""
    submission: str = ""
    outcome: str = ""


class DatasetPredictions(Protocol):
    """The predictions on a dataset's images that a person may see."""

    def submissions(self) -> list[tuple[str, str]]:
        """Return BENCHMARK/NAME of each submission, with its title."""

    def matching(self, names: Sequence[str], chosen: PredictionFilter) -> set[str]:
        """Return those of these names of images that have such a prediction."""


@dataclass(frozen=True)
class ImageFilter:
    """The filter values; "" and None match all.

    q: text in the file name. label: key or name of a class. campaign: a name. query: text in the
    search queries that found the image. prediction, submission, outcome: of a PredictionFilter.
    least_px: of both sides.
    """

    q: str = ""
    label: str = ""
    state: str = ""
    campaign: str = ""
    query: str = ""
    prediction: str = ""
    submission: str = ""
    outcome: str = ""
    least_px: int | None = None
    order: str = "name"


@dataclass(frozen=True)
class ImagePage:
    """A page of images.

    before, after: ids of the images that bound the previous and the next page; None without such a
    page. before 0: the previous page is the last page of all.
    seen_to: name of the last image tested, if the page is not full and more images follow.
    """

    images: list[Image]
    before: int | None
    after: int | None
    seen_to: str = ""


def watched_campaigns(user: User, dataset: Dataset) -> list[Campaign]:
    """Return the campaigns on the dataset whose answers this person may see, newest first."""
    rows = dataset.campaigns.order_by("-pk")
    if not user.is_staff:
        members = Membership.objects.active().filter(user=user, role__in=[RESEARCHER, REVIEWER])
        members = members.exclude(stage=Membership.Stage.BLOCKED)
        rows = rows.filter(pk__in=members.values("campaign"))
    return list(rows)


def predictions_on(user: User, dataset: Dataset) -> DatasetPredictions:
    """Return the predictions that the class of ASSAY_IMAGE_PREDICTIONS reads."""
    predictions: DatasetPredictions = import_string(settings.ASSAY_IMAGE_PREDICTIONS)(user, dataset)
    return predictions


class Browser:
    """The images of a dataset that match a filter, as this person may see them."""

    def __init__(
        self,
        dataset: Dataset,
        chosen: ImageFilter,
        campaigns: Sequence[Campaign],
        predictions: DatasetPredictions,
    ) -> None:
        self.dataset, self.chosen, self.predictions = dataset, chosen, predictions
        self.campaigns = [row.pk for row in campaigns if chosen.campaign in ("", row.name)]
        self.order = order_of(dataset, self.campaigns, chosen.order)
        self.conditions = self._conditions()

    def page(
        self, *, after: int | None = None, before: int | None = None, size: int = PAGE_IMAGES
    ) -> ImagePage:
        """Return the images after or before the place of this cursor, by default the first ones.

        before 0: the last ones.
        """
        back = before is not None
        cursor = before if back else after
        start = self.order.at(cursor) if cursor else None
        places, edge = self._read(start, back, size)
        is_last = len(places) <= size and edge is None
        places = places[:size]
        end = edge or (places[-1] if places else None)
        # If no image follows `start`, the previous page is the last page of all: 0.
        bound = places[0].cursor if places else end.cursor if end else 0
        images = Image.objects.in_bulk([row.image for row in (*places, end) if row])
        ordered = places[::-1] if back else places
        beyond = end.cursor if end and not is_last else None
        near = bound if start or (back and not is_last) else None
        return ImagePage(
            images=[images[row.image] for row in ordered if row.image in images],
            before=beyond if back else near,
            after=near if back else beyond,
            seen_to=images[edge.image].name if edge and edge.image in images else "",
        )

    def neighbour(self, image: Image, back: bool) -> int | None:
        """Return the id of the image after this one, or before it, within SCAN_IMAGES images."""
        start = self.order.of(image)
        places, _ = self._read(start, back, 1) if start else ([], None)
        return places[0].image if places else None

    def _read(self, start: Place | None, back: bool, size: int) -> tuple[list[Place], Place | None]:
        """Return up to size + 1 matching places, nearest first, and the last place tested if fewer
        match and more images follow.
        """
        tested = SCAN_IMAGES if self.is_tested else size + 1
        window = self.order.window(start, back, tested + 1)
        places = self._matching(window[:tested])[: size + 1]
        is_cut = len(window) > tested and len(places) <= size
        return places, window[tested - 1] if is_cut else None

    @property
    def is_tested(self) -> bool:
        """Return whether some places of a window may not match."""
        return bool(self.conditions or self.predicted or self.order.is_stored)

    def _matching(self, places: list[Place]) -> list[Place]:
        if not self.is_tested:
            return places
        rows = Image.objects.filter(pk__in=[row.image for row in places if row.is_first])
        names = dict(rows.filter(*self.conditions).values_list("pk", "name"))
        if self.predicted:
            predicted = self.predictions.matching(list(names.values()), self.predicted)
            names = {pk: name for pk, name in names.items() if name in predicted}
        return [row for row in places if row.is_first and row.image in names]

    @cached_property
    def predicted(self) -> PredictionFilter | None:
        chosen = self.chosen
        if not (chosen.prediction or chosen.submission or chosen.outcome):
            return None
        return PredictionFilter(chosen.prediction, chosen.submission, chosen.outcome)

    def _conditions(self) -> list[Q | Exists]:
        chosen = self.chosen
        conditions: list[Q | Exists] = []
        if chosen.q:
            conditions.append(Q(name__icontains=chosen.q))
        if chosen.least_px:
            conditions.append(Q(width__gte=chosen.least_px, height__gte=chosen.least_px))
        if chosen.query:
            # SQLite stores letters outside ASCII escaped, PostgreSQL does not.
            escaped = json.dumps(chosen.query)[1:-1]
            texts = Image.objects.annotate(text=Cast("queries", TextField())).filter(
                Q(text__icontains=chosen.query) | Q(text__icontains=escaped), pk=OuterRef("pk")
            )
            conditions.append(Exists(texts))
        if chosen.campaign or chosen.state:
            conditions.append(_asked(_in_state(self._questions(), chosen.state)))
        if chosen.label:
            conditions.append(self._labeled())
        return conditions

    def _questions(self) -> QuerySet[Question]:
        """Return the questions about an item that this person may see, without gold."""
        rows = Question.objects.for_consensus()
        return rows.filter(campaign__in=self.campaigns, item=OuterRef("pk"))

    def _keys(self, text: str) -> list[str]:
        """Return the text and the keys of the classes of that name."""
        topics = Topic.objects.filter(campaign__in=self.campaigns, name__iexact=text)
        return [text, *topics.order_by().values_list("key", flat=True).distinct()[:20]]

    def _labeled(self) -> Q | Exists:
        keys = self._keys(self.chosen.label)
        mentioned = Q()
        for key in keys:
            mentioned |= Q(text__contains=json.dumps(key))
        settled = image_ranks.settled(self._questions()).annotate(text=Cast("value", TextField()))
        of_topic = Q(topic__in=keys) & ~Q(text__in=NO_LABEL)
        known = GivenLabel.objects.filter(item__image=OuterRef("pk"), value="yes", key__in=keys)
        return Q(_asked(settled.filter(of_topic | mentioned))) | Q(Exists(known))


def _asked(questions: QuerySet[Question]) -> Exists:
    """Return the condition that one of these questions is about the image.

    Each item is looked up on its own. In a join, SQLite reads all questions of the campaigns.
    """
    return Exists(Item.objects.filter(Exists(questions), image=OuterRef("pk")))


def _in_state(questions: QuerySet[Question], state: str) -> QuerySet[Question]:
    if state == "undecided":
        return image_ranks.in_states(questions, UNDECIDED)
    if state == "doubtful":
        return image_ranks.settled(questions).filter(Q(probability__lt=DOUBTFUL_BELOW))
    if state == "disputed":
        return questions.filter(image_ranks.disputed())
    return image_ranks.in_states(questions, [state]) if state else questions
