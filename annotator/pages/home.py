"""Home: a card for each campaign with picture, pace and waiting work, and a link to the
next one.
"""

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotator.accounts import person
from annotator.demo import build
from annotator.pages import open_tasks
from annotator.pages.worded import all_worded, campaign_for
from labeling.answers import flagging
from labeling.assignment.claiming import NOT_WORKING
from labeling.assignment.refusals import DEADLINE_PASSED
from labeling.assignment.waiting import Waiting, waiting_for
from labeling.campaigns.access import RESEARCHER, check_may_open, check_role
from labeling.datasets import images
from labeling.errors import NotYours
from labeling.kinds import KINDS, policies
from labeling.models import Campaign, Example, Image, Membership, User

# Text in place of the button, by the person's stage.
STAGE_TEXTS = {str(stage): sentence for stage, (_, sentence) in NOT_WORKING.items()}
# Number of answers from which the remaining time is estimated by the person's own pace.
MIN_ANSWERS_FOR_PACE = 20
HOUR = 3600


@dataclass(frozen=True)
class Card:
    """A campaign on the home page. done: share of its decided questions; None if never counted, or
    for somebody who has not started. left: estimate of the questions left for this person. time:
    how long these take, in words.
    """

    membership: Membership
    waiting: Waiting | None
    stopped: str
    has_reply: bool
    done: float | None
    left: int
    time: str

    @property
    def campaign(self) -> Campaign:
        return self.membership.campaign

    @property
    def kind(self):
        return KINDS[self.campaign.kind]

    @property
    def rank(self) -> int:
        """Return the sort key: campaigns with work sent back first, then with waiting work, then
        the rest.
        """
        if self.waiting and self.waiting.sent_back:
            return 0
        return 1 if self.waiting and self.waiting.more and not self.stopped else 2


@login_not_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Return the home page: campaigns to label in and, for researchers, campaigns to run."""
    if not request.user.is_authenticated:
        return render(request, "annotator/welcome.html")
    cards = cards_of(person(request))
    # For the navigation, without another query.
    person(request).campaign_roles = frozenset(card.membership.role for card in cards)
    researcher, draft = Membership.Role.RESEARCHER, Campaign.State.DRAFT
    to_run = [card for card in cards if card.membership.role == researcher]
    to_label = [
        card
        for card in cards
        if card.membership.role != researcher and card.campaign.state != draft
    ]
    to_label.sort(key=lambda card: card.rank)
    user = person(request)
    campaigns = [card.campaign for card in to_run]
    context = {
        "to_label": to_label,
        "to_run": to_run,
        "steps": open_tasks.first_steps(user, campaigns) if user.may_open_campaigns else [],
        "tasks": open_tasks.open_tasks(user, campaigns) if campaigns else [],
    }
    return render(request, "annotator/home.html", context)


@require_POST
def try_photographs(request: HttpRequest) -> HttpResponse:
    """Create a dataset with the demonstration's photographs and show it."""
    user = person(request)
    check_may_open(user)
    name = f"photographs-{user.pk}"
    dataset = build.make_dataset(user, name)
    messages.success(request, f"{dataset.images.count()} photographs were added.")
    return redirect("labeling:dataset", name)


@never_cache
@require_GET
def next_campaign(request: HttpRequest) -> HttpResponse:
    """Redirect to the campaign with most waiting work for this person, other than ?after."""
    after = request.GET.get("after", "")
    cards = sorted(cards_of(person(request)), key=lambda card: card.rank)
    best_card = next(
        (card for card in cards if card.rank < 2 and card.campaign.name != after), None
    )
    if best_card:
        return redirect("label", best_card.campaign.name)
    messages.info(request, gettext("There is nothing else for you now."))
    return redirect("home")


@require_GET
def campaign_picture(request: HttpRequest, name: str) -> HttpResponse:
    """Return the picture of a campaign's card, for members: a researchers' example, or else the
    image of the first question ever added, even if that is gold.
    """
    campaign = campaign_for(person(request), name)
    if campaign.state == Campaign.State.DRAFT:
        # As home does: only researchers see drafts.
        check_role(person(request), campaign, RESEARCHER)
    example = Example.objects.filter(topic__campaign=campaign).select_related("image").first()
    image = example.image if example else _first_image(campaign)
    if image is None:
        raise NotYours(gettext("The campaign has no questions yet."))
    with images.open_thumbnail(image) as file:
        response = HttpResponse(file.read(), content_type=file.media_type)
    response["Cache-Control"] = "private, max-age=86400"
    response["Content-Disposition"] = "inline"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def _first_image(campaign: Campaign) -> Image | None:
    question = campaign.questions.order_by("item").select_related("item__image").first()
    return question.item.image if question else None


def cards_of(user: User) -> list[Card]:
    """Return cards of the person's campaigns, most recently answered first. Three queries."""
    rows = list(
        Membership.objects.active()
        .filter(user=user, campaign__archived_at=None)
        .select_related("campaign__policy")
        .order_by("-last_answered_at", "-joined_at")
    )
    worded = all_worded(row.campaign for row in rows)
    for row, campaign in zip(rows, worded, strict=True):
        row.campaign = campaign
    waits = waiting_for(user)
    replied = flagging.campaigns_with_replies(user)
    return [
        Card(row, waits.get(row.pk), _reason_to_stop(row), row.campaign_id in replied, *_pace(row))
        for row in rows
    ]


def _reason_to_stop(row: Membership) -> str:
    deadline = row.campaign.deadline
    if deadline and deadline <= timezone.now():
        return gettext(DEADLINE_PASSED)
    return gettext(STAGE_TEXTS[row.stage]) if row.stage in STAGE_TEXTS else ""


def _pace(row: Membership) -> tuple[float | None, int, str]:
    campaign = row.campaign
    if campaign.counted_at is None or not campaign.questions_asked:
        return None, 0, ""
    done = 1 - campaign.questions_free / campaign.questions_asked
    seconds = policies.for_campaign(campaign)["seconds_per_answer"]
    if row.answered >= MIN_ANSWERS_FOR_PACE and row.worked_ms:
        seconds = row.worked_ms / 1000 / row.answered
    left = min(campaign.questions_free, max(0, campaign.questions_asked - row.answered))
    if row.topics is not None:
        left = min(left, sum(row.topics.values()))
    return done if row.answered else None, left, in_words(left * seconds) if left else ""


def in_words(seconds: float) -> str:
    """Return a duration in everyday words.

    >>> in_words(20), in_words(700), in_words(5400), in_words(86_400)
    ('about a minute', 'about 12 minutes', 'about 1.5 hours', 'about 24 hours')
    """
    if seconds < 90:
        return gettext("about a minute")
    if seconds < HOUR:
        minutes = round(seconds / 60)
        return ngettext("about %(count)s minute", "about %(count)s minutes", minutes) % {
            "count": minutes
        }
    hours = seconds / HOUR
    hours_text = (
        number_format(hours, 1) if hours < 10 else number_format(round(hours), force_grouping=True)
    )
    return gettext("about %(hours)s hours") % {"hours": hours_text}
