"""Orders of a dataset's images. Each is read in windows that begin after an image, by an index."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from django.db.models import Q, QuerySet

from labeling.datasets import image_ranks
from labeling.datasets.image_ranks import KnownImage
from labeling.db.sql import fetch, numbers
from labeling.models import Dataset, Image

# Columns of each order of images; the last is unique within the dataset. A "-" reverses all.
COLUMNS = {
    "name": ("name",),
    "-name": ("-name",),
    "added": ("id",),
    "-added": ("-id",),
    "size": ("bytes", "id"),
    "-size": ("-bytes", "-id"),
}
# Columns of ImageRank by order, and its value for an image without a label.
RANKS: dict[str, tuple[str, object]] = {
    "label": ("label", image_ranks.NO_LABEL),
    "doubtful": ("doubt", image_ranks.NO_DOUBT),
}
# A window of a large dataset reads the newest campaigns only.
MAX_CAMPAIGNS = 50


class Place(NamedTuple):
    """An image in an order. key: its values of the order's columns. cursor: its number in URLs.

    is_first: False if the image has an earlier place in the same order.
    """

    image: int
    key: tuple[Any, ...]
    cursor: int
    is_first: bool = True


class ImageOrder(Protocol):
    """An order of a dataset's images.

    is_stored: whether a job stores it, and an image may have several places.
    """

    is_stored: bool

    def of(self, image: Image) -> Place | None:
        """Return the image's first place; None if it is not sorted yet."""

    def at(self, cursor: int) -> Place | None:
        """Return the place that a page ended with; None if it is gone."""

    def window(self, start: Place | None, back: bool, size: int) -> list[Place]:
        """Return up to `size` places after or before `start`; without it, the first or last."""


class ColumnOrder:
    """An order by columns of Image."""

    is_stored = False

    def __init__(self, dataset: Dataset, columns: Sequence[str]) -> None:
        self.images, self.columns = dataset.images.all(), columns
        self.names = [column.removeprefix("-") for column in columns]

    def of(self, image: Image) -> Place:
        return Place(image.pk, tuple(getattr(image, name) for name in self.names), image.pk)

    def at(self, cursor: int) -> Place | None:
        return next(iter(_places(self.images.filter(pk=cursor), self.names)), None)

    def window(self, start: Place | None, back: bool, size: int) -> list[Place]:
        order = [_reversed(column) if back else column for column in self.columns]
        rows = self.images
        if start is not None:
            rows = rows.filter(self._beyond(start, "lt" if order[0].startswith("-") else "gt"))
        return _places(rows.order_by(*order)[:size], self.names)

    def _beyond(self, start: Place, sign: str) -> Q:
        """Return the condition of the rows after `start`, which can use an index."""
        first, *rest = zip(self.names, start.key, strict=True)
        beyond = Q((f"{first[0]}__{sign}", first[1]))
        for name, value in rest:
            tied = Q((f"{first[0]}__{sign}e", first[1]))
            beyond = tied & (beyond | Q((f"{name}__{sign}", value)))
        return beyond


def _places(images: QuerySet[Image], names: Sequence[str]) -> list[Place]:
    return [Place(pk, tuple(key), pk) for pk, *key in images.values_list("pk", *names)]


def _reversed(column: str) -> str:
    return column.removeprefix("-") if column.startswith("-") else f"-{column}"


class SmallOrder:
    """An order of a small dataset by sort keys, which are computed when they are needed."""

    is_stored = False

    def __init__(self, images: Sequence[KnownImage], campaigns: Sequence[int], order: str) -> None:
        number, (_, last) = list(RANKS).index(order), RANKS[order]
        first: dict[int, tuple[bool, Any]] = {}
        for (campaign, image), keys in image_ranks.keys_of(images, campaigns).items():
            # People's labels come before known ones.
            rank = (campaign is None or keys[number] == last, keys[number])
            first[image] = min(rank, first.get(image, rank))
        self.keys = sorted((value, image) for image, (_, value) in first.items())
        self.places = {image: Place(image, (value, image), image) for value, image in self.keys}

    def of(self, image: Image) -> Place | None:
        return self.at(image.pk)

    def at(self, cursor: int) -> Place | None:
        return self.places.get(cursor)

    def window(self, start: Place | None, back: bool, size: int) -> list[Place]:
        end = len(self.keys) if start is None else bisect_left(self.keys, start.key)
        first = 0 if start is None else end + 1
        keys = (
            self.keys[max(0, end - size) : end][::-1] if back else self.keys[first : first + size]
        )
        return [self.places[image] for _, image in keys]


