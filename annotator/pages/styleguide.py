"""The style guide: every component in both themes, for who changes the looks. In DEBUG alone."""

import re
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

STATIC = Path(settings.BASE_DIR) / "static"


@require_GET
def styleguide(request: HttpRequest) -> HttpResponse:
    tokens = (STATIC / "css" / "tokens.css").read_text()
    icons = (STATIC / "vendor" / "lucide" / "icons.svg").read_text()
    context = {
        "themes": ("light", "dark"),
        "colours": re.findall(r"^  --([\w-]+): light-dark\(#", tokens, re.MULTILINE),
        "sizes": re.findall(r"--text-(\w+):", tokens),
        "spaces": re.findall(r"--space-(\w+):", tokens),
        "icons": re.findall(r'<symbol id="([\w-]+)"', icons),
    }
    return render(request, "annotator/styleguide.html", context)
