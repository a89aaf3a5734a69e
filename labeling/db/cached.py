"""Figures that are read from many rows, kept a while by this process."""

import time
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import caches

T = TypeVar("T")
LONGEST_SECONDS = 600.0


def cached(key: str, compute: Callable[[], T], seconds: float = 0.0) -> T:
    """What `compute` returns, kept for so many seconds, and for a hundred times as long as it took
    where that was more than 0.1 s: at once for a small campaign, and a big one is not counted again
    at every look."""
    cache = caches["local"]
    kept = cache.get(key)
    if kept is not None:
        return kept[0]
    begun = time.monotonic()
    value = compute()
    took = time.monotonic() - begun
    lasting = max(seconds, min(LONGEST_SECONDS, 100 * took) if took > 0.1 else 0.0)
    if lasting:
        # In a tuple: None is a value too.
        cache.set(key, (value,), lasting)
    return value
