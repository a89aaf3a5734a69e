"""A real browser against a live server: Chromium by Playwright, and axe.

Playwright's synchronous API runs an event loop in the test's own thread, and Django refuses its
ORM beside one. So the browser lives in a thread of its own and tests reach it through a proxy:
`page.click(...)` is carried over, waits and returns, while the test's thread stays an ordinary one
that may use the ORM.

    def test_home_greets(browser_as, bob, site):
        page = browser_as(bob)
        page.goto(site("/"))
"""

import json
import os
import queue
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import skimage
from django.conf import settings as django_settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.http import HttpRequest, HttpResponse
from django.views import static

from annotator.pages import seats
from labeling.campaigns import lifecycle
from labeling.datasets import images
from labeling.follow_ups import asking
from labeling.models import Dataset, Image, User
from tests import factories
from tests.clients import logged_in
from tests.conftest import HASHED_FILES, find_chromium, skip_or_fail

# The rest of the browser is left to `.ci/run`: here is a module for each screen that people answer
# on, for review and for results, and what runs in node alone.
IN_MAKE_TEST = {
    "drawing/test_modules",
    "drawing/test_polygons",
    "labeling/test_boxes_modules",
    "labeling/test_boxes_page",
    "labeling/test_candidates",
    "labeling/test_fit",
    "labeling/test_grid",
    "labeling/test_labeling",
    "labeling/test_mistakes",
    "labeling/test_naming_list",
    "labeling/test_parts_page",
    "benchmarks/test_results",
    "test_review_boxes",
    "test_review_parts",
}
HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            module = item.path.relative_to(HERE).with_suffix("").as_posix()
            if module not in IN_MAKE_TEST:
                item.add_marker("ci")


WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 390, "height": 844}
PATIENCE_MS = 45_000


class Carrier:
    """A thread that owns Playwright and calls there what others hand over."""

    def __init__(self) -> None:
        self._calls: queue.Queue[tuple[Callable[[], Any], queue.Queue[Any]] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, daemon=True, name="playwright")
        self._thread.start()

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            action, answer = item
            try:
                answer.put((True, action()))
            except BaseException as error:
                answer.put((False, error))

    def do(self, action: Callable[[], Any]) -> Any:
        if threading.current_thread() is self._thread:
            return action()
        answer: queue.Queue[Any] = queue.Queue()
        self._calls.put((action, answer))
        fine, result = answer.get(timeout=90)
        if not fine:
            raise result
        return result

    def end(self) -> None:
        self._calls.put(None)
        self._thread.join(timeout=10)


def is_playwright(thing: Any) -> bool:
    return type(thing).__module__.startswith("playwright.")


# What a person does, which a page answers only once its scripts ran.
ACTIONS = {"keyboard", "mouse", "touchscreen", "click", "tap", "press", "drag_to"}


def when_scripts_ran(target: Any) -> None:
    """Waits for the scripts of the page that this is or is on: a page that is only shown so far
    takes no key and no click."""
    page = getattr(target, "page", target)
    if hasattr(page, "wait_for_load_state"):
        page.wait_for_load_state("domcontentloaded")


class Proxy:
    """Something of Playwright's, used from another thread."""

    def __init__(self, carrier: Carrier, target: Any) -> None:
        self.__dict__.update(_carrier=carrier, _target=target)

    def _wrap(self, result: Any) -> Any:
        if isinstance(result, list):
            return [self._wrap(item) for item in result]
        if is_playwright(result) and not isinstance(result, Exception):
            return Proxy(self._carrier, result)
        return result

    def __getattr__(self, name: str) -> Any:
        if name in ACTIONS:
            self._carrier.do(lambda: when_scripts_ran(self._target))
        value = self._carrier.do(lambda: getattr(self._target, name))
        if not callable(value) or is_playwright(value):
            return self._wrap(value)

        def call(*args: Any, **kwargs: Any) -> Any:
            bare = [bare_of(arg) for arg in args]
            bare_keywords = {key: bare_of(arg) for key, arg in kwargs.items()}
            return self._wrap(self._carrier.do(lambda: value(*bare, **bare_keywords)))

        return call

    def __enter__(self) -> Any:
        return self._wrap(self._carrier.do(self._target.__enter__))

    def __exit__(self, *error: Any) -> Any:
        return self._carrier.do(lambda: self._target.__exit__(*error))


