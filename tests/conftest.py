"""Alice runs the campaign, Bob labels, Charlie has no business here."""

import copy
import ctypes
import gc
import io
import json
import os
import random
import runpy
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.core.management import call_command, get_commands, load_command_class
from django.db import connections, transaction
from django.test import Client, override_settings
from hypothesis import HealthCheck, settings

from annotator.static_files import HashedFiles
from evaluation.metrics import significance
from evaluation.metrics.wordnet.nouns import WordNet, WordNetMissing, load
from labeling.datasets import images
from labeling.models import Campaign, Dataset, Job, User
from tests import factories, object_store, tables
from tests.clients import logged_in

# `--hypothesis-profile nightly` looks thirty times as hard. How long an example takes says more of
# the machine than of the code, and a fixture may serve every example of its test.
for name, examples in (("quick", 10), ("nightly", 300)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
settings.load_profile("quick")

REQUIRE_ALL = os.environ.get("ASSAY_REQUIRE_ALL") == "1"


def skip_or_fail(reason: str) -> None:
    """Skips with the reason; fails where everything is required (CI)."""
    if REQUIRE_ALL:
        pytest.fail(f"{reason} (ASSAY_REQUIRE_ALL is set)")
    pytest.skip(reason)


def find_chromium() -> str | None:
    """Chromium's shell before the whole browser, whose own windows take more than the pages."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


# As the site has them; tests in a browser do, too.
HASHED_FILES = django_settings.STORAGES


def pytest_configure() -> None:
    """Static files keep their names, so that none need be collected. A shell's background job
    ignores Ctrl-C, and so would every process that a test starts."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    django_settings.STORAGES = HASHED_FILES | {"staticfiles": plain}
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# What needs a server, PostgreSQL included, takes long; `.ci/run` has it, `make test` does not.
CI_ALONE = ("broker", "pgbouncer", "postgres", "ray")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items) -> None:
    """Marks what meets the database: only that is tried again on another one. A test in a browser
    or on a Ray cluster of many processes gets a second turn, which is told; so does what ran out of
    time at a broker on a busy machine, and what met a fault of Python 3.11, whose parser miscounts
    when two threads use it at once."""
    kept: dict[Path, set[bool]] = {}
    for item in items:
        again = ["AST constructor recursion depth mismatch"]
        if item.get_closest_marker("broker"):
            again += ["TimeoutError", "Timeout"]
        if any(map(item.get_closest_marker, CI_ALONE)):
            item.add_marker("ci")
        of_many = "browser" in item.path.parts or item.get_closest_marker("ray")
        item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=None if of_many else again))
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & {"db", "transactional_db"} or item.get_closest_marker("django_db"):
            item.add_marker("database")
            kept.setdefault(item.path, set()).add("afresh" in fixtures)
    # What is built once stays until the module ends; an empty site is to be had in another.
    mixed = [str(path) for path, ways in kept.items() if len(ways) > 1]
    assert not mixed, f"some tests take `afresh`, others an empty database: {mixed}"


def pytest_runtest_setup(item) -> None:
    """Even where everything is required: machines for tests have no GPU."""
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("no GPU is here that torch can use")


