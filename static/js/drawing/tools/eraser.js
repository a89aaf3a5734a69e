/* A round brush that takes away from the selected part. */
import { apart } from "../rings.js";
import { simplify, Trail } from "../simplify.js";
import { covered } from "../regions.js";

const SIDES = 24;
const STEP = 1.25;
const FIRST_PX = 12;
// A scribble is put together from this many steps in a moment, and looks the same.
const MOST_STEPS = 150;

export class EraserTool {
  #trail = null;
  #radius = null;

  constructor(board) {
    this.board = board;
  }

  /* In image pixels; at first a dozen of the screen's. */
  radius(how) {
    return (this.#radius ??= (FIRST_PX * how.radius) / how.radiusPx);
  }

  /* Larger or smaller, between one pixel and a quarter of the image; the radius, in image pixels. */
  resize(up, how) {
    const { width, height } = this.board.size;
    const next = this.radius(how) * (up ? STEP : 1 / STEP);
    this.#radius = Math.min(Math.max(width, height) / 4, Math.max(0.5, next));
    return this.#radius;
  }

  begin(point, how) {
    if (!this.board.mayDraw()) return;
    this.#trail = new Trail(this.radius(how) / 8);
    this.drag(point, how);
  }

  drag(point, how) {
    this.hover(point, how);
    if (!this.#trail) return;
    this.#trail.add(point);
    const line = this.#trail.line;
    const way = line.length > 1 ? line : [line[0], line[0]];
    this.board.showStroke({ preview: way, wide: 2 * this.radius(how) });
  }

  end(point, how) {
    if (!this.#trail) return;
    this.drag(point, how);
    const line = simplify(this.#trail.simplified(), 0, MOST_STEPS);
    this.#trail = null;
    this.board.showStroke();
    this.board.cutRegion(swept(line, this.radius(how)));
  }

  hover(point, how) {
    this.board.showBrush(point, this.radius(how));
  }

  cancel() {
    this.#trail = null;
    this.board.showBrush(null);
    this.board.showStroke();
  }
}

function disc([x, y], radius) {
  return Array.from({ length: SIDES }, (_, index) => {
    const turn = (2 * Math.PI * index) / SIDES;
    return [x + radius * Math.cos(turn), y + radius * Math.sin(turn)];
  });
}

/* The hull of two discs, as one ring. */
function capsule(a, b, radius) {
  const toward = Math.atan2(b[1] - a[1], b[0] - a[0]);
  const half = (center, from) =>
    Array.from({ length: SIDES / 2 + 1 }, (_, index) => {
      const turn = from + (2 * Math.PI * index) / SIDES;
      return [center[0] + radius * Math.cos(turn), center[1] + radius * Math.sin(turn)];
    });
  return [...half(b, toward - Math.PI / 2), ...half(a, toward + Math.PI / 2)];
}

/* What a round brush covers on its way, in image pixels; corners that add nothing left out. */
export function swept(line, radius) {
  const way = line.filter((point, index) => !index || apart(point, line[index - 1]) > 0.05);
  const rings = way.length < 2 ? [disc(way[0], radius)] : [];
  for (let i = 1; i < way.length; i += 1) rings.push(capsule(way[i - 1], way[i], radius));
  const whole = covered(rings);
  const tolerance = Math.max(0.1, radius / 20);
  return whole.map((piece) => piece.map((ring) => (ring.length < 8 ? ring : simplify(ring, tolerance))));
}
