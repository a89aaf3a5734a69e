"""The researcher's page that asks people to name frames, with the estimated cost."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evaluation.benchmarks import access
from evaluation.benchmarks.kinds.cds import people as asking
from evaluation.metrics.wordnet.nouns import WordNetMissing
from evaluation.models import Benchmark
from evaluation.scoring.cds import wording
from labeling.errors import Refusal
from labeling.exchange import lists
from labeling.files import BadInput
from labeling.models import Job
from labeling.web.forms.common import add_refusal
from labeling.web.views.shared import SignedIn

MAX_WORDS = 1024 * 1024


class PeopleForm(forms.Form):
    """Which frames people name, how many people per frame, and from which classes."""

    part_scheme = forms.MultipleChoiceField(
        label="Part schemes", widget=forms.CheckboxSelectMultiple
    )
    content_scheme = forms.MultipleChoiceField(
        label="Content schemes", widget=forms.CheckboxSelectMultiple
    )
    objects = forms.IntegerField(
        required=False,
        min_value=1,
        label="Maximum number of objects",
        help_text="Drawn by the benchmark’s seed. Leave it empty for all.",
    )
    votes = forms.IntegerField(
        min_value=asking.MIN_VOTES,
        max_value=asking.MAX_VOTES,
        initial=3,
        label="People who name each frame",
        help_text="The majority’s class counts; without a majority, none does.",
    )
    vocabulary = forms.CharField(
        required=False,
        max_length=MAX_WORDS,
        label="Classes to choose from",
        widget=forms.Textarea(attrs={"rows": 6, "placeholder": "n02121620\nn02084071"}),
        help_text=(
            "Wnids, one a line. Leave it empty for the benchmark’s categories and the classes that "
            "are right for them. “None of these” and “Too hard to tell” are always there."
        ),
    )

    def __init__(self, *args: Any, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        stated = benchmark.settings
        for field, words in (
            ("part_scheme", {}),
            ("content_scheme", dict(wording.content_choices())),
        ):
            names = stated[f"{field}s"]
            chosen = self.fields[field]
            chosen.choices = [(name, words.get(name, name)) for name in names]  # type: ignore[attr-defined]
            chosen.initial = names[:1]

    def ask_options(self) -> dict[str, Any]:
        """Return the options of people.ask."""
        return self.cleaned_data | {
            "vocabulary": lists.read_names(self.cleaned_data["vocabulary"]) or None
        }


@require_http_methods(["GET", "POST"])
def people(request: SignedIn, name: str) -> HttpResponse:
    """Show the cost and start asking; later show the progress."""
    row = access.benchmark_for(request.user, name, "cds")
    if "fragment" in request.GET and row.naming is not None:
        fragment_context = {"benchmark": row, "naming": row.naming, "job": _job(row)}
        return render(request, "evaluation/cds/_people_next.html", fragment_context)
    form = PeopleForm(request.POST or None, benchmark=row)
    cost, classes = None, []
    if request.method == "POST" and form.is_valid():
        options = form.ask_options()
        try:
            if "ask" in request.POST:
                asking.ask(row, request.user, **options)
                messages.success(request, "The frames are being added. Then open the campaign.")
                return redirect("evaluation:cds_people", row.name)
            schemes = options["part_scheme"], options["content_scheme"]
            cost = asking.cost(
                row, asking.asked_of(row, *schemes, options["objects"]), options["votes"]
            )
            classes = asking.vocabulary_of(row, options["vocabulary"])
        except Refusal as error:
            cost = None
            add_refusal(form, error)
        except (BadInput, WordNetMissing) as error:
            form.add_error(None, str(error))
    context = {
        "benchmark": row,
        "form": form,
        "cost": cost,
        "classes": classes,
        "naming": row.naming,
        "job": _job(row),
    }
    status = 422 if form.errors else 200
    return render(request, "evaluation/cds/people.html", context, status=status)


def _job(row: Benchmark) -> Job | None:
    """Return the current job that adds the frames."""
    return Job.objects.filter(kind=asking.JOB, key=str(row.pk)).order_by("-pk").first()
