"""Files for all machines of a site: releases, benchmarks, runs, uploads, zips.

They are written below the data folder. If STORAGES["data"] is an object store, each is also stored
there, atomically, before a row names it, and other machines fetch it on first use. A folder is one
object, NAME.tar. Content under a name never changes. With local storage all this does nothing.
"""

import contextlib
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage, storages

from labeling.errors import StoreFault

# Suffix of folder names.
FOLDER = ".tar"
# Unused copies are removed after this time; use is recorded at this interval.
SECONDS_KEPT = 7 * 24 * 3600
NOTED_SECONDS = 3600


class StoredFile(NamedTuple):
    """A file in a listing of the storage. written: when."""

    name: str
    bytes: int
    written: datetime


def is_shared() -> bool:
    """Return whether files are also stored in an object store."""
    return not isinstance(storages["data"], FileSystemStorage)


def put(path: Path, name: str) -> None:
    """Store the file or folder under this name, which ends with FOLDER for a folder.

    Atomic. Raises StoreUnreachable, StoreFault.
    """
    if not is_shared():
        return
    if not name.endswith(FOLDER):
        with open(path, "rb") as file:
            storages["data"].save(name, File(file))
        return
    with tempfile.TemporaryFile(dir=_scratch()) as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for inner in sorted(path.iterdir()):
                archive.add(inner, inner.name)
        packed.seek(0)
        storages["data"].save(name, File(packed, name))


def has(name: str) -> bool:
    """Return whether the store has it; False without an object store."""
    return is_shared() and storages["data"].exists(name)


def find(path: Path, name: str) -> Path:
    """Return the local path of the file or folder, fetching a copy if needed.

    Returns `path` if this machine wrote it, or if it exists nowhere.
    """
    return path if path.exists() else copy_of(name) or path


def copy_of(name: str) -> Path | None:
    """Return this machine's copy of the stored object, fetching it if needed."""
    if not is_shared():
        return None
    copy = _copies() / name.replace("/", "!")
    if copy.exists():
        _note_use(copy)
        return copy
    if not fetch(name, copy):
        return None
    _forget_unused(copy)
    return copy


def fetch(name: str, goal: Path) -> bool:
    """Fetch the object to `goal` unless that exists; return whether it exists now."""
    if not is_shared():
        return False
    try:
        stored = storages["data"].open(name)
    except FileNotFoundError:
        return False
    part = Path(tempfile.mkdtemp(prefix=".new.", dir=_scratch()))
    try:
        with stored:
            if name.endswith(FOLDER):
                with tarfile.open(fileobj=stored.file, mode="r:") as archive:
                    _unpack(archive, part / "whole")
                (part / "whole").mkdir(exist_ok=True)
            else:
                with open(part / "whole", "wb") as file:
                    shutil.copyfileobj(stored, file)
        goal.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.replace(part / "whole", goal)
        except OSError:
            # Another process fetched the folder meanwhile; keep that.
            if not goal.is_dir():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return goal.exists()


def _unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack files and folders. Raises StoreFault, unpacking nothing, for links, devices and names
    that lead outside.

    Python 3.11.2 of Debian 12 lacks the filters of tarfile, so we check everywhere.
    """
    members = archive.getmembers()
    for member in members:
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
            raise StoreFault(
                f"The object store has a folder with {member.name!r}, which is not a regular file "
                "or is outside the folder. It was not unpacked. Check who can write to the bucket."
            )
        member.mode = 0o750 if member.isdir() else 0o640
        member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    archive.extraction_filter = lambda member, _: member
    archive.extractall(folder, members)  # noqa: S202 (checked above)


def remove(path: Path, name: str) -> None:
    """Delete the file or folder here and in the store."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    delete(name)


def delete(name: str) -> None:
    """Delete the object in the store, if there is one, and this machine's copy of it."""
    if is_shared():
        copy = _copies() / name.replace("/", "!")
        if copy.is_dir():
            shutil.rmtree(copy, ignore_errors=True)
        else:
            copy.unlink(missing_ok=True)
        with contextlib.suppress(Exception):
            storages["data"].delete(name)


def list_files(folder: str, storage: Storage | None = None) -> Iterator[StoredFile]:
    """Yield every file in a folder of the storage, by default that of data.

    folder: without a slash at its end.
    """
    storage = storage or storages["data"]
    if hasattr(storage, "list_files"):
        yield from (StoredFile(*row) for row in storage.list_files(folder))
        return
    with contextlib.suppress(FileNotFoundError):
        for file in storage.listdir(folder)[1]:
            name = f"{folder}/{file}"
            with contextlib.suppress(FileNotFoundError):
                yield StoredFile(name, storage.size(name), storage.get_modified_time(name))


def _copies() -> Path:
    return Path(settings.DATA_DIR) / "fetched"


def _scratch() -> Path:
    """Return the folder for temporary files, on the disk of the copies."""
    _copies().mkdir(parents=True, exist_ok=True)
    return _copies()


def _note_use(copy: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if time.time() - copy.stat().st_mtime > NOTED_SECONDS:
            os.utime(copy)


def _forget_unused(keep: Path) -> None:
    """Remove copies unused for SECONDS_KEPT, and partial ones of processes that died."""
    limit = time.time() - SECONDS_KEPT
    for copy in _copies().iterdir():
        with contextlib.suppress(FileNotFoundError):
            if copy != keep and copy.stat().st_mtime < limit:
                if copy.is_dir():
                    # Rename first, so that a partial folder is never used.
                    leaving = copy.with_name(f".gone.{copy.name}")
                    copy.rename(leaving)
                    shutil.rmtree(leaving, ignore_errors=True)
                else:
                    copy.unlink()
