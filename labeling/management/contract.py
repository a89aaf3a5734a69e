"""The promises that every command of ours keeps, in one base class.

`--json` prints one JSON object on stdout and nothing else there; without it a readable table.
Progress and warnings go to stderr. Exit 0 on success, 1 on bad input (one line on stderr, a JSON
object under --json, never a traceback), 2 on wrong usage. No system checks, no database of its own.
"""

import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError

from labeling.files import BadInput, refuse_address
from labeling.records import Payload, Record, to_json

Result = dict[str, Any]
Printed = TypeVar("Printed", bound=Payload)


class UsageError(CommandError):
    """Options that do not go together: exit 2, as argparse does for the ones it can see."""

    def __init__(self, message: str) -> None:
        super().__init__(message, returncode=2)


class ContractCommand(BaseCommand):
    """A command whose `action(**options)` returns what --json prints, a Record or a dict, and whose
    `show` renders it.

    With verbs (`mad select`, `mad rank`) call `self.verb(…)` once a verb in `add_arguments`
    instead; each verb names its own action and show. Raise BadInput for what a person must mend in
    a file, UsageError for options that do not go together.
    """

    requires_system_checks: list[str] = []
    as_json = False
    # What of the input was refused, where the rest was taken: exit 1, once the result is out.
    refused: BadInput | None = None

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        if not any(action.dest == "verb" for action in parser._actions):
            _add_json(parser)
        return parser

    def verb(
        self,
        parser: CommandParser,
        name: str,
        action: Callable[..., Printed],
        show: Callable[[Printed], str] | None = None,
        **kwargs: Any,
    ) -> CommandParser:
        """Return the parser of one verb, with --json; `action` runs when it is called."""
        if not hasattr(parser, "assay_verbs"):
            parser.assay_verbs = parser.add_subparsers(  # type: ignore[attr-defined]
                dest="verb", metavar="VERB", required=True
            )
        made: CommandParser = parser.assay_verbs.add_parser(name, **kwargs)  # type: ignore[attr-defined]
        made.set_defaults(action=action, show=show or self.show)
        _add_json(made)
        return made

    def action(self, **options: Any) -> Payload:
        """Return the result of the command, as it goes out under --json."""
        raise NotImplementedError(f"{type(self).__module__} has neither an action nor verbs")

    def show(self, result: Any) -> str:
        """Return the result as a person reads it: by default one line a key."""
        values = result.to_json() if isinstance(result, Record) else result
        return table([(key, value) for key, value in values.items()])

    def handle(self, *args: Any, **options: Any) -> None:
        self.as_json = bool(options.pop("json", False))
        action = options.pop("action", self.action)
        show = options.pop("show", self.show)
        for name in DJANGO_OPTIONS:
            options.pop(name, None)
        _refuse_addresses(options.values())
        result = action(**options)
        self.stdout.write(to_json(result) if self.as_json else show(result))
        if self.refused is not None:
            raise self.refused

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except UsageError as error:
            if not self._called_from_command_line:  # type: ignore[attr-defined]
                raise
            # Django would put the name of the exception before it.
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
            # Who read us has gone (`| head`). Point stdout elsewhere, or Python complains at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except OSError as error:
            if error.filename is None and error.errno is None and not _is_half_array(error):
                raise
            self._refuse(from_os_error(error))

    def warn(self, message: str) -> None:
        """One line on stderr, which --json leaves alone."""
        self.stderr.write(" ".join(message.split()), self.style.WARNING)

    def progress(self, total: int | None, unit: str, description: str) -> Any:
        """Return a tqdm bar on stderr, silent where stderr is no terminal."""
        from tqdm import tqdm

        return tqdm(
            total=total,
            unit=unit,
            desc=description,
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
            leave=False,
        )

    def _refuse(self, refusal: BadInput) -> None:
        line = json.dumps(refusal.as_dict(), ensure_ascii=False) if self.as_json else str(refusal)
        self.stderr.write(line, (lambda text: text) if self.as_json else None)
        sys.exit(1)


FREE_SPACE = "free some space, then run it again"
# As a shell has it for what Ctrl-C ended.
STOPPED = 128 + 2
DJANGO_OPTIONS = (
    "verb",
    "verbosity",
    "settings",
    "pythonpath",
    "traceback",
    "no_color",
    "force_color",
    "skip_checks",
)


def _refuse_addresses(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, list | tuple):
            _refuse_addresses(value)
        elif isinstance(value, Path):
            refuse_address(value)


def _add_json(parser: CommandParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def from_os_error(error: OSError) -> BadInput:
    """What the system refused, as one line for a person."""
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
    """Whether numpy.save could not write all of an array, for which it gives no errno."""
    return re.fullmatch(r"\d+ requested and \d+ written", str(error)) is not None


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] | None = None) -> str:
    """Return rows in aligned columns, numbers to the right.

    >>> print(table([("A", 1.5), ("long name", 20)], head=("classifier", "score")))
    classifier  score
    A             1.5
    long name      20
    """
    body = [tuple(row) for row in rows]
    text = [[_cell(value) for value in row] for row in body]
    lines = ([list(head)] if head else []) + text
    if not lines:
        return ""
    count = max(len(line) for line in lines)
    for line in lines:
        line.extend([""] * (count - len(line)))
    widths = [max(len(line[i]) for line in lines) for i in range(count)]
    right = [
        bool(body) and all(i >= len(row) or isinstance(row[i], int | float) for row in body)
        for i in range(count)
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
