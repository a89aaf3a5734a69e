"""A campaign's question graph: outline, upload, and editing of one question."""

import json

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.campaigns import lifecycle
from labeling.db.lookups import get_or_404
from labeling.errors import NotYours
from labeling.graphs import store
from labeling.models import Campaign, Decision, Graph
from labeling.quality import gold
from labeling.question_graph import replaying
from labeling.question_graph.graph import GraphContent
from labeling.reports import graph_outline, graph_price_page
from labeling.web import attachments
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.forms.graph import GraphForm, NodeForm, PriceForm
from labeling.web.views.shared import (
    SignedIn,
    done,
    own_campaign,
    render_campaign,
    watched_campaign,
)

VERSIONS = 20


@require_http_methods(["GET", "POST"])
def graph(request: SignedIn, name: str) -> HttpResponse:
    """Show the graph in force as an outline; a post replaces it."""
    if request.method == "GET":
        return _page(request, watched_campaign(request, name), None)
    campaign = own_campaign(request, name)
    form = GraphForm(request.POST, request.FILES, user=request.user)

    def replace() -> HttpResponse:
        base = form.cleaned_data["version"]
        made = store.define(campaign, request.user, form.raw, instead_of=base)
        message = f"Version {made.version} of the graph is now active."
        return done(request, message, "graph", campaign.name)

    return respond_if_valid(form, replace) or _page(request, campaign, form)


@require_POST
def graph_load(request: SignedIn, name: str) -> HttpResponse:
    """Load the shipped ILSVRC graph into the campaign."""
    campaign = own_campaign(request, name)
    with refusals_shown(request):
        made = store.define(campaign, request.user, store.load_ilsvrc())
        messages.success(request, f"ILSVRC’s graph is now active as version {made.version}.")
    return redirect("labeling:graph", campaign.name)


@require_http_methods(["GET", "POST"])
def graph_node(request: SignedIn, name: str, node: str) -> HttpResponse:
    """Edit one question of the graph."""
    campaign = own_campaign(request, name)
    current = _graph(campaign)
    if node not in current.index:
        raise NotYours("The graph does not, or no longer, have this question.")
    topic = campaign.topics.filter(key=node).first()
    form = NodeForm(
        current,
        current.node(node),
        request.POST or None,
        topic.guidance if topic else "",
        _in_force(campaign),
    )

    def change() -> HttpResponse:
        # The change is made to the graph in force. If the form was opened with an older version,
        # `define` refuses.
        base = form.cleaned_data.pop("version") or _in_force(campaign)
        content = _changed(current, node, form)
        made = store.define(campaign, request.user, content, instead_of=base)
        message = f"Saved, as version {made.version} of the graph."
        return done(request, message, "graph", campaign.name)

    return respond_if_valid(form, change) or render_campaign(
        request,
        "labeling/graph_node.html",
        campaign,
        "graph",
        form=form,
        node=current.node(node),
        children=[current.node(child) for child in current.node(node).children],
        counts=graph_outline.counts_of(campaign).get(node),
        topic=topic,
    )


def _changed(current: replaying.QuestionGraph, node: str, form: NodeForm) -> GraphContent:
    raw = current.content()
    for entry in raw["nodes"]:
        if entry["id"] == node:
            entry |= form.cleaned_data
    return raw


@require_GET
def graph_version(request: SignedIn, name: str, version: int) -> HttpResponse:
    """Show a version of the graph and its changes."""
    campaign = watched_campaign(request, name)
    row = _version(campaign, version)
    content = store.load_graph(row)
    before = campaign.graphs.filter(version__lt=version).order_by("-version").first()
    return render_campaign(
        request,
        "labeling/graph_version.html",
        campaign,
        "graph",
        version=row,
        shown=content,
        before=before,
        changes=_changes(store.load_graph(before), content) if before else None,
        rows=graph_outline.outline(content, {}),
    )


