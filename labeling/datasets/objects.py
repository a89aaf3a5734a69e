"""Objects of a dataset's images with given parts: items with a region and labels.

An object is an Item with a box and a name. Its GivenLabels hold its category (key: a wnid, no
geometry), its outline ("object") and its parts (key: of the vocabulary); see
docs/reference/objects-and-parts.md.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import QuerySet, prefetch_related_objects
from django.utils import timezone

from labeling.db.sql import batches
from labeling.errors import Refusal
from labeling.formats.reading import EDGE_PX, cut_box, is_box_inside
from labeling.geometry import crops
from labeling.geometry.polygons import as_json, from_json
from labeling.models import Dataset, GivenLabel, Image, Item
from labeling.parts.model import (
    OUTLINE,
    Merge,
    Part,
    PartedObject,
    merge_content,
    merge_fields,
    merge_of,
)

BATCH = 2_000
MAX_LENGTHS = {"name": 80, "key": 64, "source": 200}

OnFault = Callable[[PartedObject, Refusal], None]
OnPut = Callable[[PartedObject, Item], None]


def in_dataset(dataset: Dataset) -> QuerySet[Item]:
    """Return the dataset's objects by image, in order of addition."""
    items = Item.objects.filter(image__dataset=dataset, region__isnull=False)
    return items.order_by("image_id", "pk")


def category_of(item: Item) -> str:
    """Return the object's category, a wnid; "" for an item that is no object."""
    return _category([*item.given_labels.all()]) if item.region is not None else ""


def describe(items: Iterable[Item]) -> dict[int, PartedObject]:
    """Return the objects for file formats by item id: category, crop, outline and given parts.

    If several sources describe a part, the latest wins. The number of queries is constant.
    """
    items = list(items)
    prefetch_related_objects(items, "image", "given_labels")
    return {item.pk: _described(item) for item in items}


def crop_of(item: Item) -> tuple[crops.Crop, bool]:
    """Return the object's crop with context, and whether the image has room for it."""
    return crops.widened(item.region or (), item.image.width, item.image.height)


def content_of(part: Part) -> dict[str, object]:
    """Return the JSON content of a part's GivenLabel; part_of reads it back."""
    content: dict[str, object] = {"polygons": as_json(part.polygons), "state": part.state}
    if part.names:
        content["names"] = list(part.names)
    merges = part.merges
    if part.pieces and not merges:
        # From files that describe a merge without its instance.
        chosen = part.radius is not None
        merges = (Merge(part.pieces, part.radius, None, apart=part.apart, chosen=chosen),)
    if merges:
        content["merges"] = [merge_content(merge) for merge in merges]
    if any(merge.apart for merge in merges):
        # Also outside of the merges, where a query can use it.
        content["apart"] = True
    return content


def part_of(key: str, content: Mapping[str, Any], name: str = "") -> Part:
    """Return the given part from content_of's JSON."""
    merges = tuple(merge_of(merge) for merge in content.get("merges", ()))
    return Part(
        key=key,
        name=name,
        polygons=from_json(content.get("polygons", ())),
        state=content.get("state", "drawn"),
        names=tuple(content.get("names", ())),
        **merge_fields(merges),
    )


def put(
    dataset: Dataset,
    objects: Sequence[PartedObject],
    source: str = "",
    *,
    words: Mapping[str, str] | None = None,
    on_fault: OnFault | None = None,
    on_put: OnPut | None = None,
) -> dict[str, int]:
    """Write objects with their parts; return counts {"objects", "parts", "new", "changed"}: objects
    and parts given, new objects and labels written.

    An object is identified by image and name. Without a name it is the image's object of the same
    category and box, or a new one with the next free name: the category's word in `words` (else its
    wnid) and a number. An object's earlier labels of the same source (its own, else `source`) are
    replaced; a radius that a person chose for the same pieces stays. Writing twice changes nothing.
    Answered labels (origin "explicit") get their own source. on_put: called with every
    object and its item. Raises Refusal for the first fault, with its position and cure, and changes
    nothing; with on_fault, faults are passed to it and other objects are written.
    """
    with transaction.atomic():
        goal = _ObjectTarget(dataset, objects, words or {})
        items: list[tuple[Item, PartedObject]] = []
        for parted in objects:
            try:
                items.append((goal.item_of(parted), parted))
            except Refusal as refusal:
                if on_fault is not None:
                    on_fault(parted, refusal)
                    continue
                message = f"{position_words(parted)}: {refusal.message}"
                raise Refusal(message, field=refusal.field) from None
        new = goal.save()
        changed = _write(items, goal.labels, source)
        if on_put is not None:
            for item, parted in items:
                on_put(parted, item)
    parts = sum(len(parted.parts) for _, parted in items)
    return {"objects": len(items), "parts": parts, "new": new, "changed": changed}


