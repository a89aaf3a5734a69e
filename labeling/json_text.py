"""JSON texts: canonical for hashing, and strictly parsed. Pure."""

import hashlib
import json
import re
from typing import Any

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def canonical(value: object) -> bytes:
    """Return canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def canonical_sha256(value: object) -> str:
    """Return the SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def parse_json(text: str) -> Any:
    r"""Return the value of a JSON text.

    Raises ValueError, also for a lone surrogate such as \ud800, which cannot be printed or stored;
    RecursionError for deep nesting.
    """
    value = json.loads(text)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            raise ValueError(f"\\u{ord(half):x} is half a character") from None
    return value
