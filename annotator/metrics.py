"""Prometheus metrics for `/metrics` (annotator/health.py controls access).

Each web process counts requests; PROMETHEUS_MULTIPROC_DIR names a folder in which they are summed
per machine (set by deploy/gunicorn_config.py and deploy/serve.py). Jobs, rounds and answers are
read from the database and the cache on each scrape. Labels hold view names, methods, statuses and
job kinds only, never user input.
"""

import os
from collections.abc import Iterator

from django.conf import settings
from django.db import Error
from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from labeling.jobs import rounds
from labeling.models import Job, Membership

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Seconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

REQUESTS = Counter(
    "assay_requests", "Requests answered, by view, method and status.", ("view", "method", "status")
)
SECONDS = Histogram(
    "assay_request_seconds",
    "Seconds from the whole request to its response, by view and method.",
    ("view", "method"),
    buckets=BUCKETS,
)


def count_request(request: HttpRequest, status: int, seconds: float) -> None:
    """Count a request of this process. A URL without a view counts as `none`."""
    view = request.resolver_match.view_name if request.resolver_match else "none"
    method = request.method if request.method in METHODS else "other"
    REQUESTS.labels(view, method, str(status)).inc()
    SECONDS.labels(view, method).observe(seconds)


def page() -> HttpResponse:
    """Return all metrics in Prometheus' text format."""
    requests: CollectorRegistry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        requests = CollectorRegistry()
        multiprocess.MultiProcessCollector(requests)
    site = CollectorRegistry()
    site.register(Site())
    return HttpResponse(
        generate_latest(requests) + generate_latest(site), content_type=CONTENT_TYPE_LATEST
    )


class Site:
    """Metrics of the whole site, the same from every process."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("assay_database_up", "1 while the database answers.", value=1)
        try:
            families = [*_jobs(), _answers()]
        except Error:
            families = []
            up = GaugeMetricFamily("assay_database_up", up.documentation, value=0)
        yield up
        yield from families
        yield _ages()


def _jobs() -> Iterator[Metric]:
    known = settings.ASSAY_JOB_HANDLERS
    counts = {(kind, state): 0 for kind in known for state in Job.State.values}
    for kind, state, count in (
        Job.objects.order_by().values_list("kind", "state").annotate(Count("pk"))
    ):
        name = kind if kind in known else "other"
        counts[name, state] = counts.get((name, state), 0) + count
    jobs = GaugeMetricFamily(
        "assay_jobs", "Jobs in the table, by kind and state.", labels=("kind", "state")
    )
    for labels, count in counts.items():
        jobs.add_metric(labels, count)
    yield jobs
    oldest = Job.objects.filter(state=Job.State.QUEUED).aggregate(at=Min("created_at"))["at"]
    yield GaugeMetricFamily(
        "assay_oldest_waiting_job_seconds",
        "Seconds since the oldest job that waits was queued; 0 where none waits.",
        value=max(0.0, (timezone.now() - oldest).total_seconds()) if oldest else 0,
    )


def _answers() -> Metric:
    # From the counters of memberships: counting the answers themselves would take seconds.
    answered = Membership.objects.aggregate(sum=Sum("answered"))["sum"]
    return CounterMetricFamily(
        "assay_answers", "Answers accepted of people; revisions do not count.", value=answered or 0
    )


def _ages() -> Metric:
    ages = GaugeMetricFamily(
        "assay_round_age_seconds",
        "Seconds since a round of the clock last began; none where the cache does not know.",
        labels=("round",),
    )
    try:
        known = rounds.ages()
    except Exception:
        known = {}
    for name, age in known.items():
        if age is not None:
            ages.add_metric((name,), age)
    return ages
