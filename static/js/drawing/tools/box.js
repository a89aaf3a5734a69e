/* A box from corner to corner. */
export class BoxTool {
  #from = null;

  constructor(board) {
    this.board = board;
  }

  begin(point, how) {
    if (this.board.mayDraw()) this.#from = this.board.snapped(point, how).point;
  }

  drag(point, how) {
    if (!this.#from) return this.hover(point, how);
    const ring = this.#ring(point, how);
    return this.board.showStroke({ preview: [...ring, ring[0]] });
  }

  end(point, how) {
    if (!this.#from) return;
    const ring = this.#ring(point, how);
    this.#from = null;
    const [[x0, y0], , [x1, y1]] = ring;
    if (x0 === x1 || y0 === y1) this.board.showStroke();
    else this.board.finishRing(ring);
  }

  hover(point, how) {
    this.board.showStroke({ target: this.board.snapped(point, how).point });
  }

  cancel() {
    this.#from = null;
    this.board.showStroke();
  }

  get pending() {
    return this.#from ? [this.#from] : null;
  }

  #ring(point, how) {
    const to = this.board.snapped(point, how).point;
    const [x0, x1] = [this.#from[0], to[0]].sort((a, b) => a - b);
    const [y0, y1] = [this.#from[1], to[1]].sort((a, b) => a - b);
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
  }
}
