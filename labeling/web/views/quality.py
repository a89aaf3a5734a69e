"""The quality of a campaign's answers: agreement, error, disputed questions, failed gold, pilots
and calibrations.
"""

import secrets

from django.conf import settings
from django.db.models import Count
from django.http import HttpResponse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.campaigns import lifecycle
from labeling.campaigns.access import RESEARCHER
from labeling.consensus import calibrating
from labeling.kinds import KINDS, policies
from labeling.models import Answer, Campaign, Job, Membership, Question
from labeling.quality import auditing, gold, gold_results, piloting, stated_errors
from labeling.reports import gold_page, quality_page, question_page
from labeling.web.forms.common import respond_if_valid
from labeling.web.forms.questions import PilotForm
from labeling.web.views.shared import (
    SignedIn,
    done,
    own_campaign,
    render_campaign,
    role_in,
    watched_campaign,
)

FAILING = 12
METHOD_WORDS = {
    Answer.InputMethod.KEY: "Key",
    Answer.InputMethod.TAP: "Button, by mouse or finger",
    Answer.InputMethod.SWIPE: "Swipe",
    Answer.InputMethod.DONE: "Done, with a page of images",
    "": "Not known",
}


def _language(code: str) -> str:
    return dict(settings.LANGUAGES).get(code, code or "not said")


@require_GET
def quality(request: SignedIn, name: str) -> HttpResponse:
    """Show agreement, votes, the audited error and the most disputed questions."""
    campaign = watched_campaign(request, name)
    figures = quality_page.figures(campaign)
    words = question_page.value_words(campaign)
    audit = auditing.estimate(campaign)
    facts: dict[str, object] = {
        "figures": figures,
        "audit": audit,
        "measured": audit.measured if audit else stated_errors.measure(campaign),
        "by_answer": [
            vars(row) | {"value": value, "words": words.get(value, value)}
            for value, row in (audit.by_answer if audit else {}).items()
        ],
        "contradicted": _contradicted(campaign, words),
        "disputed": _disputed(campaign, figures.disputed),
    }
    if role_in(campaign, request.user) == RESEARCHER:
        balance = gold.balance(campaign)
        facts |= {
            "failing": _failing(campaign),
            "by_method": [
                vars(row) | {"words": METHOD_WORDS[row.group]}
                for row in gold_results.errors_by_method(campaign)
            ],
            "by_language": [
                vars(row) | {"words": _language(row.group)}
                for row in gold_results.errors_by_language(campaign)
            ],
            "language_pairs": [
                vars(row) | {"words": f"{_language(row.first)} – {_language(row.second)}"}
                for row in gold_results.agreement_by_language(campaign)
            ],
            "balance": balance,
            "golden": [
                {"value": value, "words": words.get(value, value), "count": count}
                for value, count in balance.by_answer.items()
            ],
            "calibration": campaign.calibrations.order_by("-number").first(),
            "calibrating": _waiting(campaign, "calibrate"),
            "pilot": piloting.state(campaign) if piloting.fits(campaign) else None,
            "stages": _stages(campaign),
        }
    return render_campaign(request, "labeling/quality.html", campaign, "quality", **facts)


@require_POST
def calibrate(request: SignedIn, name: str) -> HttpResponse:
    """Recompute reputations, vote tables and box figures in the background, then go back."""
    campaign = own_campaign(request, name)
    calibrating.enqueue_now(campaign, request.user)
    if "boxes" in request.POST:
        message = "The figures are being recomputed from the answers. See Jobs for progress."
        return done(request, message, "boxes", campaign.name)
    message = "Reputations are being recomputed. See Jobs for progress."
    return done(request, message, "quality", campaign.name)


@require_http_methods(["GET", "POST"])
def pilot(request: SignedIn, name: str) -> HttpResponse:
    """Show the cost of a pilot; with `confirmed`, start it."""
    campaign = own_campaign(request, name)
    form = PilotForm(request.POST if request.method == "POST" else None)

    def price_or_ask() -> HttpResponse:
        per_topic, seed = form.cleaned_data["per_topic"], form.cleaned_data["seed"]
        if seed is None:
            # Keep the seed in the form, so that the priced sample is the one that is asked.
            seed = secrets.randbelow(2**31)
        if "confirmed" in request.POST:
            piloting.enqueue_pilot(campaign, request.user, per_topic, seed)
            message = "The pilot is being created. See Jobs for progress."
            return done(request, message, "pilot", campaign.name)
        priced = PilotForm(initial={"per_topic": per_topic, "seed": seed})
        return _pilot(request, campaign, priced, piloting.plan(campaign, per_topic, seed))

    return respond_if_valid(form, price_or_ask) or _pilot(request, campaign, form)


def _pilot(
    request: SignedIn, campaign: Campaign, form: PilotForm, plan: lifecycle.AskingCost | None = None
) -> HttpResponse:
    return render_campaign(
        request,
        "labeling/pilot.html",
        campaign,
        "quality",
        form=form,
        plan=plan,
        fits=piloting.fits(campaign),
        pilot=piloting.state(campaign),
        asking=_waiting(campaign, "pilot"),
        by_table=policies.for_campaign(campaign)["method"] == "vote-table",
    )


def _waiting(campaign: Campaign, kind: str) -> bool:
    return campaign.jobs.filter(kind=kind, state__in=[Job.State.QUEUED, Job.State.RUNNING]).exists()


def _contradicted(campaign: Campaign, words: dict[str, str]) -> list[dict[str, object]]:
    """Return the audited questions where the auditor disagrees, with both answers."""
    kind = KINDS[campaign.kind]
    audits = auditing.disagreements(campaign)
    rows = question_page.question_rows(campaign, [row.question for row in audits])
    auditor_answers = [kind.tally_name(row.value) for row in audits]
    return [
        vars(row) | {"said": word, "said_words": words.get(word, word)}
        for row, word in zip(rows, auditor_answers, strict=True)
    ]


def _disputed(campaign: Campaign, pks: list[int]) -> list[question_page.QuestionRow]:
    questions = campaign.questions.select_related("item__image").in_bulk(pks)
    return question_page.question_rows(campaign, [questions[pk] for pk in pks if pk in questions])


def _failing(campaign: Campaign) -> list[dict[str, object]]:
    """Return the gold that trusted people fail most often."""
    tallies = {row.question_id: row for row in gold.failing_lately(campaign, FAILING)}
    questions = Question.objects.select_related("gold", "item__image").in_bulk(list(tallies))
    rows = gold_page.gold_rows(campaign, [questions[pk] for pk in tallies])
    return [vars(row) | {"people": tallies[row.question.pk]} for row in rows]


def _stages(campaign: Campaign) -> list[dict[str, object]]:
    """Count the annotators in each stage."""
    members = campaign.memberships.active().filter(role=Membership.Role.ANNOTATOR).order_by()
    counts = dict(members.values_list("stage").annotate(Count("pk")))
    return [
        {"value": value, "words": words, "count": counts[value]}
        for value, words in Membership.Stage.choices
        if value in counts
    ]
