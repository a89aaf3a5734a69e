"""Back up the database, all files of the site and its secret key into one folder with hashes.

A backup is written under a temporary name, then renamed. The site may be in use meanwhile: files
are copied first, then the database, then the files added or changed since. Every file that the
database names is therefore in the backup, even if the site removed it a moment later.
docs/how-to/deploy.md lists the content; annotator/restore.py reads it.
"""

import contextlib
import fnmatch
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, Storage, default_storage
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from labeling.files import BadInput, file_sha256
from labeling.records import Record

FORMAT = 1
MANIFEST = "manifest.json"
SECRET_KEY_FILE = "secret-key"  # noqa: S105 - the file's name
# One line per object, for images in an object store.
MEDIA_LIST = "media.jsonl"
# Entries of the data folder that a backup leaves out: queues, logs and caches are recreated;
# "fetched" holds copies from an object store (shared_files.py), "freezing" pieces of unfinished
# releases, "model_runs" the work of unfinished jobs, "partial_uploads" parts of files that
# still arrive, "uploads" files of resubmitted forms, kept for a day (kept_files.py); `make setup`
# installs WordNet.
SKIPPED_FILES = (
    "celerybeat-schedule*",
    "fetched",
    "freezing",
    "log",
    "metrics",
    "model_runs",
    "numba",
    "partial_uploads",
    "queue",
    "queue-control",
    "serve.lock",
    "uploads",
    "wordnet",
)
# Files being written, in any folder: nothing refers to them before they are renamed.
UNFINISHED = ("*.part", ".new.*", ".restoring.*")
CHUNK_BYTES = 1024 * 1024

Watch = Callable[[int], object]


@dataclass(frozen=True)
class Copied:
    """A copied file. stamp: size in bytes and modification time (ns) of the source."""

    sha256: str
    bytes: int
    stamp: tuple[int, int]


@dataclass(kw_only=True)
class FileEntry(Record):
    """A file in the manifest."""

    sha256: str
    bytes: int


@dataclass(kw_only=True)
class DatabaseEntry(Record):
    """The database in the manifest. migrations: applied migrations by app."""

    engine: str
    file: str
    migrations: dict[str, list[str]]


@dataclass(kw_only=True)
class Manifest(Record):
    """manifest.json. media: "copied", or "listed" if images are in an object store."""

    format: int
    made_at: str
    database: DatabaseEntry
    media: str
    left_out: list[str]
    files: dict[str, FileEntry]


@dataclass(kw_only=True)
class FinishedBackup(Record):
    """A finished backup, as the command prints it. files, bytes: totals copied."""

    backup: str
    database: str
    files: int
    bytes: int
    media: str


def make(goal: Path, watch: Watch = lambda count: None) -> FinishedBackup:
    """Write a backup to the folder `goal` and return it.

    watch: called with the number of files copied since its last call. Raises BadInput if `goal` is
    a file or a folder with files, the disk is too small or the database cannot be dumped; nothing
    is left behind.
    """
    _check_goal(goal)
    building = Path(tempfile.mkdtemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent))
    try:
        copied: dict[str, Copied] = {}
        _copy_files(building, copied, watch)
        name = dump_database(building)
        copied |= {name: _as_copied(building / name)}
        _copy_files(building, copied, watch)
        for made in (_write_secret_key(building), _write_listing(building)):
            copied |= {made.name: _as_copied(made)} if made else {}
        manifest = _manifest(name, copied)
        text = json.dumps(manifest.to_json(), indent=1) + "\n"
        (building / MANIFEST).write_text(text, encoding="utf-8")
        # Sync once at the end: syncing thousands of small files one by one takes minutes.
        os.sync()
        os.rename(building, goal)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return FinishedBackup(
        backup=str(goal),
        database=manifest.database.engine,
        files=len(copied),
        bytes=sum(file.bytes for file in copied.values()),
        media=manifest.media,
    )


def site_folders() -> dict[str, Path]:
    """Return the site's folder for each folder name in a backup.

    Media in an object store have none.
    """
    folders_by_name = {"data": Path(settings.DATA_DIR), "releases": Path(settings.RELEASES_DIR)}
    if media_are_files():
        folders_by_name["media"] = Path(default_storage.location)  # type: ignore[attr-defined]
    return folders_by_name


def media_are_files() -> bool:
    return isinstance(default_storage, FileSystemStorage)