def bare_of(thing: Any) -> Any:
    return thing._target if isinstance(thing, Proxy) else thing


# Pages measure how long something was on the screen; this lets time go by without waiting for it.
AHEAD = """(() => {
  const now = performance.now.bind(performance);
  let ahead = 0;
  performance.now = () => now() + ahead;
  window.letPass = (ms) => { ahead += ms; };
})()"""


def let_pass(page: Proxy, milliseconds: int = 170) -> None:
    """For the page, so much time goes by: a press in the first moments of an image is taken for one
    meant for the image before."""
    page.evaluate("(ms) => letPass(ms)", milliseconds)


def let_frames_pass(page: Proxy) -> None:
    """Until all that was done so far has been painted."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def settled(page: Proxy) -> None:
    """Waits until htmx has what it asked for and every image is decoded: what comes late would
    shift what is looked at."""
    page.wait_for_selector(".htmx-request", state="detached")
    page.evaluate("Promise.all([...document.images].map(i => (i.loading = 'eager', i.decode())))")


def count_images(page: Proxy) -> Callable[[int], None]:
    """Begins to count the images of seats that arrive; what it gives waits for so many of them."""
    arrived: list[Any] = []

    def is_image(request: Any) -> bool:
        return "/image?" in request.url

    page.on("requestfinished", lambda request: is_image(request) and arrived.append(request))

    def wait(count: int) -> None:
        # Events come only while a call to the browser is under way, so none slips in between.
        while len(arrived) < count:
            page.wait_for_event("requestfinished", predicate=is_image)

    return wait


@pytest.fixture
def images_sent(monkeypatch) -> Counter[str]:
    """How often the site sent each photograph of a seat whole, by name."""
    sent: Counter[str] = Counter()
    respond = seats.seat_response

    def count(image: Image, max_age: int, detail: str | None, is_drawn_on: bool) -> HttpResponse:
        sent[image.name] += detail is None
        return respond(image, max_age, detail, is_drawn_on)

    monkeypatch.setattr(seats, "seat_response", count)
    return sent


def expect(thing: Proxy) -> Proxy:
    """Playwright's assertions on a page or locator, which wait until they hold."""
    from playwright.sync_api import expect

    return Proxy(thing._carrier, thing._carrier.do(lambda: expect(thing._target)))


@pytest.fixture(scope="session")
def carrier() -> Iterator[Carrier]:
    carrier = Carrier()
    yield carrier
    carrier.end()


@pytest.fixture(autouse=True)
def _hashed_files(settings, collected: Path, monkeypatch) -> None:
    """Static files under their hashed names, as a site has them."""
    settings.STORAGES, settings.STATIC_ROOT = HASHED_FILES, collected
    serve_found = StaticFilesHandler.serve

    def serve(handler: StaticFilesHandler, request: HttpRequest) -> HttpResponse:
        path = handler.file_path(request.path)
        if (collected / path).is_file():
            return static.serve(request, path, document_root=collected)
        return serve_found(handler, request)

    monkeypatch.setattr(StaticFilesHandler, "serve", serve)


@pytest.fixture(scope="session")
def browser(carrier: Carrier) -> Iterator[Proxy]:
    """Chromium; skips with the reason where there is none."""
    executable = find_chromium()
    if executable is None:
        skip_or_fail("no Chromium: install it, or name it in CHROMIUM")

    def begin() -> Any:
        from playwright.sync_api import expect, sync_playwright

        expect.set_options(timeout=PATIENCE_MS)  # Its default is five seconds.
        driver = sync_playwright().start()
        return driver, driver.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )

    driver, chromium = carrier.do(begin)
    yield Proxy(carrier, chromium)
    carrier.do(chromium.close)
    carrier.do(driver.stop)


@pytest.fixture
def site(live_server) -> Callable[[str], str]:
    """The address of a path on the live server."""
    return lambda path="/": f"{live_server.url}{path}"


