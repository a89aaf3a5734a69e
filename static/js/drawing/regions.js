/* Regions together: union, difference, intersection, overlaps, and shared boundaries.

   The library counts in tenths of a pixel, where its inputs are integers. What it gives back is put
   on tenths again; should that make a boundary touch itself, it is resolved and rounded once more. */
import "../../vendor/polygon-clipping/polygon-clipping.umd.min.js";
import {
  apart, area, boxOf, crossing, meet, nearestOn, perimeter, rounded, same, signedArea, tidy,
} from "./rings.js";

const clipping = globalThis.polygonClipping;
// A corner this near an edge lies on it: rounding to a tenth moves a corner by 0.071 at most.
export const ON_EDGE_PX = 0.1;
// What is thinner comes from rounding, not from a hand.
const THINNEST_PX = 0.2;
const MOST_ROUNDS = 6;

const times = (polygons, factor) =>
  polygons.map((piece) => piece.map((ring) => ring.map(([x, y]) => [x * factor, y * factor])));
const toLattice = (polygons) =>
  times(polygons, 10).map((piece) => piece.map((ring) => ring.map((p) => p.map(Math.round))));

/* Rings of the library are closed; ours are not. */
const opened = (pieces) => pieces.map((piece) => piece.map((ring) => ring.slice(0, -1)));

const thick = (ring) => {
  const polygons = [[ring]];
  return ring.length > 2 && (2 * area(polygons)) / perimeter(polygons) >= THINNEST_PX;
};

/* On tenths, without slivers. */
function onTenths(pieces) {
  const found = [];
  for (const piece of opened(pieces)) {
    const rings = piece.map((ring) => tidy(ring.map(([x, y]) => rounded([x / 10, y / 10]))));
    if (thick(rings[0])) found.push([rings[0], ...rings.slice(1).filter(thick)]);
  }
  return found;
}

/* Whether rings keep to themselves and to their side of each other: putting them together, whose
   outcome this is, changes neither their number nor their area. */
export function sound(polygons, together = clipping.union(toLattice(polygons))) {
  const rings = polygons.flat();
  if (rings.some(crossing)) return false;
  if (rings.length < 2) return true;
  const whole = opened(together);
  const covers = Math.abs(area(whole) - area(toLattice(polygons))) < 0.5;
  return covers && whole.length === polygons.length && whole.flat().length === rings.length;
}

function operate(name, polygons, others) {
  let pieces = clipping[name](toLattice(polygons), ...others.map(toLattice));
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const found = onTenths(pieces);
    if (!found.length) return found;
    pieces = clipping.union(toLattice(found));
    if (sound(found, pieces)) return oriented(found);
  }
  throw new Error("the outline does not settle on tenths of a pixel");
}

/* Outer rings clockwise on the screen, holes the other way. */
const oriented = (polygons) =>
  polygons.map((piece) =>
    piece.map((ring, index) => (signedArea(ring) > 0 === (index === 0) ? ring : [...ring].reverse())),
  );

/* The result keeps the corners of what it was made of wherever they lie on its outline: the
   library drops corners on straight lines, and neighbours may share them. */
const keepingCorners = (result, sources) =>
  sources.reduce((kept, source) => withCornersOf(kept, source), result);

export function union(...all) {
  const some = all.filter((polygons) => polygons.length);
  if (!some.length) return [];
  return keepingCorners(operate("union", some[0], some.slice(1)), some);
}

export function difference(from, ...taken) {
  const near = taken.filter((polygons) => polygons.length && meet(boxOf(from), boxOf(polygons)));
  if (!from.length || !near.length) return from;
  return keepingCorners(operate("difference", from, near), [from, ...near]);
}

export function intersection(a, b) {
  if (!a.length || !b.length || !meet(boxOf(a), boxOf(b))) return [];
  return operate("intersection", a, [b]);
}

/* What rings cover together, whatever corners that takes. */
export const covered = ([ring, ...rings]) => operate("union", [[ring]], rings.map((other) => [[other]]));

const overlapsOf = new WeakMap();

/* Where two regions overlap, kept for as long as both are there. */
export function overlap(a, b) {
  let row = overlapsOf.get(a);
  if (!row) overlapsOf.set(a, (row = new WeakMap()));
  if (!row.has(b)) row.set(b, intersection(a, b));
  return row.get(b);
}

/* Edges of the ring that pass a point without having it as a corner: indices of their first corner. */
function edgesUnder(ring, point) {
  if (ring.some((corner) => same(corner, point))) return -1;
  let best = { index: -1, distance: ON_EDGE_PX };
  for (let i = 0; i < ring.length; i += 1) {
    const near = nearestOn(ring[i], ring[(i + 1) % ring.length], point);
    const distance = apart(near.point, point);
    if (distance < best.distance) best = { index: i, distance };
  }
  return best.index;
}

/* The ring with a corner at each point that lies on one of its edges. A corner that would make the
   ring cross itself is left out; the ring itself where nothing is new. */
function ringWith(ring, points) {
  let current = ring;
  for (const point of points) {
    const index = edgesUnder(current, point);
    if (index < 0) continue;
    const next = current.toSpliced(index + 1, 0, point);
    if (!crossing(next)) current = next;
  }
  return current;
}

/* `polygons` with a corner wherever one of `others` lies on its outline; itself when none does. */
export function withCornersOf(polygons, others) {
  if (!polygons.length || !others.length) return polygons;
  const box = boxOf(polygons);
  const points = others.flat(2).filter((p) => meet(box, [p[0], p[1], p[0], p[1]], ON_EDGE_PX));
  const next = polygons.map((piece) => piece.map((ring) => ringWith(ring, points)));
  const changed = next.some((piece, i) => piece.some((ring, j) => ring !== polygons[i][j]));
  if (!changed) return polygons;
  return next.flat().length < 2 || sound(next) ? next : ringByRing(polygons, next);
}

/* Takes over one ring after the other, and leaves those that would run into another. */
function ringByRing(polygons, next) {
  let current = polygons;
  next.forEach((piece, i) =>
    piece.forEach((ring, j) => {
      if (ring === polygons[i][j]) return;
      const tried = current.with(i, current[i].with(j, ring));
      if (sound(tried)) current = tried;
    }),
  );
  return current;
}
