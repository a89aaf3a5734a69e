"""Given labels: known about images before anybody is asked."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from django.db import transaction
from django.utils import timezone

from labeling.datasets.image_names import ImageNames, NamedImage
from labeling.datasets.objects import size_mismatch
from labeling.db.sql import batches
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.follow_ups import following
from labeling.formats.label import Instance, Label, geometry_of
from labeling.formats.reading import LabelReading, Size, Skipped, add_skipped, skipped_sentence
from labeling.graphs import store
from labeling.models import Campaign, Dataset, GivenLabel, Item
from labeling.parts.model import Photograph
from labeling.question_graph import replaying
from labeling.release_files import exporting

Watch = Callable[[Iterable[Label]], Iterable[Label]]
Row = Mapping[str, Any]
BATCH = 2_000
MAX_SENTENCES = 20
MAX_LENGTHS = {"key": 64, "source": 200}


def add(dataset: Dataset, rows: Sequence[Row], source: str = "") -> int:
    """Write labels, replacing earlier ones of the same source and class; return their number.

    rows: {"image": name, "key": class, "value": "yes" (default) or "no", "geometry": as in the
    file, or None, "place": its position, in words}. The first fault refuses all rows and names its
    position, or its row from 1, and the cure. Images of campaigns that ask by a graph are
    replanned, since known labels are not asked.
    """
    now = timezone.now()
    checked = [_checked(row, number) for number, row in enumerate(rows, 1)]
    places = [_place(row, number) for number, row in enumerate(rows, 1)]
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for (image, key, value, _), prefix in zip(checked, places, strict=True):
        _check_agreement(
            key, image, first.setdefault((image, key), (value, prefix)), (value, prefix)
        )
    with transaction.atomic():
        items = _items(dataset, [image for image, *_ in checked], places)
        latest = {
            (items[image], key): GivenLabel(
                item_id=items[image],
                key=key,
                value=value,
                geometry=geometry,
                source=source[: MAX_LENGTHS["source"]],
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
        for campaign in _open_graph_campaigns(dataset):
            for _ in following.flag_for_replanning(campaign, sorted({item for item, _ in latest})):
                pass
    return len(latest)


class LabelImportResult(TypedDict):
    """Result of an import. unknown: labels without information, not written. mended: repairs in
    words.
    """

    images: int
    labels: int
    unknown: int
    sources: list[str]
    skipped: list[Skipped]
    mended: list[str]


def import_labels(
    dataset: Dataset,
    path: Path,
    format_name: str = "",
    source: str = "",
    campaign: Campaign | None = None,
    *,
    repair: bool = False,
    watch: Watch = iter,
) -> LabelImportResult:
    """Import the labels of a file or a release and return the result.

    source: of labels without one, by default the file's name. campaign: its graph restricts the
    classes. watch: receives and yields the labels as they are read. Labels "unknown" are counted. A
    label of a release records in its source whether people answered it. All or nothing: raises
    BadInput or Refusal for the first fault, and if a file has entries but none could be read.
    """
    skipped: list[Skipped] = []
    mended: list[str] = []
    reading = LabelReading(path, repair, mended.append, partial(add_skipped, skipped), exact=True)
    pages, where = exporting.read_labels(reading, format_name)
    merged = _Merged(source or where)
    for photo, labels in pages:
        for label in watch(labels):
            merged.add(label, photo)
    if skipped and not merged.labels:
        raise BadInput(f"has no label that could be read: {skipped_sentence(skipped[0])}", path)
    rows = merged.rows(ImageNames(dataset), reading)
    with transaction.atomic():
        if campaign is not None:
            check(campaign, [row for some in rows.values() for row in some])
        written = sum(add(dataset, some, origin) for origin, some in sorted(rows.items()))
    return {
        "images": len(merged.images),
        "labels": written,
        "unknown": merged.unknown,
        "sources": sorted(rows),
        "skipped": skipped,
        "mended": mended[:MAX_SENTENCES],
    }


class _Merged:
    """Labels of a file by source, image and class, with the instances of all rows."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.labels: dict[tuple[str, str, str], Label] = {}
        self.sizes: dict[str, Size] = {}
        self.images: set[str] = set()
        self.unknown = 0

    def add(self, label: Label, photo: Photograph) -> None:
        """Add a row. Raises Refusal if an earlier row has another value."""
        self.images.add(label.image)
        if label.instances and photo.width:
            self.sizes[label.image] = (photo.width, photo.height)
        origin = label.source or self.source
        if label.origin != replaying.GIVEN:
            origin = f"{self.source}: {label.origin}"
        key = (origin[: MAX_LENGTHS["source"]], label.image, label.key)
        earlier = self.labels.get(key)
        if earlier is not None:
            _check_agreement(
                label.key, label.image, (earlier.value, earlier.entry), (label.value, label.entry)
            )
            label = replace(earlier, instances=earlier.instances + label.instances)
        elif label.value == replaying.UNKNOWN:
            self.unknown += 1
        self.labels[key] = label

    def rows(self, names: ImageNames, reading: LabelReading) -> dict[str, list[Row]]:
        """Return rows for add(), by source, for the images of the dataset."""
        known = names.find(sorted(self.images))
        rows: dict[str, list[Row]] = defaultdict(list)
        for (origin, image, key), label in self.labels.items():
            if label.value == replaying.UNKNOWN:
                continue
            stored_image = known.get(image)
            if stored_image is None:
                raise _unknown_image(label.entry, image, names.dataset)
            instances = self._inside(label, stored_image, reading)
            row = {
                "image": stored_image.name,
                "key": key,
                "value": label.value,
                "place": label.entry,
            }
            rows[origin].append(row | {"geometry": geometry_of(instances)})
        return rows

    def _inside(self, label: Label, image: NamedImage, reading: LabelReading) -> list[Instance]:
        """Return the label's instances, clipped to the image. Raises Refusal."""
        drawn_on = self.sizes.get(label.image, image.size)
        if drawn_on != image.size:
            raise Refusal(f"{label.entry}: {label.image}: {size_mismatch(drawn_on, image.size)}")
        return [
            inside
            for instance in label.instances
            if (inside := reading.inside(instance, image.size, label.entry))
        ]


