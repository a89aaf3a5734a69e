"""The right to open campaigns, granted by administrators."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from labeling.campaigns.access import check_administrator
from labeling.campaigns.rights import accounts, grant, revoke
from labeling.db.lookups import get_or_404
from labeling.models import User
from labeling.web.views.shared import SignedIn, sent

MAX_LISTED_ACCOUNTS = 50


@require_GET
def rights(request: SignedIn) -> HttpResponse:
    """Show the accounts with the right to open campaigns, or those matching a search."""
    check_administrator(request.user)
    search = request.GET.get("q", "").replace("\0", "").strip()[:150]
    # Fetch one more than is shown, to know without a count whether there are more.
    users = list(accounts(search)[: MAX_LISTED_ACCOUNTS + 1])
    context = {
        "accounts": users[:MAX_LISTED_ACCOUNTS],
        "has_more": len(users) > MAX_LISTED_ACCOUNTS,
        "search": search,
    }
    return render(request, "labeling/rights.html", context | {"shown": MAX_LISTED_ACCOUNTS})


@require_POST
def right_change(request: SignedIn, pk: int) -> HttpResponse:
    """Grant or revoke the right of one account."""
    check_administrator(request.user)
    account = get_or_404(User.objects, "There is no such account.", pk=pk, is_active=True)
    if sent(request, "may") == "yes":
        grant(account, request.user)
        messages.success(request, f"{account.username} can now open campaigns.")
    else:
        revoke(account, request.user)
        messages.success(
            request, f"{account.username} can no longer open campaigns. Their roles stay."
        )
    search = sent(request, "q")
    query = f"?{urlencode({'q': search})}" if search else ""
    return redirect(reverse("labeling:rights") + query)
