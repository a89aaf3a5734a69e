"""A backup has everything that the site needs, and a restored site is the same site."""

import json
import os
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as site
from django.core import serializers
from django.core.files.storage import InMemoryStorage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection

from annotator import backup, checks
from evaluation.benchmarks import runs
from evaluation.models import Benchmark, Run
from labeling.datasets import images
from labeling.jobs import kept_files, queue
from labeling.models import Image, Job, User
from tests import factories
from tests.clients import logged_in
from tests.conftest import skip_or_fail
from tests.world import build

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _has_postgres_client() -> None:
    if connection.vendor == "postgresql" and not shutil.which("pg_dump"):
        skip_or_fail("pg_dump is not installed")


@pytest.fixture(autouse=True)
def _has_a_key(settings) -> None:
    settings.SECRET_KEY = "of this site"


@pytest.fixture
def goal(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("backups") / "monday"


def tables() -> dict[str, list[dict[str, Any]]]:
    """Every row of every table of the site."""
    return {
        model._meta.label: json.loads(
            serializers.serialize("json", model._default_manager.order_by("pk"))
        )
        for model in apps.get_models()
        if model._meta.managed and not model._meta.proxy
    }


def files() -> dict[str, bytes]:
    """Every file of the site by its path."""
    return {
        f"{name}/{below}": path.read_bytes()
        for name in backup.site_folders()
        for below, path in backup.files_of(name)
        if below != backup.SECRET_KEY_FILE
    }


def score(benchmark: Benchmark) -> dict[str, Any]:
    """What scoring the benchmark says now."""
    run = runs.request(benchmark)
    queue.run(Job.objects.get(kind="score", key=f"run {run.pk}").pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    return run.result


def wipe() -> None:
    call_command("flush", interactive=False, verbosity=0)
    for folder in backup.site_folders().values():
        shutil.rmtree(folder, ignore_errors=True)


def manifest(goal: Path) -> dict[str, Any]:
    return json.loads((goal / "manifest.json").read_text())


@pytest.mark.django_db(transaction=True)
def test_a_restored_site_has_the_same_tables_files_and_scores(goal, shell):
    world = build()
    (site.DATA_DIR / "queue").mkdir()
    (site.DATA_DIR / "queue" / "1.message").write_text("for a worker")
    kept_files.keep(User.objects.earliest("pk"), SimpleUploadedFile("pairs.csv", b"for a form"))
    had = tables(), files()
    status, out, _ = shell("backup", goal, "--json")
    result = json.loads(out)
    wipe()

    restored = shell("restore", goal, "--json")

    assert status == 0
    assert result["files"] == len(manifest(goal)["files"]) == len(had[1]) + 2
    assert (restored[0], json.loads(restored[1])["migrations"]) == (0, 0)
    assert restored[2] == ""
    assert any(name.startswith("data/benchmarks/") for name in had[1])
    assert not any(name.startswith("data/uploads/") for name in had[1])
    assert {name.partition("/")[0] for name in had[1]} == {"data", "media", "releases"}
    assert (tables(), files()) == had
    folders = [path for path in (*goal.rglob("*"), *site.DATA_DIR.rglob("*/*")) if path.is_dir()]
    private = [goal / manifest(goal)["database"]["file"], *folders]
    assert [path for path in private if path.stat().st_mode & 0o077] == []
    assert (site.DATA_DIR / "secret-key").read_text().strip() == site.SECRET_KEY
    maps = Benchmark.objects.get(name="maps")
    assert score(maps) == maps.runs.earliest("pk").result
    client = logged_in(User.objects.get(username="alice"))
    truth = client.get("/api/v1/benchmarks/maps/truth.zip")
    assert b"".join(truth) == had[1][f"data/benchmarks/{maps.pk}/truth.zip"]
    truth.close()
    assert client.get(f"/campaigns/{world.campaign.name}/").status_code == 200
    assert not list(goal.parent.glob(".*"))


@pytest.mark.django_db(transaction=True)
def test_what_comes_and_goes_while_the_backup_is_made_is_in_it(goal, alice, dataset, monkeypatch):
    goes = images.add_file(dataset, "goes.png", BytesIO(factories.picture(1))).image
    dump = backup.dump_database

    def dumping(folder: Path) -> str:
        images.add_file(dataset, "comes.png", BytesIO(factories.picture(2)))
        name = dump(folder)
        images.add_file(dataset, "late.png", BytesIO(factories.picture(3)))
        (Path(site.MEDIA_ROOT) / goes.file.name).unlink()
        return name

    monkeypatch.setattr(backup, "dump_database", dumping)

    backup.make(goal)

    wipe()
    call_command("restore", str(goal))
    assert sorted(Image.objects.values_list("name", flat=True)) == ["comes.png", "goes.png"]
    for image in Image.objects.all():
        with image.file.open() as file:
            assert file.read()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("in_use", ["rows", "files"])
def test_a_site_in_use_is_refused_and_stays(goal, shell, in_use):
    factories.make_user("alice")
    backup.make(goal)
    if in_use == "files":
        wipe()
        Path(site.MEDIA_ROOT).mkdir(parents=True)
        (Path(site.MEDIA_ROOT) / "photo.png").write_bytes(b"1")
    had = tables(), files()

    status, out, err = shell("restore", goal)

    assert (status, out) == (1, "")
    assert "this site is in use" in err
    assert len(err.splitlines()) == 1
    assert (tables(), files()) == had


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda goal: (goal / "secret-key").write_text("another"), "has changed since"),
        (lambda goal: (goal / "secret-key").unlink(), "is missing in the backup"),
        (lambda goal: (goal / "manifest.json").unlink(), "is not a backup"),
        (lambda goal: (goal / "manifest.json").write_text("{}"), "is damaged"),
        (lambda goal: change(goal, format=2), "has the format 2"),
        (lambda goal: change(goal, files={"../out": {}}), "is damaged"),
        (lambda goal: change(goal, files={"data/a": 5}), "is damaged"),
        (lambda goal: change(goal, files={"data/a\0b": {"sha256": "", "bytes": 1}}), "is damaged"),
        (lambda goal: change_database(goal, migrations=[1, 2]), "is damaged"),
        (lambda goal: change_database(goal, migrations={"labeling": [1]}), "is damaged"),
        (lambda goal: change_database(goal, engine="oracle"), "holds a database of oracle"),
        (
            lambda goal: change_database(goal, migrations={"labeling": ["9999_later"]}),
            "made by a newer version of Assay: the migration labeling 9999_later",
        ),
        (
            lambda goal: change_database(goal, migrations={"labeling": ["0001_initial"]}),
            "older than the second edition of Assay",
        ),
        (lambda goal: change(goal, media="listed"), "lists the images of an object store"),
    ],
)
def test_a_backup_that_is_damaged_or_of_another_site_is_refused(goal, shell, damage, message):
    backup.make(goal)
    damage(goal)

    status, out, err = shell("restore", goal)

    assert (status, out) == (1, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert files() == {}
    assert not User.objects.exists()


def change(goal: Path, **members: Any) -> None:
    (goal / "manifest.json").write_text(json.dumps(manifest(goal) | members))


def change_database(goal: Path, **members: Any) -> None:
    change(goal, database=manifest(goal)["database"] | members)


@pytest.mark.django_db(transaction=True)
def test_a_backup_that_fails_leaves_nothing(goal, shell, monkeypatch):
    def full(folder: Path) -> str:
        raise OSError(28, "No space left on device", str(folder))

    monkeypatch.setattr(backup, "dump_database", full)

    status, out, err = shell("backup", goal)

    assert (status, out) == (1, "")
    assert "no space left" in err
    assert list(goal.parent.iterdir()) == []


@pytest.mark.django_db(transaction=True)
def test_a_backup_goes_to_a_new_folder_outside_the_site(goal, shell):
    goal.mkdir()
    (goal / "old").write_text("x")

    for folder, message in ((goal, "already exists"), (site.DATA_DIR / "b", "is backed up itself")):
        status, _, err = shell("backup", folder)

        assert (status, message in err) == (1, True)


@pytest.mark.django_db(transaction=True)
def test_a_disk_without_room_is_refused_before_anything_is_copied(goal, shell, monkeypatch):
    site.DATA_DIR.joinpath("large").write_bytes(b"12345")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: type("", (), {"free": 4}))

    status, _, err = shell("backup", goal)

    assert status == 1
    assert "its disk has 4 left" in err
    assert list(goal.parent.iterdir()) == []


