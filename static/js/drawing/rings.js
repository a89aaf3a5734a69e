/* Rings of corners: [[x, y], …], the first corner not repeated, in image pixels exact to a tenth.

   A piece is an outer ring and its holes; polygons are any number of pieces. Nothing here changes
   what it is given. Tests count in tenths, which are integers, so they are exact. */
import { gettext } from "../language.js";

export const tenth = (value) => Math.round(value * 10) / 10 + 0; // + 0: no minus zero
export const rounded = ([x, y]) => [tenth(x), tenth(y)];
export const same = (a, b) => a[0] === b[0] && a[1] === b[1];
export const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

const lattice = ([x, y]) => [Math.round(x * 10), Math.round(y * 10)];
const turn = (a, b, c) => Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));

/* Square pixels, positive where the ring runs clockwise on the screen. */
export function signedArea(ring) {
  let twice = 0;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i, i += 1) {
    twice += ring[j][0] * ring[i][1] - ring[i][0] * ring[j][1];
  }
  return twice / 2;
}

export function area(polygons) {
  let sum = 0;
  for (const piece of polygons) {
    piece.forEach((ring, index) => (sum += (index ? -1 : 1) * Math.abs(signedArea(ring))));
  }
  return sum;
}

export function perimeter(polygons) {
  let sum = 0;
  for (const ring of polygons.flat()) {
    for (let i = 0, j = ring.length - 1; i < ring.length; j = i, i += 1) sum += apart(ring[j], ring[i]);
  }
  return sum;
}

/* Of an open line, in pixels. */
export const lengthOf = (line) =>
  line.slice(1).reduce((sum, point, index) => sum + apart(line[index], point), 0);

export const cornersOf = (polygons) =>
  polygons.reduce((sum, piece) => sum + piece.reduce((count, ring) => count + ring.length, 0), 0);

/* x0, y0, x1, y1 of corners; of nothing, a box that meets nothing. */
function boxOfPoints(points) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    if (x < box[0]) box[0] = x;
    if (y < box[1]) box[1] = y;
    if (x > box[2]) box[2] = x;
    if (y > box[3]) box[3] = y;
  }
  return box;
}

const boxes = new WeakMap();

/* The box of polygons; kept, since polygons are replaced and never changed. */
export function boxOf(polygons) {
  let box = boxes.get(polygons);
  if (!box) boxes.set(polygons, (box = boxOfPoints(polygons.flatMap((piece) => piece[0]))));
  return box;
}

export const meet = (a, b, room = 0) =>
  a[0] <= b[2] + room && b[0] <= a[2] + room && a[1] <= b[3] + room && b[1] <= a[3] + room;

function insideRing(ring, [x, y]) {
  let inside = false;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i, i += 1) {
    const [ax, ay] = ring[j];
    const [bx, by] = ring[i];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

export const insidePiece = (piece, point) =>
  piece.reduce((inside, ring) => inside !== insideRing(ring, point), false);

/* The piece of polygons that holds a point, or -1. */
export const pieceAt = (polygons, point) =>
  polygons.findIndex((piece) => insidePiece(piece, point));

/* The point of the segment a-b that is nearest to p, and its share of the way. */
export function nearestOn(a, b, p) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const length = dx * dx + dy * dy;
  const share = length ? ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length : 0;
  const t = Math.min(1, Math.max(0, share));
  return { point: [a[0] + t * dx, a[1] + t * dy], share: t };
}

const between = (a, b, c) =>
  Math.min(a[0], b[0]) <= c[0] && c[0] <= Math.max(a[0], b[0]) &&
  Math.min(a[1], b[1]) <= c[1] && c[1] <= Math.max(a[1], b[1]);

/* Whether segments a-b and c-d have a point in common, ends included; in integers. */
function touch(a, b, c, d) {
  const [p, q, r, s] = [turn(a, b, c), turn(a, b, d), turn(c, d, a), turn(c, d, b)];
  if (p !== q && r !== s) return true;
  return (
    (p === 0 && between(a, b, c)) || (q === 0 && between(a, b, d)) ||
    (r === 0 && between(c, d, a)) || (s === 0 && between(c, d, b))
  );
}

