"""Pages of MAD competitions: published accuracies, galleries, true labels."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.benchmarks import access, forms, runs
from evaluation.benchmarks.kinds.mad import class_gallery, competitions, failure_tags, pages
from evaluation.benchmarks.kinds.mad import gallery as galleries
from evaluation.benchmarks.kinds.mad.forms import AccuracyForm, FailureTagsForm
from evaluation.benchmarks.kinds.mad.true_labels import ask_true_label, both_wrong
from evaluation.metrics.wordnet import nouns
from labeling.errors import Refusal
from labeling.plurals import count_of
from labeling.web import attachments
from labeling.web.forms.common import respond_if_valid
from labeling.web.views.shared import SignedIn, key_of

GALLERY_PAGE = 60
MAD = "mad"


@require_http_methods(["GET", "POST"])
def accuracies(request: SignedIn, name: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name, MAD)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = AccuracyForm(*data, user=request.user, benchmark=row)
    if form.is_valid():
        try:
            changed = competitions.set_accuracies(row, form.accuracies())
        except Refusal as error:
            forms.add_fault(form, error, "file")
        else:
            form.forget_files()
            if changed:
                if not runs.obstacle(row):
                    runs.request(row, request.user)
                messages.success(request, "Saved. The next run compares the ranks with them.")
            return redirect("evaluation:benchmark", row.name)
    form.keep_files()
    status = 200 if not form.errors else 422
    context = {"form": form, "benchmark": row}
    return render(request, "evaluation/mad/accuracies.html", context, status=status)


@require_GET
def gallery(request: SignedIn, name: str, first: int, second: int) -> HttpResponse:
    row = access.benchmark_for(request.user, name, MAD)
    a = get_object_or_404(row.submissions, position=first)
    b = get_object_or_404(row.submissions, position=second)
    entries = galleries.entries(row, a, b)
    if not entries and galleries.entries(row, b, a):
        return redirect("evaluation:gallery", row.name, second, first)
    case = request.GET.get("case", "")
    case_entries = [entry for entry in entries if entry.case == case] if case else entries
    if case == "III":
        case_entries = galleries.by_distance(case_entries)
    page = Paginator(case_entries, GALLERY_PAGE).get_page(request.GET.get("page"))
    failure_tags.add_to(row, request.user, page.object_list)
    context = {
        "benchmark": row,
        "first": a,
        "second": b,
        "case": case,
        "counts": galleries.counts(entries),
        "vocabulary": failure_tags.vocabulary(row),
        "total": len(entries),
        "page_obj": page,
        "query": f"case={case}" if case in galleries.CASES else "",
        "unasked": sum(e.case == "III" and not e.asked_for_truth for e in entries),
        "without_distance": sum(entry.mean_distance is None for entry in case_entries),
        "neighbours": pages.neighbours(row, a, b),
    }
    return render(request, "evaluation/mad/gallery.html", context)


@require_GET
def case_three(request: SignedIn, name: str) -> HttpResponse:
    """Return the images of case III of every pair, by distance from the true label, as CSV."""
    row = access.benchmark_for(request.user, name, MAD)
    head, rows = galleries.CASE_THREE.content(galleries.case_three(row))
    return attachments.csv([head, *rows], f"{row.name}-case-iii.csv")


@require_GET
def class_images(request: SignedIn, name: str) -> HttpResponse:
    """Render the chosen images of one class over all pairs."""
    row = access.benchmark_for(request.user, name, MAD)
    classes, chosen = class_gallery.classes(row), request.GET.get("class", "")
    is_known = chosen in dict(classes)
    context = {
        "benchmark": row,
        "classes": classes,
        "chosen": chosen,
        "gallery": class_gallery.of_class(row, chosen) if is_known else None,
    }
    return render(request, "evaluation/mad/class_gallery.html", context)


@require_http_methods(["GET", "POST"])
def tags(request: SignedIn, name: str) -> HttpResponse:
    """Render the counts of failure tags and the form of their vocabulary."""
    row = access.benchmark_for(request.user, name, MAD)
    lines = {"vocabulary": "\n".join(failure_tags.vocabulary(row))}
    form = FailureTagsForm(request.POST if request.method == "POST" else None, initial=lines)

    def change() -> HttpResponse:
        failure_tags.set_vocabulary(row, form.cleaned_data["vocabulary"].splitlines())
        messages.success(request, "Saved.")
        return redirect("evaluation:failure_tags", row.name)

    if form.is_bound and (response := respond_if_valid(form, change)):
        return response
    counts = failure_tags.COUNTS.page_context(failure_tags.counts(row))
    context = {"benchmark": row, "form": form, "counts": counts}
    status = 400 if form.errors else 200
    return render(request, "evaluation/mad/failure_tags.html", context, status=status)


@require_GET
def tag_counts(request: SignedIn, name: str) -> HttpResponse:
    """Return the counts of failure tags as CSV."""
    row = access.benchmark_for(request.user, name, MAD)
    head, rows = failure_tags.COUNTS.content(failure_tags.counts(row))
    return attachments.csv([head, *rows], f"{row.name}-failure-tags.csv")


@require_POST
def tag(request: SignedIn, name: str, selection: int) -> HttpResponse:
    """Replace the reader's tags of an image, for the classifiers in the form."""
    row = access.benchmark_for(request.user, name, MAD)
    line = get_object_or_404(row.selections.select_related("first", "second"), pk=selection)
    classifiers = request.POST.getlist("classifier")
    if not classifiers:
        raise Refusal("Name the classifier whose prediction has the tags.", field="classifier")
    chosen = {key: request.POST.getlist(f"tags {key}") for key in classifiers}
    failure_tags.set_tags(row, request.user, line.image, chosen)
    gallery_page = reverse(
        "evaluation:gallery", args=[row.name, line.first.position, line.second.position]
    )
    return redirect(f"{gallery_page}?{request.GET.urlencode()}#image-{line.pk}")


@require_POST
def true_labels(request: SignedIn, name: str) -> HttpResponse:
    """Ask for the true label of one image, or of all images of a pair."""
    row = access.benchmark_for(request.user, name, MAD)
    chosen = row.selections.filter(state="chosen").select_related("first", "second")
    if (selection := key_of(request.POST.get("selection", ""))) is not None:
        lines = list(chosen.filter(pk=selection))
    else:
        first, second = (key_of(request.POST.get(key, "")) for key in ("first", "second"))
        if first is None or second is None:
            raise Refusal("Name the image or the pair to ask about.", field="selection")
        lines = list(chosen.filter(first__position=first, second__position=second))
        lines = both_wrong(row, lines)
    if not lines:
        raise Refusal("There is no such image here on which both classifiers were wrong.")
    net = nouns.load() if competitions.meta_of(row).needs_wordnet else nouns.load_or_none()
    naming = ask_true_label(row, request.user, lines, net)
    messages.success(
        request,
        f"{count_of(len(lines), 'image')}: people are asked for the true label "
        f"in “{naming.title}”.",
    )
    return redirect(
        "evaluation:gallery", row.name, lines[0].first.position, lines[0].second.position
    )
