"""A bare page with the drawing engine on a photograph, and a hand that draws on it."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import skimage
from django.conf import settings

from tests.browser.conftest import WIDE, let_frames_pass, open_context

# Nobody listens there: the test itself serves what the page asks for, and waits for no server and
# no database.
ADDRESS = "http://localhost/drawing-alone/"
STATIC = Path(settings.BASE_DIR) / "static"
# The site's own.
POLICY = "; ".join(
    f"{name} {' '.join(sources)}"
    for name, sources in settings.CONTENT_SECURITY_POLICY["DIRECTIVES"].items()
)
HTML = """<!doctype html>
<html lang="en"><head><title>Drawing</title><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/static/vendor/pico/pico.min.css">
<link rel="stylesheet" href="/static/css/tokens.css">
<link rel="stylesheet" href="/static/css/assay.css">
<link rel="stylesheet" href="/static/css/drawing.css">
<link rel="stylesheet" href="/drawing-alone/page.css"></head>
<body><main><h1>Drawing</h1><div id="root"></div><p id="below">Below</p></main></body></html>"""
CSS = (
    "main { padding: 7px } #root { height: 600px; width: min(800px, 100%) } body { height: 3000px }"
)

PARTS = [
    {"key": "head", "name": "head", "several": False},
    {"key": "left-ear", "name": "left ear", "mirror": "right-ear", "holes": False},
    {"key": "right-ear", "name": "right ear", "mirror": "left-ear"},
    {"key": "body", "name": "body", "several": True},
]

BEGIN = """async ([size, options]) => {
  const { Drawing } = await import("/static/js/drawing/drawing.js");
  if (window.drawing) {
    document.removeEventListener("keydown", keys);
    drawing.destroy();
    document.querySelector("#root").replaceChildren();
    document.querySelector("#below").textContent = "";
    document.activeElement.blur();
    scrollTo(0, 0);
  }
  window.announced = [];
  window.events = [];
  const [width, height] = size;
  const { photograph, ...others } = options;
  const photo = photograph && Object.assign(new Image(), { src: photograph });
  window.drawing = new Drawing(document.querySelector("#root"), {
    width, height, image: "/drawing-alone/photograph.png",
    announce: (text, { quiet }) => {
      announced.push({ text, quiet });
      document.querySelector("#below").textContent = text;
    },
    ...(photo && { image: photograph, photo }),
    ...others,
  });
  for (const name of ["change", "select", "overlap", "tool", "history"]) {
    drawing.addEventListener(name, (event) => events.push([name, event.detail]));
  }
  window.keys = (event) => drawing.handleKey(event) && event.preventDefault();
  document.addEventListener("keydown", keys);
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}"""

CLIENT = """([x, y]) => {
  const box = drawing.picture.surface.getBoundingClientRect();
  const [left, top] = drawing.view.toScreen([x, y]);
  return [left + box.left, top + box.top];
}"""

Point = Sequence[float]


class Hand:
    """What a person does, in pixels of the image."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def js(self, expression: str, argument: Any = None) -> Any:
        return self.page.evaluate(expression, argument)

    def on_page(self, point: Point) -> tuple[float, float]:
        """Where a point of the image is on the page."""
        x, y = self.js(CLIENT, list(point))
        return x, y

    def click(self, *points: Point, **options: Any) -> None:
        for point in points:
            self.page.mouse.click(*self.on_page(point), **options)

    def draw(self, *points: Point) -> None:
        """A polygon, closed on its first corner."""
        self.click(*points, points[0])

    def drag(self, *points: Point, button: str = "left", release: bool = True) -> None:
        self.page.mouse.move(*self.on_page(points[0]))
        self.page.mouse.down(button=button)
        for point in points[1:]:
            self.page.mouse.move(*self.on_page(point))
        if release:
            self.page.mouse.up(button=button)

    def rest(self) -> None:
        """Until all that was done so far has been painted."""
        let_frames_pass(self.page)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def select(self, key: str | None) -> None:
        self.js("(key) => drawing.select(key)", key)

    def load(self, shapes: dict[str, Any]) -> None:
        self.js("(shapes) => drawing.load(shapes)", shapes)

    def look(self, scale: float, point: Point) -> None:
        """Puts a point of the image into the middle of the view, at this zoom."""
        self.js(
            """([scale, [x, y]]) => {
              const { width, height } = drawing.view.screen;
              drawing.fit([x - width / scale / 2, y - height / scale / 2,
                           x + width / scale / 2, y + height / scale / 2]);
              drawing.view.zoomTo(scale);
              drawing.moved();
              return new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => {
                drawing.picture.settle();
                resolve();
              })));
            }""",
            [scale, list(point)],
        )

    def at_pixel(self, x: float, y: float) -> tuple[float, float]:
        """The point of the image under a point of the page, to a tenth."""
        px, py = self.js(
            """([x, y]) => {
              const box = drawing.picture.surface.getBoundingClientRect();
              return drawing.view.toImage([x - box.left, y - box.top]);
            }""",
            [x, y],
        )
        return round(px + 1e-9, 1), round(py + 1e-9, 1)

    @property
    def shapes(self) -> dict[str, Any]:
        return self.js("drawing.shapes()")

    def ring(self, key: str, piece: int = 0, ring: int = 0) -> list[list[float]]:
        return self.shapes[key][piece][ring]

    @property
    def announced(self) -> list[str]:
        return [entry["text"] for entry in self.js("announced")]

    @property
    def aloud(self) -> list[str]:
        """What everybody is told, not only those who listen."""
        return [entry["text"] for entry in self.js("announced") if not entry["quiet"]]

    def events(self, name: str) -> list[Any]:
        return [detail for event, detail in self.js("events") if event == name]

    def touch(self, kind: str, *points: Point, pointer: str = "touch", first: int = 10) -> None:
        """Fingers (or a pen) at these points: pointers `first`, `first` + 1, …"""
        for index, point in enumerate(points):
            x, y = self.on_page(point)
            self.js(
                """([kind, x, y, pointer, id]) => {
                  const svg = drawing.picture.surface;
                  svg.setPointerCapture = () => {};
                  svg.dispatchEvent(new PointerEvent(kind, {
                    pointerId: id, pointerType: pointer, clientX: x, clientY: y, bubbles: true,
                    button: kind === "pointermove" ? -1 : 0, buttons: kind === "pointerup" ? 0 : 1,
                  }));
                }""",
                [kind, x, y, pointer, first + index],
            )


