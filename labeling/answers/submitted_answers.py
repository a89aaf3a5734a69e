"""Validation of answers sent by a script, a form, a page of images or the API."""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import get_language

from labeling.answers import drafts
from labeling.errors import Refusal, TooLarge
from labeling.models import Answer

MAX_BATCH = 100
# An hour: nobody looks at one image for longer.
MAX_DURATION_MS = 3_600_000
# The longest form of a UUID: urn:uuid: and 36 characters.
MAX_ID = 45
# Most characters of a value in a form, enough for a drawing.
MAX_VALUE = drafts.MAX_BYTES
# The last two are ignored; answers queued in a browser since the second edition may have them.
KEYS = ("id", "seat", "value", "duration_ms", "input_method", "language", "looks", "along")


@dataclass(frozen=True)
class SubmittedAnswer:
    """A submitted answer. id: made by the client; seat: a token."""

    id: UUID
    seat: str
    value: object
    duration_ms: int | None = None
    input_method: str | None = None
    language: str | None = None


def check_batch(answers: Sequence[Any]) -> None:
    """Raise TooLarge for too many answers at once."""
    if len(answers) > MAX_BATCH:
        raise TooLarge(
            f"The request has {len(answers)} answers; send at most {MAX_BATCH}.", field="answers"
        )


def read(answer: object, where: str = "") -> SubmittedAnswer:
    """Return the answer in a JSON object or a form. where: prefix of the field that a Refusal
    names.
    """
    if not isinstance(answer, dict):
        raise _malformed("An answer must be a JSON object.", where.rstrip("."))
    if unknown := sorted(str(key) for key in set(answer) - set(KEYS)):
        raise _malformed(f"An answer has no {unknown[0][:60]!r}.", where.rstrip("."))
    return SubmittedAnswer(
        read_id(answer.get("id"), f"{where}id"),
        read_token(answer.get("seat"), f"{where}seat"),
        answer.get("value"),
        read_duration(answer.get("duration_ms"), f"{where}duration_ms"),
        read_input_method(answer.get("input_method"), f"{where}input_method"),
        read_language(answer.get("language"), f"{where}language"),
    )


def read_id(value: object, where: str = "id") -> UUID:
    """Return an answer's id, made by the client. Raises Refusal."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value if isinstance(value, str) and len(value) <= MAX_ID else "")
    except ValueError as error:
        raise _malformed(
            f"{str(value or '')[:60]!r} is not an answer's id: a UUID of 36 characters. On a page, "
            "reload it.",
            where,
        ) from error


def read_token(value: object, where: str = "seat") -> str:
    """Return a seat's token after a check of its form. Raises Refusal."""
    if not isinstance(value, str) or not 0 < len(value) <= 32 or not value.isalnum():
        raise _malformed(f"{str(value)[:60]!r} is not a seat.", where)
    return value


def read_duration(value: object, where: str = "duration_ms", images: int = 1) -> int | None:
    """Return milliseconds per image, at most an hour; None if absent. Raises Refusal.

    images: how many images were answered together. Forms send text; text that is not a whole number
    counts as absent.
    """
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and len(value) <= 15 else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _malformed(
            f"duration_ms is {str(value)[:60]!r}; send whole milliseconds, or leave it out.", where
        )
    return min(value // images, MAX_DURATION_MS)


def read_input_method(value: object, where: str = "input_method") -> str | None:
    """Return the input method; None if absent. Raises Refusal."""
    if value is None or (isinstance(value, str) and value in Answer.InputMethod.values):
        return value
    known = ", ".join(Answer.InputMethod.values)
    raise _malformed(
        f"input_method is {str(value)[:60]!r}; send one of {known}, or leave it out.", where
    )


def read_language(value: object, where: str = "language") -> str | None:
    """Return the code of the page's language; None if absent. Raises Refusal."""
    codes = [code for code, _ in settings.LANGUAGES]
    if value is None or (isinstance(value, str) and value in codes):
        return value
    raise _malformed(
        f"language is {str(value)[:60]!r}; send one of {', '.join(codes)}, or leave it out.", where
    )


def read_form(
    fields: Mapping[str, Any], missing: str = "Choose one of the answers."
) -> SubmittedAnswer:
    """Return the answer in a form, with the language of its page. missing: the Refusal's message
    for a form without an answer.
    """
    form_fields = {key: fields.get(key) for key in KEYS} | {"language": get_language()}
    return read(form_fields | {"value": _value_of(form_fields["value"] or "", missing)})


def _value_of(text: object, missing: str) -> object:
    """Return the answer in a form: a word, or an object for a drawing or an option of a list."""
    if isinstance(text, dict):
        # A value that a kind's page has combined from several fields.
        return text
    try:
        if isinstance(text, str) and text and len(text) <= MAX_VALUE:
            return json.loads(text) if text.startswith("{") else text
    except (ValueError, RecursionError):
        pass
    raise Refusal(missing, field="value")


def new_id() -> str:
    """Return an id for the answer of a form.

    It is made with the page, so that a form sent twice counts once.
    """
    return str(uuid7())


def uuid7() -> UUID:
    """Return a UUID of version 7 (RFC 9562): the clock in milliseconds, then 74 random bits.

    Ids of one hour are neighbours in the index of answers. Other UUIDs are accepted as well.

    >>> uuid7().version, uuid7() == uuid7()
    (7, False)
    """
    milliseconds = time.time_ns() // 1_000_000
    chance = secrets.randbits(74)
    high = milliseconds << 16 | 7 << 12 | chance >> 62
    return UUID(int=high << 64 | 2 << 62 | chance & (1 << 62) - 1)


def _malformed(message: str, where: str) -> Refusal:
    return Refusal(message, field=where, code="malformed")