@dataclass
class _ObjectTarget:
    """The existing images and objects, and the names for new ones."""

    dataset: Dataset
    objects: Sequence[PartedObject]
    words: Mapping[str, str]
    images: dict[str, Image] = field(init=False)
    wholes: dict[int, Item] = field(init=False)
    # Existing objects by image, then by name.
    there: dict[int, dict[str, Item]] = field(init=False, default_factory=dict)
    labels: dict[int, list[GivenLabel]] = field(init=False, default_factory=dict)
    categories: dict[tuple[int, str], str] = field(init=False, default_factory=dict)
    taken: set[tuple[int, str]] = field(init=False, default_factory=set)
    new: list[Item] = field(init=False, default_factory=list)
    moved: list[Item] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        names = sorted({parted.image for parted in self.objects})
        self.images = {}
        for some in batches(names, BATCH):
            rows = self.dataset.images.filter(name__in=some)
            self.images |= {row.name: row for row in rows.only("name", "width", "height")}
        pks = sorted(image.pk for image in self.images.values())
        self.wholes = _whole_image_items(pks)
        for part in batches(pks, BATCH):
            for item in Item.objects.filter(image_id__in=part, region__isnull=False).order_by("pk"):
                self.there.setdefault(item.image_id, {})[item.name] = item
        items = sorted(item.pk for by_name in self.there.values() for item in by_name.values())
        for part in batches(items, BATCH):
            for label in GivenLabel.objects.filter(item_id__in=part).order_by("pk"):
                self.labels.setdefault(label.item_id, []).append(label)
        for image, items_by_name in self.there.items():
            for name, item in items_by_name.items():
                self.categories[image, name] = _category(self.labels.get(item.pk, []))

    def item_of(self, parted: PartedObject) -> Item:
        """Return the object's item, existing or new. Raises Refusal; then nothing has changed."""
        image = self._image(parted)
        region = _region(parted, image)
        _check(parted)
        _check_inside(parted, image)
        name = parted.name or self._name(parted, image, region)
        if (image.pk, name) in self.taken:
            raise duplicate_refusal(parted)
        known = self.there.setdefault(image.pk, {}).get(name)
        if known is None:
            whole, is_boxed = self.wholes[image.pk], parted.is_boxed
            known = Item(
                image=image, region=region, name=name, derived_from=whole, is_boxed=is_boxed
            )
            self.there[image.pk][name] = known
            self.new.append(known)
        else:
            self._check_category(parted, image, name)
            if (known.region, known.is_boxed) != (region, parted.is_boxed):
                known.region, known.is_boxed = region, parted.is_boxed
                self.moved.append(known)
        self.taken.add((image.pk, name))
        self.categories[image.pk, name] = parted.category
        return known

    def save(self) -> int:
        """Save new objects and return how many."""
        Item.objects.bulk_create(self.new, batch_size=BATCH)
        Item.objects.bulk_update(self.moved, ["region", "is_boxed"], batch_size=BATCH)
        return len(self.new)

    def _image(self, parted: PartedObject) -> Image:
        image = self.images.get(parted.image)
        if image is None:
            raise Refusal(
                f"The image is not in {self.dataset.name}. Add the image first, or remove the "
                "object.",
                field="image",
            )
        if parted.size is not None and parted.size != (image.width, image.height):
            raise Refusal(size_mismatch(parted.size, (image.width, image.height)), field="size")
        return image

    def _name(self, parted: PartedObject, image: Image, region: list[float]) -> str:
        items_by_name = self.there.get(image.pk, {})
        for name, item in items_by_name.items():
            same = item.region == region
            if same and self.categories[image.pk, name] == parted.category:
                return name
        word = self.words.get(parted.category, parted.category)[: MAX_LENGTHS["name"] - 8]
        number = 1
        while f"{word}-{number}" in items_by_name:
            number += 1
        return f"{word}-{number}"

    def _check_category(self, parted: PartedObject, image: Image, name: str) -> None:
        before = self.categories[image.pk, name]
        if before and before != parted.category:
            raise Refusal(
                f"{name!r} already exists with the category {self.words.get(before, before)}, not "
                f"{self.words.get(parted.category, parted.category)}. Give the new object another "
                "name.",
                field="category",
            )


