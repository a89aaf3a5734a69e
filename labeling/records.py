"""Dataclasses stored and sent as JSON objects. No Django.

A field without a default is a key that is always present, maybe null. A field with the default None
is omitted while it is None, like keys that only some results have or that older versions lacked.
"""

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(kw_only=True)
class Record:
    """Base of such dataclasses.

    Fields: JSON values, Records, and lists, tuples and dicts by string of these.
    `field(metadata={"key": …})` sets a key that is no Python name. unknown: keys without a field,
    which are written again after the others.

    >>> @dataclass(kw_only=True)
    ... class Metric(Record):
    ...     value: float | None
    ...     threshold: float | None = None
    >>> Metric(value=None).to_json()
    {'value': None}
    >>> Metric.from_json({"value": 0.5, "seen": 3}).to_json()
    {'value': 0.5, 'seen': 3}
    >>> Metric(value=float("nan")).to_json()
    {'value': None}
    """

    unknown: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the record of a JSON object. Raises ValueError, which names missing keys."""
        readers = _readers(cls)
        missing = [
            key for key, reader in readers.items() if reader.is_required and key not in value
        ]
        if missing:
            raise ValueError(f"{cls.__name__} lacks {', '.join(missing)}")
        known = {
            reader.name: reader.read(value[key]) for key, reader in readers.items() if key in value
        }
        # A null of an optional key is written again, so that a stored object keeps its hash.
        unknown = {
            key: value[key]
            for key in value
            if key not in readers or (value[key] is None and not readers[key].is_required)
        }
        return cls(**known, unknown=unknown)

    def to_json(self) -> dict[str, Any]:
        """Return strict JSON with the keys in the order of the fields; NaN becomes null."""
        written = {
            key: plain(value)
            for key, reader in _readers(type(self)).items()
            if (value := getattr(self, reader.name)) is not None or reader.is_required
        }
        return written | {key: self.unknown[key] for key in self.unknown if key not in written}


@dataclass(frozen=True)
class _FieldReader:
    """The reader of a field. is_required: it has no default."""

    name: str
    is_required: bool
    read: Callable[[Any], Any]


_READERS: dict[type, dict[str, _FieldReader]] = {}


def _readers(cls: type[Record]) -> dict[str, _FieldReader]:
    """Return key → reader of every field except `unknown`."""
    if cls in _READERS:
        return _READERS[cls]
    hints = typing.get_type_hints(cls)
    _READERS[cls] = {
        field.metadata.get("key", field.name): _FieldReader(
            field.name,
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
            _reader(hints[field.name]),
        )
        for field in dataclasses.fields(cls)
        if field.name != "unknown"
    }
    return _READERS[cls]


def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return the function that converts a JSON value to this type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.from_json
    if origin in (types.UnionType, typing.Union):
        [*others] = (member for member in inner if member is not types.NoneType)
        read = _reader(others[0]) if len(others) == 1 else _as_it_is
        return read if read is _as_it_is else lambda value: None if value is None else read(value)
    if origin is list or (origin is tuple and inner[-1] is Ellipsis):
        read = _reader(inner[0])
        return origin if read is _as_it_is else lambda value: origin(map(read, value))
    if origin is tuple:
        return tuple
    if origin is dict:
        read = _reader(inner[1])
        return dict if read is _as_it_is else lambda value: {k: read(v) for k, v in value.items()}
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


# Most values; numpy's strings are of another type.
SCALARS = {str, int, bool, types.NoneType}


def plain(value: Any) -> Any:
    """Return the value as JSON has it: Records as objects, NaN as null."""
    if type(value) in SCALARS:
        return value
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # numpy's scalars and arrays: tolist() gives plain numbers and lists.
    return plain(value.tolist()) if hasattr(value, "tolist") else value


Payload = Record | Mapping[str, Any]


def to_json(result: Payload) -> str:
    """Return one line of strict JSON; NaN and infinity become null.

    >>> to_json({"mean": float("nan"), "n": 0})
    '{"mean": null, "n": 0}'
    """
    return json.dumps(plain(result), ensure_ascii=False, allow_nan=False)
