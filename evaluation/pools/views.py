"""The page of a dataset's pools."""

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from evaluation.models import RegisteredModel
from evaluation.pools import making
from evaluation.pools.forms import PoolForm
from labeling.campaigns.access import dataset_for
from labeling.models import Job
from labeling.web.api.base import download
from labeling.web.forms.common import carried_out
from labeling.web.views.shared import SignedIn, page_of, query_of

PAGE = 25
ENDED = (Job.State.DONE, Job.State.FAILED)


@login_required
@require_http_methods(["GET", "POST"])
def pools(request: SignedIn, name: str) -> HttpResponse:
    """Render the pools of a dataset and the form of a new one."""
    dataset = dataset_for(request.user, name)
    form = PoolForm(request.POST if request.method == "POST" else None)

    def make() -> HttpResponse:
        making.request(dataset, request.user, form.cleaned_data["models"])
        return redirect("evaluation:pools", dataset.name)

    if form.is_bound and (response := carried_out(form, make)):
        return response
    page = page_of(request, dataset.pools.select_related("job", "created_by"), PAGE)
    context = {
        "dataset": dataset,
        "form": form,
        "page_obj": page,
        "query": query_of(request),
        "busy": any(pool.job.state not in ENDED for pool in page.object_list),
        "has_models": RegisteredModel.objects.exists(),
    }
    fragment = "fragment" in request.GET
    template = "evaluation/_pools.html" if fragment else "evaluation/pools.html"
    return render(request, template, context, status=400 if form.errors else 200)


@login_required
@require_GET
def pool_file(request: SignedIn, name: str, pk: int) -> FileResponse:
    """Return the zip of a pool."""
    pool = making.pool_for(dataset_for(request.user, name), pk)
    return download(making.open_file(pool), f"{name}-pool-{pk}.zip", "application/zip")
