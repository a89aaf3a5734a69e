"""A campaign's people: roles, leaving, invitations."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from labeling import people as deeds
from labeling import progress
from labeling.errors import NotYours, Refusal
from labeling.forms import InvitationForm, RoleForm, add_refusal
from labeling.models import Campaign, Invitation, Membership
from labeling.views.shared import SignedIn, own_campaign, page_of, query_of, render_campaign

PAGE = 50


@login_required
@require_GET
def people(request: SignedIn, name: str) -> HttpResponse:
    """Everybody in the campaign, and the invitations into it."""
    return _people(request, own_campaign(request, name), InvitationForm())


@login_required
@never_cache
@require_POST
def invitation_new(request: SignedIn, name: str) -> HttpResponse:
    """A new invitation; its link is on this one page and nowhere else."""
    campaign = own_campaign(request, name)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _people(request, campaign, form)
    try:
        invitation, secret = deeds.invite(campaign, request.user, **form.cleaned_data)
    except Refusal as refusal:
        add_refusal(form, refusal)
        return _people(request, campaign, form)
    link = request.build_absolute_uri(reverse("join", args=[secret]))
    return _people(request, campaign, InvitationForm(), link=link, made=invitation)


@login_required
@require_POST
def invitation_revoke(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Makes an invitation useless."""
    campaign = own_campaign(request, name)
    invitation = campaign.invitations.filter(pk=pk).first()
    if invitation is None:
        raise NotYours("There is no such invitation to this campaign.")
    deeds.revoke(invitation, request.user)
    messages.success(request, "The invitation is withdrawn; its link leads nowhere now.")
    return redirect("labeling:people", campaign.name)


@login_required
@require_POST
def member_role(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Another role for a member."""
    campaign = own_campaign(request, name)
    membership = _member(campaign, pk)
    form = RoleForm(request.POST)
    if form.is_valid():
        try:
            changed = deeds.change_role(membership, request.user, form.cleaned_data["role"])
        except Refusal as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(request, f"{membership.user.pseudonym} is {changed.role} now.")
    else:
        messages.error(request, "Choose one of the roles.")
    return redirect("labeling:people", campaign.name)


@login_required
@require_POST
def member_remove(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Ends a membership; the person's answers stay."""
    campaign = own_campaign(request, name)
    membership = _member(campaign, pk)
    try:
        deeds.remove(membership, request.user)
    except Refusal as refusal:
        messages.error(request, refusal.message)
    else:
        who = membership.user.pseudonym
        messages.success(request, f"{who} is no longer in the campaign. Their answers stay.")
    return redirect("labeling:people", campaign.name)


def _member(campaign: Campaign, pk: int) -> Membership:
    membership = campaign.memberships.active().select_related("user").filter(pk=pk).first()
    if membership is None:
        raise NotYours("There is no such member of this campaign.")
    return membership


def _people(
    request: SignedIn,
    campaign: Campaign,
    form: InvitationForm,
    link: str = "",
    made: Invitation | None = None,
) -> HttpResponse:
    invitations = campaign.invitations.select_related("created_by").order_by("-pk")
    page = page_of(request, invitations, PAGE)
    now = timezone.now()
    rows = progress.annotators(campaign)
    return render_campaign(
        request,
        "labeling/people.html",
        campaign,
        "people",
        form=form,
        link=link,
        made=made,
        members=[row for row in rows if row["left_at"] is None],
        left=[row for row in rows if row["left_at"]],
        invitations=[{"invitation": row, "state": _state(row, now)} for row in page.object_list],
        page_obj=page,
        query=query_of(request),
        roles=Membership.Role.choices,
    )


def _state(invitation: Invitation, now) -> str:
    if invitation.revoked_at:
        return "withdrawn"
    if invitation.expires_at <= now:
        return "expired"
    return "used up" if invitation.uses >= invitation.max_uses else "open"
