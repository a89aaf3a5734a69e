"""The labeling page of boxes as a hand and an eye feel it, on a local gunicorn, in Chromium.

`python -m benchmarks.bench_boxes.screens`. Photographs of 1600 × 1200 pixels, 300 boxes on each.
Panning: the time from frame to frame, as requestAnimationFrame tells it, while the middle button
drags the zoomed photograph; and the same with the view box of an SVG that holds photograph and
boxes, which is the plain way. Keys: from the keydown that finds a box good to the frame after the
one that the next box is in, so an upper bound. Without a graphics card Chromium paints in software.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import bench_labeling, sized

ROOT = Path(__file__).resolve().parents[2]
MEDIAN_MS, WORST_MS, KEY_MS = 17.0, 34.0, 50.0
BOXES, FRAMES, CHECKS = sized(300, 10), sized(300, 10), sized(60, 4)

PAN = """(frames) => new Promise((done) => {
  const root = document.querySelector("[data-drawing]");
  root.setPointerCapture = () => {};
  const found = [];
  let [before, at, x, y] = [null, 0, 700, 400];
  const tell = (kind, buttons) => root.dispatchEvent(new PointerEvent(kind, {
    pointerId: 1, pointerType: "mouse", buttons, clientX: x, clientY: y, bubbles: true,
    button: kind === "pointermove" ? -1 : 1,
  }));
  tell("pointerdown", 4);
  requestAnimationFrame(function next(now) {
    if (before !== null) found.push(now - before);
    before = now;
    at += 1;
    x += 9 * Math.cos(at / 25);
    y += 9 * Math.sin(at / 25);
    tell("pointermove", 4);
    if (at <= frames) return void requestAnimationFrame(next);
    tell("pointerup", 0);
    done(found.slice(10));
  });
})"""

PLAIN = """(frames) => new Promise((done) => {
  const image = document.querySelector(".boxes-photo img");
  const [casing, line] = document.querySelectorAll(".boxes-standing-casing, .boxes-standing");
  const { transform } = getComputedStyle(document.querySelector(".boxes-photo"));
  const scale = new DOMMatrix(transform).a;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.style.cssText = "position:fixed;left:44px;top:48px;width:1156px;height:792px;z-index:9";
  const add = (name, attributes) => {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    svg.append(made);
  };
  add("image", { href: image.src, width: 1600, height: 1200 });
  for (const [index, path] of [casing, line].entries()) {
    add("path", { d: path.getAttribute("d"), transform: `scale(${1 / scale})`, fill: "none",
      stroke: index ? "#fff" : "#000", "stroke-width": index ? 1.5 : 4,
      "vector-effect": "non-scaling-stroke" });
  }
  document.body.append(svg);
  const found = [];
  let [before, at, x, y] = [null, 0, 300, 200];
  requestAnimationFrame(function next(now) {
    if (before !== null) found.push(now - before);
    before = now;
    at += 1;
    x += 9 * Math.cos(at / 25) / scale;
    y += 9 * Math.sin(at / 25) / scale;
    svg.setAttribute("viewBox", `${x} ${y} ${1156 / scale} ${792 / scale}`);
    if (at <= frames) return void requestAnimationFrame(next);
    svg.remove();
    done(found.slice(10));
  });
})"""


def main() -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}; none without Chromium."""
    names = ("chromium", "google-chrome")
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        print("no Chromium: the page of boxes is not measured", file=sys.stderr)
        return []
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    environment = os.environ | {
        "ASSAY_DATA": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / 'bench.sqlite3'}",
        "DEBUG": "0",
        "SECRET_KEY": "of the benchmark alone",
        "PYTHONPATH": str(ROOT),
        "LOG_LEVEL": "ERROR",
    }
    try:
        session = _child(environment, "prepare")["session"]
        with bench_labeling._Server(environment) as server:
            found = _child(environment, "look", str(server.port), session, chromium)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [
        _pan_row("moving their layers", found["pan"], promised=True),
        _pan_row("by the view box, the plain way", found["plain"], promised=False),
        _key_row(found["keys"]),
    ]