def open_context(browser: Proxy, **options: Any) -> tuple[Proxy, list[str]]:
    """A browser context, and a list that its pages' errors come into.

    Refused requests are no errors of the page: tests provoke them. A violated security policy and
    an exception in a script are.
    """
    faults: list[str] = []

    def watch(page: Any) -> None:
        page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
        page.on(
            "console",
            lambda message: (
                faults.append(f"{page.url}: {message.text}")
                if "Content Security Policy" in message.text
                else None
            ),
        )

    context = browser.new_context(**{"viewport": WIDE, "color_scheme": "light", **options})
    context.add_init_script(AHEAD)
    # On a busy machine a page may take long; a test's own timeout ends one that never comes.
    context.set_default_timeout(PATIENCE_MS)
    context.on("page", watch)
    return context, faults


@pytest.fixture
def contexts(browser: Proxy) -> Iterator[Callable[..., Proxy]]:
    """Makes browser contexts that end with the test and fail it on errors in the page."""
    made: list[tuple[Proxy, list[str]]] = []

    def make(**options: Any) -> Proxy:
        made.append(open_context(browser, **options))
        return made[-1][0]

    yield make
    for context, _ in made:
        context.close()
    faults = [fault for _, page_faults in made for fault in page_faults]
    assert not faults, faults


@pytest.fixture
def new_context(contexts: Callable[..., Proxy], live_server) -> Callable[..., Proxy]:
    """Makes contexts in which this user (or nobody) is logged in to the live server."""

    def make(user: User | None = None, **options: Any) -> Proxy:
        context = contexts(**options)
        if user is not None:
            log_in(context, user, live_server.url)
        return context

    return make


def log_in(context: Proxy, user: User, url: str) -> None:
    """Puts a session of the user's into the context, as logging in would."""
    name = django_settings.SESSION_COOKIE_NAME
    cookie = logged_in(user).cookies[name].value
    context.add_cookies([{"name": name, "value": cookie, "url": url}])


@pytest.fixture
def browser_as(new_context) -> Callable[..., Proxy]:
    """A page where this user (or nobody) is logged in; options go to the browser context."""
    return lambda user=None, **options: new_context(user, **options).new_page()


@pytest.fixture
def page(browser_as, alice: User) -> Proxy:
    """The page of the person whom a module is about: Alice's, unless the module has another."""
    return browser_as(alice)


# What axe judges: the kinds of elements in sight, the width, the colours and the language.
SKELETON = """() => {
  const inSight = [...document.body.querySelectorAll("*")].filter((each) => each.checkVisibility());
  const kinds = inSight.map((each) =>
    [each.tagName, ...[...each.attributes].map(({ name, value }) =>
      /^(aria-(hidden|pressed|expanded|current)|class|role|style|type)$/.test(name)
        ? `${name}=${value}` : name)].join(" "));
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return [innerWidth, dark, document.documentElement.lang, ...new Set(kinds)].join("\\n");
}"""


@pytest.fixture(scope="session")
def judged_by_axe() -> set[str]:
    """Skeletons of the pages that axe found nothing wrong with."""
    return set()


@pytest.fixture
def axe(judged_by_axe: set[str]) -> Callable[[Proxy], None]:
    """Fails with what axe finds wrong on the page, the size of targets (WCAG 2.2 AA) too. A page
    of the same skeleton is judged once in a session."""
    from axe_playwright_python.base import AXE_SCRIPT

    def check(page: Proxy) -> None:
        skeleton = page.evaluate(SKELETON)
        if skeleton in judged_by_axe:
            return
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
        violations = page.evaluate(
            # The message quotes the element, so axe need not search for a unique selector.
            "axe.run({resultTypes: ['violations'], selectors: false,"
            " rules: {'target-size': {enabled: true}}})"
            ".then(({violations}) => violations.flatMap("
            " ({id, nodes}) => nodes.map(({html, failureSummary}) =>"
            " `${id}: ${html.slice(0, 200)} ${failureSummary}`)))"
        )
        assert not violations, "\n".join(violations)
        judged_by_axe.add(skeleton)

    return check


@pytest.fixture
def screenshots() -> Callable[[Proxy, str], None]:
    """Takes a picture of the page into the folder ASSAY_SCREENSHOTS; without one, none."""
    folder = os.environ.get("ASSAY_SCREENSHOTS")

    def take(page: Proxy, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(Path(folder) / f"{name}.png"))

    return take


LOOKS = [
    (f"{size['width']}-{scheme}", size, scheme)
    for size in (WIDE, NARROW)
    for scheme in ("light", "dark")
]
# Sizes and colours do not depend on each other: axe sees each of them once.
FOR_AXE = (LOOKS[0], LOOKS[3])