@pytest.mark.django_db(transaction=True)
def test_media_in_an_object_store_are_listed_and_counted_where_they_are_missing(
    goal, shell, settings, monkeypatch
):
    store = InMemoryStorage()
    passing = ("data/uploads/1-ab", "data/freezing/ab/00000.zip")
    for name in ("display/ab/one.png", "file/two.png", "data/coots/1.tar", *passing):
        store.save(name, BytesIO(b"1"))
    for module in ("annotator.backup", "annotator.restore"):
        monkeypatch.setattr(f"{module}.default_storage", store)
    backup.make(goal)
    store.delete("file/two.png")

    status, out, err = shell("restore", goal, "--json")

    lines = (goal / "media.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"name": "data/coots/1.tar"},
        {"name": "display/ab/one.png"},
        {"name": "file/two.png"},
    ]
    assert status == 0
    assert json.loads(out)["missing_media"] == 1
    assert "Of the backup, 1 image could not be found in the store" in err


@pytest.mark.django_db(transaction=True)
def test_a_secret_key_of_its_own_is_said(goal, shell, settings):
    backup.make(goal)
    key = settings.SECRET_KEY
    settings.SECRET_KEY = "of the new machine"

    _, out, err = shell("restore", goal, "--json")

    assert json.loads(out)["same_secret_key"] is False
    assert "SECRET_KEY differs from the backup's" in err
    assert (settings.DATA_DIR / "secret-key").read_text().strip() == key
    assert (settings.DATA_DIR / "secret-key").stat().st_mode & 0o777 == 0o600


