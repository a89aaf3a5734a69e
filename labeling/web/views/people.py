"""A campaign's people: roles, invitations, and the reputation of each with its actions."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.assignment import quotas
from labeling.campaigns.names import name_of
from labeling.db.lookups import get_or_404
from labeling.kinds import policies
from labeling.models import Campaign, Invitation, Membership, User
from labeling.plurals import count_of
from labeling.quality import blocking, memberships, monitoring, recounting
from labeling.reports import person_page, progress
from labeling.web import attachments
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.forms.people import (
    InvitationForm,
    InvitationsForm,
    QuotasForm,
    ReasonForm,
    RoleForm,
)
from labeling.web.views.shared import (
    SignedIn,
    done,
    own_campaign,
    page_of,
    query_of,
    render_campaign,
)

PAGE_SIZE = 50
# Maximum of topics with a form of quotas; above it, only the API sets quotas.
MAX_QUOTAS = 60


@require_GET
def people(request: SignedIn, name: str) -> HttpResponse:
    """Show the members and invitations of the campaign."""
    return _people(request, own_campaign(request, name))


@never_cache
@require_POST
def invitation_new(request: SignedIn, name: str) -> HttpResponse:
    """Create an invitation; its link is shown only here."""
    campaign = own_campaign(request, name)
    form = InvitationForm(request.POST)

    def invite() -> HttpResponse:
        invitation, secret = memberships.invite(campaign, request.user, **form.cleaned_data)
        link = request.build_absolute_uri(reverse("join", args=[secret]))
        return _people(request, campaign, link=link, made=invitation)

    return respond_if_valid(form, invite) or _people(request, campaign, form)


@never_cache
@require_POST
def invitations_new(request: SignedIn, name: str) -> HttpResponse:
    """Create an invitation for each person of a list and download the links."""
    campaign = own_campaign(request, name)
    form = InvitationsForm(request.POST, request.FILES, auto_id="many_%s", user=request.user)

    def invite() -> HttpResponse:
        invited = memberships.invite_each(campaign, request.user, **form.cleaned_data)
        rows = [
            (person, request.build_absolute_uri(reverse("join", args=[secret])))
            for person, secret in invited
        ]
        return attachments.csv([("name", "link"), *rows], f"{campaign.name}-invitations.csv")

    return respond_if_valid(form, invite) or _people(request, campaign, many=form)


@require_POST
def invitation_revoke(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Revoke an invitation."""
    campaign = own_campaign(request, name)
    invitation = get_or_404(
        campaign.invitations, "There is no such invitation to this campaign.", pk=pk
    )
    memberships.revoke(invitation, request.user)
    message = "The invitation is revoked. Its link no longer works."
    return done(request, message, "people", campaign.name)


