"""A researcher's first steps, and the open tasks of the campaigns they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from evaluation.models import Benchmark, Run, Submission
from labeling.db import question_counts
from labeling.models import (
    Campaign,
    Dataset,
    Flag,
    GivenLabel,
    Invitation,
    Job,
    Membership,
    Release,
    Settlement,
    User,
)

# How long submissions and scores count as new.
NEW = timedelta(days=7)
# Most free questions of an open campaign that needs more: one person may hold them all.
MAX_FREE = 40


@dataclass(frozen=True)
class OpenTask:
    """Work that waits for a researcher in a campaign or benchmark. url: where to do it."""

    count: int
    words: str
    title: str
    url: str


@dataclass(frozen=True)
class FirstStep:
    """A first step. url: empty while an earlier step is missing."""

    name: str
    words: str
    url: str
    is_done: bool


def first_steps(user: User, campaigns: Sequence[Campaign]) -> list[FirstStep]:
    """Return the steps from photographs to a score; none once a benchmark has a score."""
    releases = Release.objects.filter(campaign__in=campaigns)
    if Run.objects.filter(benchmark__campaign__in=campaigns, state=Run.State.DONE).exists():
        return []
    dataset = Dataset.objects.filter(owner=user, archived_at=None).order_by("pk").first()
    campaign = campaigns[0] if campaigns else None
    labels = GivenLabel.objects.filter(item__image__dataset=dataset)
    people = Membership.objects.filter(campaign__in=campaigns, role=Membership.Role.ANNOTATOR)
    return [
        FirstStep(
            "Photographs",
            "Create a dataset and upload images.",
            _url("dataset_upload", dataset) if dataset else reverse("labeling:dataset_new"),
            dataset is not None and dataset.images.exists(),
        ),
        FirstStep(
            "Classes or predictions",
            "Import labels, or predictions for a MAD competition. Skip this step if you enter the "
            "classes with the campaign.",
            _url("dataset", dataset),
            campaign is not None
            or (dataset is not None and (dataset.pools.exists() or labels.exists())),
        ),
        FirstStep(
            "Campaign",
            "Choose the kind of question, its classes and how many people answer.",
            reverse("labeling:campaign_new") if dataset else "",
            campaign is not None,
        ),
        FirstStep(
            "People",
            "Invite annotators with a link.",
            _url("people", campaign),
            people.exists() or Invitation.objects.filter(campaign__in=campaigns).exists(),
        ),
        FirstStep(
            "Release", "Freeze the settled labels.", _url("releases", campaign), releases.exists()
        ),
        FirstStep(
            "Score",
            "Open a benchmark on the release and add classifiers.",
            reverse("evaluation:benchmarks") if campaign else "",
            is_done=False,
        ),
    ]


def _url(page: str, row: Dataset | Campaign | None) -> str:
    return reverse(f"labeling:{page}", args=[row.name]) if row else ""


def open_tasks(user: User, campaigns: Sequence[Campaign]) -> list[OpenTask]:
    """Return the open tasks of campaigns that the user runs, and of their benchmarks.

    Takes nine queries.
    """
    counts = question_counts.of_campaigns([campaign.pk for campaign in campaigns])
    is_settled = {
        campaign.pk
        for campaign in campaigns
        if campaign.state == Campaign.State.OPEN
        and (counted := counts[campaign.pk]).questions
        and not (counted.open or counted.review)
    }
    unreleased = is_settled and _unreleased(is_settled)
    failed, flags, suspects = (
        _by_campaign(rows, campaigns)
        for rows in (
            Job.objects.filter(state=Job.State.FAILED),
            Flag.objects.filter(replied_at=None),
            Membership.objects.active().filter(
                stage=Membership.Stage.WORKING, standing__reasons__0__isnull=False
            ),
        )
    )
    tasks = []
    for campaign in campaigns:
        counted = counts[campaign.pk]
        is_open = campaign.state == Campaign.State.OPEN
        is_dry = is_open and 0 < counted.free <= MAX_FREE
        rows = [
            (failed.get(campaign.pk, 0), "failed job", "failed jobs", "jobs"),
            (counted.review, "question to review", "questions to review", "review"),
            (suspects.get(campaign.pk, 0), "annotator to check", "annotators to check", "people"),
            (
                campaign.gold_failing,
                "gold question that most people fail",
                "gold questions that most people fail",
                "quality",
            ),
            (flags.get(campaign.pk, 0), "flag to answer", "flags to answer", "flags"),
            (
                counted.free if is_dry else 0,
                "free question left: add questions",
                "free questions left: add questions",
                "questions_add",
            ),
            (
                counted.questions if campaign.pk in unreleased else 0,
                "question settled: freeze a release",
                "questions settled: freeze a release",
                "releases",
            ),
        ]
        tasks += [
            OpenTask(
                count, singular if count == 1 else plural, campaign.title, _url(page, campaign)
            )
            for count, singular, plural, page in rows
            if count
        ]
    return tasks + _news(user, campaigns)


def _unreleased(campaigns: set[int]) -> set[int]:
    """Return the campaigns with a settlement that is newer than their last kept release."""
    rows = Release.objects.filter(campaign__in=campaigns).order_by("number")
    keys = ("campaign", "counts__marks__last_settlement", "counts__interim")
    released = {
        campaign: settlement
        for campaign, settlement, is_interim in rows.values_list(*keys)
        if not is_interim
    }
    newer = Q(pk=None)
    for campaign, settlement in released.items():
        newer |= Q(question__campaign=campaign, pk__gt=settlement or 0)
    changed = Settlement.objects.filter(newer).values_list("question__campaign").distinct()
    return campaigns - released.keys() | {campaign for (campaign,) in changed.order_by()}


def _by_campaign(rows: QuerySet[Any], campaigns: Sequence[Campaign]) -> dict[int, int]:
    counts = rows.filter(campaign__in=campaigns).order_by().values_list("campaign")
    return dict(counts.annotate(Count("pk")))


def _news(user: User, campaigns: Sequence[Campaign]) -> list[OpenTask]:
    """Return others' new submissions and new or failed scores of the campaigns' benchmarks."""
    since = timezone.now() - NEW
    kept = Benchmark.objects.filter(campaign__in=campaigns, archived_at=None)
    sent = Submission.objects.filter(benchmark__in=kept, created_at__gte=since)
    runs = Run.objects.filter(benchmark__in=kept, finished_at__gte=since)
    new = runs.filter(state=Run.State.DONE).exclude(requested_by=user)
    groups = [
        (runs.filter(state=Run.State.FAILED), "failed score", "failed scores", "benchmark"),
        (sent.exclude(submitted_by=user), "new submission", "new submissions", "submissions"),
        (new, "new score", "new scores", "benchmark"),
    ]
    tasks = []
    for rows, singular, plural, page in groups:
        counts = rows.order_by().values_list("benchmark__name", "benchmark__title")
        for name, title, count in counts.annotate(Count("pk")):
            url = reverse(f"evaluation:{page}", args=[name])
            tasks.append(OpenTask(count, singular if count == 1 else plural, title, url))
    return tasks
