"""From the web come names alone: no path, no address, no option of an engine or of a model.

Models are registered on the command line; stores and engines are in settings. What each field of
the API makes of such a value is in test_api_values.py.
"""

import importlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from django import forms
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework import serializers

from labeling.web.serializers.derived import FormBody, RowSerializer
from tests.access import ROWS
from tests.test_access import fill

# Names of fields, or parts of them, that would take what only the command line and settings may.
TELLING = re.compile(
    r"(^|_)(paths?|dir|directory|folder|root|ur[il]s?|href|address|host|base|bucket|s3|on|work"
    r"|stores?|storage|engines?|clusters?|models?|weights|spec|device|command|args?|options?)(_|$)"
)
OF_ADDRESSES = (forms.URLField, forms.FilePathField, serializers.URLField)
# Fields of such a name, where they are, and why.
ALLOWED = {
    # Leads below ASSAY_IMPORT_ROOT alone: imports.import_root_path.
    "path": "ImportForm NewImagesSerializer",
    # Of a topic: a link that is shown and never fetched.
    "url": "TopicForm TopicBody TopicSerializer ChangedTopicSerializer",
    # Written into an export and never fetched.
    "image_base": "ExportOptionsForm LabelFormatSerializer",
    # Figures of drawings, in what is sent out alone.
    "with_model": "ProposalFiguresSerializer",
    "without_model": "ProposalFiguresSerializer",
    # Of predictions in a bucket; refused unless an administrator sends it.
    "address": "PredictionsForm UploadedPoolSerializer",
    # Names of registered models, and of submissions.
    "model": "NewModelRunSerializer ModelRunSerializer",
    "models": "PoolForm NewPoolSerializer PoolSerializer OpenReviewForm NewMistakeReviewSerializer "
    "RootSerializer",
}
# Of which nothing else speaks.
HOSTILE = "s3://bucket/../etc/passwd --on ray:auto"


# Modules that define forms or serializers, or derive them.
WITH_FIELDS = r"^from (django import forms|rest_framework|labeling\.web\.serializers)"
ABSTRACT = (FormBody, RowSerializer)


def modules() -> Iterator[Path]:
    for app in ("labeling", "evaluation", "annotator"):
        yield from (Path(settings.BASE_DIR) / app).rglob("*.py")


def subclasses(base: type) -> Iterator[type]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from subclasses(subclass)


def fields() -> Iterator[tuple[str, str, Any]]:
    """Class, name and field of every form and serializer of the project."""
    for path in modules():
        if re.search(WITH_FIELDS, path.read_text(), re.M):
            name = ".".join(path.relative_to(settings.BASE_DIR).with_suffix("").parts)
            importlib.import_module(name.removesuffix(".__init__"))
    ours = ("labeling.", "evaluation.", "annotator.")
    for form in subclasses(forms.BaseForm):
        if form.__module__.startswith(ours):
            for name, field in form.base_fields.items():  # type: ignore[attr-defined]
                yield form.__name__, name, field
    for serializer in subclasses(serializers.Serializer):
        if serializer.__module__.startswith(ours) and serializer not in ABSTRACT:
            for name, field in serializer().fields.items():
                if not field.read_only:
                    yield serializer.__name__, name, field


def is_telling(name: str, field: object = None) -> bool:
    return bool(TELLING.search(name)) or isinstance(field, OF_ADDRESSES)


@pytest.mark.parametrize("name", ["path", "url", "model", "on", "work", "image_url", "s3_bucket"])
def test_a_field_of_such_a_name_would_be_found(name):
    assert is_telling(name)
    assert not is_telling("question")


def test_no_form_and_no_body_of_the_api_has_another_field_of_such_a_name():
    offending = {(owner, name) for owner, name, field in fields() if is_telling(name, field)}

    assert offending == {
        (owner, name) for name, owners in ALLOWED.items() for owner in owners.split()
    }


def test_no_view_reads_another_one(schema):
    """Past its forms, or as a filter."""
    read = r'request\.(?:GET|POST|data|query_params)(?:\.get(?:list)?\(|\[)"(\w+)"'
    pattern = r'\.fields\["(\w+)"\] = '
    names = {
        *(name for path in modules() for name in re.findall(read, path.read_text())),
        *(name for path in modules() for name in re.findall(pattern, path.read_text())),
        *(row["name"] for action in actions(schema) for row in action.get("parameters", ())),
    }

    assert {"seen", "topics_file", "cursor"} <= names
    assert {name for name in names if is_telling(name)} == {"image_base"}


def actions(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in schema["paths"].values():
        yield from path.values()


class Forms(HTMLParser):
    """The forms of a page that are posted: where to, what they send as they are, and which of their
    fields choose among given values."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, list[str]], set[str]]] = []
        self.select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        attributes = {key: value or "" for key, value in pairs}
        name, value, kind = (
            attributes.get("name", ""),
            attributes.get("value", ""),
            attributes.get("type"),
        )
        if tag == "form":
            self.sent: dict[str, list[str]] = {}
            self.chosen: set[str] = set()
            if attributes.get("method") == "post":
                self.found.append((attributes.get("action", ""), self.sent, self.chosen))
        elif tag == "select":
            self.select = name
            self.chosen.add(name)
        elif tag == "option" and ("selected" in attributes or self.select not in self.sent):
            self.sent[self.select] = [value]
        elif tag in ("button", "input", "textarea") and name:
            if kind in ("radio", "checkbox") or tag == "button":
                self.chosen.add(name)
            if kind not in ("radio", "checkbox") or "checked" in attributes:
                self.sent.setdefault(name, []).append(value)


@pytest.mark.ci
def test_no_choice_of_a_page_keeps_a_path_an_address_or_an_option(world):
    client = Client(raise_request_exception=False)
    client.force_login(world.alice)
    tried, kept = set(), []
    for row in ROWS:
        if not row.startswith("GET ") or row.startswith(("GET api/", "GET accounts/")):
            continue
        path = fill(row.removeprefix("GET "), world)
        page = client.get(path)
        is_page = page.status_code == 200 and page["Content-Type"].startswith("text/html")
        choices = Forms(page.content.decode()).found if is_page else []
        page.close()
        for goal, sent, name in (
            (urljoin(path, to), sent, name) for to, sent, chosen in choices for name in chosen
        ):
            if (goal, name) not in tried:
                tried.add((goal, name))
                point = transaction.savepoint()
                with CaptureQueriesContext(connection) as queries:
                    response = client.post(goal, sent | {name: HOSTILE})
                transaction.savepoint_rollback(point)
                writes = [row["sql"] for row in queries if not row["sql"].startswith("SELECT")]
                if response.status_code >= 500 or any(HOSTILE in sql for sql in writes):
                    kept.append((goal, name, response.status_code))

    assert len(tried) > 50
    assert kept == []
