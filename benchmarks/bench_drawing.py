"""Drawing speed: script time per frame while 300 polygons of 100 corners move.

`python -m benchmarks drawing`. In Chromium, with real mouse events: dragging with the middle
button, the wheel, and for comparison a corner that is dragged. The target is for the time of event
handlers and requestAnimationFrame callbacks between two frames. It comes from Chromium's trace, as
time of their thread, so other work on the machine does not count. The time between frames is shown
too; it is mostly painting, without a graphics card in software.

A second measurement is the time from frame to frame while 2,000 shapes are panned, by the layers'
CSS transform and by the plain way, an attribute of their group.
"""

import json
import math
import statistics
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks import Row, own_process, row, sized

TARGET_MS = 4.0
POLYGONS = sized(300, 10)
CORNERS = 100
FRAMES = sized(150, 60)
MANY = sized(2_000, 200)
MANY_CORNERS = 24
FASTEST_MS = 20.0  # for a frame, at 50 frames a second
SIZE = (1600, 1200)
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline"]
SCRIPT = {"EventDispatch", "FireAnimationFrame"}

HTML = b"""<!doctype html><html lang="en"><title>Drawing</title>
<link rel="stylesheet" href="/static/css/drawing.css">
<style>html, body { margin: 0 } #root { width: 1400px; height: 860px }</style>
<div id="root"></div>"""

BEGIN = """async ([shapes, width, height]) => {
  const { Drawing } = await import("/static/js/drawing/drawing.js");
  const blank = document.createElement("canvas");
  Object.assign(blank, { width, height });
  const parts = Object.keys(shapes).map((key) => ({ key, name: key }));
  const setup = { width, height, image: blank.toDataURL(), parts, announce() {} };
  window.drawing = new Drawing(document.getElementById("root"), setup);
  drawing.load(shapes);
  drawing.select("p0");
  drawing.use("edit");
  await new Promise((resolve) => setTimeout(resolve, 1000));
}"""

# The former way, without layers: each frame changes the attribute of the group of all shapes.
PLAIN = """() => {
  drawing.picture.move = function ({ scale, x, y }) {
    for (const world of this.worlds) {
      world.setAttribute("transform", `matrix(${scale} 0 0 ${scale} ${x} ${y})`);
    }
  };
}"""

PAN = """(frames) => new Promise((done) => {
  const root = document.querySelector(".drawing");
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

WHERE = """async () => {
  drawing.fit();
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const [x, y] = drawing.shapes().p0[0][0][0];
  return drawing.view.toScreen([x, y]);
}"""


def main() -> list[Row]:
    """Return the rows; none without Chromium."""
    chromium = own_process.find_chromium()
    if chromium is None:
        return []
    with _Server() as url:
        measured, panned = _measure(chromium, url), _pan(chromium, url)
    rows = [_row(name, figures) for name, figures in measured.items()]
    return [*rows, *(_pan_row(how, times) for how, times in panned.items())]


class _Handler(SimpleHTTPRequestHandler):
    """The static files, and one page around them."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing, so that only the table is printed."""

    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(HTML)
        return None