def duplicate_refusal(parted: PartedObject) -> Refusal:
    """Return the message for an object that was given before."""
    if parted.name:
        return Refusal(
            f"Two objects of the image are named {parted.name!r}. Rename or remove one.",
            field="name",
        )
    return Refusal(
        "The image has two objects of this category with the same box. Remove one, or name both.",
        field="box",
    )


def size_mismatch(drawn_on: tuple[int, int], size: tuple[int, int]) -> str:
    """Return the message for shapes drawn on an image of another size."""
    return (
        f"It is drawn on {drawn_on[0]} x {drawn_on[1]} pixels, but the image has {size[0]} x "
        f"{size[1]}. Provide shapes in the image's size, or add the image that they were drawn on."
    )


def _whole_image_items(images: Sequence[int]) -> dict[int, Item]:
    """Return the whole-image items by image, creating missing ones."""
    wholes: dict[int, Item] = {}
    for part in batches(images, BATCH):
        Item.objects.bulk_create([Item(image_id=pk) for pk in part], ignore_conflicts=True)
        whole = Item.objects.filter(image_id__in=part, region__isnull=True)
        wholes |= {item.image_id: item for item in whole}
    return wholes


def _write(
    items: Sequence[tuple[Item, PartedObject]], labels: Mapping[int, list[GivenLabel]], source: str
) -> int:
    """Write new and changed labels and delete missing ones; return the number of both."""
    now = timezone.now()
    fresh: list[GivenLabel] = []
    gone: list[int] = []
    for item, parted in items:
        sources = _sources(parted, source)
        before = {
            (label.key, label.source): label
            for label in labels.get(item.pk, [])
            if label.source in sources.values()
        }
        for key, value, geometry, origin in _rows(parted):
            label_source = sources.get(origin, sources["given"])
            old = before.pop((key, label_source), None)
            if old is None or _differs(old, value, geometry):
                fresh.append(
                    GivenLabel(
                        item=item,
                        key=key,
                        value=value,
                        geometry=geometry,
                        source=label_source,
                        created_at=now,
                    )
                )
        gone += [label.pk for label in before.values()]
    for part in batches(gone, BATCH):
        GivenLabel.objects.filter(pk__in=part).delete()
    GivenLabel.objects.bulk_create(
        fresh,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["item", "key", "source"],
        update_fields=["value", "geometry", "created_at"],
    )
    return len(fresh) + len(gone)


def _sources(parted: PartedObject, source: str) -> dict[str, str]:
    """Return the source of labels by origin."""
    label_source = parted.source or source
    longest = MAX_LENGTHS["source"]
    return {
        "given": label_source[:longest],
        "explicit": f"{label_source[: longest - 10]}: explicit",
    }


def _rows(parted: PartedObject) -> Iterator[tuple[str, str, Mapping[str, object] | None, str]]:
    yield parted.category, "yes", None, "given"
    if parted.outline is not None:
        yield OUTLINE, "yes", {"polygons": as_json(parted.outline)}, "given"
    for part in parted.parts:
        value = "no" if part.state == "not_visible" else "yes"
        yield part.key, value, content_of(part), part.origin


def _differs(old: GivenLabel, value: str, geometry: Mapping[str, object] | None) -> bool:
    if old.value != value:
        return True
    if old.geometry == geometry:
        return False
    return not (geometry and old.geometry and _chosen_of(old.geometry, geometry))


