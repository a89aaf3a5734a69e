"""Long reads: through the database "batch" where BATCH_DATABASE_URL names one, and in snapshots.

Behind PgBouncer in transaction mode a list cannot be read through a cursor on the server, unless
all of it is one transaction, which keeps one of few connections from everybody else. "batch" leads
to the same database by another way.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction

BATCH = "batch"
_alias: ContextVar[str] = ContextVar("alias", default=DEFAULT_DB_ALIAS)


class Router:
    """Sends what is read inside `reading` to "batch"; all else is of "default"."""

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
    """The alias from which querysets read in this block.

    Inside a transaction of the caller it is "default": nobody else sees what was written there.
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
    """One unchanging view of the database, that keeps nobody from writing.

    PostgreSQL: a repeatable read. SQLite: a deferred transaction; ours are immediate elsewhere, and
    an immediate one would make every answer wait until the block ends. Inside a transaction of the
    caller it is the caller's view.
    """
    with reading() as name:
        connection = connections[name]
        if connection.in_atomic_block:
            yield
        elif connection.vendor == "sqlite":
            connection.ensure_connection()
            usual = connection.transaction_mode  # type: ignore[attr-defined]
            connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
            try:
                with transaction.atomic(using=name):
                    yield
            finally:
                connection.transaction_mode = usual  # type: ignore[attr-defined]
        else:
            with transaction.atomic(using=name):
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield


@contextlib.contextmanager
def lookups() -> Iterator[None]:
    """Rows are looked up by their keys here, and each statement takes one processor.

    For many small reads side by side. With its usual costs, those of a disk that turns, PostgreSQL
    reads tables of some 100,000 rows whole for each of them, in several processes. Inside a
    transaction of the caller this lasts until that ends.
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
