"""How good a campaign's answers are: agreement, error, what is disputed, gold that fails."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from labeling import auditing, gold, measuring, overview
from labeling.access import RESEARCHER
from labeling.kinds import KINDS
from labeling.models import Campaign, Membership, Question
from labeling.views.shared import SignedIn, render_campaign, role_in, watched_campaign

FAILING = 12


@login_required
@require_GET
def quality(request: SignedIn, name: str) -> HttpResponse:
    """Agreement, votes, the audited error and the most disputed questions as pictures."""
    campaign = watched_campaign(request, name)
    figures = measuring.figures(campaign)
    words = overview.value_words(campaign)
    audit = auditing.estimate(campaign)
    facts: dict[str, Any] = {
        "figures": figures,
        "audit": audit,
        "by_answer": [
            row | {"value": value, "words": words.get(value, value)}
            for value, row in (audit or {}).get("by_answer", {}).items()
        ],
        "contradicted": _contradicted(campaign, words),
        "disputed": _disputed(campaign, figures["disputed"]),
    }
    if role_in(campaign, request.user) == RESEARCHER:
        balance = gold.balance(campaign)
        facts |= {
            "failing": _failing(campaign),
            "balance": balance,
            "golden": [
                {"value": value, "words": words.get(value, value), "count": count}
                for value, count in balance["by_answer"].items()
            ],
            "calibration": campaign.calibrations.order_by("-number").first(),
            "stages": _stages(campaign),
        }
    return render_campaign(request, "labeling/quality.html", campaign, "quality", **facts)


def _contradicted(campaign: Campaign, words: dict[str, str]) -> list[dict[str, Any]]:
    """What stood and what the auditor said, where they differ."""
    kind = KINDS[campaign.kind]
    found = auditing.disagreements(campaign)
    rows = overview.question_rows(campaign, [row.question for row in found])
    said = [kind.tally_name(row.value) for row in found]
    return [
        row | {"said": word, "said_words": words.get(word, word)}
        for row, word in zip(rows, said, strict=True)
    ]


def _disputed(campaign: Campaign, pks: list[int]) -> list[dict[str, Any]]:
    found = campaign.questions.select_related("item__image").in_bulk(pks)
    return overview.question_rows(campaign, [found[pk] for pk in pks if pk in found])


def _failing(campaign: Campaign) -> list[dict[str, Any]]:
    """The gold that trusted people fail most, with how many met it."""
    met = {row.question_id: row for row in gold.failing(campaign)[:FAILING]}
    found = Question.objects.select_related("gold", "item__image").in_bulk(list(met))
    rows = overview.gold_rows(campaign, [found[pk] for pk in met])
    return [row | {"people": met[row["question"].pk]} for row in rows]


def _stages(campaign: Campaign) -> list[dict[str, Any]]:
    """How many annotators are in each stage."""
    members = campaign.memberships.active().filter(role=Membership.Role.ANNOTATOR).order_by()
    counts = dict(members.values_list("stage").annotate(Count("pk")))
    return [
        {"value": value, "words": words, "count": counts[value]}
        for value, words in Membership.Stage.choices
        if value in counts
    ]
