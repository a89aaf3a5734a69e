"""Files that wait between a page's check and its deed: kept under a random name, for a day."""

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from labeling.errors import Refusal, TooLarge
from labeling.files import BadInput
from labeling.imagestore import saying_full
from labeling.models import User

MAX_BYTES = 256 * 1024 * 1024
SECONDS_KEPT = 24 * 3600
_TOKEN = re.compile(r"[0-9a-f]{32}")


def keep(user: User, file: UploadedFile, most: int | None = None) -> str:
    """The token under which the file waits for this person.

    most: bytes, MAX_BYTES unless told. Raises TooLarge for more.
    """
    most = MAX_BYTES if most is None else most
    if file.size is None or file.size > most:
        raise TooLarge(f"The file is larger than {most // 1024**2:,} MiB.", field="selection")
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    _forget_old(folder)
    token = secrets.token_hex(16)
    path = folder / f"{user.pk}-{token}"
    try:
        with saying_full(), open(path, "wb") as goal:
            for chunk in file.chunks():
                goal.write(chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return token


def find(user: User, token: str) -> Path:
    """The file that waits under the token. Raises Refusal when it is gone or another's."""
    path = _folder() / f"{user.pk}-{token}"
    if not _TOKEN.fullmatch(token) or not path.is_file():
        raise Refusal("The uploaded file was kept for a day and is gone. Choose it again.")
    return path


def forget(user: User, token: str) -> None:
    if _TOKEN.fullmatch(token):
        (_folder() / f"{user.pk}-{token}").unlink(missing_ok=True)


@contextmanager
def called(name: str) -> Iterator[None]:
    """Faults of a file that is read inside name it as the person does who sent it."""
    try:
        yield
    except BadInput as error:
        raise BadInput(error.message, name, error.line, error.cure) from error


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def _forget_old(folder: Path) -> None:
    limit = time.time() - SECONDS_KEPT
    for path in folder.iterdir():
        if path.stat().st_mtime < limit:
            path.unlink(missing_ok=True)
