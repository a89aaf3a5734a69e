"""Access to benchmarks: researchers of the campaign, and staff. Nobody else learns that
one exists.
"""

from django.db.models import QuerySet

from evaluation.benchmarks.kind import kind_of, kinds
from evaluation.models import Benchmark
from labeling.campaigns import access
from labeling.errors import NotAllowed, NotYours
from labeling.models import User


def benchmarks_for(user: User) -> QuerySet[Benchmark]:
    campaigns = access.campaigns_for(user, access.RESEARCHER)
    return Benchmark.objects.filter(campaign__in=campaigns, kind__in=kinds())


def benchmark_for(user: User, name: str, family: str = "") -> Benchmark:
    """Return the benchmark of that name if this user researches in its campaign.

    Sets hides_images for this user. family: if given, the family that its kind must have. Raises
    NotYours.
    """
    refusal = NotYours("There is no such benchmark, or it is not yours.")
    benchmark = (
        Benchmark.objects.filter(name=name, kind__in=kinds())
        .select_related(
            "campaign__dataset",
            "campaign__policy",
            "naming",
            "release",
            "pool_selection__pool__dataset",
        )
        .first()
    )
    if benchmark is None or family not in ("", kind_of(benchmark).family):
        raise refusal
    try:
        access.check_role(user, benchmark.campaign, access.RESEARCHER)
    except (NotYours, NotAllowed):
        # Annotators must not learn that scores and per-image results exist.
        raise refusal from None
    benchmark.hides_images = bool(kind_of(benchmark).hidden([benchmark], user))
    return benchmark


def check_images(benchmark: Benchmark) -> None:
    """Raise NotAllowed if its images and labels are hidden from the user of this request."""
    if benchmark.hides_images:
        raise NotAllowed(
            "The part of this benchmark is sealed: only the researcher who sealed it sees images "
            "and labels. Everybody else sees counts and scores.",
            code="sealed",
        )
