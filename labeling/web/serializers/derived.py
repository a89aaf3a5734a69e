"""Serializers whose fields are declared elsewhere: by a form, or by the type of a row."""

import dataclasses
import types
import typing
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from rest_framework import serializers

from labeling.records import Record
from labeling.web.api.base import Body, SentFile
from labeling.web.serializers.common import AnyField, Plain

VALUES: dict[Any, type[serializers.Field]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    datetime: serializers.DateTimeField,
}
LIMITS = ("min_value", "max_value", "max_length")
FORM_FIELDS: tuple[tuple[type[forms.Field], type[serializers.Field]], ...] = (
    (forms.FileField, SentFile),
    (forms.BooleanField, serializers.BooleanField),
    (forms.ChoiceField, serializers.ChoiceField),
    (forms.FloatField, serializers.FloatField),
    (forms.IntegerField, serializers.IntegerField),
    (forms.URLField, serializers.URLField),
    (forms.CharField, serializers.CharField),
)


class FormBody(Body):
    """A body with fields of `form`; fields that the class declares take precedence.

    only: names of the form fields to use, all by default. options: arguments of the serializer
    field that override the derived ones, by field name. is_patch: every field may be left out.
    """

    form: ClassVar[type[forms.Form]]
    only: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[Mapping[str, Mapping[str, object]]] = {}
    is_patch: ClassVar[bool] = False

    def get_fields(self) -> dict[str, serializers.Field]:
        declared = super().get_fields()
        base = self.form.base_fields
        always = {"required": False} if self.is_patch else {}
        built = {
            name: _of_form(base[name], always | dict(self.options.get(name, {})))
            for name in self.only or base
            if name not in declared
        }
        return built | declared


def _of_form(field: forms.Field, options: Mapping[str, object]) -> serializers.Field:
    """Return the serializer field of a form field. An initial value becomes the default."""
    cls = next(made for known, made in FORM_FIELDS if isinstance(field, known))
    arguments: Any = {"help_text": field.help_text or None}
    arguments |= {
        name: limit for name in LIMITS if (limit := getattr(field, name, None)) is not None
    }
    if isinstance(field, forms.ChoiceField):
        arguments["choices"] = [choice for choice in list(field.choices) if choice[0]]  # type: ignore[arg-type]
    if cls in (serializers.CharField, serializers.URLField):
        arguments["allow_blank"] = not field.required
    if field.initial is not None:
        arguments["default"] = field.initial
    elif not field.required:
        blank = {"default": ""} if "allow_blank" in arguments else {"required": False}
        arguments |= {"default": False} if cls is serializers.BooleanField else blank
    if "required" in options:
        arguments.pop("default", None)
    if "default" in options:
        arguments.pop("required", None)
    return cls(**{**arguments, **options})


def body_of(form: type[forms.Form], name: str, **options: Mapping[str, object]) -> type[FormBody]:
    """Return a FormBody class with all fields of the form. name: its name in the API schema."""
    content = {"form": form, "options": options, "__module__": __name__}
    return type(f"{name}Serializer", (FormBody,), content)


class RowSerializer(Plain):
    """A response row with the fields of `row`: a dataclass, a Record, a NamedTuple or a TypedDict.

    Fields that the class declares take precedence. without: fields of the row that are not sent.
    A class without a docstring takes that of its row for the API schema.
    """

    row: ClassVar[type]
    without: ClassVar[tuple[str, ...]] = ()
    of_row: ClassVar[dict[type, type["RowSerializer"]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = cls.__doc__ or cls.row.__doc__
        RowSerializer.of_row.setdefault(cls.row, cls)

    def get_fields(self) -> dict[str, serializers.Field]:
        declared = super().get_fields()
        hints = typing.get_type_hints(self.row)
        keys = {name: name for name in hints}
        if dataclasses.is_dataclass(self.row):
            rows = dataclasses.fields(self.row)
            keys = {row.name: row.metadata.get("key", row.name) for row in rows if row.init}
            if issubclass(self.row, Record):
                del keys["unknown"]
        built = {}
        for name, key in keys.items():
            if key not in (*declared, *self.without):
                options: Any = {} if key == name else {"source": name}
                if name in getattr(self.row, "__optional_keys__", ()):
                    options["required"] = False
                built[key] = _of_hint(hints[name], **options)
        return built | declared


def rows_of(row: type, name: str, *without: str) -> type[RowSerializer]:
    """Return a RowSerializer class with the fields of `row`. name: its name in the API schema."""
    content = {"row": row, "without": without, "__module__": __name__}
    return type(f"{name}Serializer", (RowSerializer,), content)


def _of_hint(hint: Any, **options: Any) -> serializers.Field:
    """Return the serializer field of a type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        [value] = (member for member in inner if member is not types.NoneType)
        return _of_hint(value, allow_null=True, **options)
    if origin in (list, tuple):
        if _is_row(inner[0]):
            return _row_class(inner[0])(many=True, **options)
        return serializers.ListField(child=_of_hint(inner[0]), **options)
    if origin in (dict, Counter):
        value = int if origin is Counter else inner[1]
        return serializers.DictField(child=_of_hint(value), **options)
    return (_row_class(hint) if _is_row(hint) else VALUES.get(hint, AnyField))(**options)


def _is_row(hint: Any) -> bool:
    return (
        dataclasses.is_dataclass(hint)
        or hasattr(hint, "__required_keys__")
        or hasattr(hint, "_fields")
    )


def _row_class(row: type) -> type[RowSerializer]:
    """Return the declared serializer of a nested row, or a new one named after the row."""
    return RowSerializer.of_row.get(row) or rows_of(row, row.__name__)
