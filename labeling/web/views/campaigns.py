"""Campaigns: list, new campaign with its cost, campaign page, texts and settings."""

from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.assistance import embedding
from labeling.campaigns import instructions, lifecycle, texts
from labeling.campaigns.access import campaigns_for, check_may_open
from labeling.datasets import vocabulary_store
from labeling.errors import Refusal
from labeling.exchange import box_campaigns, lists, naming_campaigns, part_campaigns
from labeling.follow_ups import candidate_lists, opening
from labeling.kinds import KINDS
from labeling.kinds.base import CANDIDATES, CHAINS, GRAPH, IMAGES, OBJECTS
from labeling.kinds.candidates import SETTINGS
from labeling.models import Campaign
from labeling.plurals import count_of
from labeling.quality import auditing, qualifying, stated_errors
from labeling.quality.gold import add_gold
from labeling.reports import campaign_page, campaigns_page, quality_page
from labeling.reports.forecasts import CostEstimate
from labeling.web import attachments
from labeling.web.forms.campaigns import NewCampaignForm, SettingsForm
from labeling.web.forms.common import WordedForm, refusals_shown, respond_if_valid
from labeling.web.views.shared import (
    WATCHERS,
    SignedIn,
    done,
    own_campaign,
    page_of,
    query_of,
    render_campaign,
    watched_campaign,
)

PAGE_SIZE = 25
# Limit of listed missing texts per language.
NAMED = 20
DRAFTED = "The campaign is a draft. Annotators see it once you open it."
MOVED = {
    "launch": "The campaign is open: people can answer now.",
    "pause": "The campaign is paused. Answers to pages already open are still accepted.",
    "resume": "The campaign is open again.",
    "close": "The campaign is closed. Freeze a release to keep its labels.",
}


@require_GET
def campaign_list(request: SignedIn) -> HttpResponse:
    """Show the campaigns that this user runs or reviews, the newest first."""
    campaigns = campaigns_for(request.user, *WATCHERS).select_related("dataset", "policy")
    state, search = request.GET.get("state", ""), request.GET.get("q", "").strip()
    archived = campaigns.exclude(archived_at=None)
    is_archive = "archived" in request.GET
    campaigns = archived if is_archive else campaigns.filter(archived_at=None)
    if state in Campaign.State.values:
        campaigns = campaigns.filter(state=state)
    if search:
        campaigns = campaigns.filter(title__icontains=search)
    page = page_of(request, campaigns.order_by("-created_at", "-pk").distinct(), PAGE_SIZE)
    return render(
        request,
        "labeling/campaigns.html",
        {
            "rows": campaigns_page.campaign_rows(list(page.object_list), request.user),
            "page_obj": page,
            "query": query_of(request),
            "states": Campaign.State.choices,
            "state": state,
            "search": search,
            "archived": is_archive,
            "archived_count": archived.distinct().count(),
        },
    )


@require_http_methods(["GET", "POST"])
def campaign_new(request: SignedIn) -> HttpResponse:
    """Show the form of a new campaign with its cost; a post creates the draft."""
    check_may_open(request.user)
    if request.method == "GET":
        form = NewCampaignForm(request.user, initial={"dataset": request.GET.get("dataset")})
        return _new(request, form, None)
    form = NewCampaignForm(request.user, request.POST, request.FILES)
    if "estimate" in request.POST:
        form.is_valid()
        form.keep_files()
        return _new(request, form, form.estimate())
    made = respond_if_valid(
        form, lambda: done(request, DRAFTED, "campaign", _create(request, form).name)
    )
    return made or _new(request, form, form.estimate())


def _new(request: SignedIn, form: NewCampaignForm, estimate: CostEstimate | None) -> HttpResponse:
    context = {
        "form": form,
        "estimate": estimate,
        "pairs": form.kind_asks() == CHAINS,
        "presets": form.presets() if estimate else [],
        "selection_page": _selection_page(form),
    }
    return render(request, "labeling/campaign_new.html", context)


