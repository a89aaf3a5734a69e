"""Uploads in parts: after a broken connection only the rest is sent.

An upload belongs to a person and is named by the SHA-256 of the whole file. Each part is a file
of its own, whose name ends with its offset, so every machine of a site can take the next part,
without locks. Parts that two requests stored at once may overlap. The upload is removed once a
request used it, or after UPLOAD_LIFETIME.
"""

import hashlib
import json
import re
import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.files.storage import storages
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.utils import timezone

from labeling.disk_full import converting_disk_full
from labeling.errors import Conflict, NotYours, Refusal, TooLarge
from labeling.files import atomic_write
from labeling.jobs import shared_files
from labeling.jobs.shared_files import StoredFile
from labeling.models import User

UPLOAD_LIFETIME = timedelta(days=3)
MAX_PARTS = 10_000
# Folder of the parts in the store.
STORED = "partial_uploads"
NO_UPLOAD = "There is no such upload, or it was deleted after three days. Start a new one."
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True)
class PartialUpload:
    """A file that a person sends in parts. size: of the whole file, in bytes."""

    user: User
    sha256: str
    name: str
    size: int

    def offset(self) -> int:
        """Return the number of bytes received without a gap."""
        return sum(part.bytes - skipped for part, skipped in self._parts())

    def append(self, offset: int, content: IO[bytes]) -> None:
        """Store bytes at the offset, synced. Raises Conflict if the upload ends elsewhere."""
        if len(self._parts()) >= MAX_PARTS:
            self.remove()
            raise Refusal(f"The upload had {MAX_PARTS:,} parts. Send it again in larger parts.")
        self._check(offset)
        self.make_room()
        with _writing(self._name(f"{secrets.token_hex(8)}.{offset}")) as file:
            left = self.size - offset
            while chunk := content.read(_CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise TooLarge(f"The upload has more than its {self.size:,} bytes.")
                file.write(chunk)
            # Another request may have stored this part already.
            self._check(offset)
        # Of parts that were stored at once, the longest has the bytes of all.
        rows = [row for row, start in self._offsets().items() if start == offset]
        _remove(sorted(rows, key=lambda row: (-row.bytes, row.name))[1:])

    def whole(self) -> TemporaryUploadedFile:
        """Return the complete file. Raises Refusal if bytes are missing or wrong, NotYours if
        another request used it up.
        """
        file = TemporaryUploadedFile("upload", "application/octet-stream", self.size, None)
        file.name = self.name
        try:
            with converting_disk_full():
                self._join(file)
        except BaseException as error:
            file.close()
            if isinstance(error, FileNotFoundError):
                raise NotYours(NO_UPLOAD) from error
            raise
        file.seek(0)
        return file

    def remove(self) -> None:
        """Delete the upload and its parts."""
        _remove(_files(self.user.pk)[self.sha256])

    def make_room(self) -> None:
        """Remove the person's oldest uploads until this one fits beside them."""
        bytes_left, files_left = 2 * settings.ASSAY_MAX_UPLOAD_BYTES - self.size, MAX_PARTS
        uploads = _files(self.user.pk)
        others = [rows for sha256, rows in uploads.items() if sha256 not in ("", self.sha256)]
        for rows in sorted(others, key=_last_written, reverse=True):
            bytes_left -= sum(row.bytes for row in rows)
            files_left -= len(rows)
            if min(bytes_left, files_left) < 0:
                _remove(rows)

    def _join(self, file: TemporaryUploadedFile) -> None:
        """Join the parts in this file. Raises Refusal unless they are the announced bytes."""
        digest = hashlib.sha256()
        for row, skipped in self._parts():
            with storages["data"].open(row.name) as part:
                part.seek(skipped)
                while chunk := part.read(_CHUNK_BYTES):
                    digest.update(chunk)
                    file.write(chunk)
        file.flush()
        if (end := file.tell()) != self.size:
            raise Conflict(f"The upload has {end:,} of {self.size:,} bytes. Send the rest first.")
        if digest.hexdigest() != self.sha256:
            self.remove()
            raise Refusal("The bytes of the upload have another SHA-256. Send the file again.")

    def _check(self, offset: int) -> None:
        if offset != (end := self.offset()):
            raise Conflict(
                f"The upload has {end:,} bytes, not {offset:,}. Continue where it ends.",
                field="Upload-Offset",
            )

    def _parts(self) -> list[tuple[StoredFile, int]]:
        """Return the parts up to the first gap, each with the number of its first bytes that
        earlier parts have.
        """
        parts, end = [], 0
        in_order = sorted(self._offsets().items(), key=lambda item: (item[1], -item[0].bytes))
        for row, offset in in_order:
            if offset <= end < offset + row.bytes:
                parts.append((row, end - offset))
                end = offset + row.bytes
        return parts

    def _offsets(self) -> dict[StoredFile, int]:
        """Return the offset of each stored part."""
        stored = {row: row.name.rpartition(".")[2] for row in _files(self.user.pk)[self.sha256]}
        return {row: int(suffix) for row, suffix in stored.items() if suffix.isdecimal()}

    def _name(self, suffix: str) -> str:
        return f"{STORED}/{self.user.pk}/{self.sha256}.{suffix}"


def begin(user: User, sha256: str, name: str, size: int) -> PartialUpload:
    """Return the person's upload of this file: a new one, or the interrupted one."""
    name = "".join(filter(str.isprintable, re.split(r"[/\\]", name)[-1]))
    if not _SHA256.fullmatch(sha256) or name in ("", ".", ".."):
        raise Refusal(
            "An upload needs the file's name and its SHA-256 in hex. Send filename and sha256.",
            field="Upload-Metadata",
        )
    if size > (most := settings.ASSAY_MAX_UPLOAD_BYTES):
        raise TooLarge(f"The file is larger than {most // 1024**2:,} MiB.", field="Upload-Length")
    upload = PartialUpload(user, sha256, name, size)
    upload.make_room()
    with _writing(upload._name("json")) as file:
        file.write(json.dumps({"name": name, "size": size}).encode())
    return upload


def find(user: User, sha256: str) -> PartialUpload:
    """Return the person's upload. Raises NotYours if there is none."""
    with suppress(FileNotFoundError):
        if _SHA256.fullmatch(sha256):
            with storages["data"].open(f"{STORED}/{user.pk}/{sha256}.json") as file:
                return PartialUpload(user, sha256, **json.load(file))
    raise NotYours(NO_UPLOAD)


def forget_old() -> None:
    """Remove uploads that received nothing for the time UPLOAD_LIFETIME."""
    limit = timezone.now() - UPLOAD_LIFETIME
    with suppress(FileNotFoundError):
        for folder in storages["data"].listdir(STORED)[0]:
            for rows in _files(folder).values():
                if _last_written(rows) < limit:
                    _remove(rows)


@contextmanager
def _writing(name: str) -> Iterator[IO[Any]]:
    """Yield a file that is stored under this name, synced, if the block succeeds."""
    path = _path(name)
    with converting_disk_full():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as file:
            yield file
    shared_files.put(path, name)
    if shared_files.is_shared():
        path.unlink()


def _path(name: str) -> Path:
    return Path(settings.DATA_DIR) / name


def _files(folder: int | str) -> dict[str, list[StoredFile]]:
    """Return a person's files by the SHA-256 in their names; "" for files being written."""
    files = defaultdict(list)
    for row in shared_files.list_files(f"{STORED}/{folder}"):
        files[row.name.rpartition("/")[2].partition(".")[0]].append(row)
    return files


def _last_written(rows: Sequence[StoredFile]) -> datetime:
    return max(row.written for row in rows)


def _remove(rows: Sequence[StoredFile]) -> None:
    for row in rows:
        shared_files.remove(_path(row.name), row.name)
