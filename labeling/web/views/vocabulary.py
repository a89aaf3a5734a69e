"""A dataset's vocabulary of parts: categories, uploads, versions."""

import re

from django.contrib import messages
from django.core.cache import caches
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.campaigns.access import campaigns_for, dataset_for
from labeling.datasets import vocabulary_store
from labeling.db.lookups import get_or_404
from labeling.errors import NotAllowed, NotYours, Refusal
from labeling.follow_ups import opening
from labeling.models import Campaign, Dataset
from labeling.models import Vocabulary as Version
from labeling.vocabulary.changes import changes, count_changes
from labeling.vocabulary.types import PartVocabulary
from labeling.web import attachments
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.forms.vocabulary import MAX_ROWS, CategoryForms, VocabularyForm
from labeling.web.views.shared import RESEARCHER, SignedIn, done, key_of, sent

VERSIONS = 20
WNID = re.compile(r"n\d{8}")


@require_http_methods(["GET", "POST"])
def vocabulary(request: SignedIn, name: str) -> HttpResponse:
    """Show the latest version by category; a post adds a whole new version."""
    dataset = dataset_for(request.user, name)
    if request.method == "GET":
        return _page(request, dataset, None)
    _check_may_edit(request, dataset)
    form = VocabularyForm(request.POST, request.FILES, user=request.user)

    def replace() -> HttpResponse:
        base = form.cleaned_data["version"]
        made = vocabulary_store.add_version(dataset, form.vocabulary, request.user, instead_of=base)
        return _saved(request, dataset, made)

    return respond_if_valid(form, replace) or _page(request, dataset, form)


@require_POST
def vocabulary_start(request: SignedIn, name: str) -> HttpResponse:
    """Copy the shipped vocabulary into the dataset."""
    dataset = dataset_for(request.user, name)
    return _saved(request, dataset, vocabulary_store.start(dataset, request.user))


@require_http_methods(["GET", "POST"])
def vocabulary_category(request: SignedIn, name: str, key: str) -> HttpResponse:
    """Edit one category."""
    dataset = dataset_for(request.user, name)
    _check_may_edit(request, dataset)
    version = _opened_with(request, dataset)
    vocabulary = vocabulary_store.read(version) if version else None
    places = (
        {category.key: n for n, category in enumerate(vocabulary.categories)} if vocabulary else {}
    )
    if key not in places:
        raise NotYours("The vocabulary does not, or no longer, have this category.")
    return _category(request, dataset, version, places[key])


@require_http_methods(["GET", "POST"])
def vocabulary_category_new(request: SignedIn, name: str) -> HttpResponse:
    """Add a category at the end."""
    dataset = dataset_for(request.user, name)
    _check_may_edit(request, dataset)
    return _category(request, dataset, _opened_with(request, dataset), None)


@require_POST
def vocabulary_category_remove(request: SignedIn, name: str, key: str) -> HttpResponse:
    """Remove a category from the vocabulary."""
    dataset = dataset_for(request.user, name)
    _check_may_edit(request, dataset)
    vocabulary = vocabulary_store.current_vocabulary(dataset)
    category = vocabulary.category(key) if vocabulary else None
    if vocabulary is None or category is None:
        raise NotYours("The vocabulary does not, or no longer, have this category.")
    content = vocabulary.content()
    content["categories"] = [row for row in content["categories"] if row["key"] != category.key]
    with refusals_shown(request):
        made = vocabulary_store.add_version(dataset, content, request.user)
        return _saved(request, dataset, made)
    return redirect("labeling:vocabulary_category", dataset.name, category.key)


@require_GET
def vocabulary_version(request: SignedIn, name: str, version: int) -> HttpResponse:
    """Show a version and its changes."""
    dataset = dataset_for(request.user, name)
    row = _version(dataset, version)
    vocabulary = vocabulary_store.read(row)
    before = dataset.vocabularies.filter(version__lt=version).order_by("-version").first()
    differences = changes(vocabulary_store.read(before), vocabulary) if before else []
    return render(
        request,
        "labeling/vocabulary_version.html",
        {
            "dataset": dataset,
            "version": row,
            "latest": vocabulary_store.current(dataset),
            "before": before,
            "vocabulary": vocabulary,
            "rows": _rows(vocabulary, {}),
            **{
                kind: [change for change in differences if change.kind == kind]
                for kind in ("added", "removed", "changed")
            },
        },
    )


@require_GET
def vocabulary_download(request: SignedIn, name: str, version: int) -> HttpResponse:
    """Download a version as YAML that can be uploaded."""
    dataset = dataset_for(request.user, name)
    row = _version(dataset, version)
    text = vocabulary_store.read(row).as_yaml()
    file = f"{dataset.name}-vocabulary-{row.version}.yaml"
    return attachments.text(text, "application/yaml; charset=utf-8", file)


