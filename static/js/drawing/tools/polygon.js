/* Corner by corner. A press places one; on the first corner, or twice on the last, it closes. Between
   two corners on one neighbour's outline the line goes along it. */
import { apart, lineCrossing, same } from "../rings.js";
import { ways } from "../snapping.js";

export class PolygonTool {
  // Enter places a corner at once; other tools begin with one press and end with the next.
  instant = true;

  constructor(board) {
    this.board = board;
  }

  begin(point, how) {
    this.hover(point, how);
  }

  drag(point, how) {
    this.hover(point, how);
  }

  end(point, how) {
    if (!this.board.mayDraw()) return;
    const corners = this.board.stroke?.corners ?? [];
    const target = this.target(point, how, corners);
    if (corners.length > 2 && same(target, corners[0])) return void this.close(how);
    if (corners.length && same(target, corners.at(-1))) {
      if (corners.length > 2) this.close(how);
      return;
    }
    const way = this.way(corners.at(-1), target, how);
    const leg = way?.long ? { from: corners.length, other: way.long } : null;
    this.place([...corners, ...(way?.short ?? []), target], leg, target);
    this.hover(point, how);
  }

  hover(point, how) {
    const corners = this.board.stroke?.corners ?? [];
    const target = this.target(point, how, corners);
    const way = this.way(corners.at(-1), target, how);
    const preview = corners.length ? [corners.at(-1), ...(way?.short ?? []), target] : [];
    const fault = lineCrossing([...corners, ...preview.slice(1)]);
    // Back on the first corner is no crossing.
    const closes = corners.length > 2 && same(target, corners[0]);
    this.board.showStroke({ preview, target, fault: closes ? null : fault?.point });
  }

  cancel() {
    this.board.showStroke();
  }

  /* Takes the stroke with one more corner at its end. */
  place(corners, leg, target, marks = this.board.stroke?.marks) {
    this.board.setStroke({ corners, leg, ...(marks && { marks: [...marks, corners.length - 1] }) }, target);
  }

  /* Closes the stroke on its first corner. */
  close() {
    this.board.finishStroke();
  }

  /* The first corner draws a point to itself, then neighbours do. */
  target(point, how, corners) {
    if (corners.length > 2 && apart(point, corners[0]) <= how.radius) return corners[0];
    if (corners.length && apart(point, corners.at(-1)) <= how.radius / 3) return corners.at(-1);
    return this.board.snapped(point, how).point;
  }

  /* {short, long}: the corners between two of the stroke, and those the other way round; null for a straight line. */
  way(from, to, how) {
    if (!from || how.free || !this.board.tracing) return null;
    return ways(from, to, this.board.neighbours());
  }
}

/* The stroke with its last traced way turned the other way round the neighbour; null without one. */
export function flipped({ corners, leg }) {
  if (!leg) return null;
  const { from, other } = leg;
  const end = corners.at(-1);
  return {
    corners: [...corners.slice(0, from), ...other, end],
    leg: { from, other: corners.slice(from, -1) },
  };
}
