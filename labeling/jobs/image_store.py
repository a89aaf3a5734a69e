"""Stores image files under opaque names, in any Django storage."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.core.files.base import ContentFile
from django.core.files.storage import Storage, default_storage
from django.db import models

from labeling.disk_full import converting_disk_full
from labeling.image_files import EXTENSIONS
from labeling.models import Image


def write(kind: str, content: bytes, media_type: str) -> str:
    """Store the file and return its name. Raises StorageFull, leaving nothing."""
    token = secrets.token_hex(16)
    file_field = field_of(kind)
    # Subfolders of two letters, since a folder of a hundred thousand files is slow.
    goal = f"{file_field.upload_to}{token[:2]}/{token}.{EXTENSIONS[media_type]}"
    with storing(goal, file_field.storage):
        return file_field.storage.save(goal, ContentFile(content))


@contextmanager
def storing(goal: str, storage: Storage = default_storage) -> Iterator[None]:
    """Remove the name if storing fails; convert ENOSPC into StorageFull."""
    try:
        yield
    except OSError as error:
        with suppress(Exception):
            storage.delete(goal)
        with converting_disk_full():
            raise error


def remove(kind: str, name: str) -> None:
    # A stray file is never read; do not hide the original error.
    with suppress(Exception):
        field_of(kind).storage.delete(name)


def field_of(kind: str) -> models.FileField:
    field = Image._meta.get_field(kind)
    assert isinstance(field, models.FileField)
    return field


def media_type_of(name: str) -> str:
    extension = name.rpartition(".")[2]
    return next(kind for kind, known in EXTENSIONS.items() if known == extension)
