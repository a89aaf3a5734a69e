"""Shared SQL on questions and seats, with the differences between the two databases.

Locks are always taken in this order: a membership, questions by id, their seats, the campaign's row
(for tickets). A seat changes only under its question's lock; seats of gold, whose questions are not
locked, by a condition on their state. SQLite transactions are immediate and need no row locks.
"""

import contextlib
import fcntl
import functools
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple, ParamSpec, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Q

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

ATTEMPTS = 6
# Shortest run of consecutive ids that is read as a range.
SHORTEST_RUN = 3
# serialization_failure, deadlock_detected: PostgreSQL asks to try again.
TRY_AGAIN = {"40001", "40P01"}


class LostRace(Exception):
    """A concurrent change invalidated this transaction: roll back and try again."""


class Locked(NamedTuple):
    """A question locked by this transaction."""

    id: int
    campaign_id: int
    state: str
    seats_free: int
    policy_id: int
    graph_id: int | None = None
    step: str = ""

    @property
    def is_followed(self) -> bool:
        """Return whether its answer opens or closes other questions (follow_ups/)."""
        return self.graph_id is not None or bool(self.step)


# Columns of a question for Locked.
LOCKED = "id, campaign_id, state, seats_free, policy_id, graph_id, step"
# Locked.is_followed as SQL.
FOLLOWED = "(graph_id IS NOT NULL OR step <> '')"


def retried(action: Callable[P, R]) -> Callable[P, R]:
    """Return the action with a few retries after lost races. It must open its own transaction."""

    @functools.wraps(action)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for attempt in range(1, ATTEMPTS):
            try:
                return action(*args, **kwargs)
            except (LostRace, IntegrityError, OperationalError) as error:
                if not _lost_race(error):
                    raise
                time.sleep(0.002 * attempt)
        return action(*args, **kwargs)

    return run


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Open a write transaction when it is this process's turn.

    SQLite has one writer at a time; waiting processes poll at growing intervals: with four busy
    processes, one in twenty waited 90 ms for a transaction of 2 ms. A file lock wakes the next one
    at once. Writers without it still wait for SQLite's own lock.
    """
    with _turn(), transaction.atomic():
        yield


@contextlib.contextmanager
def _turn() -> Iterator[None]:
    path = str(connection.settings_dict["NAME"])
    # In a transaction we may hold SQLite's lock already, so waiting for another could deadlock. A
    # database in memory has one process.
    if connection.vendor != "sqlite" or connection.in_atomic_block or not os.path.isfile(path):
        yield
        return
    with open(f"{path}-turn", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _lost_race(error: Exception) -> bool:
    if isinstance(error, OperationalError):
        return getattr(error.__cause__, "sqlstate", None) in TRY_AGAIN
    return True


def locking(*, skip: bool = False) -> str:
    """Return the clause that locks the rows read, without blocking foreign-key checks on them."""
    if not connection.features.has_select_for_update:
        return ""
    return f" FOR NO KEY UPDATE{' SKIP LOCKED' if skip else ''}"


def fetch(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def fetch_prepared(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement whose text never changes.

    PostgreSQL plans it once per connection: planning such a join costs more than running it, and
    Django's cursors never prepare. With PgBouncer in transaction mode the next statement may use
    another connection, so it is planned each time.
    """
    is_pooled = connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    if connection.vendor != "postgresql" or is_pooled:
        return fetch(sql, params)
    import psycopg

    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        return cursor.execute(sql, params, prepare=True).fetchall()


def execute(sql: str, params: Sequence[Any]) -> int:
    """Run the statement and return the number of changed rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.rowcount


def batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def moment(at: datetime) -> datetime | str | None:
    """Return a time as this database's raw statements take it."""
    return connection.ops.adapt_datetimefield_value(at)


def marks(values: Sequence[Any], row: int = 1) -> str:
    """Return placeholders for `values`, in rows of `row` for VALUES.

    >>> marks([7, 8, 9])
    '%s,%s,%s'
    >>> marks([1, 2, 3, 4], row=2)
    '(%s,%s),(%s,%s)'
    """
    if row == 1:
        return ",".join(["%s"] * len(values))
    return ",".join([f"({','.join(['%s'] * row)})"] * (len(values) // row))


def numbers(values: Iterable[int]) -> str:
    """Return integers as SQL text: binding hundreds one by one takes psycopg milliseconds.

    >>> numbers([7, 8, 9])
    '7,8,9'
    """
    return ",".join(str(int(value)) for value in values)


def in_runs(column: str, ids: Iterable[int]) -> Q:
    """Return the condition that a column is one of these ids, with consecutive ids as ranges.

    PostgreSQL 15 descends an index once per listed id, but once per range. Rows of a list page were
    created together, so ranges read a tenth of the 8 kB pages.
    """
    apart: list[int] = []
    condition = Q()
    # Within a run, id minus index is constant.
    numbered = enumerate(sorted(set(ids)))
    for _, members in itertools.groupby(numbered, lambda pair: pair[1] - pair[0]):
        run = [pk for _, pk in members]
        if len(run) < SHORTEST_RUN:
            apart += run
        else:
            condition |= Q(**{f"{column}__gte": run[0], f"{column}__lte": run[-1]})
    return condition | Q(**{f"{column}__in": apart}) if apart or not condition else condition


def lock_questions(ids: Iterable[int], *, skip: bool = False) -> list[Locked]:
    """Lock these questions in order of id and return them; with `skip`, without those locked by
    others.
    """
    pks = sorted(set(ids))
    if not pks:
        return []
    rows = fetch(
        f"SELECT {LOCKED} FROM labeling_question "  # noqa: S608
        f"WHERE id IN ({numbers(pks)}) ORDER BY id{locking(skip=skip)}",
        [],
    )
    return [Locked(*row) for row in rows]


def take_tickets(campaign_id: int, count: int) -> int:
    """Return the first of `count` consecutive tickets from the campaign's sequence.

    The campaign's row stays locked until the transaction ends, so tickets become visible in order
    and no cursor can pass an uncommitted one.
    """
    if not count:
        return 0
    [(last,)] = fetch(
        "UPDATE labeling_campaign SET last_ticket = last_ticket + %s WHERE id = %s "
        "RETURNING last_ticket",
        [count, campaign_id],
    )
    return last - count + 1
