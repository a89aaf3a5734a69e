"""The supervisor: what it starts ends with it, however it ends."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy import serve
from evaluation.metrics.wordnet import nouns
from tests.cases import for_each
from tests.conftest import skip_or_fail

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
LINUX = sys.platform.startswith("linux")
# A supervisor of two: one plain process, and one that forks, each writing its process ids.
PAIR = """
import sys
from pathlib import Path
from deploy import serve

folder = Path(sys.argv[1])
site = serve.Supervisor(folder, dict(serve.os.environ))
site.listen_to_signals()
try:
    plain = "import os, time; open('plain.pid', 'w').write(str(os.getpid())); time.sleep(60)"
    forks = (
        "import os, time; child = os.fork(); "
        "open('fork.pid' if child else 'forked.pid', 'w').write(str(os.getpid())); time.sleep(60)"
    )
    site.start("plain", sys.executable, "-c", f"import os; os.chdir({str(folder)!r}); {plain}")
    site.start("forks", sys.executable, "-c", f"import os; os.chdir({str(folder)!r}); {forks}")
    site.watch()
except serve.Stop as stop:
    print(stop, flush=True)
    sys.exit(stop.code)
finally:
    site.end()
"""


def until(look: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def lives(pid: int) -> bool:
    try:
        # A zombie that init has not reaped yet is dead to everybody else.
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def successor(file: Path, pid: int) -> int:
    """The id of the process started in the place of `pid`."""
    until(lambda: file.read_text() not in ("", str(pid)))
    return int(file.read_text())


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, int]]]:
    if not LINUX:
        pytest.skip("reads /proc")
    supervisor = subprocess.Popen(
        [sys.executable, "-c", PAIR, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    files = [tmp_path / f"{name}.pid" for name in ("plain", "fork", "forked")]
    until(lambda: all(file.exists() and file.read_text() for file in files))
    pids = {file.stem: int(file.read_text()) for file in files}
    yield supervisor, pids
    supervisor.kill()
    supervisor.communicate()
    for pid in pids.values():
        if lives(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_that_was_started(pair, number):
    supervisor, pids = pair

    supervisor.send_signal(number)

    assert supervisor.wait(20) == 0
    assert not any(lives(pid) for pid in pids.values())


def test_one_that_dies_is_started_again_and_what_it_forked_is_gone(pair, tmp_path):
    supervisor, pids = pair

    os.kill(pids["fork"], signal.SIGKILL)

    fresh = successor(tmp_path / "fork.pid", pids["fork"])
    assert lives(fresh)
    assert lives(pids["plain"])
    assert not lives(pids["forked"])
    supervisor.terminate()
    assert supervisor.wait(20) == 0
    assert not lives(fresh)


def test_one_that_keeps_dying_ends_the_others(pair, tmp_path):
    supervisor, pids = pair

    pid = pids["fork"]
    for _ in range(serve.MAX_DEATHS - 1):
        os.kill(pid, signal.SIGKILL)
        pid = successor(tmp_path / "fork.pid", pid)
    os.kill(pid, signal.SIGKILL)

    output, _ = supervisor.communicate(timeout=60)
    assert supervisor.returncode == 1
    assert "forks keeps dying" in output
    assert not lives(pids["plain"])


def test_kill_9_reaches_what_was_started(pair):
    supervisor, pids = pair

    supervisor.kill()

    until(lambda: not lives(pids["plain"]) and not lives(pids["fork"]))


def test_a_step_that_fails_says_what_it_said(tmp_path):
    site = serve.Supervisor(tmp_path, dict(os.environ))

    with pytest.raises(serve.Stop, match="the disk is full"):
        site.run(sys.executable, "-c", "import sys; sys.exit('the disk is full')")

    assert site.children == {}


class Recorder:
    """A site that runs nothing, and the commands that it was to run."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def run(self, *command: str) -> None:
        self.commands.append(" ".join(command[1:]))


