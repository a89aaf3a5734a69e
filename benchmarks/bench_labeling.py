"""Labeling speed as an annotator sees it, on a local gunicorn with SQLite and `synchronous=FULL`.

`python -m benchmarks labeling [--size SECONDS]`. Three measurements on a throwaway database:

- from an answer to the next painted image, in Chromium, with photographs of 1600 x 1200: the time
  from the key's event to the frame after the one with the new image, so it is an upper bound;
- the same with round trips of 6 s and an answer every two seconds, so images and seats come late;
- answers a second through HTTP, in batches of 8, each on disk when accepted. The clients run on the
  same cores as the server and take their share of them.
"""

import http.client
import io
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from benchmarks import Row, own_process, row, sized

ROOT = own_process.ROOT
PAINT_TARGET_MS = 50.0
SLOW_TARGET_MS = 100.0
ROUND_TRIP_MS = sized(6_000, 500)
# Pauses between answers: as fast as people are, and on the slow connection.
PACE_MS, SLOW_PACE_MS = 400, 2_000
SLOW_ANSWERS = sized(30, 3)
RATE_TARGET = 300.0
BATCH = 8
PEOPLE = 8
ANSWERS = sized(60, 4)
WORKERS = 2


def main(seconds: float = sized(10.0, 1.0)) -> list[Row]:
    """Return the rows; without Chromium, two fewer."""
    more = {"DEBUG": "0", "SECRET_KEY": "of the benchmark alone", "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory(prefix="assay-bench-", ignore_cleanup_errors=True) as folder:

        def step(action: str, argument: Any = None) -> Any:
            started = own_process.start("bench_labeling", folder, action, argument, **more)
            return own_process.result(started)

        prepared = step("prepare")
        with _Server(own_process.environment(folder) | more) as server:
            rows = _rate(server, prepared["people"], seconds)
            painted = step("paint", {"port": server.port, "session": prepared["looker"]})
    return (_paint_rows(painted) if painted["ms"] else []) + rows


class _Server:
    """gunicorn with two workers on `port`, or on a free port, during a with block."""

    def __init__(self, environment: dict[str, str], port: int = 0) -> None:
        self.environment, self.port = environment, port

    def __enter__(self) -> "_Server":
        with socket.create_server(("127.0.0.1", self.port)) as bound:
            self.port = port = bound.getsockname()[1]
        where = ["--bind", f"127.0.0.1:{port}", "--workers", str(WORKERS), "--threads", "4"]
        command = [sys.executable, "-m", "gunicorn", "annotator.wsgi", "--no-control-socket"]
        command += [*where, "--log-level", "warning", "--keep-alive", "30"]
        self.process = subprocess.Popen(command, env=self.environment, cwd=ROOT)
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1).read()
                return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("gunicorn did not answer within 30 s")

    def cpu_seconds(self) -> float:
        """Return the processor seconds that the workers have used so far."""
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        used = 0
        for pid in task.read_text().split():
            # Fields 14 and 15, counted after the name, which may hold spaces.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used += int(fields[11]) + int(fields[12])
        return used / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)


def _rate(server: _Server, people: list[dict[str, Any]], seconds: float) -> list[Row]:
    counts: list[int] = [0] * len(people)
    failures: list[Any] = []
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=_send, args=(server.port, person, end, counts, index, failures))
        for index, person in enumerate(people)
    ]
    start, cpu = time.monotonic(), server.cpu_seconds()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = sum(counts) / (time.monotonic() - start)
    cpu_ms = (server.cpu_seconds() - cpu) / max(1, sum(counts)) * 1000
    assert not failures, failures[0]
    return [
        row(
            f"answers through HTTP, batches of {BATCH}, {PEOPLE} people",
            f"{rate:.0f}/s",
            f">= {RATE_TARGET:.0f}/s",
            rate >= RATE_TARGET,
        ),
        row(
            "processor time of the server for an answer",
            f"{cpu_ms:.2f} ms ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})",
        ),
    ]


def _send(
    port: int,
    person: dict[str, Any],
    end: float,
    counts: list[int],
    index: int,
    failures: list[Any],
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Cookie": f"sessionid={person['session']}; csrftoken={person['csrf']}",
        "X-CSRFToken": person["csrf"],
    }
    seats = iter(person["seats"])
    while time.monotonic() < end:
        batch = [seat for _, seat in zip(range(BATCH), seats, strict=False)]
        if not batch:
            failures.append("the seats ran out before the time")
            return
        answers = [
            {
                "id": str(uuid.uuid4()),
                "seat": seat,
                "value": random.choice(["yes", "yes", "no", "hard"]),
                "duration_ms": 1500,
            }
            for seat in batch
        ]
        body = json.dumps({"user": person["user"], "answers": answers})
        connection.request("POST", "/campaigns/bench/label/answers/", body, headers)
        response = connection.getresponse()
        reply = json.loads(response.read())
        accepted = [r for r in reply.get("results", []) if r["status"] == "accepted"]
        if len(accepted) != len(batch):
            failures.append(reply)
            return
        counts[index] += len(accepted)


def _paint_rows(paint: dict[str, Any]) -> list[Row]:
    load = f"load {os.getloadavg()[0]:.1f}"
    return [
        _paint_row("answer to next image painted, p95", paint["ms"], PAINT_TARGET_MS, load),
        _paint_row(
            f"... with round trips of {ROUND_TRIP_MS // 1000} s, an answer every "
            f"{SLOW_PACE_MS // 1000} s",
            paint["slow_ms"],
            SLOW_TARGET_MS,
            load,
        ),
    ]


