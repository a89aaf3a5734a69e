"""compose.yaml, where no container runs: the same commands with the same environment, as processes.

Redis, PgBouncer, web, worker, beat and the proxy are started from the file, with addresses and
folders of this machine in place of the containers'; a PostgreSQL that is here takes the database's
place. What only Docker does (building, networks, volumes) is read, not run.
"""

import contextlib
import http.client
import http.cookiejar
import io
import json
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from deploy import serve, settings_page
from deploy.compose import make_secrets
from tests import factories
from tests.conftest import skip_or_fail
from tests.deploy.test_serve import family

ROOT = Path(__file__).resolve().parents[2]
POSTGRES = os.environ.get("ASSAY_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
PATIENCE_SECONDS = 60
SITE = ("web", "worker", "waited-worker", "gpu-worker", "beat", "migrate")


def compose(**variables: str) -> dict[str, Any]:
    """The file as Docker reads it: variables by their default, or as given."""
    text = re.sub(
        r"\$\{(\w+):-([^}]*)\}",
        lambda match: variables.get(match[1], match[2]),
        (ROOT / "compose.yaml").read_text(),
    )
    assert "${" not in text
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


SERVICES = compose()["services"]


# What is read.


def test_there_is_a_service_for_each_part_of_a_site():
    assert set(SERVICES) == {
        *("proxy", "web", "worker", "waited-worker", "gpu-worker", "beat", "migrate"),
        *("secrets", "db", "pgbouncer", "redis"),
    }
    assert SERVICES["gpu-worker"]["profiles"] == ["gpu"]
    assert SERVICES["waited-worker"]["profiles"] == ["waited"]


def test_a_queue_that_people_wait_for_has_a_worker_and_loses_nothing_without_it():
    services = compose(ASSAY_WAITED_QUEUE="soon")["services"]

    assert services["waited-worker"]["command"][-2:] == ["-Q", "soon"]
    for name in ("worker", "gpu-worker"):
        assert services[name]["command"][-1].split()[-2:] == ["-Q", "celery,soon"]
        assert SERVICES[name]["command"][-1].split()[-2:] == ["-Q", "celery,celery"]
    assert all(services[name]["environment"]["ASSAY_WAITED_QUEUE"] == "soon" for name in SITE)


def test_each_service_gets_only_the_secrets_that_it_needs():
    mounts = {
        name: [volume for volume in each.get("volumes", ()) if volume.startswith("secrets")]
        for name, each in SERVICES.items()
    }

    assert {
        name: secret_names
        for name, secret_names in mounts.items()
        if name not in (*SITE, "secrets")
    } == {
        "db": ["secrets-of-db:/srv/secrets:ro"],
        "pgbouncer": ["secrets-of-pgbouncer:/srv/secrets:ro"],
        "proxy": [],
        "redis": [],
    }
    assert {tuple(mounts[name]) for name in SITE} == {("secrets:/srv/secrets:ro",)}
    with_token = [n for n in SITE if "ASSAY_MONITORING_TOKEN_FILE" in SERVICES[n]["environment"]]
    assert with_token == ["web"]
    beat = SERVICES["beat"]["environment"]
    assert {"EMAIL_URL", "ASSAY_S3_SECRET", "ASSAY_S3_KEY_ID"} & set(beat) == set()


def test_every_image_that_is_built_is_a_stage_and_runs_without_rights():
    stages = re.split(r"^FROM ", (ROOT / "Dockerfile").read_text(), flags=re.M)[1:]
    stage_of = {stage.splitlines()[0].split(" AS ")[1]: stage for stage in stages}

    def user(stage: str) -> str:
        users = re.findall(r"^USER (\w+)", stage, re.M)
        parent = stage.split()[0]
        return users[-1] if users else user(stage_of[parent]) if parent in stage_of else "root"

    built = {name: each["build"]["target"] for name, each in SERVICES.items() if "build" in each}
    assert set(built.values()) == {"web", "worker", "pgbouncer"}
    assert {target: user(stage_of[target]) for target in built.values()} == {
        "web": "assay",
        "worker": "assay",
        "pgbouncer": "postgres",
    }
    assert built["worker"] == built["gpu-worker"] == "worker"
    images = [SERVICES[name]["image"] for name in built]
    assert len(set(images)) == len(images), "of two builds of one image at once one may fail"
    assert stages[-1] is stage_of["web"], "docker build . makes the image of the web"


def test_the_web_has_no_torch_and_the_worker_has():
    text = (ROOT / "Dockerfile").read_text()

    assert re.search(r"AS web\nCOPY --from=packages /srv/venv", text)
    assert re.search(r"AS worker\nCOPY --from=packages-with-torch /srv/venv", text)
    plain, with_torch = text.split("FROM packages AS packages-with-torch")
    assert "requirements.txt requirements.lock" in plain
    assert not re.search(r"pip install .*requirements\.txt", plain)
    assert re.search(r"pip install -r requirements\.txt", with_torch)
    assert not re.search(
        r"^(torch|nvidia-\S+|triton)==", (ROOT / "requirements.lock").read_text(), re.M
    )


def test_no_service_has_rights_that_it_does_not_need():
    for name, each in SERVICES.items():
        assert each["cap_drop"] == ["ALL"], name
        assert each["security_opt"] == ["no-new-privileges:true"], name
    added = {name: each["cap_add"] for name, each in SERVICES.items() if "cap_add" in each}
    assert added == {"db": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]}


