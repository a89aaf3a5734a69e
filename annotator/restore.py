"""Restore a backup into an empty site. The whole backup is checked before the site changes.

Files are copied next to their targets and compared with the manifest's hashes. Then the database is
replaced, the files are renamed into place, and the database is migrated. See annotator/backup.py.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from django.apps import apps
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from annotator import backup, checks
from annotator.backup import Manifest, Watch
from labeling.files import BadInput
from labeling.records import Record

# A site with rows of these apps is in use; `migrate` fills the tables of other apps.
SITE_APPS = ("labeling", "evaluation")
TAKE_ANOTHER = "nothing was restored; take another backup"


@dataclass(kw_only=True)
class Restored(Record):
    """A finished restore, as the command prints it.

    migrations: how many were applied to an older backup. missing_media: how many listed names the
    object store lacks. same_secret_key: whether the site's setting equals the backup's key.
    """

    backup: str
    made_at: str
    database: str
    files: int
    bytes: int
    migrations: int
    media: str
    missing_media: int
    same_secret_key: bool


def restore(source: Path, watch: Watch = lambda count: None) -> Restored:
    """Replace this empty site by the backup.

    watch: called with the number of files read since its last call. Raises BadInput for a backup
    that is damaged, newer, too old or of another kind of database, and for a site that is not
    empty. Nothing has changed then, except that a PostgreSQL database lost its empty tables if
    pg_restore failed: `migrate` creates them again.
    """
    manifest = read_manifest(source)
    _check_database(source, manifest)
    check_empty()
    with ExitStack() as stack:
        staged = {
            name: stack.enter_context(_staging(site_folder))
            for name, site_folder in backup.site_folders().items()
        }
        _copy_checked(source, manifest, staged, watch)
        _restore_database(staged["data"] / manifest.database.file)
        _put_secret_key(staged["data"])
        media_names = _names_listed(staged["data"])
        for name, goal in backup.site_folders().items():
            _move(staged[name] / name, goal)
    os.sync()
    applied = _migrate()
    missing = 0
    if media_names:
        missing = len(media_names - set(backup.objects_of(default_storage)))
    kept = (Path(settings.DATA_DIR) / backup.SECRET_KEY_FILE).read_text().strip()
    return Restored(
        backup=str(source),
        made_at=manifest.made_at,
        database=manifest.database.engine,
        files=len(manifest.files),
        bytes=sum(file.bytes for file in manifest.files.values()),
        migrations=applied,
        media=manifest.media,
        missing_media=missing,
        # Without a setting, the site uses the key in the data folder.
        same_secret_key=kept == settings.SECRET_KEY or checks.has_insecure_key(),
    )


def read_manifest(source: Path) -> Manifest:
    """Return the backup's manifest. Raises BadInput for a folder without one, or a newer format."""
    path = source / backup.MANIFEST
    damaged = BadInput("is damaged", path, cure="take another backup")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != backup.FORMAT:
            raise BadInput(
                f"has the format {content['format']}, and this version of Assay reads "
                f"{backup.FORMAT}",
                path,
                cure="install the version that made it, or a later one",
            )
        manifest = Manifest.from_json(content)
        applied = [name for names in manifest.database.migrations.values() for name in names]
        sound = all(
            _is_safe(name) and isinstance(entry.sha256, str) and isinstance(entry.bytes, int)
            for name, entry in manifest.files.items()
        )
        sound &= all(isinstance(name, str) for name in applied)
        sound &= manifest.database.file in manifest.files
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput("is not a backup: it has no manifest.json", source) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise damaged from None
    if not sound:
        raise damaged
    return manifest


def check_empty() -> None:
    """Raise BadInput if the site has rows or files."""
    cure = "restore into an empty one: another ASSAY_DATA and another database"
    for path in backup.database_files()[:1]:
        # SQLite creates the file but not its folder.
        path.parent.mkdir(parents=True, exist_ok=True)
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
    for label in SITE_APPS:
        for model in apps.get_app_config(label).get_models():
            table = model._meta.db_table
            if table in tables and _has_rows(table):
                raise BadInput(f"this site is in use: its table {table} has rows", cure=cure)
    for name in backup.site_folders():
        for _, path in backup.files_of(name):
            raise BadInput(f"this site is in use: it has files, such as {path}", cure=cure)


def _has_rows(table: str) -> bool:
    # Use SQL instead of the model: the table may be of an older version.
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608
        return cursor.fetchone() is not None


