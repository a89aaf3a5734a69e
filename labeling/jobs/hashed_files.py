"""Files kept under their SHA-256: below the data folder, and in the shared store."""

import hashlib
from pathlib import Path

from django.conf import settings

from labeling.disk_full import converting_disk_full
from labeling.files import BadInput, atomic_write
from labeling.jobs import shared_files

CHUNK_BYTES = 1024 * 1024


def keep(path: Path, name: str, digest: str) -> None:
    """Copy the file to `name` below the data folder, and to the store.

    digest: its SHA-256, part of the name. Raises BadInput if it has changed since.
    """
    goal = path_of(name)
    goal.parent.mkdir(parents=True, exist_ok=True)
    with converting_disk_full():
        if not goal.is_file():
            with atomic_write(goal, "wb") as copy, path.open("rb") as file:
                written = hashlib.sha256()
                while chunk := file.read(CHUNK_BYTES):
                    written.update(chunk)
                    copy.write(chunk)
                if written.hexdigest() != digest:
                    raise BadInput("changed while it was copied", file=path, cure="name it again")
        shared_files.put(goal, name)


def find(name: str) -> Path | None:
    """Return the file on this machine, fetching a copy if needed; None if it is gone."""
    path = shared_files.find(path_of(name), name)
    return path if path.is_file() else None


def remove(name: str) -> None:
    """Delete the file here and in the store."""
    shared_files.remove(path_of(name), name)


def path_of(name: str) -> Path:
    """Return the path of a stored file on the machine that created it."""
    return Path(settings.DATA_DIR) / name