def test_workers_compile_kernels_beside_their_work():
    for name in ("worker", "gpu-worker"):
        shell, _, script = SERVICES[name]["command"]
        assert shell == "sh"
        assert script.startswith("nice python -m deploy.compile_kernels & exec celery ")
    assert "NUMBA_CACHE_DIR=/srv/data/numba" in (ROOT / "Dockerfile").read_text()


BUILT = {each["image"] for each in SERVICES.values() if "build" in each}


@pytest.mark.parametrize(
    "name", [name for name, each in SERVICES.items() if each["image"] not in BUILT]
)
def test_images_of_others_have_a_version_and_no_registry(name):
    assert re.fullmatch(r"[a-z]+:\d[\w.]*-bookworm", SERVICES[name]["image"])


@pytest.mark.parametrize("name", SITE)
def test_every_setting_of_a_service_is_one_of_the_settings(name):
    page = settings_page.PAGE.read_text()
    names = [each.removesuffix("_FILE") for each in SERVICES[name]["environment"]]

    assert [each for each in names if f"`{each}`" not in page] == []


def test_no_secret_stands_in_a_file_of_the_repository():
    text = (ROOT / "compose.yaml").read_text() + (ROOT / "Dockerfile").read_text()

    assert re.findall(r"(?i)(?:password|secret_key|token)\w*: +(?!/srv/secrets/)\S+", text) == []
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".env", ".git", "var"} <= set(ignored)


def test_only_the_proxy_can_be_reached_from_outside_and_only_from_this_machine():
    ports = {name: each["ports"] for name, each in SERVICES.items() if "ports" in each}

    assert ports == {"proxy": ["127.0.0.1:8080:8080"]}
    assert compose()["networks"]["inside"] == {"internal": True}
    inside = [name for name, each in SERVICES.items() if each.get("networks") == ["inside"]]
    assert {"db", "redis", "pgbouncer"} <= set(inside)


def test_secrets_are_made_once_and_differ_between_sites(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        make_secrets.make(folder)
    made = {file.name: file.read_text() for file in first.iterdir()}

    make_secrets.make(first)

    assert {file.name: file.read_text() for file in first.iterdir()} == made
    password = made["postgres-password"]
    assert made["database-url"] == f"postgres://assay:{password}@pgbouncer:6432/assay"
    assert made["userlist.txt"] == f'"assay" "{password}"\n'
    assert len(made["secret-key"]) >= 50
    assert all((second / name).read_text() != text for name, text in made.items())
    assert {stat.S_IMODE(file.stat().st_mode) for file in first.iterdir()} == {0o444}


def test_a_shared_secret_is_copied_alone(tmp_path, monkeypatch):
    whole, part = tmp_path / "whole", tmp_path / "part"
    whole.mkdir()
    part.mkdir()
    monkeypatch.setattr(
        sys, "argv", ["make_secrets.py", str(whole), f"--share=userlist.txt:{part}"]
    )

    assert make_secrets.main() == 0

    assert [file.name for file in part.iterdir()] == ["userlist.txt"]
    assert (part / "userlist.txt").read_text() == (whole / "userlist.txt").read_text()


def test_a_folder_that_secrets_cannot_be_written_to_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["make_secrets.py", str(tmp_path / "none")])

    assert make_secrets.main() == 1
    assert "none" in capsys.readouterr().err


