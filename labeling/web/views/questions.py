"""A campaign's questions: the list, one question with its votes, adding and withdrawing."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.exchange import naming_campaigns, part_campaigns
from labeling.follow_ups import asking, candidate_lists, opening
from labeling.kinds import KINDS
from labeling.kinds.base import CANDIDATES, CHAINS, GRAPH, IMAGES, OBJECTS
from labeling.models import Campaign
from labeling.plurals import count_of
from labeling.quality import asking_more
from labeling.reports import pair_history, parts_picture, question_page, questions_page
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.forms.questions import AskMoreForm, QuestionFilterForm, QuestionsForm
from labeling.web.views.shared import (
    SignedIn,
    display_response,
    done,
    key_of,
    own_campaign,
    query_of,
    question_in,
    render_campaign,
    sent,
    thumbnail_response,
    watched_campaign,
)

PAGE_SIZE = 50


@require_GET
def questions(request: SignedIn, name: str) -> HttpResponse:
    """Show the questions with their votes, filtered by state, class and image name."""
    campaign = watched_campaign(request, name)
    form = QuestionFilterForm(campaign, request.GET)
    chosen = form.cleaned_data if form.is_valid() else {}
    chosen_filter = questions_page.Filter(
        state=chosen.get("state", ""), topic=chosen.get("topic", ""), search=chosen.get("q", "")
    )
    after, before = (key_of(request.GET.get(name, "")) for name in ("after", "before"))
    page = questions_page.page(campaign, chosen_filter, PAGE_SIZE, after=after, before=before)
    return render_campaign(
        request,
        "labeling/questions.html",
        campaign,
        "questions",
        form=form,
        # Settled questions may be chosen, to ask more people about them.
        choosing=chosen.get("state") == "settled"
        and KINDS[campaign.kind].asks != CHAINS
        and campaign.state != Campaign.State.CLOSED,
        rows=question_page.question_rows(campaign, page.questions),
        key_page=page,
        query=query_of(request, "after", "before", "page"),
    )


@require_GET
def question(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show one question: its image, every vote, and its settlements."""
    campaign = watched_campaign(request, name)
    question = question_in(campaign, pk)
    [row] = question_page.question_rows(campaign, [question])
    history = question_page.question_history(campaign, question)
    drawn = KINDS[campaign.kind].drawn
    picture = parts_picture.question_picture(campaign, question) if drawn else None
    pair = {}
    if KINDS[campaign.kind].asks == CHAINS:
        values = [row.answer.value for row in history.answers if not row.replaced]
        pair = {
            "pair": pair_history.for_question(campaign, question),
            "boxes": pair_history.picture(question, values),
        }
    return render_campaign(
        request,
        "labeling/question.html",
        campaign,
        "questions",
        row=row,
        picture=picture,
        **pair,
        **vars(history),
    )


@require_GET
def question_image(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Return the question's image as annotators see it."""
    campaign = watched_campaign(request, name)
    return display_response(question_in(campaign, pk).item.image)


@require_GET
def question_thumbnail(request: SignedIn, name: str, pk: int) -> HttpResponse:
    campaign = watched_campaign(request, name)
    return thumbnail_response(question_in(campaign, pk).item.image)


@require_http_methods(["GET", "POST"])
def questions_add(request: SignedIn, name: str) -> HttpResponse:
    """Add a list of questions."""
    campaign = own_campaign(request, name)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = QuestionsForm(*data, asks=KINDS[campaign.kind].asks, user=request.user)
    response = respond_if_valid(
        form, lambda: done(request, _ask(campaign, form), "questions", campaign.name)
    )
    return response or render_campaign(
        request, "labeling/questions_add.html", campaign, "questions", form=form
    )


def _ask(campaign: Campaign, form: QuestionsForm) -> str:
    """Add the form's questions and return a sentence about the result."""
    content, asks = form.cleaned_data, KINDS[campaign.kind].asks
    if asks == GRAPH:
        opened = opening.open_images(campaign, content["names"])
        if opened is None:
            return "The first questions of these images are being created. See Jobs for progress."
        return f"{opened} first questions were added."
    if asks == OBJECTS:
        objects = part_campaigns.objects_of(campaign.dataset, images=content["names"])
        added = part_campaigns.ask(campaign, objects)
        return _added("object", added)
    if asks == CANDIDATES:
        added = candidate_lists.ask(campaign, content["found"], content["topics"])
        return _added("candidate", added)
    pairs = content.get("pairs", [])
    if asks == IMAGES:
        pairs = naming_campaigns.pairs_of(campaign, content["names"])
    added = opening.ask(campaign, pairs, content.get("topics", []))
    return _added("question", added)


def _added(noun: str, added: asking.AddedQuestions) -> str:
    created = count_of(added.created, f"{noun} was", f"{noun}s were")
    again = f"{count_of(added.reopened, 'was', 'were')} reopened, " if added.reopened else ""
    return f"{created} added; {again}{count_of(added.existing, 'existed', 'existed')} already."


@require_POST
def question_withdraw(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Withdraw one question; its answers are kept."""
    campaign = own_campaign(request, name)
    question = question_in(campaign, pk)
    why = [
        asking.UNAFFECTED_REASONS[state]
        for state in asking.count_unaffected(campaign, [question.pk])
    ]
    reason = sent(request, "reason")[:500]
    if not why and asking.withdraw_questions(campaign, [question.pk], request.user, reason):
        messages.success(request, "The question is withdrawn. Its answers stay.")
    else:
        messages.error(request, " ".join(["Nothing was withdrawn.", *why]))
    return redirect("labeling:question", campaign.name, question.pk)


@require_POST
def questions_ask_more(request: SignedIn, name: str) -> HttpResponse:
    """Ask more people about the selected settled questions."""
    campaign = own_campaign(request, name)
    chosen = [key for pk in request.POST.getlist("question") if (key := key_of(pk))]
    form = AskMoreForm(request.POST)
    if not chosen or not form.is_valid():
        messages.error(request, "Choose at least one question, and 1 to 25 people.")
    else:
        people, reason = form.cleaned_data["people"], form.cleaned_data["reason"]
        with refusals_shown(request):
            outcome = asking_more.ask_more(campaign, chosen, people, request.user, reason)
            more = count_of(people, "more person", "more people")
            message = f"{count_of(outcome.count, 'question asks', 'questions ask')} {more}."
            left = [f"{count:,} unchanged: {why}." for why, count in outcome.skipped.items()]
            (messages.success if outcome.count else messages.error)(
                request, " ".join([message, *left])
            )
    if len(chosen) == 1:
        return redirect("labeling:question", campaign.name, chosen[0])
    return redirect("labeling:questions", campaign.name)
