"""A campaign's words per language: which are missing, a file up and down."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from labeling.campaigns import texts
from labeling.plurals import count_of
from labeling.web.forms.common import WordedForm, carried_out
from labeling.web.views.shared import SignedIn, own_campaign, render_campaign

# As many of the missing texts are named.
NAMED = 20


class TextsForm(WordedForm):
    """The texts of all languages, as a file."""

    texts = forms.FileField(
        label="Texts, as a file",
        allow_empty_file=True,
        help_text='JSON: {"de": {"title", "instructions", "question", "classes", "parts"}}. It '
        "replaces all texts per language that there are.",
        widget=forms.ClearableFileInput(attrs={"accept": ".json,application/json"}),
    )


@login_required
@require_http_methods(["GET", "POST"])
def campaign_texts(request: SignedIn, name: str) -> HttpResponse:
    """Which texts each language has, and a file that replaces them."""
    campaign = own_campaign(request, name)
    form = TextsForm(request.POST or None, request.FILES or None)

    def save() -> HttpResponse:
        found = texts.read(form.cleaned_data["texts"].read())
        kept = texts.replace(campaign, request.user, found)
        messages.success(request, f"Saved: {count_of(len(kept), 'language')}.")
        return redirect("labeling:campaign_texts", campaign.name)

    if saved := carried_out(form, save):
        return saved
    rows = [
        {"row": row, "named": row.missing[:NAMED], "more": len(row.missing[NAMED:])}
        for row in texts.coverage(campaign)
    ]
    return render_campaign(
        request, "labeling/campaign_texts.html", campaign, "settings", form=form, rows=rows
    )


@login_required
@require_GET
def campaign_texts_file(request: SignedIn, name: str) -> HttpResponse:
    """The texts with those that are missing as empty ones, to go on with."""
    campaign = own_campaign(request, name)
    response = JsonResponse(
        texts.with_gaps(campaign), json_dumps_params={"ensure_ascii": False, "indent": 1}
    )
    response["Content-Disposition"] = f'attachment; filename="{campaign.name}-texts.json"'
    return response
