"""Full disks, reported to the waiting user. Pure."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from labeling.errors import Refusal

NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
MESSAGE = "The disk is full. Free some space, then try again."


class StorageFull(Refusal):
    """There is no room for the next file; earlier files are complete."""

    status = 507
    code = "storage_full"


@contextmanager
def converting_disk_full() -> Iterator[None]:
    """Convert ENOSPC into StorageFull, for requests that a user is waiting for."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise StorageFull(MESSAGE) from error
        raise
