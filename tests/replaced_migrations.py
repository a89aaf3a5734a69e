"""Databases as earlier versions made them, by the migrations that are squashed now."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from django.db.migrations.loader import MigrationLoader


@contextmanager
def replaced_migrations() -> Iterator[None]:
    """Load the migrations that squashed ones replace, and no squashed one."""
    load = MigrationLoader.load_disk

    def load_replaced(loader: MigrationLoader) -> None:
        load(loader)
        for key in [key for key, value in loader.disk_migrations.items() if value.replaces]:
            del loader.disk_migrations[key]

    with mock.patch.object(MigrationLoader, "load_disk", load_replaced):
        yield
