/* Freehand. The line is simplified while it is drawn, hugs neighbours that it comes near, and closes
   where it ends. One that crosses itself in a small loop loses the loop; another stays, unfinished. */
import { fault, lengthOf, ownCrossings, rounded, signedArea, tidy } from "../rings.js";
import { hugging } from "../snapping.js";
import { Trail } from "../simplify.js";

// Screen pixels: a corner whose triangle is smaller than the square of this says nothing.
const TOLERANCE_PX = 3;
const SHORTEST_PX = 12;
// A loop smaller than this share of the whole came from ends that met badly.
const SMALL_LOOP = 0.1;

export class LassoTool {
  #trail = null;

  constructor(board) {
    this.board = board;
  }

  begin(point, how) {
    if (!this.board.mayDraw()) return;
    this.#trail = new Trail((TOLERANCE_PX * how.radius) / how.radiusPx);
    this.drag(point, how);
  }

  drag(point) {
    if (!this.#trail) return this.hover();
    this.#trail.add(this.board.clamped(point));
    return this.board.showStroke({ preview: this.#trail.line });
  }

  end(point, how) {
    if (!this.#trail) return;
    this.drag(point, how);
    const line = this.#taken(how);
    if (line) this.board.finishStroke(line);
    else this.board.showStroke();
  }

  hover() {
    this.board.showStroke();
  }

  /* Something came between: what was drawn stays as an unfinished stroke. */
  cancel(how) {
    const line = this.#trail && how && this.#taken(how);
    this.#trail = null;
    if (line) this.board.setStroke({ corners: line, leg: null });
    else this.board.showStroke();
  }

  get pending() {
    return this.#trail ? this.#trail.line.map(rounded) : null;
  }

  /* The corners of the line; null for a mere touch. */
  #taken(how) {
    const drawn = this.#trail.simplified();
    this.#trail = null;
    if (drawn.length < 3 || lengthOf(drawn) < (SHORTEST_PX * how.radius) / how.radiusPx) return null;
    const before = this.board.stroke?.corners ?? [];
    const line = how.free ? drawn : hugging(drawn, how.radius, this.board.neighbours());
    return withoutLoops(tidy([...before, ...line.map(rounded)]));
  }
}

/* The ring without small loops, as at ends that cross; the ring itself where loops are large. */
export function withoutLoops(ring) {
  let current = ring;
  for (let count = 0; count < 20 && fault(current); count += 1) {
    const found = ownCrossings(current).next().value;
    if (!found) return ring;
    const [i, j] = found.edges;
    const meeting = rounded(found.point);
    const inner = tidy([meeting, ...current.slice(i + 1, j + 1)]);
    const outer = tidy([...current.slice(0, i + 1), meeting, ...current.slice(j + 1)]);
    const [a, b] = [inner, outer].map((loop) => Math.abs(signedArea(loop)));
    if (Math.min(a, b) > SMALL_LOOP * (a + b)) return ring;
    current = a > b ? inner : outer;
  }
  return current;
}
