"""A dataset's images, filtered and in order, with keyset pagination.

No page counts or skips rows. A page tests its conditions on at most SCAN images, through indexes,
so it costs the same in a small and in a large dataset. If too few of them match, the page names the
last image tested, and the next page continues from there.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast
from django.utils.module_loading import import_string

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.models import (
    Answer,
    Campaign,
    Dataset,
    GivenLabel,
    Image,
    Membership,
    Question,
    Settlement,
    Topic,
    User,
)

SIZE, SCAN = 60, 2_000
# Columns of each order; the last is unique within the dataset. A "-" reverses all of them.
ORDERS = {
    "name": ("name",),
    "-name": ("-name",),
    "added": ("id",),
    "-added": ("-id",),
    "size": ("bytes", "id"),
    "-size": ("-bytes", "-id"),
}
ORDER_WORDS = {
    "name": "Name",
    "-name": "Name, from the end",
    "-added": "Newest first",
    "added": "Oldest first",
    "-size": "Largest file first",
    "size": "Smallest file first",
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


@dataclass(frozen=True)
class ImageFilter:
    """The filter values; "" and None match all.

    q: text in the file name. label: key or name of a class. campaign: a name. query: text in the
    search queries that found the image. prediction: key or name of a class that a classifier
    predicts. least_px: of both sides.
    """

    q: str = ""
    label: str = ""
    state: str = ""
    campaign: str = ""
    query: str = ""
    prediction: str = ""
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


class Browser:
    """The images of a dataset that match a filter, as this person may see them."""

    def __init__(
        self, user: User, dataset: Dataset, chosen: ImageFilter, campaigns: Sequence[Campaign]
    ) -> None:
        self.user, self.dataset, self.chosen = user, dataset, chosen
        self.columns = ORDERS[chosen.order]
        known = [row for row in campaigns if chosen.campaign in ("", row.name)]
        self.campaigns = [row.pk for row in known]
        self.conditions = self._conditions()

    def page(
        self, *, after: int | None = None, before: int | None = None, size: int = SIZE
    ) -> ImagePage:
        """Return the images after or before the image of this id, by default the first ones.

        before 0: the last ones.
        """
        back = before is not None
        start = self._image(before if back else after)
        images, edge = self._read(start, back, size)
        is_last = len(images) <= size and edge is None
        images = images[:size]
        if back and is_last:
            # The beginning is reached: return a full first page.
            return self.page(size=size)
        end = edge or (images[-1] if images else None)
        # If no image follows `start`, the previous page is the last page of all: 0.
        bound = images[0].pk if images else end.pk if end else 0
        return ImagePage(
            images=images[::-1] if back else images,
            before=(end.pk if end else None) if back else bound if start else None,
            after=bound if back else end.pk if end and not is_last else None,
            seen_to=edge.name if edge else "",
        )

    def beside(self, image: Image) -> dict[str, int | None]:
        """Return the ids of the images before and after this one, within SCAN images of it."""
        nearest = Q()
        for back in (True, False):
            order = self._order(back)
            window = self._window(image, order)
            rows = Image.objects.filter(pk__in=window.values("pk")).filter(*self.conditions)
            nearest |= Q(pk__in=rows.order_by(*order).values("pk")[:1])
        neighbours: dict[str, int | None] = {"previous": None, "next": None}
        first, *_ = self.columns
        for row in Image.objects.filter(nearest):
            is_after = _key(row, self.columns) > _key(image, self.columns)
            neighbours["next" if is_after != first.startswith("-") else "previous"] = row.pk
        return neighbours

    def _order(self, back: bool) -> list[str]:
        return [_reversed(column) if back else column for column in self.columns]

    def _window(self, start: Image | None, order: Sequence[str]) -> QuerySet[Image]:
        rows = _beyond(self.dataset.images.all(), start, order)
        return rows.order_by(*order)[:SCAN]

    def _image(self, pk: int | None) -> Image | None:
        return self.dataset.images.filter(pk=pk).first() if pk else None

    def _read(self, start: Image | None, back: bool, size: int) -> tuple[list[Image], Image | None]:
        """Return up to size + 1 images, nearest first, and the last image tested if fewer match
        and more images follow.
        """
        order = self._order(back)
        if not self.conditions:
            rows = _beyond(self.dataset.images.all(), start, order)
            return list(rows.order_by(*order)[: size + 1]), None
        window = Image.objects.filter(pk__in=self._window(start, order).values("pk"))
        images = list(window.filter(*self.conditions).order_by(*order)[: size + 1])
        if len(images) > size:
            return images, None
        edge = window.order_by(*[_reversed(column) for column in order]).first()
        if edge is None or not _beyond(self.dataset.images.all(), edge, order).exists():
            return images, None
        return images, edge

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
            conditions.append(Exists(_in_state(self._questions(), chosen.state)))
        if chosen.label:
            conditions.append(self._labeled())
        if chosen.prediction:
            path = getattr(settings, "ASSAY_IMAGE_PREDICTIONS", "")
            conditions.append(
                import_string(path)(self.user, self.dataset, self._keys(chosen.prediction))
                if path
                else Q(pk=None)
            )
        return conditions

    def _questions(self) -> QuerySet[Question]:
        """Return the questions about an image that this person may see, without gold."""
        rows = Question.objects.for_consensus()
        return rows.filter(campaign__in=self.campaigns, item__image=OuterRef("pk"))

    def _keys(self, text: str) -> list[str]:
        """Return the text and the keys of the classes of that name."""
        topics = Topic.objects.filter(campaign__in=self.campaigns, name__iexact=text)
        return [text, *topics.order_by().values_list("key", flat=True).distinct()[:20]]

    def _labeled(self) -> Q | Exists:
        keys = self._keys(self.chosen.label)
        mentioned = Q()
        for key in keys:
            mentioned |= Q(text__contains=json.dumps(key))
        settled = _settled(self._questions()).annotate(text=Cast("value", TextField()))
        of_topic = Q(topic__in=keys) & ~Q(text__in=NO_LABEL)
        known = GivenLabel.objects.filter(item__image=OuterRef("pk"), key__in=keys, value="yes")
        return Q(Exists(settled.filter(of_topic | mentioned))) | Q(Exists(known))


def _settled(questions: QuerySet[Question]) -> QuerySet[Question]:
    """Return the settled questions with their current value and probability."""
    latest = Settlement.objects.filter(question=OuterRef("pk")).order_by("-pk")
    return questions.filter(state=Question.State.SETTLED).annotate(
        value=Subquery(latest.values("value")[:1]),
        probability=Subquery(latest.values("probability")[:1]),
    )


def _in_state(questions: QuerySet[Question], state: str) -> QuerySet[Question]:
    if state == "undecided":
        return questions.filter(state__in=UNDECIDED)
    if state == "doubtful":
        return _settled(questions).filter(Q(probability__lt=DOUBTFUL_BELOW))
    if state == "disputed":
        # Drawings always differ, so only answers without coordinates count.
        votes = Answer.objects.filter(late=False).annotate(text=Cast("value", TextField()))
        different = votes.filter(assignment__question=OuterRef("assignment__question")).exclude(
            text=OuterRef("text")
        )
        pairs = votes.filter(Exists(different), assignment__question=OuterRef("pk"))
        return questions.filter(Exists(pairs.exclude(text__contains="[")))
    return questions.filter(state=state) if state else questions


def _reversed(column: str) -> str:
    return column.removeprefix("-") if column.startswith("-") else f"-{column}"


def _key(image: Image, columns: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(image, column.removeprefix("-")) for column in columns)


def _beyond(rows: QuerySet[Image], start: Image | None, order: Sequence[str]) -> QuerySet[Image]:
    """Return the rows after `start` in the order, by a condition that can use an index."""
    if start is None:
        return rows
    sign = "lt" if order[0].startswith("-") else "gt"
    first, *rest = (column.removeprefix("-") for column in order)
    value = getattr(start, first)
    if not rest:
        return rows.filter(**{f"{first}__{sign}": value})
    tied = Q(**{f"{first}__{sign}": value}) | Q(**{f"{rest[0]}__{sign}": getattr(start, rest[0])})
    return rows.filter(tied, **{f"{first}__{sign}e": value})
