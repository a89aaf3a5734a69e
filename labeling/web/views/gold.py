"""Gold questions with known answers, and the texts of each class."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.campaigns import lifecycle
from labeling.db.lookups import get_or_404
from labeling.errors import Refusal
from labeling.exchange import lists
from labeling.follow_ups import opening
from labeling.kinds import KINDS
from labeling.kinds.base import CHAINS
from labeling.models import Campaign, Image, Question, Topic
from labeling.plurals import count_of
from labeling.quality import auditing, qualifying, recounting, stated_errors
from labeling.quality.gold import add_gold, conflicts, gold_from_settled, missing_gold, retire_gold
from labeling.reports import gold_page, topics_page
from labeling.web.forms.common import ListsForm, list_file, respond_if_valid
from labeling.web.forms.questions import (
    ExampleForm,
    GoldForm,
    GoldListForm,
    RandomGoldForm,
    TopicForm,
    sibling_lines,
)
from labeling.web.views.shared import (
    SignedIn,
    done,
    key_of,
    own_campaign,
    page_of,
    query_of,
    render_campaign,
    sent,
)

PAGE_SIZE = 50
OFFERED = 24


@require_GET
def gold(request: SignedIn, name: str) -> HttpResponse:
    """Show the gold questions with how many people answered and failed each."""
    return _gold(request, own_campaign(request, name))


@require_http_methods(["GET", "POST"])
def gold_add(request: SignedIn, name: str) -> HttpResponse:
    """Add one gold question: an image found by search, a class and the right answer."""
    campaign = own_campaign(request, name)
    if KINDS[campaign.kind].drawn:
        return redirect("labeling:gold_objects", campaign.name)
    if KINDS[campaign.kind].asks == CHAINS:
        # Box gold comes as a list or from settled pairs.
        return redirect("labeling:gold", campaign.name)
    form = GoldForm(campaign, request.POST or None)

    def add() -> HttpResponse:
        row, replace = form.cleaned_data, form.cleaned_data["replace"]
        add_gold(campaign, request.user, [row], replace=replace)
        return done(request, f"{form.cleaned_data['image']} is gold now.", "gold", campaign.name)

    return respond_if_valid(form, add) or render_campaign(
        request, "labeling/gold_add.html", campaign, "gold", form=form, **_picker(request, campaign)
    )


@require_POST
def gold_upload(request: SignedIn, name: str) -> HttpResponse:
    """Add a list of gold questions."""
    campaign = own_campaign(request, name)
    form = GoldListForm(campaign.kind, request.POST, request.FILES, user=request.user)

    def add() -> HttpResponse:
        rows, replace = form.cleaned_data["rows"], form.cleaned_data.get("replace", False)
        count = add_gold(campaign, request.user, rows, replace=replace)
        message = count_of(count, "gold question was added.", "gold questions were added.")
        return done(request, message, "gold", campaign.name)

    return respond_if_valid(form, add) or _gold(request, campaign, form)


@require_POST
def gold_random(request: SignedIn, name: str) -> HttpResponse:
    """Draw questions at random that become gold once they are answered."""
    campaign = own_campaign(request, name)
    form = RandomGoldForm(request.POST)

    def draw() -> HttpResponse:
        n = form.cleaned_data["n"]
        auditing.draw(campaign, request.user, n, form.cleaned_data["seed"], for_gold=True)
        message = f"{count_of(n, 'image was', 'images were')} drawn. Answer them as you see them."
        return done(request, message, "audit", campaign.name)

    return respond_if_valid(form, draw) or _gold(request, campaign, random_form=form)


@require_POST
def gold_promote(request: SignedIn, name: str) -> HttpResponse:
    """Copy a settled question as gold."""
    campaign = own_campaign(request, name)
    chosen = [key for pk in request.POST.getlist("question") if (key := key_of(pk))]
    made = gold_from_settled(campaign, request.user, chosen)
    if made:
        messages.success(request, "The question is now gold for people who have not answered it.")
    else:
        messages.error(request, "Only a settled question that is not gold yet can become gold.")
    return redirect(_back(request, campaign))


@require_POST
def gold_retire(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Stop handing out a gold question."""
    campaign = own_campaign(request, name)
    retire_gold(campaign, request.user, pk, sent(request, "reason"))
    goal = "quality" if request.POST.get("next") == "quality" else "gold"
    return done(request, "Retired. It no longer counts for anybody.", goal, campaign.name)


def _back(request: SignedIn, campaign: Campaign) -> str:
    if pk := key_of(request.POST.get("question", "")):
        return reverse("labeling:question", args=[campaign.name, pk])
    return reverse("labeling:gold", args=[campaign.name])