class _Server:
    """A server of the static files during a with block, which gets its address."""

    def __enter__(self) -> str:
        self.server = ThreadingHTTPServer(
            ("127.0.0.1", 0), partial(_Handler, directory=str(own_process.ROOT))
        )
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}/"

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def _shapes(columns: int = 20, rows: int = 15, corners: int = CORNERS) -> dict[str, list]:
    """Return wavy rings in a grid, near but apart, in pixels of the image."""
    shapes = {}
    for index in range(columns * rows):
        x = (index % columns + 0.5) * SIZE[0] / columns
        y = (index // columns + 0.5) * SIZE[1] / rows
        ring = []
        for corner in range(corners):
            turn = 2 * math.pi * corner / corners
            radius = (0.4 + 0.05 * math.sin(9 * turn + index)) * SIZE[1] / rows
            ring.append(
                [round(x + radius * math.cos(turn), 1), round(y + radius * math.sin(turn), 1)]
            )
        shapes[f"p{index}"] = [[ring]]
    return shapes


def _measure(chromium: str, url: str) -> dict[str, tuple[list[float], list[float]]]:
    """Return the milliseconds of script and between frames for each movement."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(url)
        page.evaluate(BEGIN, [_shapes(), *SIZE])
        measured = {
            "panning": _watch(browser, page, partial(_drag, page, "middle", (700, 430))),
            "zooming": _watch(browser, page, partial(_wheel, page)),
            "dragging a corner": _watch(
                browser, page, lambda: _drag(page, "left", page.evaluate(WHERE))
            ),
        }
        browser.close()
    return measured


def _pan(chromium: str, url: str) -> dict[str, list[float]]:
    """Return milliseconds from frame to frame while the middle button drags 2,000 shapes."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(url)
        page.evaluate(BEGIN, [_shapes(50, 40, MANY_CORNERS), *SIZE])
        page.evaluate("drawing.use('polygon'); drawing.zoomIn(); drawing.zoomIn()")
        page.wait_for_timeout(1_000)
        frame_times = {"moving their layers": page.evaluate(PAN, FRAMES)}
        page.evaluate(PLAIN)
        page.wait_for_timeout(1_000)
        frame_times["by their groups' attribute"] = page.evaluate(PAN, FRAMES)
        browser.close()
    return frame_times


def _watch(browser: Any, page: Any, move: Any) -> tuple[list[float], list[float]]:
    browser.start_tracing(page=page, categories=TRACED)
    move()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    spans = sorted((e for e in events if e.get("ph") == "X"), key=lambda e: e["ts"])
    return _frames(spans)


def _frames(spans: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    """Return the milliseconds of script of each frame that had some, and those between frames."""
    script, between = [], []
    spent, end, frame = 0.0, 0.0, None
    for span in spans:
        if span["name"] in SCRIPT and span["ts"] >= end:  # skip events inside another one
            spent += span.get("tdur", span["dur"]) / 1000
            end = span["ts"] + span["dur"]
        elif span["name"] == "Commit":
            if spent and frame is not None:
                script.append(spent)
                between.append((span["ts"] - frame) / 1000)
            spent, frame = 0.0, span["ts"]
    return script, between


def _drag(page: Any, button: str, start: tuple[float, float]) -> None:
    x, y = start
    page.mouse.move(x, y)
    page.mouse.down(button=button)
    for step in range(FRAMES):
        turn = step / 15
        page.mouse.move(x + 3 * step / 15 * math.cos(turn), y + 3 * step / 15 * math.sin(turn))
    page.mouse.up(button=button)


def _wheel(page: Any) -> None:
    page.mouse.move(500, 300)
    for step in range(FRAMES):
        page.mouse.wheel(0, -40 if step % 40 < 20 else 40)


def _row(name: str, figures: tuple[list[float], list[float]]) -> Row:
    script, frames = figures
    p95, between = statistics.quantiles(script, n=20)[-1], statistics.median(frames)
    name = f"script a frame, {name}, {POLYGONS} polygons of {CORNERS} corners"
    measured = f"p95 {p95:.2f} ms, median {statistics.median(script):.2f} ms (n = {len(script)}; "
    measured += f"a frame takes {between:.0f} ms)"
    if "dragging a corner" in name:
        return row(name, measured)
    return row(name, measured, f"p95 < {TARGET_MS:.0f} ms", p95 < TARGET_MS)


def _pan_row(how: str, times: list[float]) -> Row:
    median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    name = f"a frame while {MANY:,} shapes are panned, {how}"
    measured = f"median {median:.1f} ms, p95 {p95:.1f}, worst {max(times):.1f} (n = {len(times)})"
    if how != "moving their layers":
        return row(name, measured)
    return row(name, measured, f"median ≤ {FASTEST_MS:.0f} ms", median <= FASTEST_MS)
