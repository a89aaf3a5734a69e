/* The polygon tool with lines that follow the photograph's edges between two presses. Where both lie on
   one neighbour the line goes along that instead; with Ctrl, or as long as edges are unknown, it is
   straight. Corners placed by hand are `marks` of the stroke: taking back goes from one to the one before. */
import { same, tidy } from "../rings.js";
import { withoutLoops } from "./lasso.js";
import { PolygonTool } from "./polygon.js";

// Of the reach within which neighbours attract.
const EDGE_REACH = 0.5;

export class ScissorsTool extends PolygonTool {
  /* edges: scissors/edges.js, of the photograph that is drawn on. */
  constructor(board, edges) {
    super(board);
    this.edges = edges;
  }

  target(point, how, corners) {
    const plain = super.target(point, how, corners);
    const closes = corners.length && (same(plain, corners[0]) || same(plain, corners.at(-1)));
    if (closes || how.free || this.board.snapped(point, how).on !== null) return plain;
    return this.board.clamped(this.edges.near(plain, how.radius * EDGE_REACH));
  }

  way(from, to, how) {
    const along = super.way(from, to, how);
    if (along || !from || how.free) return along;
    const between = this.edges.between(from, to).map((corner) => this.board.clamped(corner));
    return between.length ? { short: between, long: null } : null;
  }

  place(corners, leg, target) {
    const { stroke } = this.board;
    super.place(corners, leg, target, stroke?.marks ?? stroke?.corners.map((_, index) => index) ?? []);
  }

  close(how = {}) {
    const corners = this.board.stroke?.corners ?? [];
    if (corners.length < 2) return void this.board.finishStroke();
    const way = this.way(corners.at(-1), corners[0], how);
    // Where two lines meet they may run over each other for a pixel or two.
    this.board.finishStroke(withoutLoops(tidy([...corners, ...(way?.short ?? [])])));
  }
}
