"""Clients of the site, and what they get."""

import re
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from rest_framework.test import APIClient

from labeling.models import User
from labeling.web import tokens

API = "/api/v1/"


def logged_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


# White space beside these is not shown.
BLOCKS = (
    "article|aside|body|br|button|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]"
    "|header|label|legend|li|main|nav|ol|option|p|section|select|summary|table|tbody|td|th|thead"
    "|title|tr|ul"
)


def html_of(response: HttpResponse) -> str:
    """Return a page with white space as a browser shows it: one space, none beside a block."""
    text = response.content.decode()
    if "html" not in response.headers.get("Content-Type", ""):
        return text
    text = re.sub(rf" ?(</?(?:{BLOCKS})\b[^<>]*>) ?", r"\1", re.sub(r"\s+", " ", text))
    return re.sub(r'(<a [^<>]*role="button"[^<>]*>) ', r"\1", text).replace(" >", ">")


def text_of(response: HttpResponse, status: int = 200) -> str:
    """Return a page as it is shown, once it was found to have this status."""
    assert response.status_code == status, response
    return html_of(response)


def read(client: Client, path: str, **query: Any) -> str:
    """Return the page at this path as it is shown."""
    return text_of(client.get(path, query))


def upload(name: str, content: str | bytes) -> SimpleUploadedFile:
    """A file as a browser or a program sends it."""
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def program(user: User, scope: str = "write") -> APIClient:
    """A client that carries a token of this user's."""
    _, secret = tokens.create_token(user, scope=scope)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client
