"""Given labels: what a list says of images before anybody is asked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

from django.db import transaction
from django.utils import timezone

from labeling.errors import Refusal
from labeling.follow_ups import following
from labeling.formats import Label
from labeling.graphs import store
from labeling.models import Campaign, Dataset, GivenLabel, Item
from labeling.question_graph import replaying

Row = Mapping[str, Any]
BATCH = 2_000
LONGEST = {"key": 64, "source": 200}


def add(dataset: Dataset, rows: Sequence[Row], source: str = "") -> int:
    """How many labels were written. What this source said before of a class is replaced.

    rows: {"image": name, "key": class, "value": "yes" or "no" ("yes" where it is left out),
    "geometry": as the file had it, or None, "place": where it stood, in words}. The first fault
    refuses all of them, naming the place (else the row, from 1) and the cure. Images of campaigns
    that ask by a graph are looked at again: what is known is not asked.
    """
    now = timezone.now()
    checked = [_checked(row, number) for number, row in enumerate(rows, 1)]
    places = [_place(row, number) for number, row in enumerate(rows, 1)]
    _agree(checked, places)
    with transaction.atomic():
        items = _items(dataset, [image for image, *_ in checked], places)
        latest = {
            (items[image], key): GivenLabel(
                item_id=items[image],
                key=key,
                value=value,
                geometry=geometry,
                source=source[: LONGEST["source"]],
                created_at=now,
            )
            for image, key, value, geometry in checked
        }
        GivenLabel.objects.bulk_create(
            list(latest.values()),
            batch_size=BATCH,
            update_conflicts=True,
            unique_fields=["item", "key", "source"],
            update_fields=["value", "geometry", "created_at"],
        )
        for campaign in _asking(dataset):
            for _ in following.look_again_at(campaign, sorted({item for item, _ in latest})):
                pass
    return len(latest)


class BroughtIn(TypedDict):
    """unknown: labels that say nothing, which were not written."""

    images: int
    labels: int
    unknown: int
    sources: list[str]


def bring_in(
    dataset: Dataset, labels: Iterable[Label], source: str, campaign: Campaign | None = None
) -> BroughtIn:
    """What became of labels that were read from a file.

    Unknown labels say nothing and are counted. A label that comes out of a release says so in its
    source, with whether people answered it. All or nothing: the first fault refuses all. campaign:
    classes that its graph does not have are refused too.
    """
    by_source: dict[str, list[Row]] = {}
    images: set[str] = set()
    unknown = 0
    for label in labels:
        images.add(label.image)
        if label.value == replaying.UNKNOWN:
            unknown += 1
            continue
        said = label.source or source
        if label.origin != replaying.GIVEN:
            said = f"{source}: {label.origin}"
        by_source.setdefault(said[: LONGEST["source"]], []).append(
            {
                "image": label.image,
                "key": label.key,
                "value": label.value,
                "geometry": label.geometry,
                "place": label.place,
            }
        )
    with transaction.atomic():
        if campaign is not None:
            check(campaign, [row for rows in by_source.values() for row in rows])
        written = sum(add(dataset, rows, said) for said, rows in sorted(by_source.items()))
    return {
        "images": len(images),
        "labels": written,
        "unknown": unknown,
        "sources": sorted(by_source),
    }


def check(campaign: Campaign, rows: Sequence[Row]) -> None:
    """Passes for rows (as add takes them) whose classes are all in the campaign's graph and do not
    contradict it. Raises Refusal naming the row, the class and the cure."""
    graph = store.of(campaign)
    replaying.check_given(
        graph,
        [(str(row["image"]), str(row["key"]), str(row.get("value", "yes"))) for row in rows],
        [_place(row, number) for number, row in enumerate(rows, 1)],
    )


def _place(row: Row, number: int) -> str:
    return str(row.get("place") or f"Row {number}")


def _checked(row: Row, number: int) -> tuple[str, str, str, Any]:
    place = _place(row, number)
    image, key = str(row.get("image") or ""), str(row.get("key") or "")
    value = row.get("value", replaying.YES)
    if not image:
        raise Refusal(f"{place} names no image. Give one.", field="image")
    if not 0 < len(key) <= LONGEST["key"]:
        raise Refusal(
            f"{place}: the class {key[:80]!r} has {len(key)} characters; give 1 to "
            f"{LONGEST['key']}, a wnid for example.",
            field="key",
        )
    if value not in (replaying.YES, replaying.NO):
        raise Refusal(f"{place}: {key} is {value!r}; write yes or no.", field="value")
    return image, key, value, row.get("geometry")


def _agree(rows: Sequence[tuple[str, str, str, Any]], places: Sequence[str]) -> None:
    said: dict[tuple[str, str], tuple[str, str]] = {}
    for place, (image, key, value, _) in zip(places, rows, strict=True):
        first, where = said.setdefault((image, key), (value, place))
        if first != value:
            where = f"{where[0].lower()}{where[1:]}"
            raise Refusal(
                f"{place}: {key} of {image} was {first} in {where}; keep one.", field="value"
            )


def _items(dataset: Dataset, names: Sequence[str], places: Sequence[str]) -> dict[str, int]:
    """The whole-image items of these images, by name. Raises Refusal naming the place."""
    wanted = sorted(set(names))
    images: dict[str, int] = {}
    for part in _parts(wanted):
        images.update(dataset.images.filter(name__in=part).values_list("name", "pk"))
    for place, name in zip(places, names, strict=True):
        if name not in images:
            raise Refusal(
                f"{place}: {name} is not in {dataset.name}. Add the image first, or take the "
                "row out.",
                field="image",
            )
    items: dict[int, int] = {}
    for part in _parts(sorted(images.values())):
        Item.objects.bulk_create([Item(image_id=pk) for pk in part], ignore_conflicts=True)
        whole = Item.objects.filter(image_id__in=part, region__isnull=True)
        items.update(whole.values_list("image_id", "pk"))
    return {name: items[pk] for name, pk in images.items()}


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]


def _asking(dataset: Dataset) -> list[Campaign]:
    """Campaigns on this dataset that ask by a graph and are not closed."""
    campaigns = Campaign.objects.filter(dataset=dataset, graph__isnull=False)
    return list(campaigns.exclude(state=Campaign.State.CLOSED).order_by("pk"))
