"""Extra fields of a release of candidates: the queries that found each image."""

from typing import TypedDict

from django.db.models import Max

from labeling.follow_ups import candidate_lists
from labeling.kinds import KINDS
from labeling.kinds.base import CANDIDATES
from labeling.models import Campaign, Candidate


class QueryFingerprint(TypedDict, total=False):
    queries: int


def by_question(campaign: Campaign, question_ids: list[int]) -> dict[int, list[str]]:
    """Return the queries of each question; empty where the campaign keeps none."""
    if KINDS[campaign.kind].asks != CANDIDATES:
        return {}
    return candidate_lists.queries_of(question_ids)


def fingerprint(campaign: Campaign) -> QueryFingerprint:
    """Return a value that changes with the queries; empty where the campaign keeps none."""
    if KINDS[campaign.kind].asks != CANDIDATES:
        return {}
    latest = Candidate.objects.filter(question__campaign=campaign).aggregate(at=Max("pk"))
    return {"queries": latest["at"] or 0}
