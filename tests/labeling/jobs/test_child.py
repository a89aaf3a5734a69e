"""A child process of a job: what it gets, what it may not, and that it never outlives its job."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from labeling.errors import Refusal
from labeling.jobs import child, queue
from labeling.jobs.child import ChildFailed, ChildLimits
from labeling.jobs.masking import mask_secrets
from labeling.models import Job

pytestmark = pytest.mark.django_db
LIMITS = ChildLimits(memory=1 << 30, cpu=60)


@pytest.fixture
def job() -> Job:
    claimed = queue.claim(queue.enqueue("test", "child").pk)
    assert claimed is not None
    return claimed


def python(
    job: Job, folder: Path, code: str, limits: ChildLimits = LIMITS, **environment: str
) -> str:
    command = [sys.executable, "-c", code]
    return child.run(job, folder, command, limits=limits, environment=environment)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_child_has_no_secret_of_the_worker_in_its_environment(job, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "of-this-site-alone")
    monkeypatch.setenv("DATABASE_URL", "postgres://assay:hunter22@db/assay")
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://:hunter33@redis/0")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")

    printed = python(
        job, tmp_path, "import os, json; print(json.dumps(dict(os.environ)))", ENGINE="named"
    )

    environment = json.loads(printed)
    assert {"PATH", "OMP_NUM_THREADS", "ENGINE"} <= environment.keys()
    assert environment["ASSAY_DATA"] == str(tmp_path)
    assert not environment.keys() & {"SECRET_KEY", "DATABASE_URL", "CELERY_BROKER_URL"}


def test_settings_of_a_child_have_neither_key_nor_database_of_the_site(job, tmp_path, settings):
    project = tmp_path / "project"
    (project / "annotator").mkdir(parents=True)
    text = (Path(settings.BASE_DIR) / "annotator" / "settings.py").read_text()
    (project / "annotator" / "settings.py").write_text(text)
    (project / ".env").write_text("SECRET_KEY=hidden-in-a-file\nDATABASE_URL=postgres://a:b@c/d\n")
    settings.SECRET_KEY = "of-this-test"
    code = "from annotator.settings import *; print(SECRET_KEY, DATABASES['default']['NAME'])"

    printed = python(job, tmp_path, code, PYTHONPATH=f"{project}:{settings.BASE_DIR}")

    assert printed.split() == ["insecure:", "set", "SECRET_KEY", str(tmp_path / "assay.sqlite3")]


def test_last_line_status_and_sign_of_life_are_on_the_row(job, tmp_path):
    with pytest.raises(ChildFailed, match=r"ended with status 3. Its last line: no more"):
        python(job, tmp_path, "import sys; print('no more', file=sys.stderr); sys.exit(3)")

    job.refresh_from_db()
    assert (job.exit_code, job.last_line) == (3, "no more")
    assert job.child_seen_at is not None


def test_the_row_tells_while_the_child_lives_and_keeps_the_lease(job, tmp_path, monkeypatch):
    Job.objects.filter(pk=job.pk).update(leased_until=job.created_at)
    usual, seen = queue.renew_child, []

    def renew(row: Job, *args: object, **kwargs: object) -> None:
        usual(row, *args, **kwargs)
        seen.append(Job.objects.get(pk=row.pk))
        if seen[-1].last_line == "half, then ***":
            (tmp_path / "go").touch()

    monkeypatch.setattr(child, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(queue, "renew_child", renew)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of-the-cluster")
    code = """
import os, sys, time
print('half, then of-the-cluster', file=sys.stderr, flush=True)
while not os.path.exists('go'):
    time.sleep(0.01)
