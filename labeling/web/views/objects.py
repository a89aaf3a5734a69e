"""A dataset's objects: the list, and one object with its parts and merges."""

import math
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from labeling.campaigns.access import dataset_for
from labeling.datasets import objects, vocabulary_store
from labeling.datasets.datasets import may_add
from labeling.db.lookups import get_or_404
from labeling.errors import NotYours, Refusal
from labeling.exchange import merging
from labeling.geometry import crops, svg
from labeling.models import Dataset, Item
from labeling.parts.model import Merge, PartedObject
from labeling.reports import objects_page
from labeling.web.views.shared import SignedIn, display_response, query_of, sent

TILES = 24
METHODS = {"radius": "Exact radius", "alphashape": "alphashape package"}
# `crop` in the URL → the part of the image that is shown.
CROPS = {"wide": "With context", "tight": "Tight", "image": "Whole image"}


@require_GET
def dataset_objects(request: SignedIn, name: str) -> HttpResponse:
    """Show the dataset's objects with their parts, filtered by category, flag and image."""
    dataset = dataset_for(request.user, name)
    category, flag = request.GET.get("category", ""), request.GET.get("flag", "")
    search = request.GET.get("q", "").strip()[:200].replace("\0", "")
    items = objects_page.find(dataset, category, flag, search)
    page = Paginator(items, TILES).get_page(request.GET.get("page"))
    context = {
        "dataset": dataset,
        "categories": objects_page.categories(dataset),
        "flags": objects_page.FLAGS,
        "category": category,
        "flag": flag,
        "search": search,
        "filtered": bool(category or flag or search),
        "page_obj": page,
        "query": query_of(request),
        "tiles": objects_page.tiles(dataset, list(page.object_list)),
        "may_import": may_add(request.user, dataset),
    }
    return render(request, "labeling/objects.html", context)


@require_GET
def dataset_object(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show one object: its crops, its parts, and one merge with a preview of another radius."""
    dataset = dataset_for(request.user, name)
    item = _object(dataset, pk)
    context = _context(request, dataset, item)
    fragment = "fragment" in request.GET
    template = "labeling/_object_view.html" if fragment else "labeling/object.html"
    return render(request, template, context)


@require_GET
def object_image(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Return the upright photograph of an object."""
    return display_response(_object(dataset_for(request.user, name), pk).image)


@require_POST
def object_merge(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Save another radius or method for a merge, or reset it to automatic."""
    dataset = dataset_for(request.user, name)
    item = _object(dataset, pk)
    part, instance, text = (sent(request, field) for field in ("part", "instance", "radius"))
    parameters = {"part": part, "instance": instance, "crop": sent(request, "crop")}
    radius, method = None, merging.METHODS[0]
    try:
        if "automatic" not in request.POST:
            radius, method = _radius(text), sent(request, "method") or method
        if "preview" in request.POST:
            parameters |= {"radius": "" if radius is None else f"{radius:g}", "method": method}
        else:
            merging.choose(item, part, instance, radius, request.user, method)
            messages.success(
                request,
                "Saved. The original pieces are kept, so you can choose "
                "another radius at any time.",
            )
    except NotYours:
        raise
    except Refusal as refusal:
        if refusal.status != Refusal.status:
            raise
        messages.error(request, refusal.message)
    address = reverse("labeling:dataset_object", args=(dataset.name, item.pk))
    return redirect(f"{address}?{urlencode(parameters)}#merge")


def _object(dataset: Dataset, pk: int) -> Item:
    return get_or_404(
        objects.in_dataset(dataset).select_related("image__dataset"),
        "There is no such object in this dataset.",
        pk=pk,
    )


def _radius(text: str) -> float:
    """Return the field's value in pixels. Raises Refusal."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise Refusal("Give the radius as a number of pixels, such as 3.5.") from None


def _context(request: SignedIn, dataset: Dataset, item: Item) -> dict[str, object]:
    vocabulary = vocabulary_store.current_vocabulary(dataset)
    parted = objects.describe([item])[item.pk]
    category = vocabulary.category(parted.category) if vocabulary else None
    parts = objects_page.drawn(parted, category)
    crop = request.GET.get("crop", "")
    crop = crop if crop in CROPS else "wide"
    wide, room = objects.crop_of(item)
    width, height = item.image.width, item.image.height
    boxes = {"wide": wide, "tight": crops.tight(parted.box, width, height)}
    view = boxes.get(crop, (0, 0, width, height))
    there = {part.part.key for part in parts}
    return {
        "dataset": dataset,
        "item": item,
        "object": parted,
        "category": objects_page.name_of(vocabulary, parted.category),
        "parts": parts,
        "missing": [part.name for part in category.parts if part.key not in there]
        if category
        else [],
        "crop": crop,
        "crops": CROPS,
        "wide": wide,
        "tight": boxes["tight"],
        "room": room,
        "shown": view,
        "view_box": svg.view_box(view),
        "outline": svg.path_data(parted.outline or ()),
        "may_import": may_add(request.user, dataset),
        "neighbours": _neighbours(dataset, item),
        **_merge(request, parted),
    }


def _merge(request: SignedIn, parted: PartedObject) -> dict[str, object]:
    """Return the selected merge, by default the first, with the radius to preview."""
    all_merges = [
        (part, candidate)
        for part in parted.parts
        for candidate in part.merges
        if len(candidate.pieces) > 1
    ]
    key = (request.GET.get("part", ""), request.GET.get("instance", ""))
    chosen = [
        (part, candidate) for part, candidate in all_merges if (part.key, candidate.instance) == key
    ]
    if not (chosen or all_merges):
        return {"merge": None}
    part, merge = (chosen or all_merges)[0]
    context: dict[str, object] = {"part_key": part.key, "kept": merge, "tried": False, "fault": ""}
    if text := request.GET.get("radius", ""):
        try:
            method = request.GET.get("method", merge.method)
            tried = merging.with_radius(merge, _radius(text), method)
        except Refusal as refusal:
            context["fault"] = refusal.message
        else:
            context["tried"] = True
            return context | _shown(tried)
    return context | _shown(merge)


def _shown(merge: Merge) -> dict[str, object]:
    made = merging.preview(merge)
    radius = made.merge.radius if made.merge.radius is not None else made.joins_at
    return {
        "merge": made,
        # Round up: a slightly smaller radius would not join the pieces.
        "radius": f"{math.ceil(100 * radius) / 100:g}",
        "slider_most": max(10, round(4 * made.joins_at)),
        "least": merging.MIN_PX,
        "methods": METHODS,
        "alpha_value": 1 / radius,
        "pieces": [svg.path_data(piece) for piece in made.merge.pieces],
        "alpha": svg.path_data(made.polygons),
        "hull": svg.path_data(made.hull),
        "alpha_share": made.area / made.union_area,
        "hull_share": made.hull_area / made.union_area,
    }


def _neighbours(dataset: Dataset, item: Item) -> dict[str, int | None]:
    """Return the objects before and after this one."""
    rows = objects.in_dataset(dataset)
    before = rows.filter(image_id__lte=item.image_id).exclude(
        image_id=item.image_id, pk__gte=item.pk
    )
    after = rows.filter(image_id__gte=item.image_id).exclude(
        image_id=item.image_id, pk__lte=item.pk
    )
    return {
        "before": before.reverse().values_list("pk", flat=True).first(),
        "after": after.values_list("pk", flat=True).first(),
    }
