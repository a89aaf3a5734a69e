#!/usr/bin/env python
"""Makes the secrets of compose.yaml once: `python deploy/compose/make_secrets.py FOLDER`.

Existing files are kept, so the command may run at every start. The containers that mount the folder
run as different users, so every user may read the files; on the host only root reaches the volume.
`--share FILE:FOLDER` copies one file for a service that must not read the others. Needs the
standard library alone.
"""

import argparse
import os
import secrets
import sys
from pathlib import Path


def make(folder: Path) -> None:
    """Write the missing secrets. Raises OSError if the folder cannot be written to."""
    password = _kept(folder / "postgres-password", secrets.token_urlsafe(32))
    _kept(folder / "secret-key", secrets.token_urlsafe(48))
    _kept(folder / "monitoring-token", secrets.token_urlsafe(32))
    # One address goes through PgBouncer; the other to the server itself, for migrations and
    # backups.
    _kept(folder / "database-url", f"postgres://assay:{password}@pgbouncer:6432/assay")
    _kept(folder / "server-url", f"postgres://assay:{password}@db:5432/assay")
    _kept(folder / "userlist.txt", f'"assay" "{password}"\n')


def _kept(path: Path, text: str) -> str:
    """Return the text of the file; if it is missing, write it first, atomically."""
    if not path.exists():
        unfinished = path.with_suffix(".new")
        unfinished.write_text(text)
        os.chmod(unfinished, 0o444)
        unfinished.rename(path)
    return path.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes secrets once.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", action="append", default=[], metavar="FILE:FOLDER")
    options = parser.parse_args()
    folder = options.folder
    try:
        make(folder)
        for name, _, goal in (shared.partition(":") for shared in options.share):
            _kept(Path(goal) / name, (folder / name).read_text())
    except OSError as error:
        print(
            f"{error.filename or folder}: {error.strerror}. Let this user write there.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