# What runs.


def spare_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def until(look: Callable[[], Any], description: str) -> Any:
    """What `look` returns once that is true; errors of a connection count as false."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if value := look():
                return value
        assert time.monotonic() < end, f"waited in vain: {description}"
        time.sleep(0.05)


class Processes:
    """Services of compose.yaml as processes under the supervisor of deploy/serve.py.

    swaps: what stands in commands, environments and files for the containers' → here.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.ports = {each: spare_port() for each in ("proxy", "web", "pgbouncer", "redis")}
        server = urllib.parse.urlsplit(POSTGRES)
        self.swaps = {
            "postgres://assay:": f"postgres://{name}:",
            "/assay\n": f"/{name}\n",
            '"assay"': f'"{name}"',
            "@db:5432/assay": f"@{server.hostname}:{server.port or 5432}/{name}",
            "@pgbouncer:6432/assay": f"@127.0.0.1:{self.ports['pgbouncer']}/{name}",
            "host=db port=5432": f"host={server.hostname} port={server.port or 5432}",
            "listen_addr = *": "listen_addr = 127.0.0.1",
            "listen_port = 6432": f"listen_port = {self.ports['pgbouncer']}",
            "redis://redis:6379": f"redis://127.0.0.1:{self.ports['redis']}",
            "0.0.0.0:8000": f"127.0.0.1:{self.ports['web']}",
            "http://web:8000": f"http://127.0.0.1:{self.ports['web']}",
            # Whoever runs the tests owns the folders.
            "daemon off;": "daemon off; user root;" if os.getuid() == 0 else "daemon off;",
            "listen 8080": f"listen 127.0.0.1:{self.ports['proxy']}",
            "/srv/": f"{folder}/",
            "/tmp/": f"{folder}/tmp/",
            "/etc/nginx/": f"{folder}/",
            "/etc/pgbouncer/": f"{folder}/",
        }
        base = {name: os.environ[name] for name in ("HOME", "LANG", "TZ") if name in os.environ}
        base["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
        # One of each is enough here, and rounds that come soon.
        base |= {"ASSAY_SWEEP_SECONDS": "1", "PYTHONWARNINGS": "ignore:No directory at:UserWarning"}
        self.services = compose(WEB_CONCURRENCY="1", WORKER_CONCURRENCY="1")["services"]
        self.supervisor = serve.Supervisor(folder, base)

    def full_text(self, text: object) -> str:
        return swap(str(text), self.swaps)

    def command(self, service: str, *more: str) -> list[str]:
        environment = self.services[service].get("environment", {})
        pairs = [f"{name}={self.full_text(value)}" for name, value in environment.items()]
        return ["env", *pairs, *map(self.full_text, self.services[service]["command"]), *more]

    def run(self, service: str, *instead: str, **environment: str) -> None:
        command = self.command(service)
        if instead:
            size = len(self.services[service]["command"])
            settings = [f"{name}={value}" for name, value in environment.items()]
            command = [*command[:-size], *settings, *instead]
        self.supervisor.run(*command)

    def start(self, service: str, *more: str) -> None:
        self.supervisor.start(service, *self.command(service, *more))

    def kill(self) -> None:
        """Ends all at once: in good order each would wait for others that ended before it."""
        for child in self.supervisor.children.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        self.supervisor.end()

    def log(self, service: str) -> list[dict[str, Any]]:
        """The lines of a service's log, without the banner that Celery prints. Fails where another
        line is not JSON."""
        lines = (self.folder / f"{service}.log").read_text().splitlines()
        first = next((n for n, line in enumerate(lines) if line.startswith("{")), len(lines))
        return [json.loads(line) for line in lines[first if service == "worker" else 0 :]]


def swap(text: str, swaps: dict[str, str]) -> str:
    """The text with each key replaced, the longest first, and nothing replaced twice."""
    keys = "|".join(map(re.escape, sorted(swaps, key=len, reverse=True)))
    return re.sub(keys, lambda match: swaps[match[0]], text)


@pytest.fixture(scope="module")
def site() -> Iterator[Processes]:
    for program in ("nginx", "redis-server", "pgbouncer"):
        if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin"):
            skip_or_fail(f"no {program}")
    try:
        server = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        skip_or_fail(f"no PostgreSQL server at {POSTGRES}: {error}".strip())
    name = f"assay_compose_{secrets.token_hex(6)}"
    # The users that nginx and PgBouncer change to must reach their files.
    folder = Path(tempfile.mkdtemp(prefix="assay-compose-"))
    folder.chmod(0o755)
    for below in ("data", "secrets", "secrets-of-db", "secrets-of-pgbouncer", "tmp"):
        (folder / below).mkdir()
    (folder / "wordnet").symlink_to(ROOT / "var" / "wordnet")
    processes = Processes(folder, name)
    try:
        server.execute(f'CREATE ROLE "{name}" LOGIN')
        server.execute(f'CREATE DATABASE "{name}" OWNER "{name}"')
        begin(processes)
        yield processes
    finally:
        processes.kill()
        server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        server.execute(f'DROP ROLE IF EXISTS "{name}"')
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


def begin(site: Processes) -> None:
    """What `docker compose up` starts, in the order of depends_on."""
    site.run("secrets")
    for file in (site.folder / "secrets").iterdir():
        # Made for the names of the containers.
        text = site.full_text(file.read_text())
        file.unlink()
        file.write_text(text)
    for file in ("nginx.conf", "pgbouncer.ini"):
        text = (ROOT / "deploy" / "compose" / file).read_text()
        (site.folder / file).write_text(site.full_text(text))
    site.start("redis", "--bind", "127.0.0.1", "--port", str(site.ports["redis"]))
    site.start("pgbouncer", *(("-u", "postgres") if os.getuid() == 0 else ()))
    site.run("migrate")
    for service in ("web", "worker", "beat"):
        site.start(service)
    site.supervisor.until_answers("127.0.0.1", site.ports["web"], "/readyz")
    site.start("proxy")
    site.supervisor.until_answers("127.0.0.1", site.ports["proxy"], "/healthz")


class Browser:
    """A person's session, by way of the proxy."""

    def __init__(self, port: int) -> None:
        self.address = f"http://localhost:{port}"
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies), urllib.request.ProxyHandler({})
        )

    def ask(self, path: str, body: bytes | None = None, **headers: str) -> tuple[Any, str]:
        request = urllib.request.Request(self.address + path, body)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        if body is not None:
            request.add_header("X-CSRFToken", self.cookie("csrftoken"))
            request.add_header("Referer", self.address)
        with self.opener.open(request, timeout=PATIENCE_SECONDS) as response:
            return response, response.read().decode()

    def cookie(self, name: str) -> str:
        return next((each.value or "" for each in self.cookies if each.name == name), "")

    def log_in(self, username: str, password: str) -> None:
        self.ask("/accounts/login/")
        form = urllib.parse.urlencode({"login": username, "password": password})
        self.ask("/accounts/login/", form.encode())
        assert self.cookie("sessionid")


