"""Scissors: lines that follow the photograph's edges between the corners that a hand places."""

import itertools
import statistics

import pytest

from tests.browser.drawing import outlines
from tests.browser.drawing.conftest import begin

pytestmark = pytest.mark.browser
SIZE = (outlines.WIDTH, outlines.HEIGHT)
# A square of light on dark, 20 pixels from each border.
SQUARE = """({ width, height }) => {
  const data = new Uint8ClampedArray(4 * width * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const inside = x >= 20 && y >= 20 && x < width - 20 && y < height - 20;
      data.fill(inside ? 200 : 50, 4 * (y * width + x), 4 * (y * width + x) + 3);
    }
  }
  return { data, width, height };
}"""


@pytest.fixture
def on_square(js):
    """What a function of the costs of a square, and of wire.js, gives."""

    def run(function):
        return js(
            f"""async () => {{
              const {{ costsOf }} = await load("scissors/costs");
              const wire = await load("scissors/wire");
              const costs = costsOf(({SQUARE})({{ width: 100, height: 80 }}));
              return ({function})(costs, wire);
            }}"""
        )

    return run


def test_edges_cost_little_and_plain_ground_the_most(on_square):
    edge, near, inside = on_square(
        "({ cost }) => [cost[40 * 100 + 19], cost[40 * 100 + 24], cost[40 * 100 + 50]]"
    )

    assert edge < 0.1
    assert inside == pytest.approx(1)
    assert edge < near <= inside


def test_a_way_goes_round_the_corner_of_a_square_along_its_border(on_square):
    way = on_square("(costs, { spread, wayTo }) => wayTo(spread(costs, [19, 50], 60), [60, 19])")

    assert way[0] == [19, 50]
    assert way[-1] == [60, 19]
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(way)]
    assert all(max(abs(dx), abs(dy)) == 1 for dx, dy in steps)
    assert all(min(abs(x - 19.5), abs(y - 19.5)) <= 1.5 for x, y in way)


def test_a_pixel_outside_the_window_has_no_way_and_one_too_far_no_window(on_square):
    outside, near, far = on_square(
        "(costs, { reachFor, spread, wayTo }) => [wayTo(spread(costs, [50, 40], 10), [70, 40]),"
        " reachFor([0, 0], [150, 20]), reachFor([0, 0], [900, 0])]"
    )

    assert outside is None
    assert near >= 150
    assert far is None


def test_a_plain_photograph_gives_straight_ways(js):
    way = js(
        """async () => {
          const { costsOf } = await load("scissors/costs");
          const { spread, wayTo } = await load("scissors/wire");
          const data = new Uint8ClampedArray(4 * 60 * 60).fill(90);
          return wayTo(spread(costsOf({ data, width: 60, height: 60 }), [5, 30], 60), [50, 30]);
        }"""
    )

    assert way == [[x, 30] for x in range(5, 51)]


def test_the_strongest_edge_within_reach_attracts(on_square):
    corner = on_square("(costs, { strongestNear }) => strongestNear(costs, [23, 40], 6)")

    assert corner[0] in (19, 20)
    assert abs(corner[1] - 40) <= 1


@pytest.fixture
def snipped(drawing_on):
    """A hand with scissors over a made-up photograph, once its edges are known."""

    def make(number=0, **options):
        engine = {"photograph": outlines.photograph(number)}
        hand = drawing_on(SIZE, engine=engine, **options)
        hand.select("head")
        hand.press("d")
        hand.js("drawing.edges.start()")
        return hand

    return make


@pytest.mark.parametrize("count", [6, pytest.param(outlines.COUNT, marks=pytest.mark.slow)])
def test_half_the_clicks_give_at_least_the_same_iou(drawing_on, count):
    page = drawing_on(SIZE).page
    ious = {"polygon": [], "scissors": []}
    for number in range(count):
        photographed = outlines.photograph(number)
        for tool, key, clicks in (
            ("polygon", "p", outlines.CORNERS),
            ("scissors", "d", outlines.CORNERS // 2),
        ):
            hand = begin(page, SIZE, photograph=photographed)
            hand.select("head")
            hand.js("drawing.edges.start()")
            hand.press(key)
            hand.draw(*outlines.corners(number, clicks))
            ious[tool].append(outlines.iou(hand.shapes["head"], number))

    means = {tool: statistics.fmean(each) for tool, each in ious.items()}
    print(f"mean IoU {means}, least {min(ious['polygon']):.4f} {min(ious['scissors']):.4f}")
    assert means["scissors"] >= means["polygon"]
    better = sum(a >= b for a, b in zip(ious["scissors"], ious["polygon"], strict=True))
    assert better >= 0.9 * count


def test_taking_back_goes_from_one_placed_corner_to_the_one_before(snipped):
    hand = snipped()
    places = outlines.corners(0, 8)
    hand.click(*places[:3])
    before = hand.js("drawing.state().stroke")
    hand.click(places[3])
    assert len(hand.js("drawing.state().stroke")) > len(before) + 1

    hand.press("Backspace")
    assert hand.js("drawing.state().stroke") == before
    hand.press("Control+z")
    assert len(hand.js("drawing.state().stroke")) > len(before) + 1
    hand.press("Backspace", "Backspace", "Backspace", "Backspace")
    assert hand.js("drawing.state().stroke") == []


def test_the_line_goes_along_a_neighbour_where_both_corners_lie_on_it(snipped):
    hand = snipped()
    border = [[200, 300], [300, 300], [310, 330], [320, 300], [420, 300], [420, 400], [200, 400]]
    hand.load({"body": [[border]]})
    hand.click((240, 300), (380, 300))

    stroke = hand.js("drawing.state().stroke")
    assert stroke == [[240, 300], [300, 300], [310, 330], [320, 300], [380, 300]]


def test_with_ctrl_lines_are_straight_and_corners_where_the_hand_is(snipped):
    hand = snipped()
    hand.page.keyboard.down("Control")
    hand.click((100.4, 100.4), (300.2, 110.3))
    hand.page.keyboard.up("Control")

    first, last = hand.js("drawing.state().stroke")
    assert first == pytest.approx([100.4, 100.4], abs=0.8)
    assert last == pytest.approx([300.2, 110.3], abs=0.8)


def test_keys_alone_draw_along_the_edges(snipped):
    hand = snipped()
    for point in outlines.corners(0, 6):
        hand.js(
            "([x, y]) => { drawing.keyboard.point = drawing.board.clamped([x, y]); }", list(point)
        )
        hand.press("Enter")
    hand.press("c")

    assert outlines.iou(hand.shapes["head"], 0) > 0.95


def test_a_finger_draws_along_the_edges(snipped):
    hand = snipped(has_touch=True)
    first, *others = outlines.corners(0, 6)
    for point in (first, *others, first):
        hand.touch("pointerdown", point)
        hand.touch("pointerup", point)

    assert outlines.iou(hand.shapes["head"], 0) > 0.95


def test_without_edges_lines_are_straight_and_it_is_said(drawing_on):
    hand = drawing_on()
    hand.select("head")
    hand.press("d")
    hand.rest()
    hand.draw((50, 50), (150, 60), (100, 150))

    assert any("lines stay straight" in text for text in hand.aloud)
    assert len(hand.ring("head")) == 3
