"""What tests of the drawing page do with their hands: strokes in image pixels, keys, waiting."""

import json
from typing import Any

import numpy as np

from tests.browser.conftest import let_pass

ANSWERS, DRAFT = "**/label/answers/", "**/label/draft/"
# A frame later: a page that has just changed still moves the drawing.
SCREEN = """async ([x, y]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame().then(frame);
  const to = document.querySelector("[data-drawing] [data-world]").getScreenCTM();
  return [to.a * x + to.e, to.d * y + to.f];
}"""


def open_page(page: Any, site: Any, name: str = "cats") -> None:
    page.goto(site(f"/campaigns/{name}/label/"))
    settle(page)


def settle(page: Any) -> None:
    page.wait_for_selector("[data-drawing][data-seat]")
    let_pass(page)


def seat_of(page: Any) -> str:
    return page.get_attribute("[data-drawing][data-seat]", "data-seat")


def wait_for_seat(page: Any, seat: str) -> None:
    page.wait_for_selector(f"[data-drawing][data-seat='{seat}']")
    settle(page)


def wait_for_another(page: Any, seat: str) -> None:
    page.wait_for_selector(f"[data-drawing][data-seat]:not([data-seat='{seat}'])")
    settle(page)


def send(page: Any, *keys: str) -> None:
    """Presses keys of which the last one sends the answer, and waits until the server has it."""
    # The drawing may have come back only now, by a refusal.
    settle(page)
    with page.expect_response(ANSWERS):
        press(page, *keys)
    wait_for_chip(page, "All saved")


def wait_for_chip(page: Any, text: str) -> None:
    page.wait_for_selector(f"[data-saved]:has-text('{text}')")


def wait_for_draft(page: Any, text: str = "Draft saved.") -> None:
    page.wait_for_selector(f"[data-draft-words]:has-text('{text}')", state="attached")


def chosen(page: Any) -> str:
    """The key of the part that strokes go to."""
    return page.get_attribute("[data-choose][aria-pressed=true]", "data-choose")


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def at(page: Any, point: tuple[float, float]) -> list[float]:
    """Where this point of the image is on the screen."""
    return page.evaluate(SCREEN, list(point))


def click(page: Any, *points: tuple[float, float]) -> None:
    for point in points:
        page.mouse.click(*at(page, point))


def draw(page: Any, *corners: tuple[float, float]) -> None:
    """A polygon, closed on its first corner."""
    click(page, *corners, corners[0])


def drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*at(page, start))
    page.mouse.down()
    page.mouse.move(*at(page, end), steps=6)
    page.mouse.up()


def state_of(page: Any, key: str) -> str:
    """What the list of parts says of a part."""
    return page.inner_text(f"[data-choose='{key}'] small")


def expect_state(page: Any, key: str, state: str) -> None:
    """Waits until the list of parts says this of a part: a draft takes a moment to come back."""
    selector = f"[data-choose='{key}'] small:text-is('{state}')"
    page.wait_for_selector(selector, state="attached")


def near(ring: Any, corners: Any, pixels: float = 0.2) -> bool:
    """Whether a ring has these corners, from any of them on and either way round."""
    ring, corners = np.array(ring, float), np.array(corners, float)
    if len(ring) != len(corners):
        return False
    turns = [np.roll(way, step, 0) for way in (ring, ring[::-1]) for step in range(len(ring))]
    return any(np.abs(turn - corners).max() <= pixels for turn in turns)


def refuse_answers(page: Any, message: str) -> None:
    """The server takes no answer from here on, for this reason."""

    def refuse(route: Any) -> None:
        sent = json.loads(route.request.post_data)["answers"]
        results = [
            {"id": answer["id"], "status": "refused", "code": "bad_value", "message": message}
            | {"revision": None}
            for answer in sent
        ]
        route.fulfill(json={"results": results})

    page.route(ANSWERS, refuse)


def break_network(page: Any) -> None:
    for address in (ANSWERS, DRAFT):
        page.route(address, lambda route: route.abort())


def mend_network(page: Any) -> None:
    for address in (ANSWERS, DRAFT):
        page.unroute(address)
    page.evaluate("dispatchEvent(new Event('online'))")
