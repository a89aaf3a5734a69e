"""200 questions taken along for 4 hours and answered without a server while tabs are killed.

`python -m benchmarks along`. On a throwaway SQLite database: Chromium takes the set from a
local gunicorn, which then ends; the questions are answered by keys over 2 hours of the browser's
clock, and 50 times the tab's process is killed at a random moment of a key's way. Then the database
is moved 2 hours back (the server's clock), the server begins again, and the page sends what it has.

An answer is lost where the page showed its image as answered and the server has none, or another
one (which key was pressed follows from the seat); doubled where a seat has more than one.
"""

import contextlib
import os
import random
import shutil
import tempfile
import time
from typing import Any

from benchmarks import bench_labeling, own_process, sized

QUESTIONS, TAKEN, KILLED, HOURS = sized(4_400, 200), sized(200, 20), sized(50, 4), 2
IMAGES = sized(220, 20)
PATH = "/campaigns/along/label/along/"
SHOWN = "[data-stage] img:not([data-first])"
# The longest a key is on its way when its tab is killed, and between two keys, in seconds.
LONGEST, PAUSE = 0.25, 0.16
SEED = 20

# Another time of day; where a page has two of these, the later one counts.
CLOCK = """(() => {
  const Real = (globalThis.RealDate ??= Date);
  const ahead = %d;
  globalThis.Date = class extends Real {
    constructor(...given) { given.length ? super(...given) : super(Real.now() + ahead); }
    static now() { return Real.now() + ahead; }
  };
})()"""
# The seat on the screen.
WATCH = """addEventListener("painted", ({ detail }) => (window.shownSeat = detail.seat), true);"""
ANSWERED = """() => {
  const [, record] = Object.entries(localStorage).find(([key]) => key.startsWith("assay:along:"));
  return JSON.parse(record).answered;
}"""
GONE = """(seat) => window.shownSeat !== seat
  || document.querySelector("[data-work]").hidden"""


def main() -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}; none without Chromium."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        return []
    folder = tempfile.mkdtemp(prefix="assay-bench-")
    # Of all its processes: it signs the session.
    os.environ["SECRET_KEY"] = "of the benchmark alone"
    try:
        session = own_process.run("bench_along", folder, "prepare", IMAGES)
        found = _story(folder, session, chromium)
        return _rows(found | own_process.run("bench_along", folder, "count", found["answered"]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    name = f"{TAKEN} questions taken along, {HOURS} h offline, {KILLED} killed tabs"
    rows = [
        (f"{name}: lost", "0", found["lost"], found["lost"] == 0),
        ("… doubled", "0", found["doubled"], found["doubled"] == 0),
        ("… late, though the lease still ran", "0", found["late"], found["late"] == 0),
        ("… answers on the server, of questions", "none", f"{found['kept']} of {TAKEN}", None),
        ("… seats, images and page fetched in", "none", f"{found['fetched']:.1f} s", None),
        ("… opened again after a kill, median", "none", f"{found['opened'] * 1000:.0f} ms", None),
        ("… sent, and watched by tens, in", "none", f"{found['sent']:.1f} s", None),
    ]
    return [dict(zip(("name", "target", "measured", "ok"), row, strict=True)) for row in rows]


def _story(folder: str, session: str, chromium: str) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    environment = os.environ | {
        "ASSAY_DATA": folder,
        "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
        "DEBUG": "0",
        "PYTHONPATH": str(own_process.ROOT),
        "LOG_LEVEL": "ERROR",
    }
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_init_script(WATCH)
        with bench_labeling._Server(environment) as server:
            url = f"http://127.0.0.1:{server.port}"
            context.add_cookies([{"name": "sessionid", "value": session, "url": url}])
            page = context.new_page()
            page.goto(url + PATH)
            page.get_by_label("Number of questions").fill(str(TAKEN))
            page.get_by_label("For how long").select_option("4")
            start = time.monotonic()
            page.get_by_role("button", name="Take them along").click()
            page.wait_for_selector(SHOWN, timeout=120_000)
            fetched = time.monotonic() - start
        tabs = Tabs(context, url)
        tabs.page = page
        answered = tabs.work()
        own_process.run("bench_along", folder, "later", HOURS)
        with bench_labeling._Server(environment, server.port):
            start = time.monotonic()
            tabs.page.evaluate("dispatchEvent(new Event('online'))")
            tabs.page.get_by_text("All of it is received").wait_for(timeout=120_000)
            sent = time.monotonic() - start
        browser.close()
    opened = sorted(tabs.opened)[len(tabs.opened) // 2]
    return {"answered": answered, "fetched": fetched, "opened": opened, "sent": sent}


class Tabs:
    """One tab after another with the set in it; each is killed in the end but the last."""

    def __init__(self, context: Any, url: str) -> None:
        self.context, self.url = context, url
        self.source = random.Random(SEED)
        self.opened: list[float] = []
        self.known: set[str] = set()
        self.page: Any = None

    def work(self) -> list[str]:
        """The seats that the page showed as answered, in the end all of them."""
        # A killed key may have answered: so early that something is left for each kill.
        kills = set(self.source.sample(range(TAKEN - KILLED - 1), KILLED))
        for place in range(TAKEN):
            if place in kills:
                self.answer(wait=False)
                time.sleep(self.source.random() * LONGEST)
                self.kill(len(self.opened) + 1)
            if len(self.known) < TAKEN and self.left():
                self.answer()
        while self.left():
            self.answer()
        return sorted(self.known)

    def left(self) -> bool:
        self.known |= set(self.page.evaluate(ANSWERED))
        return len(self.known) < TAKEN

    def answer(self, *, wait: bool = True) -> None:
        """Presses the key that belongs to the seat on the screen."""
        self.page.wait_for_selector(SHOWN)
        self.page.wait_for_function("window.shownSeat")
        time.sleep(PAUSE)
        shown = self.page.evaluate("window.shownSeat")
        self.page.keyboard.press(key_of(shown))
        if wait:
            self.page.wait_for_function(GONE, arg=shown)
            self.known.add(shown)

    def kill(self, number: int) -> None:
        from playwright.sync_api import Error

        with contextlib.suppress(Error):
            self.page.goto("chrome://crash")
        self.page.close()
        self.context.add_init_script(CLOCK % round(HOURS * 3_600_000 * number / KILLED))
        self.page = self.context.new_page()
        start = time.monotonic()
        self.page.goto(self.url + PATH)
        self.page.locator("[data-strip]:not([hidden])").wait_for()
        self.opened.append(time.monotonic() - start)
        answered = set(self.page.evaluate(ANSWERED))
        lost = self.known - answered
        assert not lost, f"{len(lost)} answers were forgotten"


def key_of(seat: str) -> str:
    return "y" if int(seat[-1], 16) % 2 else "n"