def _selection_page(form: NewCampaignForm) -> str:
    """Return the address of the MAD form if the list of questions is a selection, else "".

    It receives the file and the form's values, except instructions, which are too long for a URL.
    """
    page = getattr(settings, "ASSAY_SELECTION_PAGE", "")
    came = [
        key for key in ("questions_file", "questions") if form.has_error(key, lists.SELECTION_CODE)
    ]
    if not page or not came:
        return ""
    filled = {key: form.cleaned_data.get(key, "") for key in ("title", "name")}
    if dataset := form.cleaned_data.get("dataset"):
        filled["dataset"] = dataset.name
    if kept := form.fields["questions_file"].widget.kept:
        filled["selection_kept"] = ":".join(kept[0])
    return f"{reverse(page)}?{urlencode({key: text for key, text in filled.items() if text})}"


@transaction.atomic
def _create(request: SignedIn, form: NewCampaignForm) -> Campaign:
    """Create the draft with its gold. Raises Refusal; then nothing was created."""
    campaign = _draft(request, form)
    if rows := form.cleaned_data["gold_rows"]:
        # Gold boxes never replace questions.
        try:
            add_gold(campaign, request.user, rows, replace=form.kind_asks() != CHAINS)
        except Refusal as refusal:
            refusal.field = "gold"
            raise
    return campaign


def _draft(request: SignedIn, form: NewCampaignForm) -> Campaign:
    data, user = form.cleaned_data, request.user
    asks, dataset = KINDS[data["kind"]].asks, data["dataset"]
    fields = {key: data[key] for key in ("name", "title", "kind", "instructions")}
    fields["policy"] = form.policy()
    if asks == OBJECTS:
        fields["settings"] = {key: data[key] for key in ("ask_half", "ask_outline")}
        return part_campaigns.draft(user, dataset, items=data["items"], **fields)
    if asks == GRAPH:
        keys = ("mode", "order", "price", "present")
        rules = {key: data[key] for key in keys if data[key] is not None}
        fields |= {"dataset": dataset, "settings": rules}
        campaign, rows = opening.draft_graph(
            user, data["question_graph"], names=data["names"], **fields
        )
        if rows is None:
            messages.info(
                request,
                "The first questions of all images are being created. See Jobs for progress.",
            )
        return campaign
    if asks == CHAINS:
        if (proposed := data["proposed"]) is not None:
            messages.info(request, box_campaigns.describe_proposed(proposed))
        fields["settings"] = {"complete": data["complete"]}
        return box_campaigns.draft(
            user,
            dataset,
            pairs=data["pairs"],
            proposed=proposed,
            topics=data["topics_list"],
            release=data["from_release"],
            **fields,
        )
    if asks == CANDIDATES:
        rules = {key: data[key] for key in SETTINGS if data[key] is not None}
        fields |= {"dataset": dataset, "settings": rules}
        return candidate_lists.draft(user, data["found"], data["topics_list"], **fields)
    if asks == IMAGES:
        if data["classes"]:
            fields["settings"] = {**fields.get("settings", {}), "most": data["most"] or 1}
        return naming_campaigns.draft(
            user,
            dataset,
            images=data["names"],
            examples=data["examples"],
            vocabulary=data["classes"],
            **fields,
        )
    return opening.draft(
        user, pairs=data["pairs"], topics=data["topics_list"], dataset=dataset, **fields
    )


@require_POST
def campaign_estimate(request: SignedIn) -> HttpResponse:
    """Show the cost of the form's current values, as a fragment."""
    check_may_open(request.user)
    form = NewCampaignForm(request.user, request.POST, request.FILES)
    form.is_valid()
    context = {
        "estimate": form.estimate(),
        "pairs": form.kind_asks() == CHAINS,
        "presets": form.presets(),
    }
    return render(request, "labeling/_estimate.html", context)


@require_GET
def campaign(request: SignedIn, name: str) -> HttpResponse:
    """Show a campaign: progress, people, failed jobs and decisions."""
    campaign = watched_campaign(request, name)
    audit = auditing.estimate(campaign)
    facts = vars(campaign_page.campaign_facts(campaign)) | {
        "figures": quality_page.figures(campaign),
        "audit": audit,
        "measured": audit.measured if audit else stated_errors.measure(campaign),
        "shortage": qualifying.shortage(campaign),
        "flags_wait": campaign.flags.filter(replied_at=None).exists(),
        "embeddings": embedding.summary(campaign),
    }
    return render_campaign(request, "labeling/campaign.html", campaign, "overview", **facts)


@require_GET
def campaign_progress(request: SignedIn, name: str) -> HttpResponse:
    """Show the part of the campaign page that refreshes itself."""
    campaign = watched_campaign(request, name)
    facts = campaign_page.campaign_facts(campaign)
    return render_campaign(request, "labeling/_progress.html", campaign, "overview", **vars(facts))


