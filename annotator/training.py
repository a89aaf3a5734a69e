"""Training and test: questions with a known answer before the first real one (or again later)."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods


@login_required
@require_http_methods(["GET", "POST"])
def training(request: HttpRequest, name: str) -> HttpResponse:
    return redirect("label", name)