@pytest.fixture
def looked_at(axe, screenshots) -> Callable[[Proxy, str], None]:
    """Looks at the page as it is, wide and light, narrow and dark: axe, and whether it fits. The
    pictures, where they are asked for, are of all four."""

    def look(page: Proxy, name: str) -> None:
        for each in LOOKS if os.environ.get("ASSAY_SCREENSHOTS") else FOR_AXE:
            suffix, size, scheme = each
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            screenshots(page, f"{name}-{suffix}")
            if each in FOR_AXE:
                axe(page)
            assert not page.evaluate(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            ), f"{name} at {suffix} is wider than the screen"
        page.set_viewport_size(WIDE)
        page.emulate_media(color_scheme="light")

    return look


PHOTOGRAPHS = ("chelsea.png", "coffee.png", "astronaut.png", "rocket.jpg", "motorcycle_left.png")


def add_photographs(dataset: Dataset, *names: str) -> None:
    """Adds these photographs of scikit-image."""
    for name in names:
        with (Path(skimage.__file__).parent / "data" / name).open("rb") as file:
            images.add_file(dataset, name, file, licence="public domain", source="scikit-image")


@pytest.fixture
def cats(alice: User, bob: User, dataset):
    """An open campaign on real photographs, with everything a researcher can say beside it."""
    add_photographs(dataset, *PHOTOGRAPHS)
    campaign = lifecycle.create(
        alice,
        name="cats",
        title="Cats and espresso, autumn round",
        kind="contains",
        dataset=dataset,
        instructions="Look at the whole image before you answer.\n\nPaintings of it count as no.",
    )
    lifecycle.define_topics(
        campaign,
        [
            {
                "key": "n02123045",
                "name": "tabby",
                "synonyms": ["tabby cat"],
                "definition": "a cat with a grey or tawny coat mottled with black",
                "url": "https://en.wikipedia.org/wiki/Tabby_cat",
            },
            {
                "key": "n07920052",
                "name": "espresso",
                "definition": "strong black coffee brewed by forcing hot water under pressure",
                "url": "https://en.wikipedia.org/wiki/Espresso",
            },
        ],
    )
    lifecycle.change_topic(campaign, "n02123045", alice, guidance="Kittens count.\nToys do not.")
    for name, answer, caption in [
        ("chelsea.png", "yes", "stripes on the head"),
        ("coffee.png", "no", ""),
    ]:
        image = Image.objects.get(dataset=dataset, name=name)
        lifecycle.add_example(campaign, "n02123045", image, answer, caption)
    pairs = [(name, key) for name in PHOTOGRAPHS for key in ("n02123045", "n07920052")]
    asking.add_questions(campaign, pairs)
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    return campaign


STATIC = Path(django_settings.BASE_DIR) / "static"
RUN = """import { readFileSync } from "node:fs";
const { folder, given } = JSON.parse(readFileSync(0, "utf8"));
const path = (module) => (module[0] === "/" ? module.slice(1) : `drawing/${module}`);
const load = (module) => import(`${folder}/js/${path(module)}.js`);
process.stdout.write(JSON.stringify((await (%s)(given)) ?? null));"""


@pytest.fixture(scope="session")
def js(tmp_path_factory):
    """What a function of JavaScript gives for an argument; `load` imports modules of static/js:
    /boxes/geometry, and those of the drawing engine by their name alone."""
    if shutil.which("node") is None:
        skip_or_fail("no node: install it (Debian: nodejs)")
    # node takes files for modules where a package says that they are.
    folder = tmp_path_factory.mktemp("static")
    for name in ("js", "vendor/polygon-clipping"):
        shutil.copytree(STATIC / name, folder / name)
    (folder / "package.json").write_text('{"type": "module"}')

    def run(function, argument=None):
        done = subprocess.run(
            ["node", "--input-type=module", "--eval", RUN % function],
            input=json.dumps({"folder": str(folder), "given": argument}),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


MANY = """async ([module, name, all]) => {
  const found = await load(module);
  return all.map((given) => found[name](...given));
}"""


@pytest.fixture
def calls(js):
    """The function's answers to many calls, in one go."""
    return lambda module, name, arguments: js(MANY, [module, name, arguments])


@pytest.fixture
def call(calls):
    return lambda module, name, *arguments: calls(module, name, [arguments])[0]
