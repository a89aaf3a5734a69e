"""Start times of the scheduled rounds in the shared cache, for monitoring only.

Nothing depends on them, so an emptied cache does no harm.
"""

import logging
import time
from typing import Literal, get_args

from django.core.cache import cache

logger = logging.getLogger(__name__)

Round = Literal["sweep", "nightly"]
ROUNDS: tuple[Round, ...] = get_args(Round)


def record(name: Round) -> None:
    """Record that the round starts now. An unavailable cache stops no round."""
    try:
        cache.set(_key(name), time.time(), timeout=None)
    except Exception:
        logger.warning("the time of the %s was not recorded", name, exc_info=True)


def ages() -> dict[Round, float | None]:
    """Return the seconds since each round started; None if unknown. Raises the cache's
    exceptions.
    """
    now = time.time()
    stored = cache.get_many([_key(name) for name in ROUNDS])
    return {
        name: max(0.0, now - stored[_key(name)]) if _key(name) in stored else None
        for name in ROUNDS
    }


def _key(name: Round) -> str:
    return f"round:{name}"