def _page(request: SignedIn, dataset: Dataset, form: VocabularyForm | None) -> HttpResponse:
    version = vocabulary_store.current(dataset)
    vocabulary = vocabulary_store.read(version) if version else None
    counts = vocabulary_store.objects_by_category(dataset, vocabulary) if vocabulary else {}
    initial: dict[str, object] = {}
    if vocabulary and version:
        # Writing YAML takes half of the page's time. Versions of the same hash have the same text.
        key = f"vocabulary-{version.sha256}"
        text = caches["local"].get_or_set(key, vocabulary.as_yaml)
        initial = {"text": text, "version": version.version}
    return render(
        request,
        "labeling/vocabulary.html",
        {
            "dataset": dataset,
            "version": version,
            "vocabulary": vocabulary,
            "rows": _rows(vocabulary, counts) if vocabulary else [],
            "all_open": "open" in request.GET,
            "may_edit": vocabulary_store.may_edit(request.user, dataset),
            "form": form or VocabularyForm(initial=initial, user=request.user),
            "versions": _versions(request, dataset),
        },
    )


def _opened_with(request: SignedIn, dataset: Dataset) -> Version | None:
    """Return the version that the form was opened with; the latest if none was sent."""
    number = key_of(sent(request, "version")) if request.method == "POST" else None
    version = dataset.vocabularies.filter(version=number).first() if number else None
    return version or vocabulary_store.current(dataset)


def _category(
    request: SignedIn, dataset: Dataset, version: Version | None, index: int | None
) -> HttpResponse:
    vocabulary = vocabulary_store.read(version) if version else None
    category = (
        vocabulary.categories[index] if vocabulary is not None and index is not None else None
    )
    if category is not None and len(category.parts) > MAX_ROWS:
        messages.info(
            request,
            f"{category.name} has too many parts for this form. Edit the vocabulary as text.",
        )
        return redirect("labeling:vocabulary", dataset.name)
    forms = CategoryForms(
        vocabulary, index, version.version if version else None, request.POST or None
    )
    if request.method == "POST" and forms.is_valid():
        try:
            made = vocabulary_store.add_version(
                dataset,
                forms.content(),
                request.user,
                instead_of=forms.category.cleaned_data["version"],
            )
        except Refusal as refusal:
            forms.show_refusal(refusal)
        else:
            return _saved(request, dataset, made)
    count = (
        vocabulary_store.objects_by_category(dataset, vocabulary) if vocabulary and category else {}
    )
    return render(
        request,
        "labeling/vocabulary_category.html",
        {
            "dataset": dataset,
            "category": category,
            "objects": count.get(category.key, 0) if category else 0,
            "form": forms.category,
            "parts": forms.parts,
            "faulty": bool(forms.category.errors or any(forms.parts.errors)),
        },
    )


def _saved(request: SignedIn, dataset: Dataset, made: Version) -> HttpResponse:
    message = f"Version {made.version} of the vocabulary is now the latest."
    return done(request, message, "vocabulary", dataset.name)


def _check_may_edit(request: SignedIn, dataset: Dataset) -> None:
    if not vocabulary_store.may_edit(request.user, dataset):
        raise NotAllowed("Only the dataset's owner can change its vocabulary. Ask the owner.")


def _version(dataset: Dataset, version: int) -> Version:
    return get_or_404(
        dataset.vocabularies.select_related("created_by"),
        "The vocabulary has no such version.",
        version=version,
    )


def _rows(vocabulary: PartVocabulary, objects: dict[str, int]) -> list[dict[str, object]]:
    """Return each category with its parts and the definition of its wnid."""
    meant = _meant(vocabulary)
    return [
        {
            "category": category,
            "meant": meant.get(category.key, ""),
            # Without WordNet there are no definitions, so no key counts as unknown.
            "unknown": bool(meant)
            and category.key not in meant
            and bool(WNID.fullmatch(category.key)),
            "objects": objects.get(category.key, 0),
            "names": ", ".join(part.name for part in category.parts),
            "parts": [
                {
                    "part": part,
                    "aliases": ", ".join(part.aliases),
                    "merge": [(key, ", ".join(names)) for key, names in part.merge.items()],
                }
                for part in category.parts
            ],
        }
        for category in vocabulary.categories
    ]


def _meant(vocabulary: PartVocabulary) -> dict[str, str]:
    """Return key → definition of the categories in the site's glossary."""
    topics = opening.describe([category.key for category in vocabulary.categories])
    return {topic["key"]: topic["definition"] for topic in topics if topic.get("definition")}


def _versions(request: SignedIn, dataset: Dataset) -> list[dict[str, object]]:
    """Return the latest versions with their number of changes and the campaigns that use them."""
    rows = list(
        dataset.vocabularies.select_related("created_by").order_by("-version")[: VERSIONS + 1]
    )
    using = vocabulary_store.campaigns_by_version(dataset)
    seen = campaigns_for(request.user, RESEARCHER).filter(dataset=dataset)
    mine = set(seen.values_list("pk", flat=True))
    version_rows = []
    for n, row in enumerate(rows[:VERSIONS]):
        before = rows[n + 1] if n + 1 < len(rows) else None
        campaigns: list[Campaign] = using.get(row.version, [])
        version_rows.append(
            {
                "version": row,
                "summary": count_changes(
                    changes(vocabulary_store.read(before), vocabulary_store.read(row))
                )
                if before
                else {},
                "campaigns": [campaign for campaign in campaigns if campaign.pk in mine],
                "others": sum(campaign.pk not in mine for campaign in campaigns),
                "old": n > 0,
            }
        )
    return version_rows