print('whole', file=sys.stderr)
"""

    python(job, tmp_path, code)

    alive, ended = next(row for row in seen if row.last_line), seen[-1]
    assert (alive.last_line, alive.exit_code) == ("half, then ***", None)
    assert (ended.last_line, ended.exit_code) == ("whole", 0)
    assert job.created_at < alive.child_seen_at < ended.child_seen_at
    assert alive.child_seen_at < alive.leased_until < ended.leased_until


def fails(job: Job) -> None:
    code = "import sys; print('key of-this-site-alone is wrong', file=sys.stderr); sys.exit(4)"
    python(job, Path.cwd(), code)


def test_a_failed_job_keeps_status_and_last_line_and_tells_no_secret(
    tmp_path, settings, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    settings.SECRET_KEY = "of-this-site-alone"
    settings.ASSAY_JOB_HANDLERS = {"fails": f"{__name__}.fails"}
    pk = queue.enqueue("fails", "1").pk

    for _ in range(queue.MAX_FAILURES):
        queue.run(pk)

    job = Job.objects.get(pk=pk)
    assert (job.state, job.exit_code, job.last_line) == ("failed", 4, "key *** is wrong")
    assert job.error.endswith("ended with status 4. Its last line: key *** is wrong")
    assert "key *** is wrong" in caplog.text
    assert "of-this-site-alone" not in caplog.text


def test_what_a_command_refuses_is_the_sentence_of_the_job(job, tmp_path):
    refused = json.dumps({"error": "is no photograph", "file": "/a/b.png", "cure": "send another"})

    with pytest.raises(Refusal, match=r"^b.png: is no photograph; send another\.$"):
        python(job, tmp_path, f"import sys; print({refused!r}, file=sys.stderr); sys.exit(1)")


def test_secrets_are_masked_in_what_a_child_prints(job, tmp_path, settings, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    settings.SECRET_KEY = "of-this-site-alone"
    code = (
        "import sys; print('key of-this-site-alone');"
        "print('wJalrXUtnFEMI at s3://user:pass@host/x', file=sys.stderr)"
    )

    printed = python(job, tmp_path, code)

    assert printed == "key ***\n"
    job.refresh_from_db()
    assert job.last_line == "*** at s3://***@host/x"


def test_passwords_of_configured_addresses_are_masked(settings, monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", "hunter22")
    settings.CELERY_BROKER_URL = "redis://:pass%21word@redis/0"

    assert mask_secrets("hunter22 pass!word pass%21word ASSAY") == "*** *** *** ASSAY"


def test_a_child_gets_no_more_memory_files_and_time_than_its_limits(job, tmp_path):
    tight = ChildLimits(memory=256 << 20, cpu=1, files=32, file=1000)
    code = """
import os, pathlib
found = []
for action in (
    lambda: bytearray(512 << 20),
    lambda: pathlib.Path('large').write_bytes(b'0' * 5000),
    lambda: [os.open('/dev/null', 0) for _ in range(40)],
):
    try:
        action()
    except (MemoryError, OSError) as error:
        found.append(type(error).__name__ + str(getattr(error, 'errno', '')))
print(*found)
"""

    assert python(job, tmp_path, code, tight).split() == ["MemoryError", "OSError27", "OSError24"]
    with pytest.raises(Refusal, match="It took over 1 seconds of processor time"):
        python(job, tmp_path, "while True: pass", tight)
    job.refresh_from_db()
    assert job.exit_code == 128 + signal.SIGXCPU


def test_too_much_output_ends_the_child(job, tmp_path, monkeypatch):
    monkeypatch.setattr(child, "MAX_OUTPUT", 1 << 20)

    with pytest.raises(ChildFailed, match="printed more than 1 MiB"):
        python(job, tmp_path, "while True: print('x' * 1000)")


ENDLESS = """
import os, pathlib, subprocess, sys, time
deeper = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
pathlib.Path('pids.new').write_text(f'{os.getpid()} {deeper.pid}')
os.rename('pids.new', 'pids')
time.sleep(600)
"""


def test_a_child_dies_with_all_it_started_once_the_lease_is_lost(job, tmp_path, monkeypatch):
    pids: list[int] = []

    def look(seen: Job, *_: object, **__: object) -> None:
        if (tmp_path / "pids").exists():
            pids.extend(map(int, (tmp_path / "pids").read_text().split()))
            raise queue.LeaseLost

    monkeypatch.setattr(child, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(queue, "renew_child", look)

    with pytest.raises(queue.LeaseLost):
        python(job, tmp_path, ENDLESS)

    assert len(pids) == 2
    wait_for(lambda: not any(map(is_alive, pids)))


def test_a_row_that_another_worker_claimed_is_a_lost_lease(job, tmp_path, monkeypatch):
    monkeypatch.setattr(child, "POLL_SECONDS", 0.05)
    Job.objects.filter(pk=job.pk).update(claim="another's")

    with pytest.raises(queue.LeaseLost):
        python(job, tmp_path, "import time; time.sleep(600)")


def test_a_child_dies_with_all_it_started_when_its_worker_is_killed(tmp_path):
    worker = f"""
import subprocess, sys
from labeling.jobs import launcher
subprocess.Popen(
    [sys.executable, '-I', launcher.__file__, '{{}}', sys.executable, '-c', {ENDLESS!r}],
    stdin=subprocess.PIPE, start_new_session=True, cwd={str(tmp_path)!r},
).wait()
"""
    root = Path(__file__).resolve().parents[3]
    process = subprocess.Popen([sys.executable, "-c", worker], cwd=root)
    try:
        wait_for((tmp_path / "pids").exists)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()

    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    wait_for(lambda: not any(map(is_alive, pids)))
    assert os.getpid() not in pids
