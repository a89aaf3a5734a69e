"""The engine's pure modules, run by node; shapely is the reference."""

import math
import random

import pytest
from shapely.geometry import LineString, Point, Polygon

from labeling.geometry.polygons import clean
from tests.browser.drawing.conftest import area


def star(rng, x, y, radius, corners=40):
    """A ring around a point, on tenths; never crosses itself, since angles only grow."""
    turns = sorted(rng.uniform(0, 2 * math.pi) for _ in range(corners))
    ring = []
    for turn in turns:
        r = radius * rng.uniform(0.4, 1)
        corner = [round(x + r * math.cos(turn), 1), round(y + r * math.sin(turn), 1)]
        if corner not in ring:
            ring.append(corner)
    return ring


def pairs(count, seed=4):
    """Simple rings in pairs; every other pair shares a stretch of boundary."""
    rng = random.Random(seed)
    ring_pairs = []
    while len(ring_pairs) < count:
        a = star(rng, 100, 100, 60)
        b = star(rng, 100 + rng.uniform(0, 90), 100, 60)
        if len(ring_pairs) % 2:
            shift = [[round(200 - x, 1), y] for x, y in a[:12]]
            b = [*a[:12][::-1], *shift]
        if Polygon(a).is_valid and Polygon(b).is_valid:
            ring_pairs.append((a, b))
    return ring_pairs


def shape(polygons):
    """The polygons in shapely; fails on what shapely calls invalid."""
    parts = [Polygon(piece[0], piece[1:]) for piece in polygons]
    assert all(part.is_valid for part in parts)
    whole = parts[0] if parts else Polygon()
    for part in parts[1:]:
        assert whole.intersection(part).area < 1e-9
        whole = whole.union(part)
    return whole


@pytest.mark.parametrize("name", ["union", "difference", "intersection"])
def test_regions_are_those_of_shapely_and_valid(calls, name):
    ring_pairs = pairs(60)

    for (a, b), region in zip(
        ring_pairs, calls("regions", name, [[[[a]], [[b]]] for a, b in ring_pairs]), strict=True
    ):
        expected = getattr(Polygon(a), name)(Polygon(b))
        # Corners go to tenths, and slivers thinner than 0.2 px go away.
        slack = 0.1 * (Polygon(a).length + Polygon(b).length)
        assert shape(region).symmetric_difference(expected).area < slack
        assert all(round(v, 1) == v for piece in region for ring in piece for c in ring for v in c)


WITHOUT_OVERLAP = """async (all) => {
  const { withoutOverlap } = await load("changes");
  return all.map(([top, under]) => {
    const shapes = new Map([["top", [[top]]], ["under", [[under]]]]);
    return Object.fromEntries(withoutOverlap(shapes, new Map(), "top").shapes);
  });
}"""


def test_minimizing_shares_every_corner_of_the_cut(js):
    for shapes in js(WITHOUT_OVERLAP, pairs(40)):
        top, under = shape(shapes["top"]), shape(shapes["under"])
        assert top.intersection(under).area < 0.1 * top.length
        corners = {tuple(c) for piece in shapes["top"] for ring in piece for c in ring}
        for corner in (tuple(c) for piece in shapes["under"] for ring in piece for c in ring):
            assert top.boundary.distance(Point(corner)) > 0.05 or corner in corners


def test_what_the_engine_makes_the_server_takes(js):
    for shapes in js(WITHOUT_OVERLAP, pairs(40, seed=11)):
        for made in shapes.values():
            assert sum(len(piece) for piece in clean(made, 400, 400)) == sum(map(len, made))


def test_crossings_are_those_of_shapely(calls):
    rng = random.Random(7)
    rings = []
    while len(rings) < 300:
        ring = [[rng.randint(0, 9), rng.randint(0, 9)] for _ in range(rng.randint(3, 7))]
        # shapely skips repeated corners; the engine removes them before.
        if all(a != b for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)):
            rings.append(ring)

    faults = calls("rings", "fault", [[ring] for ring in rings])

    for ring, fault in zip(rings, faults, strict=True):
        assert (fault is None) == Polygon(ring).is_valid, ring
    assert 20 < faults.count(None) < 280


