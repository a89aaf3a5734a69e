"""Celery messages as files in a folder: kombu's filesystem transport without its bugs.

kombu 5.7 writes a message under its final name, so a worker may take it while it is still empty,
and then stops for good ("Unrecoverable error"). It moves messages through /tmp, where a move
between file systems is a copy, so two workers can get one message. It sorts the folder by a clock
that restarts at every boot. This transport writes messages atomically, takes each by one rename
within the folder, and drops a damaged one with a warning (the sweep sends its job again). See
docs/explanation/assigning-and-jobs.md.
"""

import json
import logging
import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem

logger = logging.getLogger(__name__)

# Age at which messages held by a killed worker are swept away.
STALE_SECONDS = 3600
# After IDLE_SECONDS without a message, a worker lists the folder every IDLE_POLLING seconds.
IDLE_SECONDS, IDLE_POLLING = 60, 0.25


class Channel(filesystem.Channel):
    """A folder of messages. File names begin with the time of sending in nanoseconds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.folder.mkdir(parents=True, exist_ok=True)
        Path(self.control_folder).mkdir(parents=True, exist_ok=True)
        self._remove_stale()

    @property
    def folder(self) -> Path:
        return Path(self.data_folder_in)

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{time.time_ns():020}_{uuid.uuid4().hex}.{queue}.msg"
        unseen = self.folder / f".{name}.new"
        try:
            unseen.write_text(json.dumps(payload))
            unseen.rename(self.folder / name)
        except OSError:
            unseen.unlink(missing_ok=True)
            raise

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        for name in self._waiting(queue):
            taken = self.folder / f".{name}.{uuid.uuid4().hex}.taken"
            try:
                (self.folder / name).rename(taken)
            except FileNotFoundError:
                continue  # another worker was quicker
            text = taken.read_bytes()
            taken.unlink()
            try:
                message: dict[str, Any] = json.loads(text)
            except ValueError:
                logger.warning("dropped the damaged message %s; the sweep sends its job", name)
                continue
            return message
        raise Empty()

    def _waiting(self, queue: str) -> list[str]:
        # Our part of the name ends at the first dot, so a queue's name may contain dots.
        return sorted(
            name for name in os.listdir(self.folder) if name.partition(".")[2] == f"{queue}.msg"
        )

    def _remove_stale(self) -> None:
        before = time.time() - STALE_SECONDS
        for entry in os.scandir(self.folder):
            try:
                old = entry.name.startswith(".") and entry.stat().st_mtime < before
                if old:
                    os.unlink(entry.path)
            except FileNotFoundError:
                continue


class Transport(filesystem.Transport):
    Channel = Channel

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._polling, self._worked = self.polling_interval, time.monotonic()

    def drain_events(  # type: ignore[override]
        self, connection: Any, timeout: float | None = None
    ) -> None:
        """Deliver a message or raise TimeoutError.

        After a minute without messages, poll less often.
        """
        idle = time.monotonic() - self._worked > IDLE_SECONDS
        self.polling_interval = max(self._polling or 0, IDLE_POLLING) if idle else self._polling
        super().drain_events(connection, timeout)
        self._worked = time.monotonic()
