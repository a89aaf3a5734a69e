/* What every page with the drawing engine has: the drawing of one object, the labels of its parts,
   the list and the tools beside it. A page that extends it has `labels` and `panel`, and
   changed({reason}) follows a stroke. */
import { gettext } from "../language.js";
import { Drawing } from "../drawing/drawing.js";
import { look } from "../look.js";
import { announce, murmur, one } from "../screen.js";
import { keep, recall } from "../storage.js";
import { showKeys } from "./keys.js";
import { OUTLINE } from "./labels.js";

const NEAR_SETTING = "assay:parts:near";
// The photograph touches two sides of its place but for this, so that its border can be pointed at.
const PAD_PX = 6;

export class Easel {
  drawing = null;
  labels = null;
  // The key of the part that the server did not take.
  fault = null;
  root = one("[data-drawing]");
  #loading = false;

  constructor() {
    look.addEventListener("change", () => this.drawing?.setOpacity(look.values.opacity));
  }

  get selected() {
    return this.drawing?.selected ?? null;
  }

  get shapes() {
    return this.drawing?.shapes() ?? {};
  }

  focus() {
    this.root.querySelector(".drawing")?.focus({ preventScroll: true });
  }

  /* What the buttons [data-do] of the rail and the list do. */
  tools() {
    const use = (name) => [`tool-${name}`, () => this.drawing?.use(name)];
    return {
      ...Object.fromEntries(["polygon", "scissors", "lasso", "box", "edit", "eraser", "pan", "ask"].map(use)),
      cut: () => this.drawing?.setCutting(!this.drawing.cutting),
      snap: () => this.drawing?.toggle("gluing", gettext("Snapping")),
      overlap: () => this.drawing?.minimizeOverlap(),
      mirror: () => this.drawing?.mirror(),
      undo: () => this.drawing?.undo(),
      redo: () => this.drawing?.redo(),
      look: () => this.look(),
      "zoom-in": () => this.drawing?.zoomIn(),
      "zoom-out": () => this.drawing?.zoomOut(),
      list: () => this.panel.toggleList(),
    };
  }

  /* url: of the photograph; image: its <img>, where it is there already; address: where its tiles are. asks: whether a model may be asked. */
  build({ width, height, crop }, { url, image = null, address = null }, keys, asks = false) {
    const photo = image ?? Object.assign(new Image(), { src: url });
    this.drawing = new Drawing(this.root, {
      width,
      height,
      image: url,
      photo,
      address,
      view: recall(NEAR_SETTING) === "near" ? crop : [0, 0, width, height],
      crop,
      pad: PAD_PX,
      parts: this.labels.parts.map((part) => ({ ...part, whole: part.key === OUTLINE })),
      announce: (text, { quiet }) => (quiet ? murmur(text) : announce(text)),
      asks,
    });
    this.drawing.setOpacity(look.values.opacity);
    this.drawing.addEventListener("change", ({ detail }) => this.#loading || this.changed(detail));
    for (const name of ["select", "tool", "history", "overlap"]) {
      this.drawing.addEventListener(name, () => this.show());
    }
    this.drawing.addEventListener("view", ({ detail }) => this.panel.showZoom(detail));
    // The drawing's own keys change the colours, too.
    this.drawing.addEventListener("opacity", ({ detail: { opacity } }) => opacity !== look.values.opacity && look.set({ opacity }));
    showKeys(keys, this.drawing.keys());
  }

  /* The object from near, or the whole photograph; as it is left, the next one begins. */
  look() {
    this.drawing?.look();
    if (this.drawing) keep(NEAR_SETTING, this.drawing.isWhole ? "whole" : "near");
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
