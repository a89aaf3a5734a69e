"""Who may see a benchmark: researchers of its campaign, and staff. For others it does not exist."""

from django.db.models import QuerySet

from evaluation.models import Benchmark
from labeling.campaigns import access
from labeling.errors import NotAllowed, NotYours
from labeling.models import User


def benchmarks_for(user: User) -> QuerySet[Benchmark]:
    campaigns = access.campaigns_for(user, access.RESEARCHER)
    return Benchmark.objects.filter(campaign__in=campaigns)


def benchmark_for(user: User, name: str, kind: str | None = None) -> Benchmark:
    """The benchmark of that name, if this person researches in its campaign.

    kind: for what only one kind has. Raises NotYours.
    """
    refusal = NotYours("There is no such benchmark, or it is not yours.")
    benchmark = (
        Benchmark.objects.filter(name=name)
        .select_related("campaign__dataset", "campaign__policy", "naming", "release")
        .first()
    )
    if benchmark is None or (kind is not None and benchmark.kind != kind):
        raise refusal
    try:
        access.check_role(user, benchmark.campaign, access.RESEARCHER)
    except (NotYours, NotAllowed):
        # Scores and per-image results are hidden from annotators, their existence too.
        raise refusal from None
    return benchmark
