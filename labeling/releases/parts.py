"""What a release of a campaign holds beside answers, where people draw the parts of objects."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypedDict

from django.db.models import Count, Max

from labeling.datasets import objects
from labeling.kinds import KINDS
from labeling.kinds.base import OBJECTS
from labeling.kinds.parts import AskedCategory
from labeling.models import Campaign, GivenLabel, Question, Settlement
from labeling.parts.model import PartedObject
from labeling.release_files import frozen_objects


class PartFingerprint(TypedDict, total=False):
    """labels: their number, since what is taken away leaves the latest as it was."""

    vocabulary: int | None
    given: str | None
    labels: int


@dataclass
class Objects:
    """The objects of a campaign as lines of its release, and what is counted of them."""

    campaign: Campaign
    known: dict[int, PartedObject] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.categories: dict[str, AskedCategory] = self.campaign.settings["categories"]
        self.tally = frozen_objects.Tally(self.categories)

    @classmethod
    def of(cls, campaign: Campaign) -> "Objects | None":
        return cls(campaign) if KINDS[campaign.kind].release == OBJECTS else None

    def describe(self, questions: Iterable[Question]) -> None:
        """Reads what is given of the objects of these questions, for place() and line()."""
        self.known = objects.described({asked.item_id: asked.item for asked in questions}.values())

    def place(self, question: Question) -> dict[str, str]:
        """How answers and votes name the object."""
        return {"object": question.item.name}

    def line(
        self, question: Question, settlement: Settlement, by: dict[str, int]
    ) -> frozen_objects.ObjectLine:
        """The settled object: what was given and what people said. by: what settled it."""
        known, value = self.known[question.item_id], settlement.value or {}
        category = self.categories.get(question.topic)
        parts = category["parts"] if category else []
        found = frozen_objects.line(known, value, settlement.probability, parts)
        found["category"] = question.topic
        found["settled_by"], found["reviewed"] = by, settlement.reviewed
        self.tally.add(found)
        return found

    def head(self) -> dict[str, object]:
        """Keys of release.json: counts by category and part, and by which vocabulary."""
        found = self.campaign.vocabulary
        version = found and {"version": found.version, "sha256": found.sha256}
        return {"parts": self.tally.content(), "vocabulary": version}


def fingerprint(campaign: Campaign) -> PartFingerprint:
    """A cheap sign of what is given of objects; nothing for other kinds."""
    if KINDS[campaign.kind].release != OBJECTS:
        return {}
    given = GivenLabel.objects.filter(item__image__dataset=campaign.dataset_id)
    found = given.aggregate(at=Max("created_at"), count=Count("pk"))
    return {
        "vocabulary": campaign.vocabulary_id,
        "given": found["at"].isoformat() if found["at"] else None,
        "labels": found["count"],
    }