def collect_garbage() -> None:
    """Collect, then hide what is alive from later collections: a full one took seconds."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without collecting garbage: they stay, and going through them takes a seventh
    of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    collect_garbage()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """After a file, return its memory: malloc keeps the blocks of large arrays, and the readers of
    NLTK's corpora are cycles that the collector's oldest generation reaches too late."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        collect_garbage()
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
    return result


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix, tmp_path_factory
) -> None:
    """SQLite in a file: in memory, a live server's threads would share one connection."""
    default = connections.settings["default"]
    # tests/labeling/test_migrations.py compares the tables with those that migrations make.
    default["TEST"]["MIGRATE"] = False
    if connections["default"].vendor == "sqlite":
        default["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
        # Nothing here outlives a power cut.
        options = default["OPTIONS"]
        options["init_command"] = options["init_command"].replace(
            "synchronous=FULL", "synchronous=OFF"
        )


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> None:
    with django_db_blocker.unblock():
        tables.complete()


def own_world(folder: Path) -> dict[str, Any]:
    """Settings under which a test writes into this folder, hashes cheaply and reaches no broker."""
    # In memory: a test without a database has none to count logins in.
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    return {
        "DATA_DIR": folder,
        "MEDIA_ROOT": folder / "media",
        "RELEASES_DIR": folder / "releases",
        "PASSWORD_HASHERS": ["django.contrib.auth.hashers.MD5PasswordHasher"],
        "CELERY_BROKER_URL": "memory://",
        "CACHES": {"default": memory, "local": memory},
        # Without it the middleware of each test's client reads the whole folder of static files.
        "WHITENOISE_AUTOREFRESH": True,
    }


def deal_the_same_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labeling.assignment.gold_mixing.chance", random.Random(1))


def deal_the_same_tokens(monkeypatch: pytest.MonkeyPatch, seed: str) -> None:
    """The seats of a page are sorted by their tokens."""
    source = random.Random(seed)
    same = SimpleNamespace(token_hex=lambda size: source.randbytes(size).hex())
    monkeypatch.setattr("labeling.models.people.secrets", same)


@pytest.fixture(autouse=True)
def _own_world(settings, tmp_path: Path, monkeypatch, request):
    """Every test has a folder of its own, no broker, and is dealt the same gold in the same order
    each time."""
    deal_the_same_gold(monkeypatch)
    deal_the_same_tokens(monkeypatch, request.node.nodeid)
    for name, value in own_world(tmp_path).items():
        setattr(settings, name, value)
    from annotator.celery import app

    app.conf.broker_url = "memory://"
    cache.clear()


@pytest.fixture(scope="session", autouse=True)
def _derive_once() -> Iterator[None]:
    """The display and the thumbnail of an image are encoded once for all tests."""
    made: dict[tuple[bytes, int], Any] = {}
    derive = images.derive

    def derive_once(file: IO[bytes], *, max_pixels: int) -> Any:
        key = file.read(), max_pixels
        if key not in made:
            made[key] = derive(io.BytesIO(key[0]), max_pixels=max_pixels)
        return made[key]

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(images, "derive", derive_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _draw_once() -> Iterator[None]:
    """The rounds of an interval are drawn once for all tests: a handful of images takes 2.5 million
    of them. The generator goes on as if it had drawn them again."""
    known: dict[tuple[Any, ...], Any] = {}
    interval = significance._interval_of_counts

    def draw_once(worth, counts, level, generator, *rounds: int) -> significance.Interval:
        bits = generator.bit_generator
        key = worth.tobytes(), counts.tobytes(), level, rounds, str(bits.state)
        if key not in known:
            known[key] = interval(worth, counts, level, generator, *rounds), bits.state
        result, bits.state = known[key]
        return result

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(significance, "_interval_of_counts", draw_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_fsync() -> Iterator[None]:
    """Nothing waits for the disk: a test's files need not survive the machine. Processes that tests
    start wait as the site does."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session")
def collected(tmp_path_factory) -> Path:
    """The folder of static files as collectstatic leaves it, but that nothing is compressed."""
    folder: Path = tmp_path_factory.mktemp("collected")
    with (
        override_settings(STORAGES=HASHED_FILES, STATIC_ROOT=folder),
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        monkeypatch.setattr(HashedFiles, "compress_files", lambda storage, paths: [])
        call_command("collectstatic", interactive=False, verbosity=0)
    return folder


@pytest.fixture(scope="module")
def once(django_db_setup, django_db_blocker, tmp_path_factory):
    """Fills the database once for all tests of a module, `with once(): build()`; a test that takes
    `afresh` finds rows and files as they were then, whatever others did to them."""
    folder, connection = tmp_path_factory.mktemp("once"), connections["default"]

    @contextmanager
    def building() -> Iterator[None]:
        with (
            django_db_blocker.unblock(),
            override_settings(**own_world(folder)),
            pytest.MonkeyPatch.context() as monkeypatch,
        ):
            deal_the_same_gold(monkeypatch)
            yield

    building.folder = folder
    with django_db_blocker.unblock():
        whole = transaction.atomic()
        whole.__enter__()
    # Tests run in savepoints of this transaction, and the end of each would close the connection.
    connection.close = lambda: None
    yield building
    del connection.close
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        whole.__exit__(None, None, None)
        connection.close()


@pytest.fixture
def afresh(once, db, tmp_path: Path) -> None:
    shutil.copytree(once.folder, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def built_world(once):
    from tests.world import build

    with once():
        return build()


@pytest.fixture
def world(built_world, afresh):
    """A small world with one of everything, of tests/world.py."""
    return copy.deepcopy(built_world)


@pytest.fixture
def fresh_settings(monkeypatch) -> Callable[[dict[str, str]], SimpleNamespace]:
    """The project's settings as a new process with these environment variables reads them."""

    def read(variables: dict[str, str]) -> SimpleNamespace:
        for name in ("ASSAY_HTTPS", "ASSAY_TRUSTED_PROXIES", "CACHE_URL"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return SimpleNamespace(**runpy.run_path("annotator/settings.py"))

    monkeypatch.chdir(Path(__file__).resolve().parents[1])
    return read


@pytest.fixture(scope="session")
def s3_server() -> Iterator[object_store.Server]:
    """An S3 server (moto) for all tests of this process."""
    with object_store.serving() as server:
        yield server


@pytest.fixture
def bucket(s3_server: object_store.Server) -> object_store.Bucket:
    """An empty bucket of this test's own."""
    return object_store.new_bucket(s3_server)


class Shell:
    """Runs commands as from the shell; (exit status, stdout, stderr) of each."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, name: str, *arguments: object) -> tuple[int, str, str]:
        command = load_command_class(get_commands()[name], name)
        status = 0
        try:
            command.run_from_argv(["manage.py", name, *map(str, arguments)])
        except SystemExit as exit:
            status = int(exit.code or 0)
        output = self.capsys.readouterr()
        return status, output.out, output.err

    def result(self, name: str, *arguments: object) -> Any:
        """The JSON of a command that ends well and warns of nothing."""
        status, out, err = self(name, *arguments, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    def refusal(self, name: str, *arguments: object) -> Any:
        """The JSON of a command that refuses its input: one line on stderr, nothing on stdout."""
        status, out, err = self(name, *arguments, "--json")
        assert (status, out) == (1, "")
        assert err.count("\n") == 1
        return json.loads(err)


@pytest.fixture
def shell(capsys, monkeypatch) -> Shell:
    # A command ends by closing the connections, which the test still needs.
    monkeypatch.setattr("django.db.connections.close_all", lambda: None)
    return Shell(capsys)


@pytest.fixture
def commands_here(monkeypatch) -> None:
    """Jobs run their commands in this process; one test of each command leaves this out."""
    from tests.labeling.jobs import here

    monkeypatch.setattr("labeling.jobs.child.manage", here.manage)


@pytest.fixture(scope="session")
def wordnet() -> WordNet:
    """This machine's WordNet; without it the test is skipped, or fails in CI."""
    try:
        return load()
    except WordNetMissing as missing:
        skip_or_fail(str(missing))
        raise


@pytest.fixture(scope="session")
def schema() -> dict[str, Any]:
    """The OpenAPI schema. Fails where a field or parameter has no type: the framework warns."""
    out = io.StringIO()
    options = ("--validate", "--fail-on-warn", "--format", "openapi-json")
    call_command("spectacular", *options, stdout=out)
    return json.loads(out.getvalue())


@pytest.fixture
def alice(db) -> User:
    return factories.person("alice", is_researcher=True)


@pytest.fixture
def bob(db) -> User:
    return factories.person("bob")


@pytest.fixture
def charlie(db) -> User:
    return factories.person("charlie")


@pytest.fixture
def as_alice(alice: User) -> Client:
    return logged_in(alice)


@pytest.fixture
def as_bob(bob: User) -> Client:
    return logged_in(bob)


@pytest.fixture
def as_charlie(charlie: User) -> Client:
    return logged_in(charlie)


@pytest.fixture
def dataset(alice: User) -> Dataset:
    return alice.datasets.filter(name="pond").first() or factories.make_dataset(alice)


@pytest.fixture
def coots(alice: User, bob: User, dataset: Dataset) -> Campaign:
    """An open campaign of six questions, five votes each, where Bob annotates."""
    campaign = factories.make_campaign(alice, dataset, images=6)
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def run_jobs():
    """Runs every queued job, and what those enqueue, until none is left."""

    def run() -> int:
        from labeling.jobs import queue

        count = 0
        while (job := Job.objects.filter(state="queued").order_by("pk").first()) is not None:
            queue.run(job.pk)
            count += 1
            assert count < 10_000, "jobs keep enqueueing each other"
        return count

    return run