def area(polygons: Any) -> float:
    """Square pixels, counted here and not by what is tested."""
    return sum(
        (1 if index == 0 else -1) * abs(signed_area(ring))
        for piece in polygons
        for index, ring in enumerate(piece)
    )


def signed_area(ring: Sequence[Point]) -> float:
    following = [*ring[1:], ring[0]]
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, following, strict=True)) / 2


def circle(x: float, y: float, radius: float, count: int = 60) -> list[tuple[float, float]]:
    """Points once around, the first one again at the end."""
    turns = [2 * math.pi * index / count for index in range(count + 1)]
    return [(x + radius * math.cos(t), y + radius * math.sin(t)) for t in turns]


def serve(route: Any) -> None:
    path = urlsplit(route.request.url).path
    name = path.rpartition("/")[2]
    if path.startswith("/static/"):
        route.fulfill(path=STATIC / path.removeprefix("/static/"))
    elif name == "page.css":
        route.fulfill(body=CSS, content_type="text/css")
    elif name == "photograph.png":
        photograph = Path(skimage.__file__).parent / "data" / "chelsea.png"
        route.fulfill(body=photograph.read_bytes(), content_type="image/png")
    else:
        headers = {"Content-Security-Policy": POLICY}
        route.fulfill(body=HTML, content_type="text/html", headers=headers)


def begin(page: Any, size: tuple[int, int] = (451, 300), **engine: Any) -> Hand:
    """A hand over a new drawing on the page, in place of the one that is there."""
    page.evaluate(BEGIN, [size, {"parts": PARTS, **engine}])
    return Hand(page)


@pytest.fixture
def drawing_on(contexts) -> Callable[..., Hand]:
    """Opens a page of its own; options go to the browser context, `engine` to the engine."""

    def open_page(
        size: tuple[int, int] = (451, 300), engine: dict[str, Any] | None = None, **options: Any
    ) -> Hand:
        page = contexts(**options).new_page()
        page.route("http://localhost/**", serve)
        page.goto(ADDRESS)
        return begin(page, size, **(engine or {}))

    return open_page


@pytest.fixture(scope="module")
def shared_page(browser) -> Iterator[tuple[Any, list[str]]]:
    """One page for the tests of a module, and what went wrong on it."""
    context, faults = open_context(browser)
    page = context.new_page()
    page.route("http://localhost/**", serve)
    page.goto(ADDRESS)
    yield page, faults
    context.close()


@pytest.fixture
def hand(shared_page) -> Iterator[Hand]:
    """A hand over the photograph, with the head to draw."""
    page, faults = shared_page
    faults.clear()
    page.set_viewport_size(WIDE)
    page.mouse.up()
    page.mouse.move(0, 0)
    hand = begin(page)
    hand.select("head")
    yield hand
    assert not faults, faults