def _check_database(source: Path, manifest: Manifest) -> None:
    """Raise BadInput unless the database is of this site's kind, not newer than the code, not older
    than the second edition, and the media storage is of the same kind.
    """
    engine = manifest.database.engine
    if engine != connection.vendor:
        raise BadInput(
            f"holds a database of {engine}, and this site has one of {connection.vendor}",
            source,
            cure="set DATABASE_URL to the same kind of database",
        )
    applied = [
        (app, name) for app in SITE_APPS for name in manifest.database.migrations.get(app, [])
    ]
    known = MigrationLoader(None).disk_migrations
    for app, name in applied:
        if (app, name) not in known:
            raise BadInput(
                f"was made by a newer version of Assay: the migration {app} {name} is not "
                "known here",
                source,
                cure="install that version, or a later one",
            )
    if checks.is_before_second_edition(applied):
        raise BadInput(
            "is older than the second edition of Assay",
            source,
            cure=f"restore it with that edition ({checks.SECOND_EDITION}), and back up again there",
        )
    lists_media = manifest.media == "listed"
    if lists_media == backup.media_are_files():
        raise BadInput(
            "lists the images of an object store, and this site keeps images as files"
            if lists_media
            else "has the images as files, and this site keeps them in an object store",
            source,
            cure="give STORAGES the same kind of storage",
        )


def _is_safe(name: str) -> bool:
    """Return whether a name of the manifest stays in its folder."""
    path = PurePosixPath(name)
    is_inside = bool(path.parts) and not path.is_absolute() and ".." not in path.parts
    return is_inside and "\0" not in name


@contextmanager
def _staging(site_folder: Path) -> Iterator[Path]:
    """Yield an empty folder on the same disk as the site folder; remove it afterwards."""
    site_folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".restoring.", dir=site_folder))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_checked(source: Path, manifest: Manifest, staged: dict[str, Path], watch: Watch) -> None:
    """Copy every file of the manifest next to its target.

    Raises BadInput for a missing or changed file.
    """
    for name, entry in manifest.files.items():
        root = name.partition("/")[0]
        goal = staged.get(root, staged["data"]) / name
        try:
            sha256, size = backup.copy_hashed(source / name, goal)
        except FileNotFoundError:
            raise BadInput("is missing in the backup", source / name, cure=TAKE_ANOTHER) from None
        if (sha256, size) != (entry.sha256, entry.bytes):
            raise BadInput(
                "has changed since the backup was made", source / name, cure=TAKE_ANOTHER
            )
        watch(1)


def _restore_database(dump: Path) -> None:
    if connection.vendor == "postgresql":
        backup.check_program("pg_restore")
        _drop_tables()
        connection.close()
        options = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")
        backup.run_postgres("pg_restore", *options, str(dump))
        return
    connection.close()
    goal, *beside = backup.database_files()
    for path in beside:
        path.unlink(missing_ok=True)
    goal.parent.mkdir(parents=True, exist_ok=True)
    # The database may be on another disk than the data folder.
    part = goal.with_name(f".{goal.name}.part")
    shutil.move(dump, part)
    os.replace(part, goal)


def _drop_tables() -> None:
    """Drop the empty tables of a migrated site; the backup brings its own."""
    tables = connection.introspection.django_table_names(only_existing=True)
    # These have no model: migrations create the table of the shared cache.
    tables += [MigrationRecorder.Migration._meta.db_table, "assay_cache"]
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"DROP TABLE IF EXISTS {connection.ops.quote_name(table)} CASCADE")


def _put_secret_key(staged: Path) -> None:
    """Put the key into the data folder, where the operator finds it; the setting itself is in the
    environment.
    """
    goal = staged / "data" / backup.SECRET_KEY_FILE
    goal.parent.mkdir(exist_ok=True)
    # The data folder of a demo has the file already.
    (staged / backup.SECRET_KEY_FILE).replace(goal)
    goal.chmod(0o600)


def _names_listed(staged: Path) -> set[str]:
    path = staged / backup.MEDIA_LIST
    if not path.exists():
        return set()
    with path.open(encoding="utf-8") as lines:
        return {json.loads(line)["name"] for line in lines}


def _move(staged: Path, target: Path) -> None:
    """Move the staged files to the target; fill folders that exist already."""
    if not staged.is_dir():
        return
    for inner in sorted(staged.iterdir()):
        goal = target / inner.name
        if inner.is_dir() and goal.is_dir():
            _move(inner, goal)
        else:
            os.replace(inner, goal)


def _migrate() -> int:
    """Return the number of migrations applied."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    call_command("migrate", interactive=False, verbosity=0)
    ContentType.objects.clear_cache()
    return len(plan)
