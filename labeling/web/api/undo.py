"""Actions of campaigns, datasets and benchmarks: rename, archive, list dependents and delete."""

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.errors import Refusal
from labeling.models import Tombstone
from labeling.removal.erasing import Dependents
from labeling.removal.undo import Undo
from labeling.web.api.base import BaseViewSet
from labeling.web.serializers.common import Plain
from labeling.web.serializers.derived import FormBody, RowSerializer
from labeling.web.undo_views import DeletionForm, NameForm

CONFIRM = OpenApiParameter("confirm", str, description="The name of the row, to confirm.")


def delete(undo: Undo, request: Request) -> None:
    """Delete what the query confirms; a refusal names the query's parameter."""
    try:
        undo.delete(request.query_params.get(CONFIRM.name, ""))
    except Refusal as refusal:
        if refusal.field != "typed":
            raise
        message = f"Repeat the name in the address: ?{CONFIRM.name}={undo.row.name}."
        raise Refusal(message, field=CONFIRM.name) from refusal


class ArchiveFilters(django_filters.FilterSet):
    """Filters of a list that contains archived rows only on request."""

    archived = django_filters.BooleanFilter("archived_at", lookup_expr="isnull", exclude=True)


class DependentsSerializer(RowSerializer):
    row: ClassVar[type] = Dependents


class RenameSerializer(FormBody):
    form, options = NameForm, {"title": {"required": False}}


class NewNameSerializer(FormBody):
    form, only = NameForm, ("name",)


class RemovalSerializer(FormBody):
    form = DeletionForm


class RemovedSerializer(Plain):
    published = serializers.ListField(
        child=serializers.CharField(), help_text="Releases with its labels. They are kept."
    )


class TombstoneSerializer(serializers.ModelSerializer):
    class Meta:
        model = Tombstone
        fields = ("content", "pixels", "created_at")


class UndoActions(BaseViewSet):
    """Actions of a list whose rows have a name. undo_of: finds a row that the user may change."""

    def undo_of(self, name: str) -> Undo:
        raise NotImplementedError

    def listed_rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the list without archived ones, unless the filter asks for them."""
        return rows if "archived" in self.request.query_params else rows.filter(archived_at=None)

    @extend_schema(responses=DependentsSerializer)
    @action(detail=True)
    def dependents(self, request: Request, name: str) -> Response:
        """Return what would be deleted with it, and what prevents that."""
        return self.answer(DependentsSerializer, self.undo_of(name).dependents())

    @extend_schema(request=None, responses={204: None})
    @action(["post"], detail=True)
    def archive(self, request: Request, name: str) -> Response:
        """Take it out of lists and stop its work. Idempotent."""
        self.undo_of(name).archive()
        return Response(status=204)

    @extend_schema(request=None, responses={204: None})
    @action(["post"], detail=True)
    def unarchive(self, request: Request, name: str) -> Response:
        """Put it back into lists. Idempotent."""
        self.undo_of(name).unarchive()
        return Response(status=204)

    # The viewsets parse different media types; naming one keeps their schemas equal.
    @extend_schema(request={"application/json": RenameSerializer}, responses={204: None})
    @action(["post"], detail=True)
    def rename(self, request: Request, name: str) -> Response:
        """Change its name, which is part of its address, and its title."""
        self.undo_of(name).rename(**self.read(RenameSerializer))
        return Response(status=204)

    @extend_schema(parameters=[CONFIRM], responses={204: None})
    def destroy(self, request: Request, name: str) -> Response:
        """Delete it with all that belongs to it, for its owner. `confirm` repeats its name."""
        delete(self.undo_of(name), request)
        return Response(status=204)
