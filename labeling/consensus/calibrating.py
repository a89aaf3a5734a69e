"""Learn the skills of people and the priors of topics from a campaign's answers, and activate them.

Reads all answers and keeps three numbers of each in memory. docs/explanation/quality.md, How
answers become a consensus.
"""

from dataclasses import replace

from django.db.models import Sum
from django.utils import timezone

from labeling.consensus import calibration_store
from labeling.consensus.calibration_store import CalibrationContent
from labeling.db.sql import retried, writing
from labeling.graphs import store
from labeling.jobs import queue
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CANDIDATES, CHAINS
from labeling.models import Audit, Calibration, Campaign, Job, User


def calibrate(campaign: Campaign, actor: User | None = None, reason: str = "") -> Calibration:
    """Compute a calibration from all answers, activate it, and return it.

    If it equals the current one, that one is kept. actor: the requester, recorded with the
    decision. Answers are read in chunks outside of any transaction.
    """
    # Learning needs numpy and compiled loops, which no page should import.
    from labeling.consensus import learned_boxes, learned_skills
    from labeling.graphs import learned_order

    campaign = Campaign.objects.select_related("policy").get(pk=campaign.pk)
    answered = _answered(campaign)
    voided = calibration_store.in_force(campaign).voided
    chained = KINDS[campaign.kind].asks == CHAINS
    learn = learned_boxes.learn if chained else learned_skills.learn
    content = learn(campaign, voided)
    before = Calibration.objects.filter(pk=campaign.calibration_id or 0).first()
    if "price" in campaign.settings:
        known = CalibrationContent.from_json(before.content).scenes if before else None
        content.scenes = learned_order.learn_scenes(campaign, known)
    elif campaign.settings.get("order") == "learned":
        content.statistics = learned_order.statistics(campaign)
    if actor is not None:
        reason = f"{reason or 'asked for'} ({actor.username})"
    content.answered = answered
    made = _put_in_force(campaign.pk, content, reason)
    if content.acceptance:
        queue.enqueue("choose proposals", str(campaign.pk), campaign=campaign)
    return made


@retried
def _put_in_force(campaign_id: int, learned: CalibrationContent, reason: str) -> Calibration:
    with writing():
        campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign_id)
        current = Calibration.objects.filter(pk=campaign.calibration_id or 0).first()
        # Blocks may have changed while the answers were read.
        before = CalibrationContent.from_json(current.content if current else {})
        content = replace(learned, voided=before.voided or [])
        # The time is not part of the comparison.
        same = replace(before, answered=content.answered, learned_at=None) == content
        if current is not None and same:
            return current
        content.learned_at = timezone.now().isoformat()
        made = calibration_store.create(campaign_id, content, reason)
        Campaign.objects.filter(pk=campaign_id).update(calibration=made)
        if content.scenes != before.scenes:
            # The most useful question of each image may have changed.
            store.enqueue_replanning(campaign)
        return made


def _answered(campaign: Campaign) -> int:
    return campaign.memberships.aggregate(total=Sum("answered"))["total"] or 0


def is_used(campaign: Campaign) -> bool:
    """Return whether anything in the campaign depends on calibrations."""
    return (
        policies.for_campaign(campaign)["method"] != "majority"
        or campaign.settings.get("order") == "learned"
        or KINDS[campaign.kind].asks == CHAINS
    )


def _has_known_answers(campaign: Campaign) -> bool:
    """Return whether gold or audits measure an error that a target could be set by."""
    if (
        policies.for_campaign(campaign)["target_rule"] != "measured"
        or not KINDS[campaign.kind].has_words
    ):
        return False
    return Audit.objects.measuring().filter(campaign=campaign).exists()


def due(campaign: Campaign) -> bool:
    """Return whether enough answers came in since the last calibration."""
    if not is_used(campaign):
        return False
    row = Campaign.objects.filter(pk=campaign.pk)
    [(last,)] = row.values_list("calibration__content__answered")
    wanted_answers = policies.for_campaign(campaign)["calibrate_answers"]
    if KINDS[campaign.kind].asks == CHAINS:
        # Calibrate often at first, to learn which proposals pay, and rarely later: each time reads
        # all answers.
        wanted_answers = max(wanted_answers, (last or 0) // 10)
    return _answered(campaign) - (last or 0) >= wanted_answers


def enqueue_if_due(campaign: Campaign) -> bool:
    """Queue a calibration if one is due; return whether one waits. Asking twice queues one."""
    if not due(campaign):
        return False
    queue.enqueue("calibrate", str(campaign.pk), campaign=campaign)
    return True


def enqueue_now(campaign: Campaign, actor: User) -> Job:
    """Queue a calibration for this person, due or not, and return the job."""
    return queue.enqueue("calibrate", str(campaign.pk), {"actor": actor.pk}, campaign=campaign)


def execute(job: Job) -> None:
    """Run the job "calibrate": always if somebody asked for it, else only if it is still due."""
    assert job.campaign is not None, "a calibrate job names its campaign"
    if "actor" in job.payload:
        calibrate(job.campaign, User.objects.filter(pk=job.payload["actor"]).first())
    elif due(job.campaign):
        calibrate(job.campaign, reason="after many answers")
    if KINDS[job.campaign.kind].asks == CANDIDATES:
        # The stated precision of classes depends on the tables (quality/verifying.py).
        queue.enqueue("verify", str(job.campaign.pk), campaign=job.campaign)


def calibrate_nightly(campaign: Campaign) -> bool:
    """Calibrate a campaign that uses calibrations, or may set a target; return whether it has a
    new one.
    """
    if not is_used(campaign) and not _has_known_answers(campaign):
        return False
    return calibrate(campaign, reason="every night").pk != campaign.calibration_id
