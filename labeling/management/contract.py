"""The base class of our commands, with the promises that each keeps.

`--json` prints one JSON object on stdout and nothing else; without it a readable table. Progress
and warnings go to stderr. Exit 0 on success, 1 on bad input (one line on stderr, a JSON object
under --json, never a traceback), 2 on wrong usage. No system checks, no database of its own.
"""

import errno
import inspect
import json
import os
import re
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError

from labeling.errors import Refusal
from labeling.files import BadInput, StrPath, refuse_address
from labeling.management import printing
from labeling.management.options import add_options, from_parsed
from labeling.records import Payload, to_json

Action = TypeVar("Action", bound=Callable[..., Any])

Result = dict[str, Any]


class UsageError(CommandError):
    """Options that exclude each other: exit 2, as argparse does."""

    def __init__(self, message: str) -> None:
        super().__init__(message, returncode=2)


@dataclass(frozen=True)
class Verb:
    """The settings of `verb`. show: renders its result without --json."""

    name: str
    help: str
    show: Callable[[Any], str] | None


def verb(
    help: str, name: str | None = None, show: Callable[[Any], str] | None = None
) -> Callable[[Action], Action]:
    """Make a method a verb of its command, named as the method by default."""

    def mark(action: Action) -> Action:
        known_as = name or action.__name__.replace("_", "-")
        vars(action)["verb"] = Verb(known_as, help, show)
        return action

    return mark


class ContractCommand(BaseCommand):
    """A command with verbs (`mad select`, `mad rank`), or with an `action` if it has none.

    Each takes a dataclass of options (see options.py), or nothing, and returns what --json prints,
    a Record or a dict; `show` renders it otherwise. Raise BadInput for faults in a file, UsageError
    for options that exclude each other.
    """

    requires_system_checks: list[str] = []
    as_json = False
    # The refused part of the input; the command then exits with 1 after its result.
    refused: BadInput | None = None

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = {
            name: value.verb
            for cls in reversed(type(self).__mro__)
            for name, value in vars(cls).items()
            if hasattr(value, "verb")
        }
        if not verbs:
            _add_action(parser, self.action, self.show)
            return
        subparsers = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        for attribute, each in verbs.items():
            action, show = getattr(self, attribute), each.show or self.show
            _add_action(subparsers.add_parser(each.name, help=each.help), action, show)

    def action(self, *args: Any, **kwargs: Any) -> Payload:
        """Return the result of the command for --json."""
        raise NotImplementedError(f"{type(self).__module__} has neither an action nor verbs")

    def show(self, result: Any) -> str:
        """Return the result as text for people."""
        return printing.show(result)

    def handle(self, *args: Any, **options: Any) -> None:
        self.as_json = options["json"]
        arguments = []
        if options["options"] is not None:
            arguments = [from_parsed(options["options"], options)]
            _refuse_addresses(vars(arguments[0]).values())
        result = options["action"](*arguments)
        self.stdout.write(to_json(result) if self.as_json else options["show"](result))
        if self.refused is not None:
            raise self.refused

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except UsageError as error:
            if not self._called_from_command_line:  # type: ignore[attr-defined]
                raise
            # Django would prefix the name of the exception.
            self.stderr.write(str(error))
            sys.exit(error.returncode)

    def run_from_argv(self, argv: list[str]) -> None:
        self.as_json = "--json" in argv
        try:
            super().run_from_argv(argv)
        except KeyboardInterrupt:
            self.stderr.write("stopped")
            sys.exit(STOPPED)
        except BadInput as refusal:
            self._refuse(refusal)
        except (OperationalError, ProgrammingError) as error:
            self._refuse(
                BadInput(
                    f"the database cannot be used ({error})",
                    cure="run manage.py migrate, or check DATABASE_URL",
                )
            )
        except BrokenPipeError:
            # Nobody reads our output any more (`| head`). Redirect stdout, or Python complains.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except OSError as error:
            if error.filename is None and error.errno is None and not _is_half_array(error):
                raise
            self._refuse(from_os_error(error))

    def warn(self, message: str) -> None:
        """Print one line on stderr, also with --json."""
        self.stderr.write(" ".join(message.split()), self.style.WARNING)

    def progress(self, total: int | None, unit: str, description: str) -> Any:
        """Return a tqdm bar on stderr, silent if stderr is not a terminal.

        In the child process of a job, which shows its last line, it is a line of text.
        """
        from tqdm import tqdm

        is_job = "ASSAY_CHILD" in os.environ

        return tqdm(
            total=total,
            unit=unit,
            desc=description,
            file=sys.stderr,
            disable=not (is_job or sys.stderr.isatty()),
            leave=False,
            bar_format="{desc} {n:.0f} of {total_fmt}" if is_job else None,
        )

    def _refuse(self, refusal: BadInput) -> None:
        line = json.dumps(refusal.as_dict(), ensure_ascii=False) if self.as_json else str(refusal)
        self.stderr.write(line, (lambda text: text) if self.as_json else None)
        sys.exit(1)


FREE_SPACE = "free some space, then run it again"
# The shell's exit status after Ctrl-C.
STOPPED = 128 + 2


def _refuse_addresses(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, list | tuple):
            _refuse_addresses(value)
        elif isinstance(value, Path):
            refuse_address(value)


def _add_action(
    parser: CommandParser, action: Callable[..., Payload], show: Callable[[Any], str]
) -> None:
    """Add --json and the action's options to the parser."""
    hints = typing.get_type_hints(inspect.unwrap(action))
    hints.pop("return", None)
    options = hints.get("options")
    if options is not None:
        add_options(parser, options)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=action, show=show, options=options)


@contextmanager
def refusals(file: StrPath | None = None) -> Iterator[None]:
    """Convert a Refusal into BadInput, which names the file."""
    try:
        yield
    except Refusal as refusal:
        line = getattr(refusal, "line", None)
        raise BadInput(refusal.message.rstrip("."), file, line) from None


def from_os_error(error: OSError) -> BadInput:
    """Return a line for people about an error of the system."""
    cures = {
        FileNotFoundError: "check the path",
        PermissionError: "check who may read and write it",
        IsADirectoryError: "give a file name",
        NotADirectoryError: "check the path",
    }
    by_number = {
        errno.ENOSPC: FREE_SPACE,
        errno.EDQUOT: FREE_SPACE,
        errno.EFBIG: "allow larger files (ulimit -f), then run it again",
    }
    if _is_half_array(error):
        return BadInput("the disk is full: an array was written in part", cure=FREE_SPACE)
    reason = error.strerror or str(error) or type(error).__name__
    # os.replace and friends name two files; the second is the one the person asked for.
    name = error.filename2 if error.filename2 is not None else error.filename
    file = os.fsdecode(name) if isinstance(name, str | bytes) else None
    return BadInput(
        reason.lower(), file=file, cure=cures.get(type(error)) or by_number.get(error.errno or 0)
    )


def _is_half_array(error: OSError) -> bool:
    """Return whether numpy.save failed to write a whole array, which has no errno."""
    return re.fullmatch(r"\d+ requested and \d+ written", str(error)) is not None
