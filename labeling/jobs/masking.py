"""Finds the site's secrets and masks them in texts."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings

MASK = "***"
# A shorter secret would match ordinary words.
SHORTEST = 6
SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL", re.IGNORECASE)
# user:password@ in URLs.
CREDENTIALS = re.compile(r"(?<=://)[^/\s@:]*:[^/\s@]*@")


def mask_secrets(text: str) -> str:
    """Return the text with *** for secrets of settings and environment, and for passwords
    in URLs.
    """
    for secret in sorted(set(_secrets()), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return CREDENTIALS.sub(f"{MASK}@", text)


def _secrets() -> Iterator[str]:
    by_name = {name: getattr(settings, name) for name in dir(settings) if name.isupper()}
    for text in (*_values(by_name.items()), *_values(os.environ.items())):
        spellings = {text.strip(), unquote(text.strip())}
        yield from (secret for secret in spellings if len(secret) >= SHORTEST)


def _values(items: Iterable[tuple[Any, Any]], secret: bool = False) -> Iterator[str]:
    """Yield values whose name, or whose group's name, marks a secret, and passwords in URLs."""
    for name, value in items:
        hidden = secret or bool(SECRET.search(str(name)))
        if isinstance(value, Mapping):
            yield from _values(value.items())
        elif isinstance(value, str) and hidden:
            yield value
        elif isinstance(value, str) and "://" in value:
            yield _password(value)


def _password(address: str) -> str:
    try:
        return urlsplit(address).password or ""
    except ValueError:
        return ""
