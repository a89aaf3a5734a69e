"""Who may see a benchmark: researchers of its campaign, and staff. For others it does not exist."""

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
    """Return the benchmark of that name, if this person researches in its campaign.

    family: of kinds, for what it alone has. Raises NotYours.
    """
    refusal = NotYours("There is no such benchmark, or it is not yours.")
    benchmark = (
        Benchmark.objects.filter(name=name, kind__in=kinds())
        .select_related("campaign__dataset", "campaign__policy", "naming", "release")
        .first()
    )
    if benchmark is None or family not in ("", kind_of(benchmark).family):
        raise refusal
    try:
        access.check_role(user, benchmark.campaign, access.RESEARCHER)
    except (NotYours, NotAllowed):
        # Scores and per-image results are hidden from annotators, their existence too.
        raise refusal from None
    return benchmark
