/* Undo and redo without limit: moments that are replaced and never changed.

   A moment is {shapes: Map key → polygons, strokes: Map key → unfinished stroke}. Moments share what
   did not change between them, so one costs what it changed. */
export class History {
  #moments;
  #now = 0;

  constructor(moment) {
    this.#moments = [moment];
  }

  /* What `kept` was of another history, as JSON can be written and read of it. */
  static of({ moments, now }) {
    const history = new History(moments[0]);
    history.#moments = [...moments];
    history.#now = now;
    return history;
  }

  get kept() {
    return { moments: this.#moments, now: this.#now };
  }

  get now() {
    return this.#moments[this.#now];
  }

  get canUndo() {
    return this.#now > 0;
  }

  get canRedo() {
    return this.#now + 1 < this.#moments.length;
  }

  /* The present moment becomes another one. */
  replace(moment) {
    this.#moments.length = this.#now;
    this.#now -= 1;
    this.add(moment);
  }

  /* What was undone before is gone now. */
  add(moment) {
    this.#moments.length = this.#now + 1;
    this.#moments.push(moment);
    this.#now += 1;
  }

  undo() {
    if (!this.canUndo) return false;
    this.#now -= 1;
    return true;
  }

  redo() {
    if (!this.canRedo) return false;
    this.#now += 1;
    return true;
  }
}
