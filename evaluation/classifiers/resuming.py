"""Checks whether the work of a stopped run can be resumed. No Django."""

import fcntl
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from labeling.files import BadInput


def refuse_other(before: object, settings: Mapping[str, object], path: Path, restart: str) -> None:
    """Raise BadInput that names each changed setting.

    before: the settings in `path`. restart: the alternative to name in the cure.
    """
    if not isinstance(before, Mapping):
        raise BadInput("has no settings of a run", file=path, cure=restart)
    names = [*settings, *(name for name in before if name not in settings)]
    changed = [name for name in names if before.get(name) != settings.get(name)]
    if changed:
        raise BadInput(
            f"was begun with another {', '.join(changed)}",
            file=path,
            cure=f"give the same as before to go on, or {restart}",
        )


def lock(file: IO[bytes], out: Path) -> None:
    """Lock the file until it is closed. Raises BadInput if another run holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadInput(
            "another run is at it", file=out, cure="wait for it, or give another --out"
        ) from None
