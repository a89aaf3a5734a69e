"""Commands of jobs in the process of a test that looks at what comes of them."""

import os
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

from django.core.management import get_commands, load_command_class

from labeling.jobs import child, queue
from labeling.models import Job


def manage(
    job: Job,
    folder: Path,
    name: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    limits: child.ChildLimits | None = None,
) -> str:
    """Do as child.manage, without a process, which takes three seconds to start."""
    out, err, status = StringIO(), StringIO(), 0
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.dict(os.environ, environment or {}),
        # A command ends by closing the connections, which the test still needs.
        mock.patch("django.db.connections.close_all"),
    ):
        try:
            command = load_command_class(get_commands()[name], name)
            command.run_from_argv(["manage.py", name, *arguments])
        except SystemExit as exit:
            status = int(exit.code or 0)
    last = (err.getvalue().strip().splitlines() or [""])[-1]
    queue.renew_child(job, last, exit_code=status)
    if status:
        raise child._failure(status, last, limits or child.site_limits())
    return out.getvalue()
