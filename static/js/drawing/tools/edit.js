/* Corners and pieces that are there: drag a corner, press an edge for a new one, drag a piece; a second
   press on a corner removes it. Corners that neighbours share move with it, unless snapping is off. */
import { gettext } from "../../language.js";
import { apart, nearestOn, pieceAt, rounded, same } from "../rings.js";
import { cornersAt, insertCorner, moveCorners, movePiece, removeCorners } from "../changes.js";
import { placesOf, snap } from "../snapping.js";

const AGAIN_MS = 400;
const INNER_REACH = 0.4;

export class EditTool {
  #held = null;
  #active = null; // the corner that keys speak of, by where it is
  #pressed = { at: -Infinity, point: null };

  constructor(board) {
    this.board = board;
  }

  /* The corner that is chosen, while the part still has it. */
  get active() {
    const key = this.board.selected;
    if (!this.#active) return null;
    return cornersAt(this.board.shapes, this.#active).some((place) => place.key === key)
      ? this.#active
      : null;
  }

  get holding() {
    return this.#held !== null;
  }

  begin(point, how) {
    const { board } = this;
    const own = { key: board.selected, polygons: board.shapes.get(board.selected) ?? [] };
    const place = snap(point, how.radius, [own]);
    const piece = pieceAt(own.polygons, point);
    // Within a piece an edge reaches less far, or a small piece could not be held.
    const beside = place?.share && piece >= 0 && apart(place.point, point) > how.radius * INNER_REACH;
    if (place && !beside) return this.#hold(place, point, how);
    if (piece >= 0) {
      this.#held = { start: point, shapes: board.shapes, where: { key: own.key, piece } };
      return board.whisper(gettext("Holding a piece of the %(part)s.", { part: board.nameOf(own.key) }));
    }
    const other = board.partAt(point);
    this.#active = null;
    if (other) board.select(other);
    else board.paint();
    return null;
  }

  #hold(place, point, how) {
    const { board } = this;
    const fresh = place.share > 0 && !cornersAt(board.shapes, place.point).length;
    let { shapes } = board;
    if (place.share > 0) {
      for (const edge of how.free ? [place] : this.#edgesAt(place)) {
        shapes = insertCorner(shapes, edge, place.point);
      }
    }
    const all = cornersAt(shapes, place.point);
    const places = how.free ? all.filter(({ key }) => key === place.key) : all;
    this.#active = place.point;
    this.#held = { start: point, shapes, places, fresh, from: place.point };
    board.preview(shapes);
  }

  /* The edge, and those of neighbours that run along it here. */
  #edgesAt(place) {
    const others = this.board.editable().filter(({ key }) => key !== place.key);
    return [place, ...placesOf(place.point, others).filter((other) => other.share > 0)];
  }

  drag(point, how) {
    const held = this.#held;
    if (!held) return;
    held.moved ||= apart(point, held.start) > how.radius / 4;
    if (!held.moved) return;
    const { board } = this;
    if (held.where) {
      const by = [point[0] - held.start[0], point[1] - held.start[1]];
      held.next = movePiece(held.shapes, held.where, by, board.size);
    } else {
      const skip = new Set(held.places.map(({ key }) => key));
      const target = board.snapped(point, how, skip).point;
      this.#active = target;
      held.next = moveCorners(held.shapes, held.places, target);
    }
    board.preview(held.next);
  }

  end(point, how) {
    const held = this.#held;
    if (!held) return;
    this.drag(point, how);
    this.#held = null;
    if (held.moved) {
      if (!this.board.commitChecked(held.next)) this.#active = null;
    } else if (held.fresh) this.board.commitChecked(held.shapes);
    else if (held.places && (how.alt || this.#again(held.from, how))) this.remove(!how.free);
    else this.board.preview(null);
    this.board.paint();
  }

  /* A second press on the same corner, soon after the first. */
  #again(point, { time, keyboard }) {
    const last = this.#pressed;
    this.#pressed = { at: time, point };
    return !keyboard && last.point && same(last.point, point) && time - last.at < AGAIN_MS;
  }

  hover() {}

  cancel() {
    const back = this.#held?.from ?? null;
    this.#held = null;
    this.#active = back;
    this.board.preview(null);
  }

  /* Removes the chosen corner, also from neighbours that share it. */
  remove(shared = true) {
    const { board, active } = this;
    if (!active) return false;
    const all = cornersAt(board.shapes, active);
    const places = shared ? all : all.filter(({ key }) => key === board.selected);
    this.#active = null;
    return board.commitChecked(removeCorners(board.shapes, places), "Corner removed.");
  }

  /* Goes to the next corner of the part, or back; where it is, or null. */
  step(by, nearTo) {
    const rings = (this.board.shapes.get(this.board.selected) ?? []).flat();
    const corners = rings.flat();
    if (!corners.length) return null;
    const now = this.active;
    if (now) {
      const index = corners.findIndex((corner) => same(corner, now));
      this.#active = corners[(index + by + corners.length) % corners.length];
    } else this.#active = corners.reduce((a, b) => (apart(b, nearTo) < apart(a, nearTo) ? b : a));
    this.board.paint();
    return this.#active;
  }

  /* A corner in the middle of the edge after the chosen one; where it is, or null. */
  add() {
    const { board, active } = this;
    if (!active) return null;
    const place = cornersAt(board.shapes, active).find(({ key }) => key === board.selected);
    const ring = board.shapes.get(place.key)[place.piece][place.ring];
    const b = ring[(place.index + 1) % ring.length];
    const middle = [(active[0] + b[0]) / 2, (active[1] + b[1]) / 2];
    const point = rounded(nearestOn(active, b, middle).point);
    if (same(point, active) || same(point, b)) return null;
    const edge = { ...place, share: 0.5, point };
    let { shapes } = board;
    for (const each of this.#edgesAt(edge)) shapes = insertCorner(shapes, each, point);
    if (!board.commitChecked(shapes, "Corner added.")) return null;
    this.#active = point;
    board.paint();
    return point;
  }
}
