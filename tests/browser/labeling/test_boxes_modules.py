"""The pure modules of the pages of boxes, run by node; the server's functions are the reference."""

import random

import pytest

from labeling.boxes.cleaning import clean_box, is_same
from labeling.errors import Refusal
from labeling.kinds import KINDS, DrawingContext
from labeling.kinds.boxes import FLAGS

SIZE = {"width": 640, "height": 480}
ABOUT = DrawingContext("n02084071", 640, 480, "draw", {"boxes": []})

# Draws, adjusts and flags at random, and gives every moment's answer.
SKETCH = """async (seeds) => {
  const sketch = await load("/boxes/sketch");
  const { inside } = await load("/boxes/geometry");
  const size = { width: 640, height: 480 };
  return seeds.map(({ points, moves, flags, way }) => {
    let moment = sketch.EMPTY;
    const placed = points.map((point) => inside(point, size, 4));
    if (way === "drag") moment = sketch.withCorners(moment, placed[0], placed[1]);
    else for (const point of placed) moment = sketch.withPoint(moment, point);
    for (const flag of flags) moment = sketch.withFlag(moment, flag);
    const answers = [sketch.valueOf(moment)];
    for (const { places, by, reach } of moves) {
      moment = sketch.withSides(moment, places, by, size, reach);
      answers.push(sketch.valueOf(moment));
    }
    return answers;
  });
}"""


def hand(rng):
    def point():
        return [rng.uniform(-30, 670), rng.uniform(-30, 510)]

    def move():
        side = rng.randrange(4)
        places = [side] if rng.random() < 0.5 else [side, (side + 1) % 4]
        by = [rng.uniform(-300, 300), rng.uniform(-300, 300)]
        return {"places": places, "by": by, "reach": rng.choice([0, 6])}

    return {
        "points": [point() for _ in range(4)],
        "moves": [move() for _ in range(6)],
        "flags": rng.sample(FLAGS, rng.randrange(4)),
        "way": rng.choice(["clicks", "drag"]),
    }


def test_whatever_a_hand_draws_and_moves_the_server_takes_as_it_is(js):
    rng = random.Random(5)
    hands = [hand(rng) for _ in range(200)]

    drawn = js(SKETCH, hands)

    kind, taken = KINDS["boxes"], 0
    for answers in drawn:
        x0, y0, x1, y1 = answers[0]["box"]
        if x1 - x0 < 1 or y1 - y0 < 1:
            continue
        for answer in answers:
            assert kind.clean(answer, {}, ABOUT) == answer
            taken += 1
    assert taken > 1_000


def test_boxes_are_compared_as_the_server_does(calls):
    rng = random.Random(6)

    def box():
        x, y = rng.uniform(0, 30), rng.uniform(0, 30)
        return [round(side, 1) for side in (x, y, x + rng.uniform(1, 40), y + rng.uniform(1, 40))]

    pairs = []
    for _ in range(300):
        first = box()
        near = [round(side + rng.uniform(-6, 6), 1) for side in first]
        pairs.append([first, rng.choice([near, box()])])

    assert calls("/boxes/geometry", "isSame", pairs) == [is_same(a, b) for a, b in pairs]


def test_a_box_without_an_area_is_refused_on_both_sides(call):
    for box in ([10, 10, 10.9, 30], [10, 10, 30, 10], [10.0, 10.0, 11.0, 11.0]):
        fine = call("/boxes/geometry", "hasArea", box)
        if fine:
            clean_box(box, 640, 480)
        else:
            with pytest.raises(Refusal):
                clean_box(box, 640, 480)


@pytest.mark.parametrize(
    ("point", "places"),
    [
        ([10, 40], [0]),
        ([30, 21], [1]),
        ([53, 63], [2, 3]),
        ([50.5, 18], [2, 1]),
        ([30, 40], None),
        ([30, 80], None),
        ([0, 20], None),
    ],
)
def test_a_grip_is_a_side_or_the_corner_of_two(call, point, places):
    assert call("/boxes/geometry", "gripAt", [10, 20, 50, 60], point, 5) == places


def test_the_inside_of_a_small_box_is_not_all_edge(call):
    assert call("/boxes/geometry", "gripAt", [10, 10, 22, 22], [16, 16], 12) is None
    assert call("/boxes/geometry", "gripAt", [10, 10, 22, 22], [11, 16], 12) == [0]


def test_points_near_the_border_of_the_image_lie_on_it(call):
    assert call("/boxes/geometry", "inside", [3, 200.26], SIZE, 4) == [0, 200.3]
    assert call("/boxes/geometry", "inside", [650, 477], SIZE, 4) == [640, 480]
    assert call("/boxes/geometry", "inside", [3, 477], SIZE, 0) == [3, 477]


def test_sides_read_as_a_sentence(calls):
    sentences = calls(
        "/boxes/geometry", "sidesInWords", [[[]], [["left"]], [["left", "top", "right"]]]
    )

    assert sentences == ["", "on the left", "on the left, the top and the right"]


def test_four_points_grow_a_box_and_one_is_taken_back(js):
    steps = js(
        """async () => {
          const { EMPTY, withPoint, shorter, growing } = await load("/boxes/sketch");
          let moment = EMPTY;
          const seen = [];
          for (const point of [[10, 30], [40, 5]]) moment = withPoint(moment, point);
          seen.push(growing(moment), growing(moment, [60, 20]));
          moment = shorter(moment);
          seen.push(moment.points);
          for (const point of [[40, 5], [70, 20], [30, 60], [1, 1]]) {
            moment = withPoint(moment, point);
          }
          seen.push(moment.box, moment.how, shorter(moment).points);
          return seen;
        }"""
    )

    assert steps == [
        *([10, 5, 40, 30], [10, 5, 60, 30], [[10, 30]]),
        *([10, 5, 70, 60], "clicks", []),
    ]


def test_a_history_goes_on_after_it_was_kept_as_json(js):
    states = js(
        """async () => {
          const { History } = await load("history");
          const history = new History("a");
          for (const moment of ["b", "c", "d"]) history.add(moment);
          history.replace("e");
          history.undo();
          const again = History.of(JSON.parse(JSON.stringify(history.kept)));
          const [now, redone] = [again.now, again.redo()];
          return [now, redone, again.now, again.canRedo, again.undo() && again.undo() && again.now];
        }"""
    )

    assert states == ["c", True, "e", False, "b"]


def test_the_loupe_stays_in_sight_beside_the_finger(calls):
    screen = {"width": 390, "height": 500}
    fingers = [[200, 300], [10, 300], [385, 20], [20, 20], [200, 499]]

    places = calls("/loupe", "place", [[finger, screen] for finger in fingers])

    for (x, y), (left, top) in zip(fingers, places, strict=True):
        assert 0 <= left <= 390 - 128
        assert 0 <= top <= 500 - 128
        assert not (left < x < left + 128 and top < y < top + 128)
