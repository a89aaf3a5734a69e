"""Context of the page of a release's splits. No HTML."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluation.models import ReleaseSplit
from evaluation.release_splits.making import may_delete
from evaluation.splits.files import SplitHead
from labeling.models import Campaign, User
from labeling.reports.boxes_page import CountShare

# Most classes on the page; split.json has all.
MAX_CLASSES = 200


@dataclass(frozen=True)
class ClassCounts:
    """A class with its number of images in each part."""

    name: str
    counts: list[int]


@dataclass(frozen=True)
class SplitCard:
    """A split. is_whole: whether its zip has every list for this user. classes: the first
    MAX_CLASSES by key; class_count: the number of all. Empty until the split is made.
    """

    split: ReleaseSplit
    is_whole: bool
    may_delete: bool
    parts: list[CountShare] = field(default_factory=list)
    classes: list[ClassCounts] = field(default_factory=list)
    class_count: int = 0
    notes: list[str] = field(default_factory=list)


def cards(campaign: Campaign, rows: list[ReleaseSplit], user: User) -> list[SplitCard]:
    names = dict(campaign.topics.values_list("key", "name"))
    return [_card(row, names, user) for row in rows]


def _card(row: ReleaseSplit, names: Mapping[str, str], user: User) -> SplitCard:
    is_whole = row.sealed_by_id in (None, user.pk)
    if not row.file:
        return SplitCard(row, is_whole, may_delete(row, user))
    head = SplitHead.from_json(row.head)
    parts = head.counts.values()
    total = sum(part.images for part in parts)
    keys = sorted({key for part in parts for key in part.classes})
    return SplitCard(
        row,
        is_whole,
        may_delete(row, user),
        [CountShare(name, part.images, total) for name, part in head.counts.items()],
        [
            ClassCounts(names.get(key) or key, [part.classes.get(key, 0) for part in parts])
            for key in keys[:MAX_CLASSES]
        ],
        len(keys),
        head.notes,
    )
