"""A person's API tokens."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from labeling.errors import Refusal
from labeling.web import tokens as actions
from labeling.web.forms import TokenForm, add_refusal
from labeling.web.views.shared import SignedIn


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def tokens(request: SignedIn) -> HttpResponse:
    """The person's tokens; a new one's secret is on this one page and nowhere else."""
    form = TokenForm(request.POST or None)
    made, secret = None, ""
    if form.is_valid():
        try:
            made, secret = actions.create_token(request.user, **form.cleaned_data)
            form = TokenForm()
        except Refusal as refusal:
            add_refusal(form, refusal)
    return render(
        request,
        "labeling/tokens.html",
        {
            "form": form,
            "made": made,
            "secret": secret,
            "tokens": list(actions.tokens_of(request.user)),
            "now": timezone.now(),
        },
    )


@login_required
@require_POST
def token_revoke(request: SignedIn, key: str) -> HttpResponse:
    """Makes a token useless."""
    actions.revoke_token(request.user, key)
    messages.success(request, "The token works no more.")
    return redirect("labeling:tokens")