/* Where two segments cross; where they only overlap, an end of one on the other. */
function meetingPoint(a, b, c, d) {
  const [rx, ry, sx, sy] = [b[0] - a[0], b[1] - a[1], d[0] - c[0], d[1] - c[1]];
  const cross = rx * sy - ry * sx;
  if (!cross) return between(a, b, c) ? c : between(a, b, d) ? d : a;
  const t = ((c[0] - a[0]) * sy - (c[1] - a[1]) * sx) / cross;
  return [a[0] + t * rx, a[1] + t * ry];
}

/* Neighbouring edges share their corner and may share nothing else: b lies between them. */
const foldsBack = (a, b, c) =>
  turn(a, b, c) === 0 && (a[0] - b[0]) * (c[0] - b[0]) + (a[1] - b[1]) * (c[1] - b[1]) > 0;

function* crossings(edges, neighbours) {
  const order = edges.map((_, index) => index);
  const low = edges.map(([a, b]) => Math.min(a[0], b[0]));
  const high = edges.map(([a, b]) => Math.max(a[0], b[0]));
  order.sort((i, j) => low[i] - low[j]);
  let open = [];
  for (const i of order) {
    open = open.filter((j) => high[j] >= low[i]);
    for (const j of open) {
      const [a, b] = edges[i];
      const [c, d] = edges[j];
      const next = neighbours(Math.min(i, j), Math.max(i, j));
      if (next ? next.some(([p, q, r]) => foldsBack(p, q, r)) : touch(a, b, c, d)) {
        const [x, y] = meetingPoint(a, b, c, d);
        yield { point: [x / 10, y / 10], edges: [Math.min(i, j), Math.max(i, j)] };
      }
    }
    open.push(i);
  }
}

/* Places where the ring crosses or touches itself: {point, edges: [i, j]}, edge i from corner i on. */
export function* ownCrossings(ring) {
  const points = ring.map(lattice);
  const n = points.length;
  const edges = points.map((point, index) => [point, points[(index + 1) % n]]);
  yield* crossings(edges, (i, j) => {
    const corners = [];
    if (j === i + 1) corners.push([points[i], points[j], points[(j + 1) % n]]);
    if (i === 0 && j === n - 1) corners.push([points[j], points[0], points[1]]);
    return corners.length ? corners : null;
  });
}

/* The first place where an open line crosses or touches itself, or null. */
export function lineCrossing(line) {
  const points = line.map(lattice);
  const edges = points.slice(1).map((point, index) => [points[index], point]);
  const neighbours = (i, j) => (j === i + 1 ? [[points[i], points[j], points[j + 1]]] : null);
  return crossings(edges, neighbours).next().value ?? null;
}

export const crossing = (ring) => ownCrossings(ring).next().value ?? null;

/* Why a ring cannot stand, as a sentence; null for one that can. */
export function fault(ring) {
  if (ring.length < 3) {
    const more = 3 - ring.length;
    return gettext("A polygon needs 3 corners; place %(count)s more.", { count: more });
  }
  const found = crossing(ring);
  if (found) {
    const [x, y] = found.point.map((value) => Math.round(value));
    return gettext("The outline crosses or touches itself near %(x)s, %(y)s. Remove corners or move one.", { x, y });
  }
  if (!signedArea(ring)) return "The corners lie on one line. Place one beside it.";
  return null;
}

/* Without corners that repeat the one before. */
export const tidy = (ring) =>
  ring.filter((point, index) => !same(point, ring[(index || ring.length) - 1]) || ring.length === 1);

/* Where a number can stand inside a piece: the middle of the widest of a few scan lines. */
export function middleOf(piece) {
  const [, y0, , y1] = boxOfPoints(piece[0]);
  let best = { width: -1, point: piece[0][0] };
  for (const share of [0.5, 0.35, 0.65, 0.2, 0.8]) {
    const y = y0 + (y1 - y0) * share + 0.01;
    const cuts = piece.flatMap((ring) => cutsOf(ring, y)).sort((a, b) => a - b);
    for (let i = 0; i + 1 < cuts.length; i += 2) {
      const width = cuts[i + 1] - cuts[i];
      if (width > best.width * 1.3) best = { width, point: [(cuts[i] + cuts[i + 1]) / 2, y] };
    }
  }
  return best.point;
}

const cutsOf = (ring, y) =>
  ring.flatMap(([bx, by], i) => {
    const [ax, ay] = ring[(i || ring.length) - 1];
    return ay > y !== by > y ? [ax + ((bx - ax) * (y - ay)) / (by - ay)] : [];
  });