@require_POST
def campaign_state(request: SignedIn, name: str) -> HttpResponse:
    """Open, pause, resume or close the campaign."""
    campaign = own_campaign(request, name)
    action = request.POST.get("move", "")
    with refusals_shown(request):
        lifecycle.change_state(campaign, request.user, action)
        messages.success(request, MOVED[action])
    return redirect("labeling:campaign", campaign.name)


@require_GET
def campaign_close(request: SignedIn, name: str) -> HttpResponse:
    """Ask for confirmation before a campaign is closed permanently."""
    campaign = own_campaign(request, name)
    context = {"progress": campaign_page.campaign_facts(campaign).progress}
    return render_campaign(request, "labeling/campaign_close.html", campaign, "overview", **context)


@require_http_methods(["GET", "POST"])
def campaign_edit(request: SignedIn, name: str) -> HttpResponse:
    """Edit title and instructions; for some kinds, whether people may swipe."""
    campaign = own_campaign(request, name)
    initial = {key: getattr(campaign, key) for key in SettingsForm.COLUMNS}
    initial |= {"swiping": campaign.settings.get("swiping", True)}
    form = SettingsForm(campaign.kind, request.POST or None, initial=initial)

    def save() -> HttpResponse:
        fields = dict(form.cleaned_data)
        if "swiping" in fields:
            fields["settings"] = {**campaign.settings, "swiping": fields.pop("swiping")}
        lifecycle.change(campaign, request.user, **fields)
        message = "Saved. Annotators see the new texts on their next page."
        return done(request, message, "campaign_edit", campaign.name)

    if saved := respond_if_valid(form, save):
        return saved
    latest = vocabulary_store.current(campaign.dataset) if campaign.vocabulary_id else None
    return render_campaign(
        request,
        "labeling/campaign_edit.html",
        campaign,
        "settings",
        form=form,
        latest=latest,
        newer=latest is not None and latest.pk != campaign.vocabulary_id,
        versions=instructions.newest_versions(campaign),
    )


@require_POST
def campaign_vocabulary(request: SignedIn, name: str) -> HttpResponse:
    """Move the campaign to the latest version of its dataset's vocabulary."""
    campaign = own_campaign(request, name)
    with refusals_shown(request):
        latest = vocabulary_store.in_force(campaign.dataset)
        part_campaigns.adopt(campaign, request.user, latest)
        messages.success(
            request, f"The campaign now uses version {latest.version} of the vocabulary."
        )
    return redirect("labeling:campaign_edit", campaign.name)


class TextsForm(WordedForm):
    """A file with the texts of all languages."""

    texts = forms.FileField(
        label="File of texts",
        allow_empty_file=True,
        help_text='JSON: {"de": {"title", "instructions", "question", "classes", "parts"}}. It '
        "replaces all existing translations.",
        widget=forms.ClearableFileInput(attrs={"accept": ".json,application/json"}),
    )


@require_http_methods(["GET", "POST"])
def campaign_texts(request: SignedIn, name: str) -> HttpResponse:
    """Show which texts each language has; a post replaces them by a file."""
    campaign = own_campaign(request, name)
    form = TextsForm(request.POST or None, request.FILES or None)

    def save() -> HttpResponse:
        replacements = texts.read(form.cleaned_data["texts"].read())
        kept = texts.replace(campaign, request.user, replacements)
        messages.success(request, f"Saved: {count_of(len(kept), 'language')}.")
        return redirect("labeling:campaign_texts", campaign.name)

    if saved := respond_if_valid(form, save):
        return saved
    rows = [
        {"row": row, "named": row.missing[:NAMED], "more": len(row.missing[NAMED:])}
        for row in texts.coverage(campaign)
    ]
    return render_campaign(
        request, "labeling/campaign_texts.html", campaign, "settings", form=form, rows=rows
    )


@require_GET
def campaign_texts_file(request: SignedIn, name: str) -> HttpResponse:
    """Download the texts, with empty strings for missing ones."""
    campaign = own_campaign(request, name)
    response = JsonResponse(
        texts.with_missing_texts(campaign), json_dumps_params={"ensure_ascii": False, "indent": 1}
    )
    return attachments.as_attachment(response, f"{campaign.name}-texts.json")
