"""A Django storage for S3-compatible object stores that makes few requests."""

import posixpath
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from storages.backends.s3 import S3Storage

from labeling.errors import StoreFault, StoreUnreachable

# Larger files are read through a file on disk.
IN_MEMORY = 8 * 1024 * 1024


def storage_of_bucket(
    bucket: str, *, endpoint: str, region: str, key_id: str, secret: str
) -> dict[str, Any]:
    """Return the STORAGES entry of a bucket. endpoint: the store's URL; empty for Amazon.

    Existing names are overwritten: names are random or content hashes, so a check for existence
    would cost a request and gain nothing.
    """
    return {
        "BACKEND": "annotator.object_storage.BucketStorage",
        "OPTIONS": {
            "bucket_name": bucket,
            "endpoint_url": endpoint or None,
            "region_name": region,
            "access_key": key_id,
            "secret_key": secret,
            "file_overwrite": True,
            "client_config": Config(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                # Stores other than Amazon's do not support the checksums of newer client versions.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                # Seconds. A store that accepts a connection and stays silent must not block a
                # request.
                connect_timeout=3,
                read_timeout=10,
                retries={"total_max_attempts": 2},
            ),
        },
    }


class BucketStorage(S3Storage):
    """Storage that reads or writes a small file in one request.

    Raises StoreUnreachable if the store does not answer, StoreFault if it refuses.
    """

    def _open(self, name: str, mode: str = "rb") -> File:
        if mode != "rb":
            raise ValueError(f"mode is {mode!r}, expected 'rb': objects are saved whole")
        held: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        try:
            with _faults():
                shutil.copyfileobj(self.bucket.Object(self._key(name)).get()["Body"], held)
        except BaseException:
            held.close()
            raise
        held.seek(0)
        return File(held, name)

    def _save(self, name: str, content: Any) -> str:
        with _faults():
            return str(super()._save(name, content))

    def delete(self, name: str) -> None:
        with _faults():
            super().delete(name)

    def exists(self, name: str) -> bool:
        with _faults():
            return bool(super().exists(name))

    def size(self, name: str) -> int:
        with _faults():
            return int(super().size(name))

    def get_modified_time(self, name: str) -> datetime:
        with _faults():
            modified_at: datetime = super().get_modified_time(name)
        return modified_at

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        with _faults():
            folders, files = super().listdir(name)
        return folders, files

    def list_files(self, folder: str) -> Iterator[tuple[str, int, datetime]]:
        """Yield (name, bytes, time of writing) of every file below the folder; one request per
        thousand.
        """
        prefix = self._key(folder).rstrip("/") + "/"
        with _faults():
            for row in self.bucket.objects.filter(Prefix=prefix):
                name = posixpath.relpath(row.key, self.location or ".")
                yield name, row.size, row.last_modified

    def _key(self, name: str) -> str:
        return str(self._normalize_name(name.replace("\\", "/")))


@contextmanager
def _faults() -> Iterator[None]:
    """Raise FileNotFoundError, StoreFault or StoreUnreachable for errors of the client library."""
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response.get("Error", {}).get("Code", "")
        if code in ("404", "NoSuchKey"):
            raise FileNotFoundError(str(error)) from error
        if status >= 500 or status == 429:
            raise _away(f"{status} {code}") from error
        raise StoreFault(
            f"The object store refuses this site: {status} {code}. Whoever runs the site checks "
            "the bucket and its key (ASSAY_S3_…)."
        ) from error
    except (BotoCoreError, Boto3Error) as error:
        raise _away(f"{type(error).__name__}") from error


def _away(reason: str) -> StoreUnreachable:
    return StoreUnreachable(
        f"The object store does not answer ({reason}). Nothing is lost; try again in a minute."
    )