def test_static_files_are_collected_when_one_of_them_is_newer_than_the_manifest(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(serve, "ROOT", tmp_path)
    paths = ("static/a.js", "static/js/b.js", "requirements.lock", "staticfiles/staticfiles.json")
    script, deeper, lock, manifest = (tmp_path / path for path in paths)
    collected = "manage.py collectstatic --no-input"

    def runs(**seconds: int) -> list[str]:
        for file, name in (
            (script, "script"),
            (deeper, "deeper"),
            (lock, "lock"),
            (manifest, "manifest"),
        ):
            if name in seconds:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
                os.utime(file, (seconds[name], seconds[name]))
        for folder in (tmp_path / "static", deeper.parent):
            os.utime(folder, (1, 1))
        site = Recorder()
        serve.collect(site)
        return site.commands

    assert runs(script=10, deeper=10, lock=10) == [collected]
    assert runs(manifest=10) == []
    assert runs(deeper=20) == [collected]
    assert runs(manifest=20) == []
    assert runs(lock=30) == [collected]


def test_a_port_in_use_is_refused_with_the_cure():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(serve.Stop, match=f"Port {port} .* PORT={port + 1}"):
            serve.listen("127.0.0.1", port)


def test_one_folder_is_served_once(tmp_path):
    first, second, third = (serve.only_one(tmp_path) for _ in range(3))

    with first, pytest.raises(serve.Stop, match="already being served"):
        second.__enter__()

    with third:
        pass


def test_the_secret_key_is_random_private_and_kept(tmp_path):
    (tmp_path / "other").mkdir()

    key = serve.secret_key(tmp_path)

    assert len(key) >= 50
    assert serve.secret_key(tmp_path) == key
    assert serve.secret_key(tmp_path / "other") != key
    assert stat.S_IMODE((tmp_path / "secret-key").stat().st_mode) == 0o600


def test_the_demonstration_never_touches_a_real_site(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://db/real")
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://real")
    monkeypatch.setenv("SECRET_KEY", "real")

    env = serve.environment(tmp_path, demo=True)

    assert env["DATABASE_URL"] == f"sqlite:///{tmp_path}/assay.sqlite3"
    assert env["CELERY_BROKER_URL"] == "filesystem://"
    assert env["SECRET_KEY"] == serve.secret_key(tmp_path)


def test_without_demo_the_environment_decides(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://db/real")
    monkeypatch.setenv("SECRET_KEY", "real")

    env = serve.environment(tmp_path, demo=False)

    assert (env["DATABASE_URL"], env["SECRET_KEY"]) == ("postgres://db/real", "real")


@for_each("arguments", [["--demo", "--host", "0.0.0.0"], ["--port", "70000"]])
def test_wrong_usage_exits_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        serve.parse(arguments)

    assert exit_.value.code == 2
    assert "error" in capsys.readouterr().err


def family(pid: int) -> set[int]:
    """A process and all that it and its children started."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(state[1])
    pids = {pid}
    while more := {child for child, parent in parents.items() if parent in pids} - pids:
        pids |= more
    return pids


@contextlib.contextmanager
def demonstration(data: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`make demo` on a free port, and what it had said when it was ready."""
    command = [sys.executable, "deploy/serve.py", "--demo", "--port", "0", "--data", str(data)]
    log = data.parent / "said.txt"
    with open(log, "w") as out:
        site = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)
    try:
        until(lambda: "Ctrl-C" in log.read_text() or site.poll() is not None, 120)
        yield site, log.read_text()
    finally:
        site.terminate()
        site.wait(30)


def get(output: str, path: str) -> str:
    address = next(line for line in output.splitlines() if "http://" in line).split()[-1]
    with urllib.request.urlopen(address + path, timeout=60) as page:
        return page.read().decode()


def test_the_demonstration_survives_kill_9_and_leaves_nothing_behind(tmp_path):
    if not LINUX:
        pytest.skip("reads /proc")
    try:
        nouns.load()
    except nouns.WordNetMissing as missing:
        skip_or_fail(str(missing))
    data = tmp_path / "data"

    with demonstration(data) as (site, output):
        assert "csrfmiddlewaretoken" in get(output, "/accounts/login/"), output
        # The supervisor, two web processes, the worker and its one, beat.
        until(lambda: len(family(site.pid)) >= 6, 60)
        started = family(site.pid)
        second = [sys.executable, "deploy/serve.py", "--demo", "--port", "0", "--data", str(data)]
        refused = subprocess.run(second, cwd=ROOT, capture_output=True, text=True, timeout=30)
        assert refused.returncode == 1
        assert "already being served" in refused.stderr
        site.kill()
        until(lambda: not any(map(lives, started)), 30)

    with demonstration(data) as (site, again):
        passwords = [line for line in output.splitlines() if line.startswith("  ")]
        assert [line for line in again.splitlines() if line.startswith("  ")] == passwords
        assert get(again, "/healthz")
        started = family(site.pid)
        site.terminate()
        assert site.wait(30) == 0
        assert not any(map(lives, started))
