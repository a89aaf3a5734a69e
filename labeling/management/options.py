"""Options of commands as fields of a dataclass, from which argparse is configured.

The type of a field determines how its text is read: Path, int, float and str by that type, bool as
a switch, list[…] as a repeatable option. `type=` in the settings of a field overrides that. A field
is required unless it has a default or its type allows None.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from django.core.management.base import CommandParser

Options = TypeVar("Options")


def option(help: str, default: Any = dataclasses.MISSING, **settings: Any) -> Any:
    """Return the field of an option; settings are those of argparse's add_argument.

    flag: name of the option, by default derived from the field's name; None for a positional
    argument.
    """
    kept = {"help": help, "default": default, **settings}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=kept)
    return dataclasses.field(default=default, metadata=kept)


# Returns the field of a positional argument.
argument = partial(option, flag=None)


def add_options(parser: CommandParser, options: type) -> None:
    """Add the fields of a dataclass to the parser."""
    hints = typing.get_type_hints(options)
    for field in _fields(options):
        _add(parser, field.name, hints[field.name], dict(field.metadata))


def from_parsed(options: type[Options], parsed: Mapping[str, Any]) -> Options:
    """Return an instance of the dataclass with the values that argparse read."""
    return options(**{field.name: parsed[field.name] for field in _fields(options)})


def _fields(options: type) -> list["dataclasses.Field[Any]"]:
    """Return the fields created by `option` or `argument`."""
    return [field for field in dataclasses.fields(options) if "help" in field.metadata]


def _add(parser: CommandParser, name: str, hint: Any, settings: dict[str, Any]) -> None:
    flag = settings.pop("flag", f"--{name.replace('_', '-')}")
    default = settings.pop("default", dataclasses.MISSING)
    read = hint
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        read, *_ = (member for member in typing.get_args(hint) if member is not types.NoneType)
        default = None if default is dataclasses.MISSING else default
    if read is bool:
        settings.setdefault("action", "store_true")
        default = False if default is dataclasses.MISSING else default
    elif typing.get_origin(read) is list:
        [read] = typing.get_args(read)
        if "nargs" not in settings:
            settings.setdefault("action", "append")
    if read is not bool and read is not str and "type" not in settings and isinstance(read, type):
        settings["type"] = read
    if flag is None:
        if default is not dataclasses.MISSING:
            settings |= {"nargs": settings.get("nargs", "?"), "default": default}
        parser.add_argument(name, **{"metavar": name.upper(), **settings})
        return
    if default is dataclasses.MISSING:
        settings["required"] = True
    else:
        settings["default"] = default
    parser.add_argument(flag, dest=name, **settings)
