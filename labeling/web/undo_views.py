"""The page on which a campaign, a dataset or a benchmark is renamed, archived or deleted."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from labeling.campaigns.access import check_may_open, dataset_for
from labeling.datasets.datasets import check_may_add
from labeling.db.lookups import get_or_404
from labeling.removal import privacy
from labeling.removal.undo import CampaignUndo, DatasetUndo, ImageUndo, Undo
from labeling.web.forms.common import NAME_HELP, WordedForm, refusals_shown, respond_if_valid
from labeling.web.views.shared import SignedIn, done, own_campaign

ARCHIVED = "Archived. It is now listed under “Archived” below the list."


class NameForm(WordedForm):
    """A new name, and a title where there is one."""

    title = forms.CharField(max_length=200)
    name = forms.CharField(max_length=80, help_text=NAME_HELP)


class DeletionForm(WordedForm):
    """The name of the row to delete, typed to confirm."""

    typed = forms.CharField(max_length=400, label="Its name, to confirm")


@require_http_methods(["GET", "POST"])
def campaign_undo(request: SignedIn, name: str) -> HttpResponse:
    """Rename, archive, clone or delete the campaign."""
    return undo_page(
        request, CampaignUndo(own_campaign(request, name), request.user), "labeling:campaign"
    )


@require_http_methods(["GET", "POST"])
def dataset_undo(request: SignedIn, name: str) -> HttpResponse:
    """Rename, archive or delete the dataset."""
    dataset = dataset_for(request.user, name)
    check_may_add(request.user, dataset)
    return undo_page(request, DatasetUndo(dataset, request.user), "labeling:dataset")


@require_http_methods(["GET", "POST"])
def image_undo(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Delete an image that no campaign has asked about, or remove its pixels for privacy."""
    dataset = dataset_for(request.user, name)
    check_may_add(request.user, dataset)
    image = get_or_404(dataset.images, "There is no such image in this dataset.", pk=pk)
    undo = ImageUndo(image, request.user)
    is_private = request.POST.get("action") == "privacy"
    form = DeletionForm(None if is_private else request.POST or None)
    privacy_form = DeletionForm(request.POST if is_private else None, prefix="private")

    def delete() -> HttpResponse:
        undo.delete(form.cleaned_data["typed"])
        return done(request, f"{image.name} is deleted.", "dataset", dataset.name)

    def remove() -> HttpResponse:
        published = privacy.remove(image, request.user, privacy_form.cleaned_data["typed"])
        message = "Its pixels are removed, and it cannot be added again."
        if published:
            message += f" Earlier releases have its labels: {', '.join(published)}."
        return done(request, message, "dataset_undo", dataset.name)

    response = (
        respond_if_valid(privacy_form, remove) if is_private else respond_if_valid(form, delete)
    )
    if response:
        return response
    context = {
        "dataset": dataset,
        "image": image,
        "form": form,
        "privacy_form": privacy_form,
        "published": privacy.releases_with(image),
        "dependents": undo.dependents(),
    }
    return render(request, "labeling/delete_image.html", context)


@require_POST
def invitation_delete(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Delete an invitation; people who joined with it stay."""
    campaign = own_campaign(request, name)
    get_or_404(
        campaign.invitations, "There is no such invitation to this campaign.", pk=pk
    ).delete()
    message = "The invitation is deleted. People who joined with it stay."
    return done(request, message, "people", campaign.name)


def undo_page(request: SignedIn, undo: Undo, page: str) -> HttpResponse:
    """Show the page of one row; a post carries out its `action`. page: URL name of the row."""
    row, list_page = undo.row, f"{page}s"
    action = request.POST.get("action", "")
    name_form = NameForm(
        request.POST if action in ("rename", "clone") else None,
        initial={"name": row.name, "title": getattr(row, "title", "")},
    )
    if not hasattr(row, "title"):
        del name_form.fields["title"]
    form = DeletionForm(request.POST if action == "delete" else None)

    def rename() -> HttpResponse:
        undo.rename(**name_form.cleaned_data)
        messages.success(request, "Renamed. Links to the old address no longer work.")
        return redirect(page, row.name)

    def clone() -> HttpResponse:
        assert isinstance(undo, CampaignUndo)
        check_may_open(request.user)
        copy = undo.clone(**name_form.cleaned_data)
        messages.success(request, "Cloned: a draft with the same texts, classes and rules.")
        return redirect(page, copy.name)

    def delete() -> HttpResponse:
        undo.delete(form.cleaned_data["typed"])
        messages.success(request, f"The {undo.noun} is deleted.")
        return redirect(list_page)

    if action in ("archive", "unarchive"):
        with refusals_shown(request):
            getattr(undo, action)()
            messages.success(request, ARCHIVED if action == "archive" else "Back in the lists.")
        return redirect(f"{page}_undo", row.name)
    may_clone = isinstance(undo, CampaignUndo) and request.user.may_open_campaigns
    acts = {"rename": (name_form, rename), "delete": (form, delete)}
    if may_clone:
        acts["clone"] = (name_form, clone)
    if action in acts and (response := respond_if_valid(*acts[action])):
        return response
    context = {
        "undo": undo,
        "row": row,
        "title": str(row),
        "row_url": reverse(page, args=[row.name]),
        "list_url": reverse(list_page),
        "name_form": name_form,
        "form": form,
        "may_clone": may_clone,
        "dependents": undo.dependents(),
        "tombstones": row.tombstones.order_by("-pk") if isinstance(undo, DatasetUndo) else [],
    }
    return render(request, "labeling/rename_archive_delete.html", context)
