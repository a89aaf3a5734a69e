"""The site's side of each kind of question: templates, script, context and reading of posted forms.

ASSAY_QUESTION_KINDS maps each kind to the class of its pages.
"""

import functools

from django.conf import settings
from django.utils.module_loading import import_string

from annotator.kinds.base import Page
from labeling.kinds.base import load
from labeling.models import Campaign


def page_of(campaign: Campaign) -> Page:
    """Return the page of the campaign's kind."""
    return pages()[campaign.kind]


def pages() -> dict[str, Page]:
    """Return the pages by kind.

    Raises ImportError or TypeError for a wrong entry in the settings.
    """
    return _pages(tuple(settings.ASSAY_QUESTION_KINDS.items()))


@functools.cache
def _pages(paths_and_names: tuple[tuple[str, str], ...]) -> dict[str, Page]:
    pages = {}
    for path, name in paths_and_names:
        page = import_string(name)
        if not (isinstance(page, type) and issubclass(page, Page)):
            raise TypeError(f"{name} is not a page of a kind: derive it from annotator.kinds.Page.")
        kind = load(path)
        pages[kind.name] = page(kind)
    return pages
