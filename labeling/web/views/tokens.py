"""A person's API tokens."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from labeling.web.forms.common import refusals_shown
from labeling.web.forms.people import TokenForm
from labeling.web.tokens import address_of, create_token, revoke_token, tokens_of
from labeling.web.views.shared import SignedIn, done


@never_cache
@require_http_methods(["GET", "POST"])
def tokens(request: SignedIn) -> HttpResponse:
    """Show the user's tokens; the secret of a new one is shown only here."""
    form = TokenForm(request.POST or None)
    made, secret = None, ""
    if form.is_valid():
        with refusals_shown(form):
            made, secret = create_token(
                request.user, **form.cleaned_data, address=address_of(request)
            )
            form = TokenForm()
    return render(
        request,
        "labeling/tokens.html",
        {
            "form": form,
            "made": made,
            "secret": secret,
            "tokens": list(tokens_of(request.user)),
            "now": timezone.now(),
        },
    )


@require_POST
def token_revoke(request: SignedIn, key: str) -> HttpResponse:
    """Revoke a token."""
    revoke_token(request.user, key, address_of(request))
    return done(request, "The token is revoked.", "tokens")