def files_of(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the relative and the absolute path of each file in one of the site's folders."""
    places = site_folders()
    top = places[name]
    others = {folder_path.resolve() for key, folder_path in places.items() if key != name}
    passed = {path.resolve() for path in database_files()}
    seen: set[Path] = set()
    # Follow links: a data folder may have its images on another disk.
    for folder, folders, files in os.walk(top, followlinks=True):
        current = Path(folder)
        is_top = name == "data" and current == top
        seen.add(current.resolve())
        folders[:] = sorted(
            inner
            for inner in folders
            if not _is_passed_over(inner, is_top)
            and (current / inner).resolve() not in others | seen
        )
        for file in sorted(files):
            path = current / file
            if (
                not _is_passed_over(file, is_top)
                and path.is_file()
                and path.resolve() not in passed
            ):
                yield path.relative_to(top).as_posix(), path


def _is_passed_over(name: str, is_top: bool) -> bool:
    patterns = (*UNFINISHED, *SKIPPED_FILES) if is_top else UNFINISHED
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def database_files() -> list[Path]:
    """Return SQLite's file paths, existing or not; [] for PostgreSQL."""
    if connection.vendor != "sqlite":
        return []
    name = str(connection.settings_dict["NAME"])
    return [Path(name + ending) for ending in ("", "-wal", "-shm", "-journal")]


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Make files written in this context readable by their owner only: they hold password
    hashes.
    """
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def copy_hashed(source: Path, goal: Path) -> tuple[str, int]:
    """Copy a file with its mode and modification time; return its SHA-256 and size."""
    whole = hashlib.sha256()
    count = 0
    goal.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as read, goal.open("wb") as write:
        status = os.fstat(read.fileno())
        while part := read.read(CHUNK_BYTES):
            whole.update(part)
            count += write.write(part)
    # Use the status of the open file: the source may be deleted by now.
    goal.chmod(status.st_mode & 0o777)
    os.utime(goal, ns=(status.st_atime_ns, status.st_mtime_ns))
    return whole.hexdigest(), count


def check_program(program: str) -> None:
    """Raise BadInput if a PostgreSQL program is not installed."""
    if shutil.which(program) is None:
        raise BadInput(f"{program} is not installed", cure="install Debian's postgresql-client")


def run_postgres(program: str, *options: str) -> None:
    """Run pg_dump or pg_restore on the site's database.

    Raises BadInput with its error message, or if it is not installed.
    """
    from django.db.backends.postgresql.client import DatabaseClient

    check_program(program)
    # The same host, user, password and certificates that `manage.py dbshell` passes to psql.
    parameters = [*options, "--no-password", "--dbname"]
    [_, *arguments], env = DatabaseClient.settings_to_cmd_args_env(
        connection.settings_dict, parameters
    )
    done = subprocess.run(  # noqa: S603 - no shell, and a list of our own
        [program, *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        complaints = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        raise BadInput(
            f"{program} failed: {complaints[0]}", cure="see docs/how-to/deploy.md, Backup"
        )


def dump_database(folder: Path) -> str:
    """Write a consistent snapshot of the database into the folder; return the file's name."""
    if connection.vendor == "postgresql":
        goal = folder / "database.dump"
        run_postgres(
            "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={goal}"
        )
        return goal.name
    goal = folder / "database.sqlite3"
    connection.ensure_connection()
    with contextlib.closing(sqlite3.connect(goal)) as copy:
        # One step gives a consistent snapshot; with a write-ahead log it blocks nobody.
        connection.connection.backup(copy)
        # Make it a single file without a log.
        copy.execute("PRAGMA journal_mode=DELETE")
    return goal.name


def _check_goal(goal: Path) -> None:
    """Raise BadInput unless a backup can be written to this folder."""
    if goal.exists() and (not goal.is_dir() or any(goal.iterdir())):
        raise BadInput("already exists", goal, cure="name a new folder for each backup")
    if not goal.parent.is_dir():
        raise BadInput("its folder does not exist", goal, cure=f"create {goal.parent}")
    for site_folder in site_folders().values():
        if goal.resolve().is_relative_to(site_folder.resolve()):
            raise BadInput(
                f"is inside {site_folder}, which is backed up itself",
                goal,
                cure="name a folder elsewhere",
            )
    needed = sum(path.stat().st_size for path in database_files() if path.exists())
    for name in site_folders():
        for _, path in files_of(name):
            with contextlib.suppress(FileNotFoundError):
                needed += path.stat().st_size
    free = shutil.disk_usage(goal.parent).free
    if needed > free:
        raise BadInput(
            f"needs {needed:,} bytes, and its disk has {free:,} left",
            goal,
            cure="free some space or name a folder on another disk",
        )


def _copy_files(building: Path, copied: dict[str, Copied], watch: Watch) -> None:
    """Copy files that are new or have changed since they were copied."""
    for name in site_folders():
        for below, path in files_of(name):
            key = f"{name}/{below}"
            # The file may be deleted at this moment. Then nothing refers to it, or an earlier pass
            # copied it.
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                stamp = status.st_size, status.st_mtime_ns
                if key not in copied or copied[key].stamp != stamp:
                    copied[key] = Copied(*copy_hashed(path, building / key), stamp)
                    watch(1)


def _as_copied(path: Path) -> Copied:
    return Copied(file_sha256(path), path.stat().st_size, (0, 0))


def _write_secret_key(building: Path) -> Path:
    path = building / SECRET_KEY_FILE
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(settings.SECRET_KEY + "\n")
    return path


def _write_listing(building: Path) -> Path | None:
    """Write the names of all objects in the store and return the path; None if media are files."""
    if media_are_files():
        return None
    path = building / MEDIA_LIST
    with path.open("w", encoding="utf-8") as file:
        for name in objects_of(default_storage):
            top, _, below = name.partition("/")
            if top != "data" or not _is_passed_over(below.partition("/")[0], is_top=True):
                file.write(json.dumps({"name": name}) + "\n")
    return path


def objects_of(storage: Storage, folder: str = "") -> Iterator[str]:
    """Yield the names of all files in a storage."""
    folders, files = storage.listdir(folder)
    yield from (folder + file for file in sorted(files))
    for inner in sorted(folders):
        yield from objects_of(storage, f"{folder}{inner}/")


def _manifest(database: str, copied: dict[str, Copied]) -> Manifest:
    applied: dict[str, list[str]] = {}
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        applied.setdefault(app, []).append(name)
    return Manifest(
        format=FORMAT,
        made_at=timezone.now().isoformat(timespec="seconds"),
        database=DatabaseEntry(engine=connection.vendor, file=database, migrations=applied),
        media="copied" if media_are_files() else "listed",
        left_out=list(SKIPPED_FILES),
        files={
            name: FileEntry(sha256=file.sha256, bytes=file.bytes)
            for name, file in sorted(copied.items())
        },
    )