@require_GET
def graph_download(request: SignedIn, name: str, version: int) -> HttpResponse:
    """Download a version of the graph as JSON that can be uploaded."""
    campaign = watched_campaign(request, name)
    row = _version(campaign, version)
    text = json.dumps(row.content, ensure_ascii=False, indent=2) + "\n"
    return attachments.text(text, "application/json", f"{campaign.name}-graph-{row.version}.json")


@require_http_methods(["GET", "POST"])
def graph_price(request: SignedIn, name: str) -> HttpResponse:
    """Show questions, missed labels and false labels by price; a post changes the price."""
    campaign = watched_campaign(request, name)
    if "price" not in campaign.settings:
        raise NotYours("The questions of this campaign have no price.")
    if request.method == "POST":
        campaign = own_campaign(request, name)
    form = PriceForm(request.POST or None, initial={"price": campaign.settings["price"]})

    def change() -> HttpResponse:
        settings = campaign.settings | form.cleaned_data
        lifecycle.change(campaign, request.user, settings=settings)
        message = "Saved. All images are being re-evaluated."
        return done(request, message, "graph_price", campaign.name)

    return respond_if_valid(form, change) or render_campaign(
        request,
        "labeling/graph_price.html",
        campaign,
        "price",
        form=form,
        found=graph_price_page.price_curve(campaign),
    )


def _page(request: SignedIn, campaign: Campaign, form: GraphForm | None) -> HttpResponse:
    current = store.load_graph(campaign) if campaign.graph_id else None
    search = request.GET.get("q", "").strip()[:200]
    text = json.dumps(current.content(), ensure_ascii=False, indent=1) if current else ""
    counts = graph_outline.counts_of(campaign) if current else {}
    return render_campaign(
        request,
        "labeling/graph.html",
        campaign,
        "graph",
        graph=current,
        rows=graph_outline.outline(current, counts, search) if current else [],
        all_open="open" in request.GET,
        search=search,
        form=form
        or GraphForm(initial={"graph": text, "version": _in_force(campaign)}, user=request.user),
        versions=_versions(campaign),
        conflicts=_conflicts(campaign),
    )


def _conflicts(campaign: Campaign) -> list[str]:
    """Return the conflicts between gold and graph. Version 1 has none: gold is checked when
    it is added.
    """
    if campaign.graph is None or campaign.graph.version == 1:
        return []
    return gold.conflicts(campaign)


def _in_force(campaign: Campaign) -> int | None:
    return campaign.graph.version if campaign.graph is not None else None


def _versions(campaign: Campaign) -> list[dict[str, object]]:
    """Return the latest versions with the number of changes recorded in their decisions."""
    versions = campaign.graphs.select_related("created_by").order_by("-version")[:VERSIONS]
    decisions = campaign.decisions.filter(kind=Decision.Kind.GRAPH).order_by("-pk")[:VERSIONS]
    summaries = {decision.content.get("version"): decision.content for decision in decisions}
    return [{"version": row, "summary": summaries.get(row.version, {})} for row in versions]


def _graph(campaign: Campaign) -> replaying.QuestionGraph:
    if campaign.graph_id is None:
        raise NotYours("This campaign has no question graph yet.")
    return store.load_graph(campaign)


def _version(campaign: Campaign, version: int) -> Graph:
    return get_or_404(
        campaign.graphs.select_related("created_by"),
        "The campaign's graph has no such version.",
        version=version,
    )


def _changes(before: replaying.QuestionGraph, after: replaying.QuestionGraph) -> dict[str, object]:
    """Return the changed nodes with their titles."""
    difference = before.diff(after)
    return {
        "added": [after.node(node) for node in difference["added"]],
        "removed": [before.node(node) for node in difference["removed"]],
        "changed": [
            {
                "node": after.node(entry["id"]),
                "fields": [
                    {
                        "field": field,
                        "before": _field_text(before.node(entry["id"]), field),
                        "after": _field_text(after.node(entry["id"]), field),
                    }
                    for field in entry["fields"]
                ],
            }
            for entry in difference["changed"]
        ],
    }


def _field_text(node: replaying.Node, field: str) -> str:
    value = node.content().get(field) or ""
    return ", ".join(value) if isinstance(value, list) else str(value)
