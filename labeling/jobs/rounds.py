"""When the clock's rounds last began, in the shared cache: for monitoring, not for deciding.

A cache that is emptied forgets them, and nothing else depends on them.
"""

import logging
import time
from typing import Literal, get_args

from django.core.cache import cache

logger = logging.getLogger(__name__)

Round = Literal["sweep", "nightly"]
ROUNDS: tuple[Round, ...] = get_args(Round)


def record(name: Round) -> None:
    """Stores that the round begins now. A cache that is away stops no round."""
    try:
        cache.set(_key(name), time.time(), timeout=None)
    except Exception:
        logger.warning("the time of the %s was not recorded", name, exc_info=True)


def ages() -> dict[Round, float | None]:
    """Seconds since each round last began; None where the cache does not know. Raises what the
    cache raises."""
    now = time.time()
    stored = cache.get_many([_key(name) for name in ROUNDS])
    return {
        name: max(0.0, now - stored[_key(name)]) if _key(name) in stored else None
        for name in ROUNDS
    }


def _key(name: Round) -> str:
    return f"round:{name}"