def _chosen_of(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether the old part differs from the new one only by radii that a person chose."""
    before, after = old.get("merges", []), new.get("merges", [])
    if len(before) != len(after) or not any(merge["chosen"] for merge in before):
        return False
    same = ("pieces", "instance", "holes")
    return all(
        all(merge_before[key] == merge_after[key] for key in same)
        and (merge_before["chosen"] or merge_before == merge_after)
        for merge_before, merge_after in zip(before, after, strict=True)
    )


def _described(item: Item) -> PartedObject:
    labels = sorted(item.given_labels.all(), key=lambda label: (label.created_at, label.pk))
    category = _category(labels)
    # The latest of each key, in order of the keys' first occurrence.
    latest = {label.key: label for label in labels}
    outline = latest.pop(OUTLINE, None)
    crop, _ = crop_of(item)
    assert item.region is not None
    x0, y0, x1, y1 = item.region
    first = latest.get(category)
    return PartedObject(
        image=item.image.name,
        category=category,
        box=(x0, y0, x1, y1),
        parts=tuple(
            part_of(key, geometry)
            for key, geometry in ((label.key, label.geometry) for label in latest.values())
            if geometry is not None
        ),
        outline=from_json(outline.geometry["polygons"]) if outline and outline.geometry else None,
        crop=crop,
        name=item.name,
        source=first.source if first is not None else "",
        size=(item.image.width, item.image.height),
        is_boxed=item.is_boxed,
    )


def _category(labels: Sequence[GivenLabel]) -> str:
    """Return the category in an object's labels: the one without geometry."""
    return next((label.key for label in labels if label.geometry is None), "")


def _region(parted: PartedObject, image: Image) -> list[float]:
    """Return the object's box as items store it: tenths, whole numbers as integers.

    Raises Refusal.
    """
    size = (image.width, image.height)
    # Files count pixels from 0 or 1, and round.
    near = is_box_inside(parted.box, size, EDGE_PX)
    tenths = [
        round(float(value), 1) for value in (near and cut_box(parted.box, size)) or parted.box
    ]
    x0, y0, x1, y1 = tenths
    if not (0 <= x0 < x1 <= image.width and 0 <= y0 < y1 <= image.height):
        raise Refusal(
            f"The box {_box(tenths)} is not inside the image of {image.width} x "
            f"{image.height} pixels, or is empty. Give x0,y0,x1,y1 with x0 < x1 and y0 < y1.",
            field="box",
        )
    return [int(value) if value == int(value) else value for value in tenths]


def _box(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _check(parted: PartedObject) -> None:
    """Raise Refusal for names that are too long or parts that occur twice."""
    if len(parted.name) > MAX_LENGTHS["name"]:
        raise Refusal(
            f"The name {parted.name[:80]!r}… has {len(parted.name)} characters; use at most "
            f"{MAX_LENGTHS['name']}.",
            field="name",
        )
    keys = [part.key for part in parted.parts]
    for key in (parted.category, *keys):
        if not 0 < len(key) <= MAX_LENGTHS["key"] or key == OUTLINE:
            raise Refusal(
                f"{key[:80]!r} cannot be the key of a category or part. "
                f"Use 1 to {MAX_LENGTHS['key']} characters other than {OUTLINE!r}.",
                field="key",
            )
    if repeated := next((key for key in keys if keys.count(key) > 1), None):
        raise Refusal(f"The part {repeated!r} occurs twice. Merge the two entries.", field="parts")


def _check_inside(parted: PartedObject, image: Image) -> None:
    """Raise Refusal unless all shapes lie in the image."""
    drawn = [(part.key, part.polygons) for part in parted.parts]
    for key, polygons in (*drawn, ("outline", parted.outline or ())):
        # Holes lie inside their pieces, so only outer rings matter.
        points = [point for piece in polygons for point in piece[0]]
        if not points:
            continue
        xs, ys = zip(*points, strict=True)
        if min(xs) < 0 or min(ys) < 0 or max(xs) > image.width or max(ys) > image.height:
            raise Refusal(
                f"The {key} extends beyond the image of {image.width} x {image.height} pixels. "
                "Clip it at the edge, or add the image that it was drawn on.",
                field="parts",
            )


def position_words(parted: PartedObject) -> str:
    """Return the position of an object: its entry in the file, if known, image and name."""
    description = f"{parted.image}, {parted.name}" if parted.name else parted.image
    return (
        f"{parted.entry}: {description}"
        if parted.entry and parted.entry != parted.image
        else description
    )
