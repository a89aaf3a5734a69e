"""The store of task results: a folder, or a prefix in an S3 bucket.

Objects are written atomically. In a folder, a temporary file is renamed; in S3, one conditional
request writes the object. The first 32 bytes are the SHA-256 of the rest, so that an object
truncated by a power cut or a full disk is detected when it is read.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from labeling.files import BadInput, first_line

if TYPE_CHECKING:
    from obstore.store import ObjectStore

DIGEST_BYTES = hashlib.sha256().digest_size
# With 5 retries, a request fails within seconds if the store refuses it, and after three minutes if
# the store does not answer.
RETRIES = 5
NO_BUCKET = "there is no such bucket"


@dataclass(frozen=True)
class Store:
    """A store. address: a folder, or `s3://BUCKET/PREFIX`, which AWS_… variables configure."""

    address: str

    @classmethod
    def at(cls, address: str) -> "Store":
        """Return the store at an address. Raises BadInput for a file and for any scheme but s3."""
        scheme, separator, rest = address.partition("://")
        if separator and (scheme != "s3" or not rest.strip("/")):
            raise BadInput(
                "is not an address of a store",
                file=address,
                cure="give a folder or s3://BUCKET/PREFIX",
            )
        if separator:
            return cls(address.rstrip("/"))
        if Path(address).exists() and not Path(address).is_dir():
            raise BadInput("is a file, expected a folder", file=address, cure="give a folder")
        # Absolute, since a task may run in another folder.
        return cls(os.fspath(Path(address).absolute()))

    def __reduce__(self) -> tuple[type["Store"], tuple[str]]:
        # Pickle only the address: another machine connects with its own AWS_… variables.
        return Store, (self.address,)

    def has(self, key: str) -> bool:
        """Return whether the object exists, without reading it."""
        import obstore

        with self._converting_errors(key):
            try:
                obstore.head(self._objects, key)
            except FileNotFoundError:
                return False
        return True

    def get(self, key: str) -> bytes:
        """Return the object. Raises BadInput if it is missing, truncated or changed."""
        import obstore

        with self._converting_errors(key):
            try:
                stored = bytes(obstore.get(self._objects, key).bytes())
            except FileNotFoundError:
                raise self._refusal(key, "is not in the store", "run the command again") from None
        content = stored[DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != stored[:DIGEST_BYTES]:
            raise self._refusal(key, "is not whole", "delete it and run the command again")
        return content

    def copy(self, key: str, to: Path, cure: str) -> None:
        """Download an object that `put` did not write, so that it has no SHA-256 in front.

        Raises BadInput with this cure if the object is missing.
        """
        import obstore

        with self._converting_errors(key):
            try:
                chunks = obstore.get(self._objects, key).stream()
            except FileNotFoundError:
                raise self._refusal(key, "is not in the bucket", cure) from None
            try:
                with open(to, "wb") as file:
                    for chunk in chunks:
                        file.write(chunk)
            except BaseException:
                to.unlink(missing_ok=True)
                raise

    def put(self, key: str, content: bytes) -> bool:
        """Store the object unless the key exists; return whether this call stored it."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._converting_errors(key):
            try:
                obstore.put(
                    self._objects,
                    key,
                    hashlib.sha256(content).digest() + content,
                    mode="create",
                    use_multipart=False,
                )
            except (AlreadyExistsError, PreconditionError):
                return False
            except FileNotFoundError as error:
                raise self._refusal(key, NO_BUCKET, "create it") from error
        return True

    def keys(self, prefix: str) -> set[str]:
        """Return the keys of the objects under a prefix that ends with a slash."""
        import obstore

        with self._converting_errors(prefix):
            return {entry["path"] for page in obstore.list(self._objects, prefix) for entry in page}

    @cached_property
    def _objects(self) -> "ObjectStore":
        from obstore.store import LocalStore, from_url

        if not self.address.startswith("s3://"):
            return LocalStore(self.address, mkdir=True)
        return from_url(
            self.address,
            client_options={"allow_http": True, "timeout": "60s"},
            retry_config={"max_retries": RETRIES},
        )

    @contextmanager
    def _converting_errors(self, key: str) -> Iterator[None]:
        """Convert obstore's errors, and the file system's, into BadInput about this key."""
        from obstore.exceptions import (
            BaseError,
            PermissionDeniedError,
            UnauthenticatedError,
        )

        denied = (PermissionDeniedError, UnauthenticatedError, PermissionError)
        try:
            yield
        except BadInput:
            raise
        except (BaseError, OSError) as error:
            reason = _reason(error)
            # A denied listing raises a general error; only its message has the status.
            if isinstance(error, denied) or reason.startswith(("401", "403")):
                raise self._refusal(
                    key, "may not be read or written", "check the rights, or AWS_ACCESS_KEY_ID"
                ) from error
            if reason.startswith("404"):
                raise self._refusal(key, NO_BUCKET, "create it") from error
            problem, check = "cannot be used", "the folder and the room left"
            if self.address.startswith("s3://"):
                problem, check = (
                    "the store does not answer",
                    "the address, AWS_ENDPOINT_URL and AWS_REGION",
                )
            cure = f"check {check}, then run again: finished tasks are not repeated"
            raise self._refusal(key, f"{problem} ({reason})", cure) from error

    def _refusal(self, key: str, message: str, cure: str) -> BadInput:
        return BadInput(message, file=f"{self.address}/{key}", cure=cure)


def _reason(error: Exception) -> str:
    """Return the short reason in obstore's message, without the request and the time it took.

    >>> _reason(OSError("Error performing GET http://… - … status code: 503 Gone: <Error>…"))
    '503 Gone'
    >>> _reason(OSError("Error performing GET http://… in 1.2s - HTTP error: not sent"))
    'not sent'
    """
    text = first_line(error, longest=2_000)
    if "response body error" in text:
        return "its answer broke off"
    if "Error performing" not in text:
        return first_line(error)
    status = re.search(r"status code: (\d+[\w ]*)", text)
    return status[1].strip() if status else text.rpartition(" - ")[2].removeprefix("HTTP error: ")
