"""Gold drawings: an object that nobody is asked about, with its known parts."""

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from labeling.datasets import objects
from labeling.db.lookups import get_or_404
from labeling.errors import Refusal
from labeling.kinds import KINDS
from labeling.models import Campaign, GivenLabel, Gold, Item, Question
from labeling.quality.gold import add_gold
from labeling.reports import parts_picture
from labeling.web.forms.common import respond_if_valid
from labeling.web.forms.questions import GoldDrawingForm
from labeling.web.views.shared import (
    SignedIn,
    display_response,
    done,
    own_campaign,
    page_of,
    query_of,
    render_campaign,
)

PAGE_SIZE = 24


@require_GET
def gold_objects(request: SignedIn, name: str) -> HttpResponse:
    """Show the objects that may become gold, by image name."""
    campaign = own_campaign(request, name)
    search = request.GET.get("q", "").strip()[:200].replace("\0", "")
    items = _free_objects(campaign)
    if search:
        items = items.filter(image__name__icontains=search)
    page = page_of(request, items.select_related("image"), PAGE_SIZE)
    return render_campaign(
        request,
        "labeling/gold_objects.html",
        campaign,
        "gold",
        page_obj=page,
        search=search,
        query=query_of(request),
    )


@require_http_methods(["GET", "POST"])
def gold_draw(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show the editor for an object; the drawing becomes its known answer."""
    campaign = own_campaign(request, name)
    item = _item(campaign, pk)
    gold = Gold.objects.filter(question__campaign=campaign, question__item=item).first()
    begin = {"explanation": gold.explanation if gold else ""}
    form = GoldDrawingForm(request.POST or None, initial=begin)

    def add() -> HttpResponse:
        row = form.cleaned_data | {"image": item.image.name, "object": item.name}
        add_gold(campaign, request.user, [row])
        message = f"{item.name} on {item.image.name} is gold now."
        return done(request, message, "gold", campaign.name)

    if added := respond_if_valid(form, add):
        return added
    current = gold.answer if gold and "parts" in gold.answer else None
    return render_campaign(
        request,
        "labeling/gold_draw.html",
        campaign,
        "gold",
        form=form,
        item=item,
        gold=gold,
        setup=parts_picture.editor_setup(
            campaign,
            item,
            objects.category_of(item),
            form.cleaned_data.get("answer", current) if form.is_bound else current,
            f"gold:{campaign.pk}:{item.pk}",
        ),
    )


@require_GET
def gold_image(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Return the photograph of an object that is or may become gold."""
    return display_response(_item(own_campaign(request, name), pk).image)


def _free_objects(campaign: Campaign) -> QuerySet[Item]:
    """Return objects of the campaign's categories without a question in it."""
    questions = Question.objects.filter(campaign=campaign, item=OuterRef("pk"))
    topics = campaign.topics.values("key")
    labels = GivenLabel.objects.filter(geometry__isnull=True, key__in=topics)
    known = labels.filter(item=OuterRef("pk"))
    return objects.in_dataset(campaign.dataset).filter(Exists(known), ~Exists(questions))


def _item(campaign: Campaign, pk: int) -> Item:
    if not KINDS[campaign.kind].drawn:
        raise Refusal("This campaign has no drawings. Add gold as a question with its answer.")
    return get_or_404(
        objects.in_dataset(campaign.dataset).select_related("image"),
        "There is no such object in this campaign.",
        pk=pk,
    )
