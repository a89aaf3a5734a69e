"""Delete rows with the rows and files that belong to them, or list what prevents it.

The models decide: rows that refer by CASCADE are deleted too. PROTECT prevents the deletion, except
for the models that the caller lists in `through`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.files.storage import default_storage
from django.db import models, transaction
from django.db.models.deletion import get_candidate_relations_to_delete

from labeling.datasets import details
from labeling.db.sql import fetch
from labeling.errors import Conflict
from labeling.exchange import export_files
from labeling.jobs import hashed_files, shared_files
from labeling.models import Image, Import, Job, Release
from labeling.plurals import count_of
from labeling.releases.stored import place_of, stored_name

# A count stops here, so that its cost does not grow with the campaign.
MAX_COUNTED = 10_000
# Rows that a refusal names.
MAX_NAMED = 10

Model = type[models.Model]
Rows = models.QuerySet[Any]


@dataclass(frozen=True)
class Dependents:
    """What is deleted with a row, and what prevents its deletion, as phrases."""

    goes: list[str]
    prevents: list[str]


def dependents(rows: Rows, through: frozenset[Model] = frozenset()) -> Dependents:
    closure = _closure(rows, through)
    goes = _counted([below for model, below in closure.items() if model is not rows.model])
    return Dependents([phrase for _, phrase in goes], list(_prevents(closure)))


def erase(rows: Rows, through: frozenset[Model] = frozenset()) -> None:
    """Delete the rows with what belongs to them, and their files after the commit.

    Raises Conflict, and changes nothing, if something prevents it.
    """
    with transaction.atomic():
        closure = _closure(rows, through)
        if prevents := list(_prevents(closure)):
            raise Conflict(f"It cannot be deleted: in use by {', '.join(prevents)}.")
        removals = [remove for model, below in closure.items() for remove in _files(model, below)]
        # Delete in reverse order, since the query of a model reads the rows of the models before
        # it. Foreign keys are checked at the commit.
        for model, below in reversed(closure.items()):
            for relation in _relations(model):
                if relation.on_delete is models.SET_NULL:
                    _referring(relation, below).update(**{relation.field.name: None})
            below._raw_delete(below.db)
        for remove in removals:
            transaction.on_commit(remove, robust=True)


def has_running_job(rows: Rows, through: frozenset[Model]) -> bool:
    """Return whether a running job would be deleted, or belongs to a row that would be."""
    running = Job.objects.filter(state=Job.State.RUNNING)
    for model, below in _closure(rows, through).items():
        fields = [field.name for field in model._meta.concrete_fields if field.related_model is Job]
        ids = [below.values(name) for name in (*fields, *(("pk",) if model is Job else ()))]
        if any(running.filter(pk__in=pks).exists() for pks in ids):
            return True
    return False


def _closure(rows: Rows, through: frozenset[Model]) -> dict[Model, Rows]:
    """Return the rows to delete by model, in the order in which relations reach the models."""
    closure: dict[Model, Rows] = {rows.model: rows}
    waiting = [rows.model]
    while waiting:
        model = waiting.pop(0)
        for relation in _relations(model):
            referring = relation.related_model
            goes = relation.on_delete is models.CASCADE or referring in through
            if goes and referring not in closure:
                closure[referring] = _referring(relation, closure[model])
                waiting.append(referring)
    return closure


def _relations(model: Model) -> list[Any]:
    """Return the foreign keys of other models that refer to this one."""
    return list(get_candidate_relations_to_delete(model._meta))


def _referring(relation: Any, rows: Rows) -> Rows:
    manager = relation.related_model._base_manager
    referring: Rows = manager.filter(**{f"{relation.field.name}__in": rows.values("pk")})
    return referring


def _prevents(closure: dict[Model, Rows]) -> Iterator[str]:
    """Yield a phrase, with names, for each group of other rows that protects these rows."""
    protecting: dict[Model, Rows] = {}
    for model, rows in closure.items():
        for relation in _relations(model):
            referring = _referring(relation, rows)
            if referring.model is model:
                # Rows of a model may refer to each other, as an item to the item of which it shows
                # a part.
                referring = referring.exclude(pk__in=rows.values("pk"))
            elif relation.on_delete is not models.PROTECT or referring.model in closure:
                continue
            # Two columns of a row may refer to what is deleted.
            protecting[referring.model] = referring | protecting.get(referring.model, referring)
    for rows, phrase in _counted(list(protecting.values())):
        # People know a question by its campaign, and a benchmark by its title.
        names = {
            str(getattr(row, "title", getattr(row, "campaign", row))) for row in rows[:MAX_NAMED]
        }
        yield f"{phrase} ({', '.join(sorted(names))})"


def _counted(groups: Sequence[Rows]) -> Iterator[tuple[Rows, str]]:
    """Yield each group that has rows, with their count in words. Takes one query."""
    if not groups:
        return
    columns: list[str] = []
    params: list[object] = []
    for rows in groups:
        sql, values = rows.order_by().values("pk")[: MAX_COUNTED + 1].query.sql_with_params()
        columns.append(f"(SELECT COUNT(*) FROM ({sql}) AS counted)")  # noqa: S608
        params += values
    [counts] = fetch(f"SELECT {', '.join(columns)}", params)
    for rows, count in zip(groups, counts, strict=True):
        meta = rows.model._meta
        if count > MAX_COUNTED:
            yield rows, f"over {MAX_COUNTED:,} {meta.verbose_name_plural}"
        elif count:
            yield rows, count_of(count, str(meta.verbose_name), str(meta.verbose_name_plural))


def _files(model: Model, rows: Rows) -> Iterator[Callable[[], object]]:
    """Yield a function for each stored file of the rows; calling it removes the file."""
    if issubclass(model, Release):
        for release in rows:
            stored = stored_name(release.folder.rpartition("/")[0], release.sha256)
            yield partial(shared_files.remove, place_of(release), stored)
            yield partial(export_files.forget, release)
    if issubclass(model, Image):
        for image in rows.exclude(display=""):
            if details.is_large(image):
                yield partial(details.remove, image)
    if issubclass(model, Import):
        for uploads in rows.values_list("uploads", flat=True):
            yield from (partial(default_storage.delete, upload["stored"]) for upload in uploads)
    for field in model._meta.concrete_fields:
        if isinstance(field, models.FileField):
            for name in rows.exclude(**{field.name: ""}).values_list(field.name, flat=True):
                yield partial(field.storage.delete, name)
        elif field.name == "file":
            for name in rows.exclude(file="").values_list("file", flat=True):
                yield partial(hashed_files.remove, name)
