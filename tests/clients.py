"""Clients of the site, and what they get."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from labeling.models import User


def logged_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def text_of(response: HttpResponse, status: int = 200) -> str:
    """The page, once it was found to have this status."""
    assert response.status_code == status, response
    return response.content.decode()


def upload(name: str, content: str | bytes) -> SimpleUploadedFile:
    """A file as a browser or a program sends it."""
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)
