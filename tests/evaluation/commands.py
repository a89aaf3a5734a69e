"""Commands as the shell sees them, without a database, and the files that they write."""

import csv
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from django.core.management import get_commands, load_command_class


def run(name: str, *arguments: object) -> tuple[int, str, str]:
    """Exit status, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    command: Any = load_command_class(get_commands()[name], name)
    status = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            command.__class__(stdout=out, stderr=err, no_color=True).run_from_argv(
                ["manage.py", name, *map(str, arguments)]
            )
    except SystemExit as stop:
        status = int(stop.code or 0)
    return status, out.getvalue(), err.getvalue()


def result_of(name: str, *arguments: object) -> dict:
    """The result of a command that went well and had nothing to warn of."""
    status, out, err = run(name, *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def refused(name: str, *arguments: object) -> dict:
    """What a command says that refuses its input and prints nothing else."""
    status, out, err = run(name, *arguments, "--json")
    assert (status, out) == (1, "")
    return json.loads(err)


def outcome(printed: tuple[int, str, str]) -> tuple[int, Any]:
    """The exit status of a run with --json, and its result, its refusal or its usage error."""
    status, out, err = printed
    if status == 2:
        return status, err.splitlines()[-1]
    return status, json.loads(out if status == 0 else err.splitlines()[-1])


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a head."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def files_in(folder: Path) -> dict[str, bytes]:
    """Path below the folder → content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def made_in(work: Path) -> dict[str, int]:
    """When each object of a store was made, by its name."""
    return {path.name: path.stat().st_mtime_ns for path in work.rglob("*") if path.is_file()}
