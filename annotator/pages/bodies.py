"""Validation of the JSON bodies that labeling scripts send."""

import functools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext

from labeling.answers import drafts, submitted_answers
from labeling.answers.submitted_answers import SubmittedAnswer, check_batch, read_token
from labeling.errors import Refusal, TooLarge
from labeling.files import is_storable

MAX_BODY_BYTES = 256 * 1024
# One drawing, or its draft, with the fields around it.
MAX_DRAWING_BYTES = drafts.MAX_BYTES + 16 * 1024
MAX_HELD = 500
# The year 2286; earlier times fit a database column.
MAX_MS = 10**13

# A JSON object from a script. The functions below validate its values.
Body = dict[str, object]


def script_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Return a JSON view that answers 401 without a login, instead of redirecting to the login."""

    @functools.wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        request.speaks_json = True  # type: ignore[attr-defined]
        if not request.user.is_authenticated:
            return JsonResponse(
                {
                    "code": "logged_out",
                    "message": gettext(
                        "You are logged out. Log in again; your answers are kept here."
                    ),
                    "field": None,
                },
                status=401,
            )
        return view(request, *args, **kwargs)

    return login_not_required(wrapped)


def read_drawing(request: HttpRequest) -> Body:
    """Return the body as a JSON object, with the size limit of drawings.

    Raises TooLarge or Refusal.
    """
    return read_object(
        request, MAX_DRAWING_BYTES, gettext("Remove corners where the outline is smooth.")
    )


def read_object(request: HttpRequest, most: int = MAX_BODY_BYTES, cure: str = "") -> Body:
    """Return the body as a JSON object of at most so many bytes. Raises TooLarge or Refusal."""
    # Read one byte past the limit, which also catches a missing or forged length.
    raw = request.read(most + 1)
    if len(raw) > most:
        raise TooLarge(
            gettext("The body has more than %(size)s KiB.") % {"size": most // 1024}
            + " "
            + (cure or gettext("Send fewer answers at once."))
        )
    try:
        # Decode as UTF-8: from bytes, json.loads would accept UTF-16 and lone surrogates.
        body = json.loads(raw.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"The body is not JSON: {error}.", code="malformed") from error
    if not isinstance(body, dict):
        raise Refusal("The body must be a JSON object.", code="malformed")
    if b"\\u" in raw and not is_storable(body):
        raise Refusal(
            "The body contains a NUL or a lone surrogate, which is not valid text.",
            code="malformed",
        )
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def check_user(request: HttpRequest, body: Body) -> None:
    """Raise Refusal unless the answers belong to the logged-in user.

    A shared browser keeps one person's unsent answers while another logs in.
    """
    if body.get("user") != request.user.pk:
        refusal = Refusal(
            gettext(
                "Somebody else is logged in now. These answers are kept for the person who gave "
                "them."
            ),
            field="user",
            code="other_user",
        )
        refusal.status = 409
        raise refusal


def read_answers(body: Body) -> list[SubmittedAnswer]:
    """Return the body's answers: {"id": UUID, "seat", "value", "duration_ms", "input_method",
    "language"}.

    Raises Refusal.
    """
    answers = body.get("answers")
    if not isinstance(answers, list) or not answers:
        raise Refusal('Send "answers": a list with at least one answer.', field="answers")
    check_batch(answers)
    return [
        submitted_answers.read(answer, f"answers.{index}.") for index, answer in enumerate(answers)
    ]


def read_version(value: object) -> int:
    """Return the version that a draft is based on, 0 for none. Raises Refusal."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not 0 <= value <= drafts.MAX_VERSION
    ):
        raise Refusal(f"{str(value)[:60]!r} is not a draft's version.", field="base")
    return value


def read_device(value: object) -> str:
    """Return the random word that identifies a browser; it may be missing. Raises Refusal."""
    if not isinstance(value, str) or len(value) > 32 or not (value.isalnum() or not value):
        raise Refusal(f"{str(value)[:60]!r} is not a device's word.", field="device")
    return value


def read_held(body: Body) -> set[str]:
    """Return the seats that a script still holds, which need not be sent again."""
    held = body.get("held", [])
    if not isinstance(held, list) or len(held) > MAX_HELD:
        raise Refusal(f'"held" must be a list of at most {MAX_HELD} seats.', field="held")
    return {read_token(token, f"held.{index}") for index, token in enumerate(held)}


def read_moment(body: Body) -> datetime:
    """Return the server time that the script sends back as "at", in ms. Raises Refusal."""
    at = body.get("at")
    if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < MAX_MS:
        raise Refusal('"at" must be a time in milliseconds.', field="at")
    return datetime.fromtimestamp(at / 1000, UTC)
