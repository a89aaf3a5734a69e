"""Extra files of a release with the parts of objects."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypedDict

from django.db.models import Count, Max

from labeling.datasets import objects
from labeling.kinds import KINDS
from labeling.kinds.base import OBJECTS
from labeling.kinds.parts import AskedCategory
from labeling.models import Campaign, GivenLabel, Item
from labeling.parts.model import PartedObject
from labeling.release_files import frozen_objects
from labeling.releases.frozen_questions import FrozenQuestion, FrozenSettlement

# labels: their number, since removing a label leaves the latest date as it was.
PartFingerprint = TypedDict(  # noqa: UP013 - the key "given" is stored
    "PartFingerprint", {"vocabulary": int | None, "given": str | None, "labels": int}, total=False
)


@dataclass
class FrozenObjects:
    """Writes the objects of a campaign as release lines and counts them."""

    categories: dict[str, AskedCategory]
    known: dict[int, PartedObject] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.tally = frozen_objects.PartTally(self.categories)

    def describe(self, questions: Iterable[FrozenQuestion]) -> None:
        """Load the given labels of these questions' objects for line()."""
        regions = {question.item: question.region for question in questions}
        items = Item.objects.in_bulk(regions)
        for pk, item in items.items():
            item.region = regions[pk]
        self.known = objects.describe(items.values())

    def box_note(self, question: FrozenQuestion) -> dict[str, bool]:
        """Return {"boxed": …} for an object as large as its image: whether its row had a box."""
        known = self.known[question.item]
        assert known.size is not None, "described with its image"
        is_whole = list(known.box) == [0, 0, *known.size]
        return {"boxed": known.is_boxed} if is_whole else {}

    def line(
        self, question: FrozenQuestion, settled: FrozenSettlement, by: dict[str, int]
    ) -> frozen_objects.ObjectLine:
        """Return the line of a settled object: given labels and answers. by: what settled it."""
        known, value = self.known[question.item], settled.value or {}
        category = self.categories.get(question.topic)
        parts = category["parts"] if category else []
        line = frozen_objects.line(known, value, settled.probability, parts)
        line["category"] = question.topic
        line["settled_by"], line["reviewed"] = by, settled.reviewed
        self.tally.add(line)
        return line


def head(campaign: Campaign, tally: frozen_objects.PartTally) -> dict[str, object]:
    """Return keys of release.json: counts by category and part, and the vocabulary."""
    vocabulary = campaign.vocabulary
    version = vocabulary and {"version": vocabulary.version, "sha256": vocabulary.sha256}
    return {"parts": tally.content(), "vocabulary": version}


def fingerprint(campaign: Campaign) -> PartFingerprint:
    """Return a value that changes with the given objects; empty for other kinds."""
    if KINDS[campaign.kind].release != OBJECTS:
        return {}
    known_labels = GivenLabel.objects.filter(item__image__dataset=campaign.dataset_id)
    totals = known_labels.aggregate(at=Max("created_at"), count=Count("pk"))
    return {
        "vocabulary": campaign.vocabulary_id,
        "given": totals["at"].isoformat() if totals["at"] else None,
        "labels": totals["count"],
    }