class RankOrder:
    """An order by stored sort keys: those of some campaigns, and those without a campaign.

    An image's first place is that of its smallest key in the campaigns or, without one, that of its
    key without a campaign. The cursor of the first place is the image's id; the cursor of any other
    place is minus the id of the sort key.
    """

    is_stored = True

    def __init__(self, dataset: Dataset, campaigns: Sequence[int], order: str) -> None:
        self.dataset, self.campaigns = dataset, campaigns[:MAX_CAMPAIGNS]
        self.column, self.last = RANKS[order]

    def of(self, image: Image) -> Place | None:
        return self.at(image.pk)

    def at(self, cursor: int) -> Place | None:
        column = "id" if cursor < 0 else "image_id"
        places = self._read(f"AND r.{column} = %s", [abs(cursor)], "ASC", 1 + len(self.campaigns))
        return next((row for row in places if cursor < 0 or row.is_first), None)

    def window(self, start: Place | None, back: bool, size: int) -> list[Place]:
        direction = "DESC" if back else "ASC"
        if start is None:
            return self._read("", [], direction, size)
        beyond = f"AND (r.{self.column}, r.image_id, r.id) {'<' if back else '>'} (%s, %s, %s)"
        return self._read(beyond, start.key, direction, size)

    def _read(
        self, condition: str, params: Sequence[object], direction: str, size: int
    ) -> list[Place]:
        """Read the rows of each campaign, which an index has in order, and merge them."""
        better = (
            "SELECT 1 FROM labeling_imagerank b WHERE b.image_id = r.image_id "  # noqa: S608
            f"AND b.campaign_id IN ({numbers(self.campaigns or [0])}) AND b.{self.column} < %s AND "
            f"(r.campaign_id IS NULL OR (b.{self.column}, b.id) < (r.{self.column}, r.id))"
        )
        parts, values = list[str](), list[object]()
        for campaign in (None, *self.campaigns):
            of_campaign, last = "r.campaign_id IS NULL", list[object]()
            if campaign is not None:
                of_campaign = f"r.campaign_id = {campaign:d} AND r.{self.column} < %s"
                last = [self.last]
            parts.append(
                f"SELECT * FROM (SELECT r.{self.column} AS value, r.image_id, r.id, "  # noqa: S608
                f"NOT EXISTS ({better}) AS is_first FROM labeling_imagerank r "
                f"WHERE {of_campaign} AND r.dataset_id = %s {condition} "
                f"ORDER BY value {direction}, image_id {direction} LIMIT {size:d}) AS part"
            )
            values += [self.last, *last, self.dataset.pk, *params]
        order = f"ORDER BY value {direction}, image_id {direction}, id {direction}"
        rows = fetch(f"{' UNION ALL '.join(parts)} {order} LIMIT {size:d}", values)
        return [
            Place(image, (value, image, pk), image if is_first else -pk, bool(is_first))
            for value, image, pk, is_first in rows
        ]


def order_of(dataset: Dataset, campaigns: Sequence[int], order: str) -> ImageOrder:
    """Return the order of this name, by what people said in these campaigns, newest first."""
    if order in COLUMNS:
        return ColumnOrder(dataset, COLUMNS[order])
    if dataset.sorted_at is None:
        images = list(image_ranks.known_images(dataset)[: image_ranks.BLOCK + 1])
        if len(images) <= image_ranks.BLOCK:
            return SmallOrder(images, campaigns, order)
    return RankOrder(dataset, campaigns, order)
