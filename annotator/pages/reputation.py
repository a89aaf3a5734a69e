"""People's figures of their own work: aggregated, rounded and delayed, so that they neither judge
single answers nor reveal which questions are gold.
"""

import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.accounts import person
from annotator.pages.worded import campaign_for
from labeling.models import Decision, Membership
from labeling.quality import monitoring

# Fewer gold questions say little in total, and too much about each.
MIN_KNOWN = 20
# With fewer shared questions the agreement means little.
MIN_SHARED = 40
# (lowest share of right answers, words), from the best down.
BANDS = (
    (0.95, _("95 % or more")),
    (0.9, _("90 to 95 %")),
    (0.8, _("80 to 90 %")),
    (0.7, _("70 to 80 %")),
    (0.0, _("less than 70 %")),
)
Stage = Membership.Stage
STAGES = {
    Stage.TRAINING: _("You are in training."),
    Stage.TEST: _("You are taking the test."),
    Stage.FAILED: _("The test was not passed, so there is no work for you here."),
    Stage.WORKING: "",
    Stage.PAUSED: _("Your work is paused while a researcher looks at it. Your answers are kept."),
    Stage.BLOCKED: _("Your work here has ended. Ask a researcher if you think this is wrong."),
}
DECIDED = {
    Stage.TRAINING: _("To training"),
    Stage.TEST: _("To the test"),
    Stage.FAILED: _("Test not passed"),
    Stage.WORKING: _("To work"),
    Stage.PAUSED: _("Paused"),
    Stage.BLOCKED: _("Ended"),
}
MAX_DECISIONS = 20


@never_cache
@require_GET
def my_reputation(request: HttpRequest, name: str) -> HttpResponse:
    """Return the user's own figures in a campaign: answers, time, accuracy and decisions."""
    campaign = campaign_for(person(request), name)
    membership = Membership.objects.active().filter(user=person(request), campaign=campaign).first()
    context = {
        "campaign": campaign,
        "membership": membership,
        "figures": figures(membership) if membership else None,
        "decisions": decisions_about(membership) if membership else [],
    }
    return render(request, "annotator/reputation.html", context)


def figures(membership: Membership) -> dict[str, object]:
    """Return the page's figures; None for those that are unknown or too uncertain to show."""
    accuracy = monitoring.shown_accuracy(membership)
    chance = membership.standing.get("chance") or {}
    stage = Stage(membership.stage)
    return {
        "stage": STAGES[stage] and gettext(STAGES[stage]),
        "answered": membership.answered,
        "seconds": seconds_each(membership),
        "right": band(accuracy["right"], accuracy["total"]) if accuracy else None,
        "agreement": tenths(chance.get("agreed", 0), chance.get("answers", 0)),
    }


def seconds_each(membership: Membership) -> float | None:
    """Return the mean seconds per answer, to the half second."""
    if not membership.answered or not membership.worked_ms:
        return None
    return round(membership.worked_ms / membership.answered / 500) / 2


def band(right: int, total: int) -> str | None:
    """Return the accuracy in coarse words; None after too few gold questions.

    >>> band(19, 19), band(18, 20), band(10, 25)
    (None, '90 to 95 %', 'less than 70 %')
    """
    if total < MIN_KNOWN:
        return None
    return gettext(next(words for least, words in BANDS if right / total >= least))


def tenths(agreed: int, answers: int) -> str | None:
    """Return the agreement with others to the tenth; None with too few shared questions.

    >>> tenths(39, 39), tenths(87, 100)
    (None, 'about 9 in 10')
    """
    if answers < MIN_SHARED:
        return None
    return gettext("about %(count)s in 10") % {"count": round(10 * agreed / answers)}


def decisions_about(membership: Membership) -> list[dict[str, object]]:
    """Return decisions about this person in the campaign, latest first: {"at", "what", "why"}."""
    kinds = [Decision.Kind.STAGE, Decision.Kind.BLOCK, Decision.Kind.UNBLOCK]
    rows = Decision.objects.filter(
        campaign_id=membership.campaign_id, kind__in=kinds, content__annotator=membership.user_id
    ).order_by("-pk")[:MAX_DECISIONS]
    return [
        {"at": decision.at, "what": _what(decision), "why": discreet(decision.reason)}
        for decision in rows
    ]


def _what(decision: Decision) -> str:
    if decision.kind == Decision.Kind.BLOCK:
        return gettext(DECIDED[Stage.BLOCKED])
    if decision.kind == Decision.Kind.UNBLOCK:
        return gettext(DECIDED[Stage.WORKING])
    stage = decision.content.get("stage")
    return gettext(DECIDED[stage]) if stage in DECIDED else gettext("Decided")


def discreet(reason: str) -> str:
    """Return a reason in annotators' words: they know gold as known questions.

    >>> discreet("Right on 3 of 9 gold questions; no gold is left.")
    'Right on 3 of 9 known questions; no known question is left.'
    """
    sentence = re.sub(r"\bgold (?=questions?\b)", "known ", reason, flags=re.IGNORECASE)
    return re.sub(r"\bgold\b", "known question", sentence, flags=re.IGNORECASE)
