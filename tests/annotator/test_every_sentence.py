"""No sentence of annotators' pages stands outside the translations: with translations that put
every one into ⟦brackets⟧, no word is left outside but what people themselves wrote."""

import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from labeling.models import Campaign, Example, Flag, Topic, User
from tests.clients import logged_in

# Names of the site, units and keys, which are the same in every language.
SAME = re.compile(r"Assay|IoU|UTC|Alt|Esc|KiB")
# Pages that annotators do not see.
FOR_RESEARCHERS = {
    "api_docs.html",
    "_first_steps.html",
    "_open_tasks.html",
    "_key_pagination.html",
    "_pagination.html",
}
READ = {"alt", "title", "aria-label", "placeholder", "data-tip", "data-title", "data-elsewhere"}
HIDDEN = {"script", "style", "template", "textarea"}
PAGES = (
    *("/", "/accounts/password/change/", "/accounts/logout/", "/no-such-page/"),
    *("label/", "training/", "tutorial/", "standing/", "label/flags/"),
    *("label/class/", "label/last/"),
)
FOR_NOBODY = ["/", "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/"]


class Texts(HTMLParser):
    """What people read or hear of a page, but for what is told in another language."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs) -> None:
        self.hidden += tag in HIDDEN
        if not self.hidden:
            self.found += [value or "" for name, value in attrs if name in READ]

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in HIDDEN

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.found.append(data)


@pytest.fixture
def bracketed(monkeypatch):
    """Translations that put every sentence into brackets."""
    # The first call decides which implementation is in force.
    translation.gettext("Yes")
    for name in ("gettext", "ngettext", "pgettext", "npgettext"):
        say: Callable[..., str] = getattr(translation._trans, name)
        monkeypatch.setattr(
            translation._trans, name, lambda *args, say=say: f"⟦{say(*args)}⟧", raising=False
        )


def outside(page: str) -> set[str]:
    """Texts of the page that are in no brackets."""
    # A sentence may hold markup, so that one pair of brackets spans several texts.
    while (shorter := re.sub(r"⟦[^⟦⟧]*⟧", "", page)) != page:
        page = shorter
    texts = Texts()
    texts.feed(page)
    return {text.strip() for text in texts.found if re.search(r"[A-Za-z]{2}", text)}


def without_what_people_wrote(text: str) -> str:
    """The text without names and words of researchers and accounts, and the name of the site."""
    campaigns = Campaign.objects.values_list("name", "title", "instructions")
    topics = Topic.objects.values_list("name", "definition", "guidance")
    people = User.objects.values_list("username", "pseudonym")
    flags = Flag.objects.values_list("note", "reply")
    examples = Example.objects.values_list("caption", "answer")
    tables = (campaigns, topics, people, flags, examples, settings.LANGUAGES)
    written = {part for rows in tables for row in rows for part in row}
    for synonyms in Topic.objects.values_list("synonyms", flat=True):
        written |= set(synonyms)
    for part in sorted({*written, "Assay"} - {""}, key=len, reverse=True):
        text = text.replace(part, "")
    return text


def test_pages_say_nothing_outside_the_translations(world, bracketed):
    bob = logged_in(world.bob)
    names = Campaign.objects.filter(memberships__user=world.bob).values_list("name", flat=True)
    paths = [page for page in PAGES if page.startswith("/")]
    paths += [f"/campaigns/{name}/{page}" for name in names for page in PAGES if page[0] != "/"]
    pages = {path: bob.get(path) for path in paths}
    pages |= {f"{path} by nobody": Client().get(path) for path in FOR_NOBODY}

    texts_outside = {path: outside(page.content.decode()) for path, page in pages.items()}
    left = {
        path: rest
        for path, texts in texts_outside.items()
        if (rest := [t for t in texts if re.search("[A-Za-z]{2}", without_what_people_wrote(t))])
    }

    assert {page.status_code for page in pages.values()} <= {200, 302, 404, 409}
    assert sum(page.status_code == 200 for page in pages.values()) > 30
    assert left == {}


# Pieces of researchers' pages that annotators' pages have too.
SHARED = {f"_boxes_{name}.html" for name in ("flags", "legend", "picture", "tools")}
TEMPLATES = [
    path
    for path in sorted((settings.BASE_DIR / "templates").rglob("*.html"))
    if path.name in SHARED
    or (
        path.relative_to(settings.BASE_DIR / "templates").parts[0] not in ("labeling", "evaluation")
        and path.name not in FOR_RESEARCHERS
    )
]
TOKEN = re.compile(
    r"{% blocktranslate.*?endblocktranslate %}|{% comment.*?endcomment %}|{%.*?%}|{#.*?#}|{{.*?}}"
    r"|<script.*?</script>",
    re.S,
)


def test_templates_have_no_text_outside_the_translations():
    """Also of what no page above shows."""
    left = {}
    for path in TEMPLATES:
        text = re.sub(r"(?s){% block body_class %}.*?{% endblock %}", "", path.read_text())
        parser = Texts()
        parser.feed(TOKEN.sub(" ", text))
        texts = {part.strip() for part in parser.found if re.search("[A-Za-z]{2}", part)}
        if texts := {part for part in texts if not SAME.match(part)}:
            left[path.name] = texts

    assert left == {}


# Scripts of researchers' pages.
ENGLISH_SCRIPTS = {
    "review",
    "cds",
    "labeled",
    "copy.js",
    "upload.js",
    "new_campaign.js",
    "merge.js",
}
SAID = re.compile(
    r"""\b(?:announce|murmur|say|whisper)\(\s*["`][A-Z][a-z]"""
    r"""|(?:textContent|title|alt|placeholder) = ["`][A-Z][a-z]"""
    r"""|setAttribute\("(?:aria-label|title|alt)", ["`][A-Z][a-z]"""
)


def test_scripts_say_nothing_outside_the_translations():
    scripts = settings.BASE_DIR / "static" / "js"
    left = {
        path.name: texts
        for path in sorted(scripts.rglob("*.js"))
        if not ENGLISH_SCRIPTS & set(path.relative_to(scripts).parts)
        and (texts := SAID.findall(path.read_text()))
    }

    assert left == {}