def _gold(
    request: SignedIn,
    campaign: Campaign,
    form: GoldListForm | None = None,
    random_form: RandomGoldForm | None = None,
) -> HttpResponse:
    questions = (
        campaign.questions.filter(state=Question.State.GOLD, gold__isnull=False)
        .select_related("gold", "item__image")
        .order_by("gold__retired_at", "-pk")
    )
    page = page_of(request, questions, PAGE_SIZE)
    return render_campaign(
        request,
        "labeling/gold.html",
        campaign,
        "gold",
        form=form or GoldListForm(campaign.kind, user=request.user),
        random_form=random_form or RandomGoldForm(),
        is_measurable=stated_errors.is_measurable(campaign),
        gold_left=auditing.gold_waiting(campaign),
        rows=gold_page.gold_rows(campaign, list(page.object_list)),
        page_obj=page,
        query=query_of(request),
        wrongly_stopped=recounting.wrongly_stopped(campaign),
        shortage=qualifying.shortage(campaign),
        conflicts=conflicts(campaign),
        missing_gold=missing_gold(campaign),
    )


def _picker(request: SignedIn, campaign: Campaign) -> dict[str, object]:
    """Return the images whose name contains the search text."""
    search = request.GET.get("q", sent(request, "q")).strip()[:200]
    chosen = sent(request, "image")
    images = campaign.dataset.images.order_by("name")
    offered = list(images.filter(name__icontains=search)[:OFFERED] if search else images[:OFFERED])
    if chosen and chosen not in {image.name for image in offered}:
        offered = [*images.filter(name=chosen), *offered]
    return {"offered": offered, "search": search, "chosen": chosen}


@require_http_methods(["GET", "POST"])
def topics(request: SignedIn, name: str) -> HttpResponse:
    """Show the campaign's classes; a post adds or renames classes by a list."""
    campaign = own_campaign(request, name)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = ListsForm(*data, user=request.user)
    form.fields["topics_file"] = list_file(
        "File of classes",
        "CSV with wnid,name,definition,synonyms,url in each line; semicolons separate synonyms. "
        "Names and definitions are replaced; guidance and examples stay.",
    )
    form.fields["topics_file"].required = True
    if form.is_valid():
        topic_rows = form.read_list("topics", lists.read_topics)
        if topic_rows and form.is_valid():
            lifecycle.define_topics(campaign, topic_rows)
            form.forget_files()
            message = f"{count_of(len(topic_rows), 'class was', 'classes were')} updated."
            return done(request, message, "topics", campaign.name)
        if not form.errors:
            form.add_error("topics_file", "Choose a file with at least one class.")
    form.keep_files()
    search = request.GET.get("q", "").strip()[:200]
    page = page_of(request, topics_page.topic_rows(campaign, search), PAGE_SIZE)
    return render_campaign(
        request,
        "labeling/topics.html",
        campaign,
        "topics",
        form=form,
        search=search,
        page_obj=page,
        query=query_of(request),
    )


@require_http_methods(["GET", "POST"])
def topic(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Edit the texts of a class and its examples of yes and no."""
    campaign = own_campaign(request, name)
    topic = _topic(campaign, pk)
    form = TopicForm(request.POST or None, initial=_words(topic))

    def change() -> HttpResponse:
        lifecycle.change_topic(campaign, topic.key, request.user, **form.cleaned_data)
        return done(request, "Saved.", "topic", campaign.name, topic.pk)

    return respond_if_valid(form, change) or _topic_page(
        request, campaign, topic, form, ExampleForm()
    )


@require_POST
def example_add(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Add an example: an image with its right answer."""
    campaign = own_campaign(request, name)
    topic = _topic(campaign, pk)
    form = ExampleForm(request.POST)

    def add() -> HttpResponse:
        data = form.cleaned_data
        image = _image(campaign, data["image"])
        lifecycle.add_example(campaign, topic.key, image, data["answer"], data["caption"])
        message = "Annotators see the example on their next page."
        return done(request, message, "topic", campaign.name, topic.pk)

    topic_form = TopicForm(initial=_words(topic))
    return respond_if_valid(form, add) or _topic_page(request, campaign, topic, topic_form, form)


@require_POST
def example_remove(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Remove an example."""
    campaign = own_campaign(request, name)
    topic = _topic(campaign, pk)
    if example := key_of(request.POST.get("example", "")):
        lifecycle.remove_example(campaign, example)
        messages.success(request, "The example was removed.")
    return redirect("labeling:topic", campaign.name, topic.pk)


def _topic(campaign: Campaign, pk: int) -> Topic:
    return get_or_404(campaign.topics, "There is no such class in this campaign.", pk=pk)


def _image(campaign: Campaign, name: str) -> Image:
    image = campaign.dataset.images.filter(name=name).first()
    if image is None:
        raise Refusal(f"{campaign.dataset.name} has no image {name!r}.", field="image")
    return image


def _words(topic: Topic) -> dict[str, object]:
    return {
        "name": topic.name,
        "synonyms": "; ".join(topic.synonyms),
        "definition": topic.definition,
        "url": topic.url,
        "guidance": topic.guidance,
        "siblings": sibling_lines(topic.siblings),
    }


def _topic_page(
    request: SignedIn, campaign: Campaign, topic: Topic, form: TopicForm, example_form: ExampleForm
) -> HttpResponse:
    return render_campaign(
        request,
        "labeling/topic.html",
        campaign,
        "topics",
        topic=topic,
        form=form,
        example_form=example_form,
        examples=list(topic.examples.select_related("image").order_by("-answer", "pk")),
        naming_topic=topic.key == opening.NAMING_TOPIC["key"],
        **_picker(request, campaign),
    )
