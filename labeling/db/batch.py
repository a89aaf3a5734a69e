"""Long reads: in snapshots, and through the database alias "batch" if BATCH_DATABASE_URL is set.

With PgBouncer in transaction mode, a server-side cursor works only if all reads are one
transaction, which would occupy one of few connections. "batch" connects to the same database
without PgBouncer.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction

BATCH = "batch"
_alias: ContextVar[str] = ContextVar("alias", default=DEFAULT_DB_ALIAS)


class BatchRouter:
    """Database router that sends reads inside `reading` to "batch" and everything else to
    "default".
    """

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return _alias.get()

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, obj1: Any, obj2: Any, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


@contextlib.contextmanager
def reading() -> Iterator[str]:
    """Make querysets in this block read from "batch"; yield the alias.

    In a transaction of the caller it is "default", since only that sees the caller's writes.
    """
    inside = connections[DEFAULT_DB_ALIAS].in_atomic_block
    name = BATCH if BATCH in connections and not inside else DEFAULT_DB_ALIAS
    token = _alias.set(name)
    try:
        yield name
    finally:
        _alias.reset(token)


@contextlib.contextmanager
def snapshot() -> Iterator[None]:
    """Give the block one consistent view of the database without blocking writers.

    PostgreSQL: a repeatable read. SQLite: a deferred transaction; elsewhere ours are immediate, and
    an immediate one would make every answer wait until the block ends. In a transaction of the
    caller it is the caller's view.
    """
    with reading() as name:
        connection = connections[name]
        if connection.in_atomic_block:
            yield
        elif connection.vendor == "sqlite":
            connection.ensure_connection()
            old_mode = connection.transaction_mode  # type: ignore[attr-defined]
            connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
            try:
                with transaction.atomic(using=name):
                    yield
            finally:
                connection.transaction_mode = old_mode  # type: ignore[attr-defined]
        else:
            with transaction.atomic(using=name):
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield


@contextlib.contextmanager
def lookups() -> Iterator[None]:
    """Make PostgreSQL use indexes and one process for statements in this block.

    For many small concurrent reads: with its default costs, which assume spinning disks, PostgreSQL
    scans tables of 100,000 rows for each, in several processes. In a transaction of the caller this
    lasts until that ends.
    """
    name = _alias.get()
    if connections[name].vendor != "postgresql":
        yield
        return
    with transaction.atomic(using=name):
        with connections[name].cursor() as cursor:
            cursor.execute(
                "SELECT set_config('random_page_cost', '1.1', true), "
                "set_config('max_parallel_workers_per_gather', '0', true)"
            )
        yield
