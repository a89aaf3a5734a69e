"""Data for the pages of a dataset's objects: search, tiles and one object."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from labeling.datasets import objects, vocabulary_store
from labeling.formats.pictures import colour
from labeling.geometry import crops, regions, svg
from labeling.geometry.polygons import Polygons
from labeling.models import Dataset, GivenLabel, Item
from labeling.parts.model import OUTLINE, Merge, Part, PartedObject
from labeling.vocabulary.types import Category, PartVocabulary

FLAGS = {
    "apart": "Pieces too far apart",
    "no-room": "No room for context",
    "no-parts": "No parts yet",
}
# Longer side of a tile in pixels. Outlines are simplified with a tolerance of one such pixel, since
# finer corners would be invisible.
TILE_PX = 160


@dataclass(frozen=True)
class DrawnPart:
    """A part as drawn on a page. d: SVG path data; "" if the part has no polygons."""

    part: Part
    name: str
    colour: str
    d: str

    @property
    def merges(self) -> list[Merge]:
        """Return the merges of several pieces."""
        return [merge for merge in self.part.merges if len(merge.pieces) > 1]


@dataclass(frozen=True)
class ObjectTile:
    """An object in a list, cropped with context.

    crop: x0, y0, x1, y1 in pixels of the image. room: whether the image has room for the context.
    """

    item: Item
    category: str
    crop: tuple[int, int, int, int]
    view_box: str
    drawn: list[DrawnPart]
    room: bool

    @property
    def apart(self) -> bool:
        """Return whether a part has pieces that were too far apart to merge."""
        return any(drawn_part.part.apart for drawn_part in self.drawn)


@dataclass(frozen=True)
class CategoryCount:
    key: str
    name: str
    count: int


def categories(dataset: Dataset) -> list[CategoryCount]:
    """Count the dataset's objects by category, the most frequent first."""
    vocabulary = vocabulary_store.current_vocabulary(dataset)
    rows = (
        GivenLabel.objects.filter(
            item__image__dataset=dataset, item__region__isnull=False, geometry__isnull=True
        )
        .order_by()
        .values_list("key")
        .annotate(Count("item", distinct=True))
    )
    counts = [CategoryCount(key, name_of(vocabulary, key), count) for key, count in rows]
    return sorted(counts, key=lambda row: (-row.count, row.name))


def name_of(vocabulary: PartVocabulary | None, key: str) -> str:
    """Return the category's name; its wnid if the vocabulary lacks it."""
    category = vocabulary.category(key) if vocabulary else None
    return category.name if category else key


def find(dataset: Dataset, category: str = "", flag: str = "", search: str = "") -> Sequence[int]:
    """Return the ids of matching objects, sorted by image, then in the order of import.

    category: a wnid. flag: one of FLAGS. search: text in the image's name. "" matches all objects.
    """
    items = objects.in_dataset(dataset)
    if search:
        items = items.filter(image__name__icontains=search)
    if category:
        labels = GivenLabel.objects.filter(key=category, geometry__isnull=True)
        items = items.filter(pk__in=labels.values("item"))
    if flag == "apart":
        items = items.filter(pk__in=_labels(dataset).filter(geometry__apart=True).values("item"))
    elif flag == "no-parts":
        parts = _labels(dataset).filter(geometry__isnull=False).exclude(key=OUTLINE)
        items = items.exclude(pk__in=parts.values("item"))
    if flag == "no-room":
        rows = items.values_list("pk", "region", "image__width", "image__height")
        return [pk for pk, box, *size in rows if not crops.widened(box or (), *size)[1]]
    return items.values_list("pk", flat=True)  # type: ignore[return-value]


def tiles(dataset: Dataset, pks: Sequence[int]) -> list[ObjectTile]:
    """Return a tile for each of these ids that exists. The number of queries is fixed."""
    vocabulary = vocabulary_store.current_vocabulary(dataset)
    items = Item.objects.in_bulk(pks)
    described = objects.describe(items.values())
    return [_tile(items[pk], described[pk], vocabulary) for pk in pks if pk in items]


def drawn(
    parted: PartedObject, category: Category | None, coarse_px: float = 0.0
) -> list[DrawnPart]:
    """Return the object's parts: first those of its category, in that order, then the others.

    coarse_px: tolerance in pixels for removing corners; 0 keeps all corners.
    """
    order = {part.key: index for index, part in enumerate(category.parts)} if category else {}
    parts = sorted(parted.parts, key=lambda part: order.get(part.key, len(order)))
    drawn_parts = []
    for position, part in enumerate(parts):
        index = order.get(part.key, len(order) + position)
        path = _path(part.polygons, coarse_px)
        drawn_parts.append(DrawnPart(part, _name(part, category), colour(index), path))
    return drawn_parts


def _name(part: Part, category: Category | None) -> str:
    """Return the part's name in its category, or its key."""
    category_part = category.part(part.key) if category else None
    return category_part.name if category_part else part.key


def _tile(item: Item, parted: PartedObject, vocabulary: PartVocabulary | None) -> ObjectTile:
    crop, room = objects.crop_of(item)
    category = vocabulary.category(parted.category) if vocabulary else None
    tile_pixel = max(crop[2] - crop[0], crop[3] - crop[1]) / TILE_PX
    return ObjectTile(
        item=item,
        category=name_of(vocabulary, parted.category),
        crop=crop,
        view_box=svg.view_box(crop),
        drawn=drawn(parted, category, tile_pixel),
        room=room,
    )


def _path(polygons: Polygons, coarse_px: float) -> str:
    return svg.path_data(regions.simplify(polygons, coarse_px) if coarse_px else polygons)


def _labels(dataset: Dataset) -> QuerySet[GivenLabel]:
    """Return the labels of the dataset's objects and of their parts."""
    return GivenLabel.objects.filter(item__image__dataset=dataset, item__region__isnull=False)
