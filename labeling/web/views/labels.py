"""Import of known labels, and export of a release's labels."""

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from labeling.campaigns.access import dataset_for
from labeling.datasets.datasets import check_may_add, may_add
from labeling.exchange import export_files, label_files
from labeling.exchange.prior_labels import LabelImportResult
from labeling.formats.reading import skipped_sentence
from labeling.models import Campaign, Dataset, Job, Release
from labeling.plurals import count_of
from labeling.releases import freezing
from labeling.web.forms.common import respond_if_valid
from labeling.web.forms.labels import ExportOptionsForm, KnownLabelsForm
from labeling.web.views.shared import SignedIn, done, own_campaign, query_of, render_campaign

RECENT_SHOWN = 10


@require_http_methods(["GET", "POST"])
def dataset_labels(request: SignedIn, name: str) -> HttpResponse:
    """Show the known labels of the dataset by source; a post imports more."""
    dataset = dataset_for(request.user, name)
    if request.method == "GET":
        return _known(request, dataset, _form(request, dataset))
    check_may_add(request.user, dataset)
    form = _form(request, dataset, request.POST, request.FILES)

    def start_import() -> HttpResponse:
        data = form.cleaned_data
        made = label_files.import_upload(
            dataset,
            request.user,
            data["file"],
            format_name=data["format"],
            source=data["source"],
            campaign=data.get("campaign"),
            repair=data["repair"],
        )
        if not isinstance(made, Job):
            return done(request, _summary(made), "dataset_labels", dataset.name)
        messages.info(request, "The labels are being imported. You can leave this page.")
        return redirect("labeling:dataset_labels", dataset.name)

    return respond_if_valid(form, start_import) or _known(request, dataset, form)


@require_GET
def release_labels(request: SignedIn, name: str, number: int) -> HttpResponseBase:
    """Download a release's labels as a zip in a format, or show the progress of writing it."""
    campaign = own_campaign(request, name)
    release = freezing.release_for(campaign, number)
    format_name = request.GET.get("format", "csv")
    form = ExportOptionsForm(request.GET, format_name=format_name, kind=campaign.kind)
    if not form.is_valid():
        return _options(request, campaign, release, {format_name: form})
    made = export_files.fetch(release, format_name, form.options())
    context = {
        "release": release,
        "words": label_files.WORDS[format_name],
        "query": query_of(request, "fragment"),
    }
    if "fragment" in request.GET:
        job = made if isinstance(made, Job) else None
        if job is None:
            assert not isinstance(made, Job)
            made.close()
        context |= {"campaign": campaign, "job": job}
        return render(request, "labeling/_release_labels.html", context)
    if isinstance(made, Job):
        return render_campaign(
            request, "labeling/release_labels.html", campaign, "releases", job=made, **context
        )
    return FileResponse(
        made,
        as_attachment=True,
        filename=export_files.file_name(release, format_name),
        content_type="application/zip",
    )


@require_GET
def release_label_options(request: SignedIn, name: str, number: int) -> HttpResponse:
    """Show the export formats that have options."""
    campaign = own_campaign(request, name)
    return _options(request, campaign, freezing.release_for(campaign, number), {})


def _options(
    request: SignedIn, campaign: Campaign, release: Release, sent: dict[str, ExportOptionsForm]
) -> HttpResponse:
    """Show the page of options. sent: the faulty form, by its format."""
    rows = []
    for format_name in export_files.formats_of(campaign):
        form = sent.get(format_name)
        form = form or ExportOptionsForm(format_name=format_name, kind=campaign.kind)
        if form.fields:
            rows.append((format_name, label_files.WORDS[format_name], form))
    template = "labeling/release_label_options.html"
    response = render_campaign(
        request, template, campaign, "releases", release=release, formats=rows
    )
    response.status_code = 400 if sent else 200
    return response


def _summary(result: LabelImportResult) -> str:
    """Return the result of a label import as a sentence."""
    labels, images = result["labels"], result["images"]
    message = f"Imported: {count_of(labels, 'label')} of {count_of(images, 'image')}."
    if result["unknown"]:
        message += (
            f" {count_of(result['unknown'], 'label')} had the value unknown and were skipped."
        )
    sentences = [*map(skipped_sentence, result.get("skipped", [])), *result.get("mended", [])]
    return " ".join(
        (message, *(f"{sentence[0].upper()}{sentence[1:].rstrip('.')}." for sentence in sentences))
    )


def _form(request: SignedIn, dataset: Dataset, *data: object) -> KnownLabelsForm:
    campaigns = label_files.graph_campaigns(dataset, request.user)
    return KnownLabelsForm(*data, campaigns=campaigns, user=request.user)


def _known(request: SignedIn, dataset: Dataset, form: KnownLabelsForm) -> HttpResponse:
    jobs = list(label_files.jobs_of(dataset)[:RECENT_SHOWN])
    context = {
        "dataset": dataset,
        "form": form,
        "sources": label_files.by_source(dataset),
        "jobs": [
            {
                "job": job,
                "summary": _summary(job.payload["result"]) if "result" in job.payload else "",
            }
            for job in jobs
        ],
        "busy": any(job.state not in Job.ENDED for job in jobs),
        "may_import": may_add(request.user, dataset),
    }
    fragment = "fragment" in request.GET
    template = "labeling/_dataset_labels.html" if fragment else "labeling/dataset_labels.html"
    return render(request, template, context)