def zipped(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, content)
    return out.getvalue()


def multipart(fields: dict[str, str], file: tuple[str, bytes]) -> tuple[bytes, str]:
    """A form with a file named `zip`, and its content type."""
    edge = "edge-of-a-part"
    parts = [
        f'--{edge}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{edge}\r\nContent-Disposition: form-data; name="zip"; filename="{file[0]}"\r\n'
    parts += [f"{head}Content-Type: application/zip\r\n\r\n".encode(), file[1]]
    parts += [f"\r\n--{edge}--\r\n".encode()]
    return b"".join(parts), f"multipart/form-data; boundary={edge}"


@pytest.mark.pgbouncer
def test_an_image_that_somebody_uploads_goes_through_every_service(site):
    password = secrets.token_urlsafe(12)
    site.run(
        "web",
        *("python", "manage.py", "createsuperuser", "--no-input"),
        *("--username", "alice", "--email", "alice@example.org"),
        DJANGO_SUPERUSER_PASSWORD=password,
    )
    alice = Browser(site.ports["proxy"])
    alice.log_in("alice", password)
    dataset = json.dumps({"name": "pond"}).encode()
    alice.ask("/api/v1/datasets/", dataset, Content_Type="application/json")
    body, kind = multipart({"licence": "CC0"}, ("pond.zip", zipped("a.png", factories.picture())))

    response, text = alice.ask(
        "/api/v1/datasets/pond/images/", body, Content_Type=kind, X_Request_ID="of-the-upload"
    )

    assert response.status == 202
    assert response.headers["X-Request-ID"] == "of-the-upload"
    address = f"/api/v1/datasets/pond/imports/{json.loads(text)['id']}/"
    until(lambda: json.loads(alice.ask(address)[1])["state"] == "done", "the import")
    images = json.loads(alice.ask("/api/v1/datasets/pond/images/")[1])["results"]
    assert [image["name"] for image in images] == ["a.png"]
    # The request's id is in the logs of both, a line of JSON each.
    (line,) = [each for each in site.log("web") if each.get("request_id") == "of-the-upload"]
    assert (line["method"], line["status"]) == ("POST", 202)
    assert [each["job"] for each in site.log("worker") if each.get("request_id") == "of-the-upload"]
    until(
        lambda: json.loads(alice.ask("/readyz")[1])["age_seconds"]["sweep"] is not None,
        "a sweep, which beat sends and the worker runs",
    )


# Eight threads read lists in small pieces, each many times.
LONG_LISTS = """
import threading
import django
django.setup()
from django.contrib.auth.models import Permission
from django.db import connection
count, wrong = Permission.objects.count(), []
def read():
    try:
        for _ in range(20):
            found = sum(1 for _ in Permission.objects.order_by("pk").iterator(chunk_size=10))
            assert found == count, found
    except Exception as error:
        wrong.append(repr(error))
    connection.close()
threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert count > 100
assert not wrong, wrong
"""


@pytest.mark.pgbouncer
def test_long_lists_are_read_whole_by_way_of_pgbouncer(site):
    assert f":{site.ports['pgbouncer']}/" in (site.folder / "secrets/database-url").read_text()

    site.run("web", "python", "-c", LONG_LISTS, DJANGO_SETTINGS_MODULE="annotator.settings")


@pytest.mark.pgbouncer
def test_every_dependency_is_ready_and_figures_stay_inside(site):
    stranger = Browser(site.ports["proxy"])
    body = json.loads(stranger.ask("/readyz")[1])
    assert body["status"] == "ready"
    assert all(body["dependencies"].values())

    with pytest.raises(urllib.error.HTTPError, match="404"):
        stranger.ask("/metrics")

    token = (site.folder / "secrets" / "monitoring-token").read_text()
    _, figures = Browser(site.ports["web"]).ask("/metrics", Authorization=f"Bearer {token}")
    assert "assay_database_up 1.0" in figures
    assert 'assay_jobs{kind="nightly",state="queued"}' in figures


def bytes_of_bodies(site: Processes) -> int:
    """How large the files are together in which the proxy keeps bodies; they have no name."""
    total = 0
    for pid in family(site.supervisor.children["proxy"].pid):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(handle).startswith(f"{site.folder}/tmp/body/"):
                    total += handle.stat().st_size
    return total


@pytest.mark.pgbouncer
def test_the_proxy_keeps_a_body_until_it_is_whole(site):
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    size = 300_000
    with socket.create_connection(("127.0.0.1", site.ports["proxy"]), timeout=60) as client:
        client.sendall(
            b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"X-Request-ID: of-the-slow-body\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\n"
            + f"Content-Length: {size}\r\n\r\n".encode()
            + b"x" * (size - 1)
        )
        until(lambda: bytes_of_bodies(site) > size // 2, "a file with the body")
        reached = [each for each in site.log("web") if each.get("request_id") == "of-the-slow-body"]
        assert reached == []

        client.sendall(b"x")

        answered = b"".join(iter(lambda: client.recv(65536), b""))
    assert answered.startswith(b"HTTP/1.1 403"), "the site's answer to a form without its token"
    assert b"X-Request-ID: of-the-slow-body" in answered
