/* A reviewer or researcher draws an object's parts, on a page of their own: the labels, the drawing,
   its panel and keys. What was drawn is kept in this browser until it is sent.

   HTML: templates/labeling/_part_editor.html, and <script type="application/json" id="setup"> as
   labeling/reports/parts_picture.py writes it. new PartEditor({image, save, leave}); open() shows it. */
import { Easel } from "../parts/easel.js";
import { look } from "../look.js";
import { Panel } from "../parts/panel.js";
import { listed } from "../language.js";
import { OUTLINE, PartLabels } from "../parts/labels.js";
import { IncompleteDialog } from "../parts/sheets.js";
import { TYPING, announce, one } from "../screen.js";

const KEYS = [
  ["Shift + Enter", "Take this drawing"],
  ["Shift + Escape", "Leave it as it was"],
  ["1 2 3", "The chosen part: draw or mend it, not visible, occluded"],
  ["j, Shift + J", "Next or previous part"],
  ["Shift + V", "Brightness and contrast of the photograph, strength of the colours"],
  ["?", "Show this list"],
];

export class PartEditor extends Easel {
  constructor({ image, save, leave }) {
    super();
    this.setup = JSON.parse(one("#setup").textContent);
    Object.assign(this, { image, onSave: save, onLeave: leave });
    this.place = one("[data-editor]");
    this.sheet = one("#keys");
    this.panel = new Panel(this);
    one("[data-editor-save]").addEventListener("click", () => this.save());
    one("[data-editor-leave]").addEventListener("click", () => this.leave());
    one("[data-editor-keys]").addEventListener("click", () => this.sheet.showModal());
    this.incomplete = new IncompleteDialog(() => this.save(true), () => this.focus());
    for (const close of this.place.querySelectorAll("dialog [data-close]")) {
      close.addEventListener("click", () => close.closest("dialog").close());
    }
    const tools = this.tools();
    this.place.addEventListener("click", (event) => {
      const name = event.target.closest("[data-do]")?.dataset.do;
      tools[name]?.();
      if (event.detail && name && !look.hasFocus) this.focus();
    });
    document.addEventListener("keydown", (event) => this.#key(event), { capture: true });
  }

  get isOpen() {
    return !this.place.hidden;
  }

  open() {
    if (this.isOpen) return;
    const { object, parts, value } = this.setup;
    this.place.hidden = false;
    this.labels = new PartLabels(parts, object, { half: false, outline: this.setup.ask_outline });
    this.build(object, { url: this.image }, KEYS);
    this.filled(() => this.#load(value));
    this.place.scrollIntoView({ block: "start" });
    this.focus();
  }

  /* Goes on with what this browser kept, else begins with what stands. */
  #load(value) {
    const kept = this.#kept();
    this.labels.load(value);
    if (kept && this.drawing.restore(kept.drawing)) {
      this.labels.restore(kept);
      announce("You go on where you left off.");
    } else this.drawing.load(this.labels.shapes(value));
    if (this.selected === null) this.choose(this.labels.parts[0]?.key ?? null);
  }

  #kept() {
    try {
      return JSON.parse(sessionStorage.getItem(`assay:${this.setup.keep}`));
    } catch {
      return null;
    }
  }

  #keep() {
    const kept = { ...this.labels.content(), drawing: this.drawing.state() };
    try {
      sessionStorage.setItem(`assay:${this.setup.keep}`, JSON.stringify(kept));
    } catch {
      // No room in this browser: the drawing is still on the page.
    }
  }

  changed() {
    this.#keep();
    this.show();
  }

  /* Says what is to be seen of a part; its outline goes, by a step that can be undone. */
  say(key, state) {
    const part = key === null ? null : this.labels.part(key);
    if (!part || (key === OUTLINE && state !== "drawn")) return;
    const { states } = this.labels;
    if (state === "drawn") this.#draw(part);
    else if (states[key] === state && this.labels.of(key, this.shapes) === state) delete states[key];
    else {
      states[key] = state;
      this.drawing.clear(key);
    }
    announce(`${part.name}: ${this.labels.of(key, this.shapes).replace("_", " ") || "nothing said"}.`);
    this.changed();
  }

  #draw({ key }) {
    const mends = this.labels.of(key, this.shapes) === "given";
    delete this.labels.states[key];
    if (mends) this.mend(key);
    this.focus();
  }

  /* Hands the drawing over, if nothing is unfinished and no overlap forbidden or that was confirmed. */
  save(anyway = false) {
    const { labels, shapes } = this;
    const overlaps = this.drawing.overlaps();
    const split = labels.parts.filter(({ key, several }) => !several && shapes[key]?.length > 1);
    const [unfinished] = this.drawing.unfinished();
    if (unfinished) {
      this.choose(unfinished);
      announce(labels.unfinished(unfinished));
    } else if (split.length) {
      announce(`Only one piece is allowed of: ${listed(split.map(({ name }) => name))}. Join them, or keep one.`);
    } else if (overlaps.length && !anyway) {
      this.incomplete.ask("", labels.pairs(overlaps));
    } else {
      this.#keep();
      this.onSave(labels.value(shapes));
    }
  }

  leave() {
    sessionStorage.removeItem(`assay:${this.setup.keep}`);
    this.drawing.destroy();
    this.root.replaceChildren();
    this.drawing = null;
    this.place.hidden = true;
    this.onLeave?.();
  }

  /* Before the page's own keys (keys.js): while one draws they are the drawing's. */
  #key(event) {
    if (!this.isOpen || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.(TYPING)) return;
    if (this.#action(event)) event.preventDefault();
    else if (this.drawing.handleKey(event)) event.preventDefault();
    else if (event.target.closest?.("a, button") && ["Enter", " ", "Tab"].includes(event.key)) return;
    if (event.key !== "Tab") event.stopPropagation();
  }

  #action(event) {
    const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return false;
    const order = this.labels.parts.map((part) => part.key);
    const step = (by) => this.choose(order[(order.indexOf(this.selected) + by + order.length) % order.length]);
    const action = {
      1: () => this.say(this.selected, "drawn"),
      2: () => this.say(this.selected, "not_visible"),
      3: () => this.say(this.selected, "occluded"),
      j: () => step(1),
      J: () => step(-1),
      0: () => this.look(),
      "?": () => this.sheet.showModal(),
      Enter: shiftKey && (() => this.save()),
      Escape: shiftKey && (() => this.leave()),
    }[key];
    if (!action) return false;
    action();
    return true;
  }
}
