"""A campaign's policy: read, edited, and its effect previewed."""

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from labeling.campaigns import lifecycle
from labeling.estimators import annotator_checks
from labeling.kinds import KINDS, policies
from labeling.models import Campaign
from labeling.plurals import count_of
from labeling.quality import asking_more, monitoring
from labeling.reports import target_advice
from labeling.web.forms.common import respond_if_valid
from labeling.web.forms.policy import PolicyForm
from labeling.web.views.shared import SignedIn, done, own_campaign, render_campaign


@require_http_methods(["GET", "POST"])
def policy(request: SignedIn, name: str) -> HttpResponse:
    """Edit the policy; the people it would stop are shown before it is saved.

    A change that stops people is saved only with `confirmed`: "some", or "everyone" if it stops all
    active people.
    """
    campaign = own_campaign(request, name)
    asks, current = KINDS[campaign.kind].asks, policies.for_campaign(campaign)
    advice = target_advice.for_campaign(campaign)
    has_target = current["target_error"] is not None or bool(advice and advice.proposed)
    if request.method == "GET":
        form = PolicyForm(initial=current, asks=asks, has_target=has_target)
        return _page(request, campaign, form)
    form = PolicyForm(request.POST, asks=asks, has_target=has_target)
    if not form.is_valid():
        return _page(request, campaign, form)
    content = form.policy()
    stopped = monitoring.preview(campaign, content)
    everyone = monitoring.would_block_everyone(campaign, content, stopped)
    confirmed = request.POST.get("confirmed", "")
    fits = confirmed == "everyone" if everyone else confirmed == "some" or not stopped
    if "preview" in request.POST or not fits:
        effect = {"stopped": stopped, "everyone": everyone, "asked": "preview" in request.POST}
        return _page(request, campaign, form, effect)

    def change() -> HttpResponse:
        made = lifecycle.change_policy(campaign, request.user, content)
        message = f"Version {made.version} of the rules applies to new questions."
        if "apply" in request.POST:
            count = asking_more.apply_policy(campaign, request.user)
            message += f" It was applied to {count_of(count, 'open question')} without answers."
        return done(request, message, "campaign_policy", campaign.name)

    return respond_if_valid(form, change) or _page(request, campaign, form)


def _page(
    request: SignedIn,
    campaign: Campaign,
    form: PolicyForm,
    preview: dict[str, object] | None = None,
) -> HttpResponse:
    content = (
        form.policy() if form.is_bound and form.is_valid() else policies.for_campaign(campaign)
    )
    return render_campaign(
        request,
        "labeling/policy.html",
        campaign,
        "policy",
        form=form,
        groups=form.groups(),
        policy=campaign.policy,
        preview=preview,
        apply="apply" in request.POST,
        advice=annotator_checks.advice(content),
        targets=target_advice.for_campaign(campaign),
        content=content,
        by_table=content["method"] == "vote-table",
        actions=policies.ACTIONS,
    )
