"""Pages of the images of a run's numbers, for researchers of the campaign."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from evaluation.benchmarks import access
from evaluation.benchmarks.kinds.labeled.images import heatmap, outcomes, pages
from evaluation.benchmarks.kinds.labeled.scoring import is_baseline
from evaluation.metrics.wsol.box_scores import center_gaussian
from evaluation.models import Benchmark, Run
from labeling.errors import NotYours
from labeling.files import BadInput
from labeling.web.views.shared import SignedIn, display_response, query_of

# Side of the baseline's map.
MAP_PX = 224


@require_GET
def images(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show cards of a number's images, by case and class."""
    row, chosen = _scored(request, name, pk)
    context = pages.images(row, chosen, request.GET)
    context |= {"benchmark": row, "run": chosen}
    return render(request, "evaluation/labeled/images.html", context)


@require_GET
def image(request: SignedIn, name: str, pk: int, number: int) -> HttpResponse:
    """Show one image with the outcome of every classifier."""
    row, chosen = _scored(request, name, pk)
    context = pages.image(row, chosen, number, request.GET)
    if context is None:
        raise Http404
    context |= {"benchmark": row, "run": chosen, "back": query_of(request)}
    return render(request, "evaluation/labeled/image.html", context)


@require_GET
def photo(request: SignedIn, name: str, pk: int, number: int) -> HttpResponse:
    """Return the photograph, upright and in the size shown to annotators."""
    row, chosen = _scored(request, name, pk)
    line = _line(row, chosen, number)
    photograph = row.campaign.dataset.images.filter(name=line["image"]).first()
    if photograph is None:
        raise NotYours("This photograph left the dataset.")
    return display_response(photograph)


@require_GET
def score_map(request: SignedIn, name: str, pk: int, number: int) -> HttpResponse:
    """Return a classifier's score map as a translucent picture."""
    row, chosen = _scored(request, name, pk)
    line = _line(row, chosen, number)
    folder = pages.map_folder(row, chosen, request.GET.get("classifier", ""))
    if folder is None or row.kind != "wsol":
        raise Http404
    try:
        content = (
            heatmap.drawn(center_gaussian(MAP_PX, MAP_PX))
            if is_baseline(folder)
            else heatmap.layer(folder / f"{line['image']}.npy")
        )
    except BadInput:
        raise Http404 from None
    response = HttpResponse(content, content_type="image/webp")
    response["Cache-Control"] = "private, max-age=3600"
    return response


def _line(row: Benchmark, run: Run, number: int) -> outcomes.OutcomesLine:
    index = pages.index_of(row, run)
    if number >= len(index):
        raise Http404
    return index.lines[number]


def _scored(request: SignedIn, name: str, pk: int) -> tuple[Benchmark, Run]:
    """Return the benchmark and its run. Raises NotYours, or Http404 without a result."""
    row = access.benchmark_for(request.user, name)
    access.check_images(row)
    chosen = get_object_or_404(row.runs.select_related("release"), pk=pk, state=Run.State.DONE)
    if row.kind not in outcomes.NUMBERS:
        raise Http404
    return row, chosen
