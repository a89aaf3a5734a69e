"""The page of a release."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from evaluation.release_reports import making, pages
from evaluation.release_reports.pages import ReportCard
from labeling.campaigns.access import RESEARCHER
from labeling.errors import Refusal
from labeling.jobs import kept_files
from labeling.models import Campaign, Release, User
from labeling.release_files.exporting import PUBLISHED
from labeling.releases import freezing
from labeling.web.forms.common import ReleaseField, WordedForm, respond_if_valid
from labeling.web.forms.labels import ExportOptionsForm
from labeling.web.views.shared import SignedIn, own_campaign, query_of, render_campaign

PAGE_SIZE = 50


class CompareForm(WordedForm):
    """The release to compare with this one, of those that the user may see."""

    beside = ReleaseField(
        queryset=Release.objects.none(),
        required=False,
        label="Compare with",
        empty_label="no release",
    )

    def __init__(self, data: QueryDict, release: Release, user: User) -> None:
        super().__init__(data)
        chosen = self.fields["beside"]
        assert isinstance(chosen, forms.ModelChoiceField)
        chosen.queryset = (
            Release.objects.filter(campaign__in=Campaign.objects.of(user, RESEARCHER))
            .exclude(pk=release.pk)
            .select_related("campaign")
            .order_by("-created_at")
        )


class WindowsForm(WordedForm):
    """Windows of an objectness detector on the images of the release, and of the one beside it."""

    windows = forms.FileField(
        required=False,
        label="Windows on the images of this release",
        help_text="CSV image,rank,x0,y0,x1,y1: rows of an image together, ranks from 1.",
    )
    beside_windows = forms.FileField(
        required=False, label="Windows on the images of the other release"
    )

    def __init__(self, *args: Any, beside: Release | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if beside is None:
            del self.fields["beside_windows"]

    def clean(self) -> None:
        if not self.errors and not any(self.cleaned_data.values()):
            self.add_error("windows", "Choose a file.")


@require_http_methods(["GET", "POST"])
def release(request: SignedIn, name: str, number: int) -> HttpResponse:
    """Show the report of a release, beside that of another, and the form that publishes it.

    A post uploads windows, for clutter.
    """
    campaign = own_campaign(request, name)
    row = freezing.release_for(campaign, number)
    form = CompareForm(request.GET, row, request.user)
    beside = form.cleaned_data["beside"] if form.is_valid() else None
    is_post = request.method == "POST"
    uploads = WindowsForm(
        request.POST if is_post else None, request.FILES if is_post else None, beside=beside
    )

    def keep() -> HttpResponse:
        query = request.GET.copy()
        for field, file in uploads.cleaned_data.items():
            if file:
                query[field] = kept_files.keep(request.user, file, field=field)
        return redirect(f"{request.path}?{query.urlencode()}")

    if is_post and (response := respond_if_valid(uploads, keep)):
        return response
    cards = [_card(request, row, "windows")]
    if beside is not None:
        cards.append(_card(request, beside, "beside_windows"))
    reports = [card.report for card in cards if card.report is not None]
    fragment = "fragment" in request.GET
    response = render_campaign(
        request,
        "evaluation/_release.html" if fragment else "evaluation/release.html",
        campaign,
        "releases",
        release=row,
        form=form,
        uploads=uploads,
        windows=request.GET.get("windows", ""),
        cards=cards,
        busy=any(card.job is not None for card in cards),
        figures=pages.figures(reports),
        has_clutter=any(report.means["clutter"].n for report in reports),
        page_obj=Paginator(pages.class_rows(reports), PAGE_SIZE).get_page(request.GET.get("page")),
        query=query_of(request, "page", "fragment"),
        publish_form=ExportOptionsForm(format_name=PUBLISHED, kind=campaign.kind),
        published=PUBLISHED,
    )
    response.status_code = 400 if uploads.errors else 200
    return response


def _card(request: SignedIn, row: Release, field: str) -> ReportCard:
    """Return the release with its report; without clutter if its windows are gone."""
    try:
        made = making.fetch(row, request.user, request.GET.get(field, ""))
    except Refusal as refusal:
        messages.error(request, str(refusal))
        made = making.fetch(row, request.user)
    return ReportCard.of(row, made)