def _paint_row(name: str, times: list[float], target: float, load: str) -> dict[str, Any]:
    median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    return row(
        name,
        f"{p95:.0f} ms (median {median:.0f}, most {max(times):.0f}, n = {len(times)}, {load})",
        f"< {target:.0f} ms",
        p95 < target,
    )


# In processes of their own, with Django set up.


def prepare(_: None) -> dict[str, Any]:
    """Make a campaign to answer fast and one to look at; return people with sessions and seats."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from labeling.campaigns import lifecycle
    from labeling.follow_ups import asking
    from labeling.models import Dataset

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user(
        "owner", is_researcher=True, tutorials=["contains"]
    )
    dataset = Dataset.objects.create(owner=owner, name="bench")
    names = _photographs(dataset, ANSWERS + SLOW_ANSWERS + 40)
    for name, topics in (("bench", 200), ("look", 1)):
        campaign = lifecycle.create(
            owner,
            name=name,
            title=name,
            kind="contains",
            dataset=dataset,
            policy={"page_size": 100 if name == "bench" else 20, "gold_share": 0},
        )
        keys = [f"n{index:08}" for index in range(topics)]
        lifecycle.define_topics(campaign, [{"key": key, "name": "drake"} for key in keys])
        asking.add_questions(campaign, [(image, key) for key in keys for image in names])
        lifecycle.launch(campaign, owner)
    people = [_person(f"person{index}", "bench", pages=20) for index in range(PEOPLE)]
    return {"people": people, "looker": _person("looker", "look")["session"]}


def _photographs(dataset: Any, count: int) -> list[str]:
    import skimage
    from PIL import Image

    from labeling.datasets import images

    folder = Path(skimage.__file__).parent / "data"
    sources = [
        Image.open(folder / name).convert("RGB").resize((1600, 1200))
        for name in ("chelsea.png", "coffee.png", "astronaut.png", "rocket.jpg")
    ]
    names = []
    for index in range(count):
        picture = sources[index % len(sources)].rotate(index // len(sources))
        stream = io.BytesIO()
        picture.save(stream, "JPEG", quality=90)
        names.append(f"{index:04}.jpg")
        stream.seek(0)
        added = images.add_file(dataset, names[-1], stream, licence="public domain", source="")
        images.open_display(added.image).close()
    return names


def _person(username: str, campaign_name: str, pages: int = 0) -> dict[str, Any]:
    from django.contrib.auth import get_user_model
    from django.middleware.csrf import _get_new_csrf_string
    from django.test import Client

    from labeling.models import Campaign, Membership, Question, Seat

    user = get_user_model().objects.create_user(username, tutorials=["contains"])
    campaign = Campaign.objects.get(name=campaign_name)
    Membership.objects.create(user=user, campaign=campaign)
    client = Client()
    client.force_login(user)
    seats = _take_seats(user, campaign, pages * 100, Seat, Question)
    return {
        "user": user.pk,
        "session": client.cookies["sessionid"].value,
        "csrf": _get_new_csrf_string(),
        "seats": seats,
    }


def _take_seats(user: Any, campaign: Any, count: int, seat_model: Any, questions: Any) -> list:
    """Return the tokens of `count` new seats, enough that the run times only answers."""
    from datetime import timedelta

    from django.db.models import F
    from django.utils import timezone

    free = questions.objects.filter(campaign=campaign, seats_free__gt=0).order_by("ticket")
    pks = list(free.values_list("pk", flat=True)[:count])
    until = timezone.now() + timedelta(hours=1)
    rows = [
        seat_model(question_id=pk, annotator=user, subject=pk, leased_until=until) for pk in pks
    ]
    seat_model.objects.bulk_create(rows, batch_size=1000)
    for start in range(0, len(pks), 1000):
        questions.objects.filter(pk__in=pks[start : start + 1000]).update(
            seats_free=F("seats_free") - 1
        )
    return [row.token for row in rows]


# Returns the milliseconds from a key to the next image, `count` times.
MEASURE = """async ([count, key, pace]) => {
  const stage = document.querySelector("[data-stage]");
  const times = [];
  for (let index = 0; index < count; index += 1) {
    await new Promise((resolve) => setTimeout(resolve, pace));
    const painted = new Promise((resolve) => stage.addEventListener("painted", () =>
      requestAnimationFrame(() => resolve(performance.now())), { once: true }));
    const start = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    times.push(await painted - start);
  }
  return times;
}"""


def paint(site: dict[str, Any]) -> dict[str, Any]:
    """Return milliseconds from each answer to the next image; none where there is no Chromium."""
    from playwright.sync_api import sync_playwright

    chromium = own_process.find_chromium()
    if chromium is None:
        return {"ms": [], "slow_ms": []}
    url = f"http://127.0.0.1:{site['port']}"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": site["session"], "url": url}])
        page = context.new_page()
        page.goto(f"{url}/campaigns/look/label/")
        page.wait_for_selector("[data-stage] img:not([data-first])")
        times = page.evaluate(MEASURE, [ANSWERS, "y", PACE_MS])
        slow = {
            "offline": False,
            "latency": ROUND_TRIP_MS,
            "downloadThroughput": -1,
            "uploadThroughput": -1,
        }
        context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
        # Images that were loaded over the fast connection are used up before measuring begins.
        slow_times = page.evaluate(MEASURE, [SLOW_ANSWERS + 5, "n", SLOW_PACE_MS])[5:]
        browser.close()
    return {"ms": times, "slow_ms": slow_times}
