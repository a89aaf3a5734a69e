"""What tests of the pages of boxes do with their hands, in pixels of the image."""

import math
from collections.abc import Sequence
from typing import Any

from labeling.geometry.boxes import iou
from labeling.models import Answer
from tests.browser.conftest import expect, let_pass

ANSWERS = "**/label/answers/"
READY = "[data-drawing][data-seat]"
# Where a point of the image is on the page, and whether it is still moving there.
SCREEN = """async ([x, y]) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const { left, top } = document.querySelector("[data-drawing]").getBoundingClientRect();
  const { a, d, e, f } = new DOMMatrix(getComputedStyle(document.querySelector(".boxes-photo")).transform);
  return [left + e + x * a, top + f + y * d];
}"""  # noqa: E501
TOUCH = """([kind, x, y, id]) => {
  const root = document.querySelector("[data-drawing]");
  root.setPointerCapture = () => {};
  root.dispatchEvent(new PointerEvent(kind, {
    pointerId: id, pointerType: "touch", clientX: x, clientY: y, bubbles: true,
    button: kind === "pointermove" ? -1 : 0, buttons: kind === "pointerup" ? 0 : 1,
  }));
}"""


def open_page(page: Any, site: Any, name: str = "boxes") -> None:
    page.goto(site(f"/campaigns/{name}/label/"))
    wait(page)


def wait(page: Any) -> None:
    """Until a question is on the screen, and long enough for it to be answered."""
    page.wait_for_selector(READY)
    let_pass(page)


def start(page: Any) -> None:
    """Closes the instructions that a phone shows before the first question of a step."""
    page.tap(".about-start button")
    expect(page.locator("[data-about]")).not_to_be_visible()


def seat_of(page: Any) -> str:
    return str(page.get_attribute("[data-drawing]", "data-seat"))


def at(page: Any, point: Sequence[float]) -> tuple[float, float]:
    x, y = page.evaluate(SCREEN, list(point))
    return x, y


def click(page: Any, *points: Sequence[float]) -> None:
    for point in points:
        page.mouse.click(*at(page, point))


def drag(page: Any, start: Sequence[float], end: Sequence[float]) -> None:
    page.mouse.move(*at(page, start))
    page.mouse.down()
    page.mouse.move(*at(page, end), steps=4)
    page.mouse.up()


def extremes(box: Sequence[float]) -> list[tuple[float, float]]:
    """One point on each side of a box, none at a corner."""
    x0, y0, x1, y1 = box
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    return [(x0, y), (x, y0), (x1, y), (x, y1)]


def draw(page: Any, box: Sequence[float]) -> None:
    click(page, *extremes(box))


def touch(page: Any, kind: str, point: Sequence[float], finger: int = 7) -> None:
    page.evaluate(TOUCH, [kind, *at(page, point), finger])


def swipe(page: Any, *points: Sequence[float]) -> None:
    """One finger from point to point."""
    touch(page, "pointerdown", points[0])
    for point in points:
        touch(page, "pointermove", point)
    touch(page, "pointerup", points[-1])


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def move_cursor(page: Any, by: Sequence[float]) -> None:
    """Moves the cursor of the keyboard by so many pixels of the image, as near as its steps go."""
    scale = page.evaluate(
        "new DOMMatrix(getComputedStyle(document.querySelector('.boxes-photo')).transform).a"
    )
    for distance, (less, more) in zip(
        by, (("ArrowLeft", "ArrowRight"), ("ArrowUp", "ArrowDown")), strict=True
    ):
        left = abs(distance) * scale
        for pixels, modifier in ((50, "Shift+"), (10, ""), (1, "Alt+")):
            for _ in range(math.floor(left / pixels)):
                page.keyboard.press(modifier + (less if distance < 0 else more))
            left %= pixels


def send(page: Any, *keys: str) -> None:
    """Presses these keys, of which the last one sends an answer."""
    let_pass(page)
    with page.expect_response(ANSWERS):
        press(page, *keys)


def send_by(page: Any, selector: str) -> None:
    """Clicks on the button that sends an answer."""
    let_pass(page)
    with page.expect_response(ANSWERS):
        page.click(selector)


def values() -> list[Any]:
    return [answer.value for answer in Answer.objects.order_by("created_at", "pk")]


def overlap(value: Any, box: Sequence[float]) -> float:
    return iou(tuple(value["box"]), tuple(box))
