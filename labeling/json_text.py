"""JSON texts: canonical ones that are hashed, and what is read from one. Pure."""

import hashlib
import json
import re
from typing import Any

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def canonical(value: object) -> bytes:
    """JSON with one spelling: keys sorted, no spaces, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def canonical_sha256(value: object) -> str:
    """Return the SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def parsed(text: str) -> Any:
    r"""Return the value of a JSON text. Raises ValueError, also for half a character (a lone
    surrogate such as \ud800), which nothing can print or store; RecursionError where it nests too
    deeply.
    """
    value = json.loads(text)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            raise ValueError(f"\\u{ord(half):x} is half a character") from None
    return value
