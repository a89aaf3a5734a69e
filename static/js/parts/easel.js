/* What every page with the drawing engine has: the drawing of one object, the labels of its parts,
   the panel beside it. A page that extends it has `labels` and `panel`, and changed() follows a stroke. */
import { Drawing } from "../drawing/drawing.js";
import { announce, murmur, one } from "../screen.js";
import { showKeys } from "./keys.js";
import { OUTLINE } from "./labels.js";

export class Easel {
  drawing = null;
  labels = null;
  // The key of the part that the server did not take.
  fault = null;
  root = one("[data-drawing]");
  #loading = false;

  get selected() {
    return this.drawing?.selected ?? null;
  }

  get shapes() {
    return this.drawing?.shapes() ?? {};
  }

  focus() {
    this.root.querySelector("svg")?.focus({ preventScroll: true });
  }

  build({ width, height, crop }, image, keys) {
    this.drawing = new Drawing(this.root, {
      width,
      height,
      image,
      view: crop,
      crop,
      parts: this.labels.parts.map((part) => ({ ...part, whole: part.key === OUTLINE })),
      announce: (text, { quiet }) => (quiet ? murmur(text) : announce(text)),
    });
    this.drawing.addEventListener("change", () => this.#loading || this.changed());
    for (const name of ["select", "tool", "history", "overlap"]) {
      this.drawing.addEventListener(name, () => this.show());
    }
    showKeys(keys, this.drawing.keys());
  }

  /* Fills the drawing by `fill`: what it changes is no stroke. */
  filled(fill) {
    this.#loading = true;
    fill();
    this.#loading = false;
    this.show();
  }

  show() {
    if (this.drawing && !this.#loading) this.panel.show(this.fault);
  }

  choose(key) {
    if (this.drawing && key) this.drawing.select(key);
  }

  hide(key) {
    this.drawing.hide(key, !this.drawing.isHidden(key));
    this.show();
  }

  /* What the import holds of a part becomes the person's own to mend. */
  mend(key) {
    const { polygons } = this.labels.given[key];
    this.drawing.load({ ...this.shapes, [key]: polygons }, { keepHistory: true });
    this.drawing.use("edit");
  }
}
