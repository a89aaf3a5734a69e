"""A dataset's images, filtered and in order, with keyset pagination.

No page counts or skips rows. A page tests its conditions on at most SCAN images, through indexes,
so it costs the same in a small and in a large dataset. If too few of them match, the page names the
last image tested, and the next page continues from there. What people said orders the images only
within a block, the images with ids from a multiple of SCAN up to the next one: a page reads at most
the block of its first image and the block beside it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, Lower
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
# Orders within a block.
BY_LABEL, BY_DOUBT = BLOCK_ORDERS = ("label", "doubtful")
ORDER_WORDS = {
    "name": "Name",
    "-name": "Name, from the end",
    "-added": "Newest first",
    "added": "Oldest first",
    "-size": "Largest file first",
    "size": "Smallest file first",
    BY_LABEL: "Label",
    BY_DOUBT: "Disputed and doubtful first",
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
        self.columns = ORDERS.get(chosen.order, ("id",))
        known = [row for row in campaigns if chosen.campaign in ("", row.name)]
        self.campaigns = [row.pk for row in known]
        self.conditions = self._conditions()

    def page(
        self, *, after: int | None = None, before: int | None = None, size: int = SIZE
    ) -> ImagePage:
        """Return the images after or before the image of this id, by default the first ones.

        before 0: the last ones.
        """
        if self.in_blocks:
            return self._page_of_block(after, before, size)
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
        """Return the ids of the images before and after this one, within SCAN images of it or
        in its block.
        """
        if self.in_blocks:
            ids = [None, *self._block(image.pk), None]
            index = ids.index(image.pk) if image.pk in ids else 0
            around = (ids[index - 1], ids[index + 1]) if index else (None, None)
            return dict(zip(("previous", "next"), around, strict=True))
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

    @property
    def in_blocks(self) -> bool:
        """Return whether the images are in order only within blocks of SCAN ids."""
        return self.chosen.order in BLOCK_ORDERS

    def _page_of_block(self, after: int | None, before: int | None, size: int) -> ImagePage:
        back = before is not None
        start = self._image(before if back else after)
        ids: list[int] = []
        beyond = start.pk if start else None
        if start is not None:
            ids = self._block(start.pk)
            # An image that does not match is the edge of a block without more matches.
            index = ids.index(start.pk) if start.pk in ids else 0 if back else len(ids)
            ids = ids[:index] if back else ids[index + 1 :]
        if not ids:
            beyond = self._beside_block(beyond, back)
            if beyond is None and back and start is not None:
                return self.page(size=size)
            ids = self._block(beyond) if beyond else []
        chosen = (ids[-size:] if back else ids[:size]) if ids else []
        rows = Image.objects.in_bulk(chosen)
        images = [rows[pk] for pk in chosen if pk in rows]
        further = beyond is not None and (
            len(ids) > size or self._beside_block(beyond, back) is not None
        )
        first, last = (images[0].pk, images[-1].pk) if images else (beyond or 0, beyond)
        is_short = further and len(images) < size and beyond is not None
        return ImagePage(
            images=images,
            before=(first if further else None) if back else first if start else None,
            after=last if back or further else None,
            seen_to=self._last_of_block(beyond).name if is_short and beyond else "",
        )

    def _block(self, pk: int) -> list[int]:
        """Return the ids of the matching images in the block of this id, in order."""
        rows = self._in_block(pk).filter(*self.conditions)
        if self.chosen.order == BY_LABEL:
            known = _known_labels().order_by("key").values("key")[:1]
            labels = _class_names(_settled(self._questions()))
            label = Coalesce(Subquery(labels), Lower(Subquery(known)), output_field=TextField())
            rows = rows.annotate(label=label)
            order = [F("label").asc(nulls_last=True)]
        else:
            least = F("probability").asc(nulls_last=True)
            settled = _settled(self._questions()).order_by(least)
            rows = rows.annotate(
                disputed=Exists(_in_state(self._questions(), "disputed")),
                doubt=Subquery(settled.values("probability")[:1]),  # type: ignore[misc]
            )
            order = [F("disputed").desc(), F("doubt").asc(nulls_last=True)]
        return list(rows.order_by(*order, "pk").values_list("pk", flat=True))

    def _in_block(self, pk: int) -> QuerySet[Image]:
        first = pk - pk % SCAN
        return self.dataset.images.filter(pk__gte=first, pk__lt=first + SCAN)

    def _last_of_block(self, pk: int) -> Image:
        return self._in_block(pk).order_by("-pk")[0]

    def _beside_block(self, pk: int | None, back: bool) -> int | None:
        """Return the nearest id in the next or the previous block; None without one.

        pk: None for the first block, or the last.
        """
        rows = self.dataset.images.order_by("-pk" if back else "pk")
        if pk is not None:
            first = pk - pk % SCAN
            rows = rows.filter(pk__lt=first) if back else rows.filter(pk__gte=first + SCAN)
        return rows.values_list("pk", flat=True).first()

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
        known = _known_labels().filter(key__in=keys)
        return Q(Exists(settled.filter(of_topic | mentioned))) | Q(Exists(known))


def _known_labels() -> QuerySet[GivenLabel]:
    return GivenLabel.objects.filter(item__image=OuterRef("pk"), value="yes")


def _class_names(settled: QuerySet[Question]) -> QuerySet[Question, str]:
    """Return the first name, by the alphabet, of the classes that settled questions found."""
    latest = Settlement.objects.filter(question=OuterRef("pk")).order_by("-pk")
    keyed = settled.annotate(
        text=Cast("value", TextField()),
        key=Coalesce(
            Subquery(latest.values(key=KT("value__key"))[:1]), "topic", output_field=TextField()
        ),
    ).exclude(text__in=NO_LABEL)
    topics = Topic.objects.filter(campaign=OuterRef("campaign"), key=OuterRef("key"))
    name = Coalesce(Subquery(topics.values("name")[:1]), "key", output_field=TextField())
    names = keyed.annotate(label=Lower(name))
    return names.order_by("label").values_list("label", flat=True)[:1]


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
