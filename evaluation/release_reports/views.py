"""The page of a release."""

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_GET

from evaluation.release_reports import making, pages
from evaluation.release_reports.pages import ReportCard
from labeling.campaigns.access import RESEARCHER
from labeling.models import Campaign, Release, User
from labeling.release_files.exporting import PUBLISHED
from labeling.releases import freezing
from labeling.web.forms.common import ReleaseField, WordedForm
from labeling.web.forms.labels import ExportOptionsForm
from labeling.web.views.shared import SignedIn, own_campaign, query_of, render_campaign

PAGE = 50


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


@login_required
@require_GET
def release(request: SignedIn, name: str, number: int) -> HttpResponse:
    """Show the report of a release, beside that of another, and the form that publishes it."""
    campaign = own_campaign(request, name)
    row = freezing.release_for(campaign, number)
    form = CompareForm(request.GET, row, request.user)
    beside = form.cleaned_data["beside"] if form.is_valid() else None
    rows = [row] if beside is None else [row, beside]
    cards = [ReportCard.of(each, making.fetch(each)) for each in rows]
    reports = [card.report for card in cards if card.report is not None]
    fragment = "fragment" in request.GET
    return render_campaign(
        request,
        "evaluation/_release.html" if fragment else "evaluation/release.html",
        campaign,
        "releases",
        release=row,
        form=form,
        cards=cards,
        busy=any(card.job is not None for card in cards),
        figures=pages.figures(reports),
        page_obj=Paginator(pages.class_rows(reports), PAGE).get_page(request.GET.get("page")),
        query=query_of(request, "page", "fragment"),
        publish_form=ExportOptionsForm(format_name=PUBLISHED, kind=campaign.kind),
        published=PUBLISHED,
    )
