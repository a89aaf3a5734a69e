/* What a stroke does to the parts: pure functions from shapes to shapes, or to a sentence.

   shapes: Map key → polygons. A change is {shapes, note?} or {refused}: why not, for the person. */
import { gettext } from "../language.js";
import { area, boxOf, crossing, fault, insidePiece, meet, pieceAt, rounded, same } from "./rings.js";
import { difference, ON_EDGE_PX, overlap, sound, union, withCornersOf } from "./regions.js";

const SMALLEST_PX2 = 0.5;
const holes = (polygons) => polygons.reduce((sum, piece) => sum + piece.length - 1, 0);
const capital = (text) => text[0].toUpperCase() + text.slice(1);

const near = (a, b) => a.length > 0 && b.length > 0 && meet(boxOf(a), boxOf(b), ON_EDGE_PX);

/* Shared boundaries get the same corners on both sides: the part's on its neighbours, theirs on it.
   What is fixed gives its corners and takes none. */
function weld(shapes, key, fixed) {
  let own = shapes.get(key);
  if (!own?.length) return shapes;
  const welded = new Map(shapes);
  for (const others of [shapes, fixed]) {
    for (const [other, polygons] of others) {
      if ((other !== key || others === fixed) && near(own, polygons)) own = withCornersOf(own, polygons);
    }
  }
  welded.set(key, own);
  for (const [other, polygons] of shapes) {
    if (other !== key && near(own, polygons)) welded.set(other, withCornersOf(polygons, own));
  }
  return welded;
}

/* Adds a ring to the part, or takes it away: a hole, a bite, a piece cut in two. */
export function applyRing(shapes, part, ring, { cut = false, fixed = new Map() } = {}) {
  const wrong = fault(ring);
  if (wrong) return { refused: wrong };
  return applyRegion(shapes, part, [[ring]], { cut, fixed });
}

export function applyRegion(shapes, part, region, { cut = false, fixed = new Map() } = {}) {
  const before = shapes.get(part.key) ?? [];
  const change = cut ? cutAway(before, region, part) : added(before, region, part);
  if (change.refused) return change;
  const next = new Map(shapes).set(part.key, change.polygons);
  return { shapes: weld(next, part.key, fixed), note: change.note };
}

function added(before, region, part) {
  if (!before.length) return { polygons: region };
  let polygons = union(before, region);
  if (Math.abs(area(polygons) - area(before)) < SMALLEST_PX2) {
    return { refused: gettext("This lies within the %(part)s already. To cut it out, turn cutting on (h).", { part: part.name }) };
  }
  let note = "";
  if (part.holes === false && holes(polygons) > holes(before)) {
    polygons = polygons.map(([outer]) => [outer]);
    note = gettext("The %(part)s may have no holes; the gap was filled.", { part: part.name });
  }
  if (part.several === false && polygons.length > Math.max(1, before.length)) {
    note = gettext("Only one %(part)s is allowed, and now there are %(count)s pieces.", { part: part.name, count: polygons.length });
  }
  return { polygons, note };
}

function cutAway(before, region, part) {
  if (!before.length) return { refused: gettext("There is no %(part)s yet to cut from.", { part: part.name }) };
  const polygons = difference(before, region);
  if (!polygons.length) return { refused: gettext("That would remove the whole %(part)s. Delete it instead.", { part: part.name }) };
  if (Math.abs(area(polygons) - area(before)) < SMALLEST_PX2) {
    return { refused: gettext("Nothing of the %(part)s lies there.", { part: part.name }) };
  }
  if (part.holes === false && holes(polygons) > holes(before)) {
    return { refused: gettext("The %(part)s may have no holes. Cut from its edge instead.", { part: part.name }) };
  }
  return { polygons };
}

/* Pairs that overlap: {a, b, area, polygons}, an editable one first, without those that
   `mayOverlap(a, b)`. Where `changed` is given, only pairs with one of these keys are looked at, the
   others taken from `before`. */
export function overlapsIn(shapes, fixed, mayOverlap, changed = null, before = []) {
  const stays = (pair) => changed && !changed.has(pair.a) && (pair.fixed || !changed.has(pair.b));
  const found = before.filter(stays);
  const look = (a, own, b, other, under = false) => {
    if (mayOverlap(a, b) || !near(own, other)) return;
    const polygons = overlap(own, other);
    if (!polygons.length) return;
    found.push({ a, b, area: Math.round(area(polygons) * 100) / 100, polygons, fixed: under });
  };
  const place = new Map([...shapes.keys()].map((key, index) => [key, index]));
  for (const [a, own] of shapes) {
    if (changed && !changed.has(a)) continue;
    for (const [b, other] of shapes) {
      const later = place.get(b) > place.get(a);
      if (later) look(a, own, b, other);
      else if (changed && !changed.has(b)) look(b, other, a, own);
    }
    for (const [b, other] of fixed) look(a, own, b, other, true);
  }
  return found.sort((p, q) => place.get(p.a) - place.get(q.a));
}

/* Every overlap goes to one part: to what is fixed, else to `top`, else to the later in the list; but
   for pairs that `mayOverlap(a, b)`. `kept` names parts that stay as they are: those that would
   `vanish`, and those that would be `pierced` and may have no hole by `takesHoles(key)`. */
