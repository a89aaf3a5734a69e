/* Neighbours' corners and edges: what a point snaps to, and the way along them between two points.

   A source is {key, polygons, fixed}; a place is {key, piece, ring, index, share, point}: the corner
   `index` of a ring, or a share of the edge that begins there. */
import { apart, boxOf, lengthOf, meet, nearestOn, rounded, same } from "./rings.js";
import { ON_EDGE_PX } from "./regions.js";

const around = ([x, y], radius) => [x - radius, y - radius, x + radius, y + radius];

function* ringsNear(sources, point, radius) {
  const box = around(point, radius);
  for (const { key, polygons, fixed } of sources) {
    if (!meet(boxOf(polygons), box)) continue;
    for (let piece = 0; piece < polygons.length; piece += 1) {
      for (let ring = 0; ring < polygons[piece].length; ring += 1) {
        yield { key, piece, ring, fixed, corners: polygons[piece][ring] };
      }
    }
  }
}

/* The nearest corner within the radius, else the nearest edge, else null. `point` is on tenths. */
export function snap(point, radius, sources) {
  let corner = null;
  let edge = null;
  let nearest = radius;
  let beside = radius;
  for (const { corners, ...where } of ringsNear(sources, point, radius)) {
    for (let index = 0; index < corners.length; index += 1) {
      const a = corners[index];
      const distance = apart(a, point);
      if (distance <= nearest) {
        nearest = distance;
        corner = { ...where, index, share: 0, point: a };
      }
      const near = nearestOn(a, corners[(index + 1) % corners.length], point);
      const away = apart(near.point, point);
      if (away < beside) {
        beside = away;
        edge = { ...where, index, share: near.share, point: rounded(near.point) };
      }
    }
  }
  return corner ?? edge;
}

/* Every place on the sources' rings where this point lies. */
export function placesOf(point, sources) {
  const found = [];
  for (const { corners, ...where } of ringsNear(sources, point, ON_EDGE_PX)) {
    let best = null;
    for (let index = 0; index < corners.length; index += 1) {
      if (same(corners[index], point)) {
        best = { away: 0, index, share: 0 };
        break;
      }
      const near = nearestOn(corners[index], corners[(index + 1) % corners.length], point);
      const away = apart(near.point, point);
      if (away <= (best?.away ?? ON_EDGE_PX)) best = { away, index, share: near.share };
    }
    if (best) found.push({ ...where, index: best.index, share: best.share, corners });
  }
  return found;
}

/* The ring's corners strictly between two places, going on from the first. */
function onwards(corners, from, to) {
  const n = corners.length;
  const start = from.index + from.share;
  let length = (to.index + to.share - start + n) % n;
  if (length === 0) length = n;
  const found = [];
  for (let index = Math.floor(start) + 1; index < start + length - 1e-9; index += 1) {
    found.push(corners[index % n]);
  }
  return found;
}

/* The corners strictly between two points that lie on one ring: {short, long}, the two ways round
   it, or null where no ring has both. Of several rings, the one with the shortest way. */
export function ways(from, to, sources) {
  if (same(from, to)) return null;
  const goals = placesOf(to, sources);
  let best = null;
  for (const start of placesOf(from, sources)) {
    const goal = goals.find(
      (g) => g.key === start.key && g.piece === start.piece && g.ring === start.ring,
    );
    if (!goal) continue;
    const [on, back] = [onwards(start.corners, start, goal), onwards(start.corners, goal, start).reverse()];
    const lengths = [on, back].map((way) => lengthOf([from, ...way, to]));
    const [short, long] = lengths[0] <= lengths[1] ? [on, back] : [back, on];
    const length = Math.min(...lengths);
    if (!best || length < best.length) best = { short, long, length };
  }
  return best;
}

/* A line whose corners near the sources lie on them, and go along them in between. */
export function hugging(line, radius, sources) {
  const out = [];
  let held = false;
  for (const point of line) {
    const place = snap(point, radius, sources);
    const next = place ? place.point : point;
    const before = out.at(-1);
    if (before && same(before, next)) continue;
    const way = place && held && before && ways(before, next, sources);
    if (way) out.push(...way.short);
    out.push(next);
    held = Boolean(place);
  }
  return out;
}
