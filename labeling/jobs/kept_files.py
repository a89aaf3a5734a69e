"""Uploads kept for a form's next submission, under a random name for a day.

Each person may keep up to MAX_PERSON_BYTES, or one file; the oldest are removed.
"""

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal, TooLarge
from labeling.files import BadInput
from labeling.jobs import shared_files
from labeling.models import User

MAX_BYTES = 256 * 1024 * 1024
# Limit per person; a larger file, which some forms allow, is kept alone.
MAX_PERSON_BYTES = 2 * MAX_BYTES
SECONDS_KEPT = 24 * 3600
# Folder of the kept files in the store.
STORED = "uploads"
DELETED = "The uploaded file was deleted after a day. Choose it again."
_TOKEN = re.compile(r"[0-9a-f]{32}")


def keep(user: User, file: UploadedFile, most: int | None = None, field: str | None = None) -> str:
    """Keep the file for this person and return its token.

    most: bytes, by default MAX_BYTES. field: of the form, named in a refusal. Raises TooLarge.
    Removes the person's oldest files above MAX_PERSON_BYTES.
    """
    most = MAX_BYTES if most is None else most
    if file.size is None or file.size > most:
        raise TooLarge(f"The file is larger than {most // 1024**2:,} MiB.", field=field)
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    _forget_old(folder)
    _make_room(folder, user, file.size)
    token = secrets.token_hex(16)
    path = folder / f"{user.pk}-{token}"
    try:
        with converting_disk_full(), open(path, "wb") as goal:
            for chunk in file.chunks():
                goal.write(chunk)
        shared_files.put(path, _stored_name(path))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return token


def is_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def find(user: User, token: str) -> Path:
    """Return the file of the token. Raises Refusal if it is gone or another person's."""
    path = _folder() / f"{user.pk}-{token}"
    if not is_token(token):
        raise Refusal(DELETED)
    if not path.is_file() and not shared_files.fetch(_stored_name(path), path):
        raise Refusal(DELETED)
    return path


def forget(user: User, token: str) -> None:
    if is_token(token):
        _remove(_folder() / f"{user.pk}-{token}")


@contextmanager
def naming_file(name: str) -> Iterator[None]:
    """Make faults of files read in this block use the sender's file name."""
    try:
        yield
    except BadInput as error:
        raise BadInput(error.message, name, error.line, error.cure) from error


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def _stored_name(path: Path) -> str:
    return f"{STORED}/{path.name}"


def _remove(path: Path) -> None:
    shared_files.remove(path, _stored_name(path))


class _Kept(NamedTuple):
    """A kept file, local or in the store. written: seconds since 1970."""

    written: float
    bytes: int
    path: Path


def _kept(folder: Path) -> Iterator[_Kept]:
    """Yield every kept file once, whether local, in the store or both."""
    stored = set()
    # List the store first: its time is that of the upload, a local copy may be newer.
    for row in shared_files.list_files(STORED) if shared_files.is_shared() else ():
        stored.add(folder / row.name.rpartition("/")[2])
        yield _Kept(row.written.timestamp(), row.bytes, folder / row.name.rpartition("/")[2])
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            status = path.stat()
            if path not in stored:
                yield _Kept(status.st_mtime, status.st_size, path)


def _forget_old(folder: Path) -> None:
    limit = time.time() - SECONDS_KEPT
    for kept in list(_kept(folder)):
        if kept.written < limit:
            _remove(kept.path)


def _make_room(folder: Path, user: User, size: int) -> None:
    """Remove the oldest files of the person until this many bytes more fit."""
    own_files = [kept for kept in _kept(folder) if kept.path.name.startswith(f"{user.pk}-")]
    left = sum(kept.bytes for kept in own_files) + size - MAX_PERSON_BYTES
    for kept in sorted(own_files):
        if left <= 0:
            break
        _remove(kept.path)
        left -= kept.bytes