export function withoutOverlap(shapes, fixed, top, { mayOverlap = () => false, takesHoles = () => true } = {}) {
  let next = new Map(shapes);
  const kept = { vanish: [], pierced: [] };
  const order = [...shapes.keys()].filter((key) => key !== top).reverse();
  if (shapes.has(top)) order.unshift(top);
  order.forEach((key, rank) => {
    const above = [...fixed, ...order.slice(0, rank).map((other) => [other, next.get(other)])];
    const own = next.get(key);
    const over = above
      .filter(([other, region]) => !mayOverlap(key, other) && near(own, region) && overlap(own, region).length)
      .map(([, region]) => region);
    if (!over.length) return;
    const left = difference(own, ...over);
    if (!left.length) kept.vanish.push(key);
    else if (!takesHoles(key) && holes(left) > holes(own)) kept.pierced.push(key);
    else next = weld(next.set(key, left), key, fixed);
  });
  return { shapes: next, kept };
}

/* The polygons turned over about the middle of a box, x0 to x1, and clipped to the image's width. */
export function mirrored(polygons, [x0, , x1], width) {
  const flip = ([x, y]) => rounded([Math.min(width, Math.max(0, x0 + x1 - x)), y]);
  return polygons.map((piece) => piece.map((ring) => ring.map(flip).reverse()));
}

const replaceRing = (polygons, { piece, ring }, corners) =>
  polygons.with(piece, polygons[piece].with(ring, corners));

/* Places of editable parts that have a corner exactly here: what moves together. */
export function cornersAt(shapes, point) {
  const found = [];
  for (const [key, polygons] of shapes) {
    polygons.forEach((rings, piece) =>
      rings.forEach((corners, ring) =>
        corners.forEach((corner, index) => {
          if (same(corner, point)) found.push({ key, piece, ring, index });
        }),
      ),
    );
  }
  return found;
}

/* The shapes with every one of these corners at `point`. */
export function moveCorners(shapes, places, point) {
  const next = new Map(shapes);
  for (const place of places) {
    const polygons = next.get(place.key);
    const corners = polygons[place.piece][place.ring].with(place.index, point);
    next.set(place.key, replaceRing(polygons, place, corners));
  }
  return next;
}

export function insertCorner(shapes, place, point) {
  const polygons = shapes.get(place.key);
  const corners = polygons[place.piece][place.ring].toSpliced(place.index + 1, 0, point);
  return new Map(shapes).set(place.key, replaceRing(polygons, place, corners));
}

/* Without these corners; a ring of three goes with its corner: a hole, or a whole piece. */
export function removeCorners(shapes, places) {
  const next = new Map(shapes);
  for (const place of [...places].sort((a, b) => b.index - a.index)) {
    const polygons = next.get(place.key);
    const corners = polygons[place.piece][place.ring].toSpliced(place.index, 1);
    if (corners.length > 2) next.set(place.key, replaceRing(polygons, place, corners));
    else next.set(place.key, withoutRing(polygons, place));
  }
  return next;
}

const withoutRing = (polygons, { piece, ring }) =>
  ring ? polygons.with(piece, polygons[piece].toSpliced(ring, 1)) : polygons.toSpliced(piece, 1);

/* Without the hole around a point, else without the piece there. */
export function removeAt(shapes, key, point) {
  const polygons = shapes.get(key) ?? [];
  let piece = pieceAt(polygons, point);
  let ring = 0;
  if (piece < 0) {
    piece = polygons.findIndex((rings) => rings.length > 1 && insidePiece([rings[0]], point));
    ring = piece < 0 ? 0 : polygons[piece].findIndex((hole, i) => i && insidePiece([hole], point));
  }
  if (piece < 0) return null;
  return new Map(shapes).set(key, withoutRing(polygons, { piece, ring }));
}

/* The shapes with one piece moved, as far as the image goes. */
export function movePiece(shapes, { key, piece }, [dx, dy], { width, height }) {
  const polygons = shapes.get(key);
  const [x0, y0, x1, y1] = boxOf([polygons[piece]]);
  const right = Math.min(width - x1, Math.max(-x0, dx));
  const down = Math.min(height - y1, Math.max(-y0, dy));
  const moved = polygons[piece].map((ring) => ring.map(([x, y]) => rounded([x + right, y + down])));
  return new Map(shapes).set(key, polygons.with(piece, moved));
}

/* After corners were moved by hand: {shapes}, or {refused}. Rings of a part that now touch are put
   together; where that changes their area, one crossed another. */
export function checked(before, after, fixed, name) {
  let shapes = after;
  for (const [key, polygons] of after) {
    if (polygons === before.get(key)) continue;
    const wrong = ringFault(polygons);
    if (wrong) return { refused: `${capital(name(key))}: ${wrong.why}` };
    if (polygons.flat().length > 1 && !sound(polygons)) {
      const whole = union(polygons);
      if (Math.abs(area(whole) - area(polygons)) > SMALLEST_PX2) {
        const why = gettext("A hole or a piece would cross another outline of the part.");
        return { refused: `${capital(name(key))}: ${why}` };
      }
      shapes = new Map(shapes).set(key, whole);
    }
    shapes = weld(shapes, key, fixed);
  }
  return { shapes };
}

/* The first ring that cannot stand: {why, point}, or null. */
export function ringFault(polygons) {
  for (const ring of polygons.flat()) {
    const why = fault(ring);
    if (why) return { why, point: crossing(ring)?.point ?? null };
  }
  return null;
}
