"""Process-wide cache for figures computed from many rows."""

import time
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import caches

T = TypeVar("T")
MAX_SECONDS = 600.0


def cached(key: str, compute: Callable[[], T], seconds: float = 0.0) -> T:
    """Return the cached result of `compute`, kept for the given seconds or, if it took more than
    0.1 s, for a hundred times as long as it took. Small campaigns are thus up to date, and large
    ones are not recounted at every view.
    """
    cache = caches["local"]
    kept = cache.get(key)
    if kept is not None:
        return kept[0]
    begun = time.monotonic()
    value = compute()
    took = time.monotonic() - begun
    lasting = max(seconds, min(MAX_SECONDS, 100 * took) if took > 0.1 else 0.0)
    if lasting:
        # Stored in a tuple, since None is a valid value.
        cache.set(key, (value,), lasting)
    return value
