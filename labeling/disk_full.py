"""A full disk, said to whoever waits for what does not fit. Pure."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from labeling.errors import Refusal

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
MESSAGE = "The disk is full. Free some space, then try again."


class StorageFull(Refusal):
    """There is no room for the next file; those before it are whole and stay."""

    status = 507
    code = "storage_full"


@contextmanager
def saying_full() -> Iterator[None]:
    """Says where the disk is full, instead of falling over: for what somebody waits for."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise StorageFull(MESSAGE) from error
        raise
