"""Pages of single images: the browser of a dataset, its saved views, and one image."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from labeling.campaigns.access import dataset_for, image_for
from labeling.datasets import image_ranks
from labeling.db.lookups import get_or_404
from labeling.models import Campaign, Dataset, SavedView
from labeling.reports import image_browser, image_page
from labeling.reports.image_browser import Browser
from labeling.web.forms.images import ImageFilterForm, SavedViewForm
from labeling.web.views.shared import SignedIn, display_response, done, key_of, query_of


def _browser(
    request: SignedIn, dataset: Dataset, campaigns: Sequence[Campaign]
) -> tuple[ImageFilterForm, Browser]:
    """Return the form of the filter, and the images that match it."""
    predictions = image_browser.predictions_on(request.user, dataset)
    form = ImageFilterForm(campaigns, predictions.submissions, request.GET)
    return form, Browser(dataset, form.image_filter, campaigns, predictions)


def _cursor(text: str) -> int | None:
    """Return the cursor that a page begins after; some cursors are negative."""
    cursor = key_of(text.removeprefix("-"))
    return -cursor if cursor and text.startswith("-") else cursor


@require_GET
def dataset_images(request: SignedIn, name: str) -> HttpResponse:
    """Show the dataset's images that match the filter, and this user's saved views."""
    dataset = dataset_for(request.user, name)
    campaigns = image_browser.watched_campaigns(request.user, dataset)
    form, browser = _browser(request, dataset, campaigns)
    after, before = (_cursor(request.GET.get(key, "")) for key in ("after", "before"))
    query = query_of(request, "after", "before")
    if browser.order.is_stored:
        image_ranks.enqueue_sort(dataset)
    return render(
        request,
        "labeling/images.html",
        {
            "dataset": dataset,
            "form": form,
            "key_page": browser.page(after=after, before=before),
            "scan": image_browser.SCAN_IMAGES,
            "is_stored": browser.order.is_stored,
            "query": query,
            "views": request.user.saved_views.filter(dataset=dataset).order_by("name"),
            "view_form": SavedViewForm(initial={"query": query}),
        },
    )


@require_GET
def image(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show one image with its labels, votes, objects and uses.

    go=next, go=previous: redirect to the next or the previous image within the filter.
    """
    row = image_for(request.user, name, pk)
    dataset = row.dataset
    campaigns = image_browser.watched_campaigns(request.user, dataset)
    query = query_of(request, "go")
    if way := request.GET.get("go"):
        _, browser = _browser(request, dataset, campaigns)
        neighbour = browser.neighbour(row, back=way == "previous")
        if neighbour is None:
            messages.info(request, f"No {way} image within {image_browser.SCAN_IMAGES:,} images.")
        address = reverse("labeling:image", args=[name, neighbour or pk])
        return redirect(f"{address}?{query}" if query else address)
    return render(
        request,
        "labeling/image.html",
        {
            "dataset": dataset,
            "image": row,
            "facts": image_page.facts(request.user, row, campaigns),
            "query": query,
        },
    )


@require_GET
def image_display(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Return the image as annotators see it: upright, without metadata."""
    return display_response(image_for(request.user, name, pk))


@require_POST
def view_save(request: SignedIn, name: str) -> HttpResponse:
    """Save the filter and order under a name, and replace a saved view of that name."""
    dataset = dataset_for(request.user, name)
    form = SavedViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The view was not saved. Give it a name of up to 80 characters.")
        return redirect("labeling:dataset_images", dataset.name)
    title, query = form.cleaned_data["name"], QueryDict(form.cleaned_data["query"]).urlencode()
    request.user.saved_views.update_or_create(
        dataset=dataset, name=title, defaults={"query": query}
    )
    messages.success(request, f"Saved as “{title}”.")
    return redirect(f"{reverse('labeling:dataset_images', args=[dataset.name])}?{query}")


@require_POST
def view_remove(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Remove a saved view of this user."""
    dataset = dataset_for(request.user, name)
    views = SavedView.objects.filter(user=request.user, dataset=dataset)
    row = get_or_404(views, "You have no such saved view.", pk=pk)
    row.delete()
    return done(request, f"“{row.name}” is removed.", "dataset_images", dataset.name)