def _child(environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    """What this module prints as JSON in a process of its own, where Django is set up."""
    command = [sys.executable, "-m", "benchmarks.bench_boxes.screens", *arguments]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def _pan_row(how: str, times: list[float], *, promised: bool) -> dict[str, Any]:
    median, worst = statistics.median(times), max(times)
    p95 = statistics.quantiles(times, n=20)[-1]
    return {
        "name": f"a frame while {BOXES} boxes are panned, {how}",
        "target": f"median ≤ {MEDIAN_MS:.0f} ms, none over {WORST_MS:.0f}" if promised else "",
        "measured": f"median {median:.1f} ms, p95 {p95:.1f}, worst {worst:.1f} (n = {len(times)}; "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})",
        "ok": median <= MEDIAN_MS and worst <= WORST_MS if promised else None,
    }


def _key_row(times: list[float]) -> dict[str, Any]:
    median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    return {
        "name": f"key to next box painted, {BOXES} boxes beside it, p95",
        "target": f"< {KEY_MS:.0f} ms",
        "measured": f"{p95:.0f} ms (median {median:.0f} ms, n = {len(times)})",
        "ok": p95 < KEY_MS,
    }


# In processes of their own, with Django set up.


def _prepare() -> dict[str, Any]:
    """A campaign of boxes to check, each beside 300 others, and somebody who checks them."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from labeling.campaigns import lifecycle
    from labeling.follow_ups import asking
    from labeling.models import Dataset

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("owner", is_researcher=True, tutorials=["boxes"])
    dataset = Dataset.objects.create(owner=owner, name="bench")
    names = bench_labeling._photographs(dataset, CHECKS + 20)
    campaign = lifecycle.create(
        owner,
        name="look",
        title="Boxes",
        kind="boxes",
        dataset=dataset,
        policy={"page_size": 20, "gold_share": 0},
    )
    lifecycle.define_topics(campaign, [{"key": "n02084071", "name": "dog"}])
    asking.add_questions(campaign, [(name, "n02084071") for name in names])
    lifecycle.launch(campaign, owner)
    for shift, question in enumerate(campaign.questions.order_by("pk")):
        # Others each time: what does not change would cost nothing.
        boxes = [
            [x * 80.0 + 6, y * 80.0 + 6, x * 80.0 + 60 + shift % 17, y * 80.0 + 58]
            for y in range(15)
            for x in range(20)
        ]
        box = [300.0 + shift, 300.0, 700.0, 620.0]
        question.step = "check"
        question.content = {"number": 1, "boxes": boxes, "box": box, "came": "drawn"}
        question.save(update_fields=["step", "content"])
    return bench_labeling._person("looker", "look")


def _look(port: int, session: str, chromium: str) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    url = f"http://127.0.0.1:{port}"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": session, "url": url}])
        page = context.new_page()
        page.goto(f"{url}/campaigns/look/label/")
        page.wait_for_selector("[data-drawing][data-seat]")
        page.wait_for_timeout(2_000)
        keys = page.evaluate(bench_labeling.MEASURE, [CHECKS, "g"])
        page.wait_for_timeout(1_000)
        page.keyboard.press("+")
        page.keyboard.press("+")
        page.wait_for_timeout(1_000)
        found = {"keys": keys, "pan": page.evaluate(PAN, FRAMES)}
        page.wait_for_timeout(500)
        found["plain"] = page.evaluate(PLAIN, FRAMES)
        browser.close()
    return found


def _in_child(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    import django

    django.setup()
    action, *rest = arguments
    result = _prepare() if action == "prepare" else _look(int(rest[0]), rest[1], rest[2])
    print(json.dumps(result))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("child", nargs="*")
    if child := parser.parse_args().child:
        _in_child(child)
    else:
        for row in main():
            print(row)
