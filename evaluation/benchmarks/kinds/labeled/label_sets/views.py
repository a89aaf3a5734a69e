"""The page of a benchmark's label sets: versions, open reviews, and the forms for both."""

from collections.abc import Callable
from contextlib import nullcontext

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from evaluation.benchmarks import access, downloads
from evaluation.benchmarks.forms import add_fault
from evaluation.benchmarks.kinds.labeled.label_sets import auditing, pages, reviews
from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers, open_zip
from evaluation.benchmarks.kinds.labeled.label_sets.forms import (
    ApplyReviewForm,
    AskAgainForm,
    OpenReviewForm,
)
from evaluation.benchmarks.uploads import uploaded
from evaluation.metrics.wordnet.nouns import WordNetMissing, load
from evaluation.models import Benchmark
from labeling.campaigns.access import check_may_open
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.plurals import count_of
from labeling.web.views.shared import SignedIn

FAULTS = (BadInput, Refusal, WordNetMissing)
FAMILY = "labeled"


@require_http_methods(["GET", "POST"])
def label_sets(request: SignedIn, name: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name, FAMILY)
    reviews.check_kind(row)
    opening = OpenReviewForm(request.POST if "open" in request.POST else None, benchmark=row)
    sent = (request.POST, request.FILES) if "apply" in request.POST else ()
    applying = ApplyReviewForm(*sent, user=request.user, benchmark=row)
    if opening.is_valid() and (made := _tried(opening, lambda: _opened(request, row, opening))):
        return made
    if applying.is_valid() and (made := _tried(applying, lambda: _applied(request, row, applying))):
        return made
    applying.keep_files()
    context = pages.page(row) | {"opening": opening, "applying": applying, "campaign": row.campaign}
    status = 422 if opening.errors or applying.errors else 200
    return render(request, "evaluation/labeled/label_sets.html", context, status=status)


@require_http_methods(["GET", "POST"])
def label_audit(request: SignedIn, name: str) -> HttpResponse:
    """Show the most doubtful labels, and ask people about them again."""
    row = access.benchmark_for(request.user, name, FAMILY)
    form = AskAgainForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and (made := _tried(form, lambda: _asked_again(request, row, form))):
        return made
    context = auditing.page(row) | {"benchmark": row, "form": form, "campaign": row.campaign}
    status = 422 if form.errors else 200
    return render(request, "evaluation/labeled/label_audit.html", context, status=status)


def _asked_again(request: SignedIn, row: Benchmark, form: forms.Form) -> HttpResponse:
    count, people = form.cleaned_data["count"], form.cleaned_data["people"]
    outcome = auditing.ask_again(row, request.user, count, people)
    more = count_of(people, "more person", "more people")
    message = f"{count_of(outcome.count, 'question asks', 'questions ask')} {more}."
    left = [f"{number:,} unchanged: {why}." for why, number in outcome.skipped.items()]
    show = messages.success if outcome.count else messages.error
    show(request, " ".join([message, *left]))
    return redirect("evaluation:label_audit", row.name)


@require_GET
def version_zip(request: SignedIn, name: str, version: int) -> HttpResponseBase:
    """Return the files of a version as a zip."""
    row = access.benchmark_for(request.user, name, FAMILY)
    return downloads.file(*open_zip(row, reviews.version_for(row, version)))


def _tried(form: forms.Form, action: Callable[[], HttpResponse]) -> HttpResponse | None:
    try:
        return action()
    except FAULTS as error:
        add_fault(form, error, "")
    return None


def _opened(request: SignedIn, row: Benchmark, form: OpenReviewForm) -> HttpResponse:
    check_may_open(request.user)
    chosen = dict(form.cleaned_data)
    policy = {"votes": chosen.pop("votes")}
    made = reviews.open_review(row, request.user, wordnet=load(), policy=policy, **chosen)
    text = f"{made.campaign.title} is a draft that asks about {made.meta['counts']['pairs']:,} "
    messages.success(request, f"{text}pairs of image and class. Check it, then open it.")
    return redirect("labeling:campaign", made.campaign.name)


def _applied(request: SignedIn, row: Benchmark, form: ApplyReviewForm) -> HttpResponse:
    data = form.cleaned_data
    file = data["queue"]
    with uploaded(file) if file else nullcontext() as path:
        chosen = data["campaign"], data["release"], path
        made = apply_answers(row, request.user, *chosen, file.name if file else "")
    form.forget_files()
    text = f"The label sets have version {made.version}. Every submission is now scored by it."
    messages.success(request, text)
    return redirect("evaluation:benchmark", row.name)