@pytest.mark.django_db(transaction=True)
def test_a_backup_without_a_key_says_so(goal, shell, settings):
    settings.SECRET_KEY = checks.INSECURE_KEY

    _, _, err = shell("backup", goal)

    assert "SECRET_KEY is not set here" in err


@pytest.mark.ci
@pytest.mark.parametrize("labeling", ["0029", "0033"])
def test_an_older_backup_is_migrated(tmp_path, labeling):
    def manage(data: str, calls: str) -> str:
        """What a new process prints that runs these calls."""
        lines = [
            *("import django", "django.setup()"),
            "from django.core.management import call_command",
            "from tests.replaced_migrations import replaced_migrations",
            calls,
        ]
        env = {
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "annotator.settings",
            "ASSAY_DATA": str(tmp_path / data),
            "SECRET_KEY": "of this test",
        }
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(lines)],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "old").mkdir()
    older = manage(
        "old",
        f"""
with replaced_migrations():
    call_command("migrate", "labeling", "{labeling}", verbosity=0)
    call_command("migrate", "evaluation", "0005", verbosity=0)
    call_command("backup", "{tmp_path}/backup")
    call_command("showmigrations")
""",
    )

    restored, migrations = manage(
        "new",
        f"""
call_command("restore", "{tmp_path}/backup", "--json")
call_command("showmigrations")
""",
    ).split("\n", 1)

    assert json.loads(restored)["migrations"] == older.count("[ ]")
    assert migrations.count("squashed migrations)") == 2
    assert "[ ]" not in migrations
    assert "[-]" not in migrations
