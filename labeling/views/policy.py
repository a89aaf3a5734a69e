"""A campaign's rules: read, changed, and what they would do before they do it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from labeling import campaigns, policies
from labeling.errors import Refusal
from labeling.forms import PolicyForm, add_refusal
from labeling.models import Campaign
from labeling.views.shared import SignedIn, own_campaign, render_campaign


@login_required
@require_http_methods(["GET", "POST"])
def policy(request: SignedIn, name: str) -> HttpResponse:
    """The rules in force, and the next version of them."""
    campaign = own_campaign(request, name)
    if request.method == "GET":
        return _page(request, campaign, PolicyForm(initial=policies.of(campaign)))
    form = PolicyForm(request.POST)
    if form.is_valid():
        try:
            made = campaigns.change_policy(campaign, request.user, form.policy())
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            said = f"Version {made.version} of the rules holds for questions asked from now on."
            messages.success(request, said)
            return redirect("labeling:campaign_policy", campaign.name)
    return _page(request, campaign, form)


def _page(request: SignedIn, campaign: Campaign, form: PolicyForm) -> HttpResponse:
    return render_campaign(
        request,
        "labeling/policy.html",
        campaign,
        "policy",
        form=form,
        groups=form.groups(),
        policy=campaign.policy,
    )
