"""Single rows that may be missing."""

from typing import TypeVar

from django.db.models import Manager, Model, QuerySet

from labeling.errors import NotYours

M = TypeVar("M", bound=Model)


def get_or_404(rows: "QuerySet[M] | Manager[M]", message: str, **lookup: object) -> M:
    """Return the row of the lookup. Raise NotYours with the message if there is none."""
    row = rows.filter(**lookup).first()
    if row is None:
        raise NotYours(message)
    return row