@require_POST
def member_role(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Change a member's role."""
    campaign = own_campaign(request, name)
    membership = _member(campaign, pk)
    form = RoleForm(request.POST)
    if form.is_valid():
        with refusals_shown(request):
            changed = memberships.change_role(membership, request.user, form.cleaned_data["role"])
            messages.success(request, f"{name_of(membership)} is {changed.role} now.")
    else:
        messages.error(request, "Choose one of the roles.")
    return redirect("labeling:people", campaign.name)


@require_POST
def member_remove(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """End a membership; the answers are kept."""
    campaign = own_campaign(request, name)
    membership = _member(campaign, pk)
    with refusals_shown(request):
        memberships.remove(membership, request.user)
        who = name_of(membership)
        messages.success(request, f"{who} is no longer in the campaign. Their answers stay.")
    return redirect("labeling:people", campaign.name)


@dataclass(frozen=True)
class PersonAction:
    """An action on a member, with its label and the stages in which it is possible."""

    name: str
    words: str
    look: str
    stages: frozenset[str]
    done: str

    @property
    def url(self) -> str:
        return f"labeling:person_{self.name}"


Stage = Membership.Stage
NOT_AT_WORK = frozenset({Stage.PAUSED, Stage.FAILED, Stage.TRAINING, Stage.TEST})
ACTIONS = {
    action.name: action
    for action in (
        PersonAction("pardon", "Let them work", "", NOT_AT_WORK, "{} can work now."),
        PersonAction("pause", "Pause", "secondary", frozenset({Stage.WORKING}), "{} is paused."),
        PersonAction(
            "unblock", "Lift the block", "", frozenset({Stage.BLOCKED}), "{} is no longer blocked."
        ),
        PersonAction("block", "Block", "danger", NOT_AT_WORK | {Stage.WORKING}, "{} is blocked."),
    )
}


@require_GET
def person(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show one member: stage with reasons, decisions and latest answers."""
    campaign = own_campaign(request, name)
    membership = _any_member(campaign, pk)
    rows = quotas.for_member(membership)
    form = QuotasForm(rows) if len(rows) <= MAX_QUOTAS else None
    return _person(request, campaign, membership, form)


@require_POST
def person_quotas(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Set the member's quotas by topic."""
    campaign = own_campaign(request, name)
    membership = _any_member(campaign, pk)
    form = QuotasForm(quotas.for_member(membership), request.POST)
    if not form.is_valid():
        return _person(request, campaign, membership, form)
    left = quotas.assign(membership, request.user, form.images_by_topic())
    who = name_of(membership)
    message = f"{count_of(sum(left.values()), 'image is', 'images are')} left to {who}."
    message = message if form.images_by_topic() else f"{who} has no quotas now."
    return done(request, message, "person", campaign.name, membership.pk)


def _person(
    request: SignedIn, campaign: Campaign, membership: Membership, form: QuotasForm | None
) -> HttpResponse:
    policy = policies.for_campaign(campaign)
    watched = membership.role == Membership.Role.ANNOTATOR
    signals = person_page.signals_of(membership, policy) if watched else []
    kept = membership.standing
    return render_campaign(
        request,
        "labeling/person.html",
        campaign,
        "people",
        membership=membership,
        tone=progress.tone_of(membership),
        person=membership.user,
        seconds=membership.worked_ms / 1000 / membership.answered if membership.answered else None,
        gold_share=policy["gold_share"] if membership.gold_share is None else membership.gold_share,
        signals=signals,
        reasons=[
            row | {"action_words": f"{policies.ACTIONS[row['action']]}."}
            for row in kept.get("reasons", [])
        ],
        looked_at=parse_datetime(kept["at"]) if "at" in kept else None,
        actions=_actions_for(membership),
        decisions=person_page.decisions_on(membership),
        answers=person_page.recent_answers(membership),
        quotas=form,
    )


@require_http_methods(["GET", "POST"])
def person_action(request: SignedIn, name: str, pk: int, action: str) -> HttpResponse:
    """Show the consequences of an action; a post with a reason carries it out."""
    campaign = own_campaign(request, name)
    membership = _any_member(campaign, pk)
    form = ReasonForm(request.POST or None)

    def do() -> HttpResponse:
        message = _carry_out(
            action, campaign, membership, request.user, form.cleaned_data["reason"]
        )
        return done(request, message, "person", campaign.name, membership.pk)

    return respond_if_valid(form, do) or render_campaign(
        request,
        "labeling/person_action.html",
        campaign,
        "people",
        membership=membership,
        person=membership.user,
        action=ACTIONS[action],
        undoes=_consequences(action, campaign, membership),
        form=form,
    )


def _carry_out(
    action: str, campaign: Campaign, membership: Membership, actor: User, reason: str
) -> str:
    """Carry out the action and return a sentence about it."""
    message = ACTIONS[action].done.format(name_of(membership))
    if action == "pause":
        monitoring.pause(membership, actor, reason)
        return message
    if action == "pardon":
        monitoring.pardon(membership, actor, reason)
        return message
    done = blocking.block if action == "block" else blocking.unblock
    outcome = done(campaign, membership, actor, reason)
    counted = "void" if action == "block" else "counted again"
    return (
        f"{message} {count_of(outcome.answers, 'answer')} {counted}, "
        f"{count_of(outcome.decided, 'question')} with another label, {outcome.reopened:,} "
        f"reopened."
    )


def _consequences(action: str, campaign: Campaign, membership: Membership) -> list[str]:
    """Return the consequences of the action, with numbers if it affects answers."""
    if action == "pause":
        return [
            "They get no more questions until somebody lets them work again. Their answers are "
            "kept and still count."
        ]
    if action == "pardon":
        return [
            "They get questions immediately, without training or test. Their reputation is reset."
        ]
    return _touched(action, blocking.count_affected(campaign, membership.user))


def _touched(action: str, touched: dict[str, int]) -> list[str]:
    answers = count_of(touched["answers"], "answer")
    decided = count_of(touched["questions"], "finished question")
    if action == "unblock":
        return [
            f"{answers} will count again, and every question returns to its state before the "
            f"block. Answers that others gave since then are kept.",
            "They get questions again.",
        ]
    return [
        f"{answers} will be void. {decided} will be settled again without them, and those that "
        "need more answers reopen for others.",
        f"{count_of(touched['seats'], 'open seat')} will go to others. Nothing is deleted: lifting "
        "the block restores everything.",
    ]


def _actions_for(membership: Membership) -> list[PersonAction]:
    if membership.stage == Stage.BLOCKED:
        # A block outlasts a change of role and leaving: the member's answers stay void.
        return [ACTIONS["unblock"]]
    if membership.role != Membership.Role.ANNOTATOR or membership.left_at is not None:
        return []
    return [action for action in ACTIONS.values() if membership.stage in action.stages]


def _any_member(campaign: Campaign, pk: int) -> Membership:
    """Return a current or former member by id. Raises NotYours."""
    return get_or_404(
        campaign.memberships.select_related("user", "campaign"),
        "There is no such member of this campaign.",
        pk=pk,
    )


def _member(campaign: Campaign, pk: int) -> Membership:
    return get_or_404(
        campaign.memberships.active().select_related("user"),
        "There is no such member of this campaign.",
        pk=pk,
    )


def _people(
    request: SignedIn,
    campaign: Campaign,
    form: InvitationForm | None = None,
    link: str = "",
    made: Invitation | None = None,
    many: InvitationsForm | None = None,
) -> HttpResponse:
    # Propose as many uses as one question may need annotators.
    most = policies.for_campaign(campaign)["max_votes"]
    everybody = progress.members(campaign)
    page = page_of(request, everybody.filter(left_at=None), PAGE_SIZE)
    left = everybody.exclude(left_at=None)
    invitations = campaign.invitations.select_related("created_by").order_by("-pk")
    invited = page_of(request, invitations, PAGE_SIZE, "invitations")
    now = timezone.now()
    return render_campaign(
        request,
        "labeling/people.html",
        campaign,
        "people",
        form=form or InvitationForm(initial={"max_uses": most}),
        many=many or InvitationsForm(auto_id="many_%s", user=request.user),
        link=link,
        made=made,
        wrongly_stopped=recounting.wrongly_stopped(campaign),
        members=progress.annotators(campaign, list(page.object_list)),
        page_obj=page,
        query=query_of(request),
        left=list(left[:PAGE_SIZE]),
        left_count=left.count(),
        invitations=[{"invitation": row, "state": _state(row, now)} for row in invited.object_list],
        invited=invited,
        invited_query=query_of(request, "invitations"),
        roles=Membership.Role.choices,
    )


def _state(invitation: Invitation, now) -> str:
    if invitation.revoked_at:
        return "withdrawn"
    if invitation.expires_at <= now:
        return "expired"
    return "used up" if invitation.uses >= invitation.max_uses else "open"
