"""Grading everybody again after gold was corrected, including people who were stopped by it.

This lets nobody in: `wrongly_stopped` lists people whom the campaign's rules stopped and would
not stop with the current gold, and a researcher decides. docs/explanation/quality.md, Gold.
"""

from django.db.models import Q

from labeling.estimators import annotator_checks
from labeling.jobs import queue
from labeling.kinds import policies
from labeling.models import Campaign, Decision, Job, Membership
from labeling.quality import gold_results, monitoring

Stage = Membership.Stage
STOPPED = (Stage.PAUSED, Stage.BLOCKED, Stage.FAILED)
ABOUT_PEOPLE = (Decision.Kind.STAGE, Decision.Kind.BLOCK, Decision.Kind.UNBLOCK)


def execute(job: Job) -> None:
    """Run the job "recount": check everybody at work, then recount everybody who was stopped."""
    campaign = Campaign.objects.select_related("policy").get(pk=job.payload["campaign"])
    monitoring.watch_all(campaign)
    stopped = campaign.memberships.active().filter(
        role=Membership.Role.ANNOTATOR, stage__in=STOPPED
    )
    for membership in stopped.select_related("user", "campaign").order_by("pk"):
        queue.renew(job)
        _recount(campaign, membership)


def wrongly_stopped(campaign: Campaign) -> list[Membership]:
    """Return people whom the rules stopped and would not stop with the current gold."""
    rows = campaign.memberships.active().filter(stage__in=STOPPED, standing__has_key="freed")
    return list(rows.select_related("user").order_by("pk"))


def _recount(campaign: Campaign, membership: Membership) -> None:
    decisions = Decision.objects.filter(
        campaign=campaign, kind__in=ABOUT_PEOPLE, content__annotator=membership.user_id
    ).order_by("-pk")
    stop = decisions.first()
    if stop is None or stop.actor_id is not None:
        # A researcher stopped this person, so gold does not matter.
        return
    entered, failed = membership.working_since, membership.stage == Stage.FAILED
    began = Q(content__stage=Stage.TEST if failed else Stage.WORKING)
    began |= Q(kind=Decision.Kind.UNBLOCK)
    start = decisions.filter(began, pk__lt=stop.pk).first()
    membership.working_since = start.at if start else membership.joined_at
    summary = _test_again(membership) if failed else _measure_again(membership)
    if summary is not None:
        rows = Membership.objects.filter(
            pk=membership.pk, stage=membership.stage, working_since=entered
        )
        rows.update(standing=summary)


def _test_again(membership: Membership) -> dict[str, object]:
    since = {membership.user_id: membership.working_since}
    rights = gold_results.rights(membership.campaign, list(since), since)
    grades = rights.get(membership.user_id, [])
    needed = policies.for_campaign(membership.campaign)["test_pass"] * len(grades)
    if not grades or sum(grades) < needed - 1e-9:
        return {}
    return {"freed": f"Right on {sum(grades)} of {len(grades)} questions of the test."}


def _measure_again(membership: Membership) -> dict[str, object] | None:
    """Return the person's figures with active gold; None if gold was not the reason to
    stop them.
    """
    campaign, kept = membership.campaign, membership.standing
    # The signal "test" is the sequential test on gold during work.
    by_gold = {"test"} & {row["signal"] for row in kept.get("reasons", [])}
    if not by_gold and "freed" not in kept:
        return None
    policy = policies.for_campaign(campaign)
    figures = monitoring.measure(campaign, membership, policy)
    reasons = annotator_checks.reasons(figures, policy)
    summary = monitoring.standing_of(membership, figures, reasons)
    if monitoring.decide(membership, policy, reasons)[0] not in monitoring.STOPPING:
        tested = figures["test"]
        summary["freed"] = f"Right on {tested.right} of {tested.total} gold questions."
    return summary
