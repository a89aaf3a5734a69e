"""The page of a release's splits."""

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.release_splits import making, pages, parts
from evaluation.release_splits.forms import SplitForm
from labeling.models import Job
from labeling.releases import freezing
from labeling.web.api.base import download
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.views.shared import SignedIn, own_campaign, page_of, query_of, render_campaign

PAGE_SIZE = 10


@require_http_methods(["GET", "POST"])
def splits(request: SignedIn, name: str, number: int) -> HttpResponse:
    """Render the splits of a release and the form of a new one."""
    campaign = own_campaign(request, name)
    release = freezing.release_for(campaign, number)
    form = SplitForm(request.POST if request.method == "POST" else None, release=release)

    def make() -> HttpResponse:
        making.request(release, request.user, **form.cleaned_data)
        return redirect("evaluation:splits", name, number)

    if form.is_bound and (response := respond_if_valid(form, make)):
        return response
    rows = release.splits.select_related("job", "sealed_by", "extends__release", "created_by")
    page = page_of(request, rows, PAGE_SIZE)
    fragment = "fragment" in request.GET
    response = render_campaign(
        request,
        "evaluation/_splits.html" if fragment else "evaluation/splits.html",
        campaign,
        "releases",
        release=release,
        form=form,
        page_obj=page,
        query=query_of(request, "page", "fragment"),
        cards=pages.cards(campaign, list(page.object_list), request.user),
        busy=any(row.state not in Job.ENDED for row in page.object_list),
    )
    response.status_code = 400 if form.errors else 200
    return response


@require_POST
def split_delete(request: SignedIn, name: str, number: int, pk: int) -> HttpResponse:
    """Delete a split that no benchmark uses and no split extends."""
    campaign = own_campaign(request, name)
    with refusals_shown(request):
        making.delete(parts.split_of(campaign, number, pk), request.user)
        messages.success(request, f"Split {pk} is deleted.")
    return redirect("evaluation:splits", name, number)


@require_GET
def split_file(request: SignedIn, name: str, number: int, pk: int) -> FileResponse:
    """Return the files of a split as a zip, without a list that another user sealed."""
    campaign = own_campaign(request, name)
    file = parts.open_zip(parts.split_of(campaign, number, pk), request.user)
    return download(file, f"{name}-{number}-split-{pk}.zip", "application/zip")
