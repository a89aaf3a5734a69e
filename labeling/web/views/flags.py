"""Flags of annotators on images, and the researchers' replies."""

from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_GET, require_POST

from labeling.answers import flagging
from labeling.models import Campaign
from labeling.web.forms.common import respond_if_valid
from labeling.web.forms.people import ReplyForm
from labeling.web.views.shared import SignedIn, done, own_campaign, render_campaign

# Flags per page; the next follow once these are answered.
PAGE_SIZE = 30


@require_GET
def flags(request: SignedIn, name: str) -> HttpResponse:
    """Show the unanswered flags, the oldest first; with ?answered the others, the newest first."""
    return _flags(request, own_campaign(request, name))


@require_POST
def flag_reply(request: SignedIn, name: str, pk: UUID) -> HttpResponse:
    """Reply to a flag; the annotator sees the reply."""
    campaign = own_campaign(request, name)
    form = ReplyForm(request.POST)

    def reply() -> HttpResponse:
        flagging.reply(campaign, pk, request.user, form.cleaned_data["reply"])
        message = "Reply saved. The person who flagged the image can read it."
        return done(request, message, "flags", campaign.name)

    return respond_if_valid(form, reply) or _flags(request, campaign, pk, form)


def _flags(
    request: SignedIn, campaign: Campaign, failed: UUID | None = None, form: ReplyForm | None = None
) -> HttpResponse:
    answered = "answered" in request.GET
    rows = campaign.flags.select_related(
        "annotator", "replied_by", "assignment__question__item__image__dataset"
    )
    if answered:
        rows = rows.exclude(replied_at=None).order_by("-created_at", "-pk")
    else:
        rows = rows.filter(replied_at=None).order_by("created_at", "pk")
    flags = list(rows[: PAGE_SIZE + 1])
    topics = {row.assignment.question.topic for row in flags}
    names = dict(campaign.topics.filter(key__in=topics).values_list("key", "name"))
    return render_campaign(
        request,
        "labeling/flags.html",
        campaign,
        "flags",
        answered=answered,
        rows=[(row, names.get(row.assignment.question.topic, "")) for row in flags[:PAGE_SIZE]],
        more=len(flags) > PAGE_SIZE,
        failed=failed,
        form=form or ReplyForm(),
    )