def check(campaign: Campaign, rows: Sequence[Row]) -> None:
    """Raise Refusal if classes of these rows are missing in the campaign's graph or contradict it.

    It names the row, the class and the cure.
    """
    graph = store.load_graph(campaign)
    replaying.check_given(
        graph,
        [(str(row["image"]), str(row["key"]), str(row.get("value", "yes"))) for row in rows],
        [_place(row, number) for number, row in enumerate(rows, 1)],
    )


def _place(row: Row, number: int) -> str:
    return str(row.get("place") or f"Row {number}")


def _checked(row: Row, number: int) -> tuple[str, str, str, Any]:
    prefix = _place(row, number)
    image, key = str(row.get("image") or ""), str(row.get("key") or "")
    value = row.get("value", replaying.YES)
    if not image:
        raise Refusal(f"{prefix} has no image name. Add it.", field="image")
    if not 0 < len(key) <= MAX_LENGTHS["key"]:
        raise Refusal(
            f"{prefix}: the class {key[:80]!r} has {len(key)} characters; use 1 to "
            f"{MAX_LENGTHS['key']}, such as a wnid.",
            field="key",
        )
    if value not in (replaying.YES, replaying.NO):
        raise Refusal(f"{prefix}: {key} is {value!r}; write yes or no.", field="value")
    return image, key, value, row.get("geometry")


def _check_agreement(key: str, image: str, first: tuple[str, str], second: tuple[str, str]) -> None:
    """Raise Refusal if two rows of a class differ. first, second: value, position."""
    if first[0] != second[0]:
        where = f"{first[1][:1].lower()}{first[1][1:]}"
        raise Refusal(
            f"{second[1]}: {key} of {image} was {first[0]} in {where}; keep one.", field="value"
        )


def _items(dataset: Dataset, names: Sequence[str], places: Sequence[str]) -> dict[str, int]:
    """Return image name → whole-image item. Raises Refusal, which names the position."""
    images = ImageNames(dataset).find(sorted(set(names)))
    for prefix, name in zip(places, names, strict=True):
        if name not in images:
            raise _unknown_image(prefix, name, dataset)
    items: dict[int, int] = {}
    for part in batches(sorted(image.pk for image in images.values()), BATCH):
        Item.objects.bulk_create([Item(image_id=pk) for pk in part], ignore_conflicts=True)
        whole = Item.objects.filter(image_id__in=part, region__isnull=True)
        items.update(whole.values_list("image_id", "pk"))
    return {name: items[image.pk] for name, image in images.items()}


def _unknown_image(prefix: str, name: str, dataset: Dataset) -> Refusal:
    return Refusal(
        f"{prefix}: {name} is not in {dataset.name}. Add the image first, or remove the row.",
        field="image",
    )


def _open_graph_campaigns(dataset: Dataset) -> list[Campaign]:
    """Return the campaigns on this dataset that ask by a graph and are not closed."""
    campaigns = Campaign.objects.filter(dataset=dataset, graph__isnull=False)
    return list(campaigns.exclude(state=Campaign.State.CLOSED).order_by("pk"))