def test_crossing_says_where(call):
    ring = [[0, 0], [10, 10], [10, 0], [0, 10]]

    assert call("rings", "crossing", ring)["point"] == [5, 5]
    assert "near 5, 5" in call("rings", "fault", ring)


def test_spike_is_a_fault(call):
    assert call("rings", "fault", [[0, 0], [10, 0], [10, 10], [10, 0.5], [5, 5]])
    assert call("rings", "fault", [[0, 0], [10, 0], [20, 0], [10, 0]])


def test_area_counts_holes(call):
    outer = [[0, 0], [10, 0], [10, 10], [0, 10]]
    hole = [[2, 2], [2, 4], [4, 4], [4, 2]]

    assert call("rings", "area", [[outer, hole], [[[20, 0], [22, 0], [22, 2]]]]) == 98


def test_number_stands_inside_its_piece(calls):
    rng = random.Random(3)
    rings = [star(rng, 50, 50, 40) for _ in range(50)]

    for ring, point in zip(
        rings, calls("rings", "middleOf", [[[ring]] for ring in rings]), strict=True
    ):
        polygon = Polygon(ring)
        assert not polygon.is_valid or polygon.contains(Point(point))


def test_simplified_line_keeps_ends_and_lies_near(call):
    rng = random.Random(1)
    line = [[i / 4, 30 * math.sin(i / 60) + rng.uniform(-0.2, 0.2)] for i in range(1200)]

    short = call("simplify", "simplify", line, 2)

    assert short[0] == line[0]
    assert short[-1] == line[-1]
    assert len(short) < 60
    assert LineString(line).hausdorff_distance(LineString(short)) < 3


def test_simplify_has_a_most(call):
    line = [[i, (i * 7919) % 13] for i in range(5000)]

    assert len(call("simplify", "simplify", line, 0.01, 100)) == 100


def test_million_points_of_a_lasso_stay_few(js):
    held, left = js(
        """async () => {
          const { Trail } = await load("simplify");
          const trail = new Trail(0.5);
          let most = 0;
          for (let i = 0; i < 1_000_000; i += 1) {
            const turn = i / 5000;
            trail.add([500 + turn * Math.cos(turn), 500 + turn * Math.sin(turn) + (i % 7) / 3]);
            if (i % 1000 === 0) most = Math.max(most, trail.line.length);
          }
          return [most, trail.simplified().length];
        }"""
    )

    assert held < 1600
    assert left <= 1000


def test_point_snaps_to_the_nearest_corner_before_any_edge(call):
    source = {"key": "a", "polygons": [[[[0, 0], [10, 0], [10, 10], [0, 10]]]]}

    assert call("snapping", "snap", [9, 1], 2, [source])["point"] == [10, 0]
    assert call("snapping", "snap", [5.04, 1], 2, [source])["point"] == [5, 0]
    assert call("snapping", "snap", [5, 5], 2, [source]) is None


def test_ways_go_both_ways_round_a_ring(call):
    ring = [[0, 0], [10, 0], [10, 10], [0, 10]]
    source = [{"key": "a", "polygons": [[ring]]}]

    way = call("snapping", "ways", [5, 0], [10, 5], source)
    assert way["short"] == [[10, 0]]
    assert way["long"] == [[0, 0], [0, 10], [10, 10]]
    assert call("snapping", "ways", [5, 0], [5, 5], source) is None
    assert call("snapping", "ways", [7, 0], [3, 0], source)["short"] == []


def test_eraser_covers_the_way_of_its_disc(call):
    line = [[10, 10], [40, 10], [40, 40]]

    way = shape(call("tools/eraser", "swept", line, 5))

    assert way.symmetric_difference(LineString(line).buffer(5)).area < 8


def test_loops_are_taken_off_a_lasso_only_where_they_are_small(call):
    square = [[0, 0], [100, 0], [100, 100], [-2, 100], [-2, -2], [3, 3]]
    eight = [[0, 0], [100, 100], [100, 0], [0, 100]]

    assert area([[call("tools/lasso", "withoutLoops", square)]]) == pytest.approx(10_000, rel=0.03)
    assert call("tools/lasso", "withoutLoops", eight) == eight
