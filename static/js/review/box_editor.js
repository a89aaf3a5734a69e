/* A reviewer draws boxes on a page of their own: all of a class (Many), one (Draw), or points at what
   has none (Cover). What was drawn is kept in this browser until it is sent.

   HTML: templates/labeling/_box_editor.html, and <script type="application/json" id="setup"> as
   labeling/web/views/box_review.py writes it: {mode, shows, value, keep}. The buttons that send are
   [data-verdict] in <form data-verdicts>, with the state of all boxes or "" for one. */
import { Cover } from "../boxes/cover.js";
import { Draw } from "../boxes/draw.js";
import { Many } from "../boxes/many.js";
import { ARROWS, Stage } from "../boxes/stage.js";
import { FLAG_KEYS } from "../boxes/step.js";
import "../look.js";
import { TYPING, announce, one, press } from "../screen.js";

const STEPS = { review: Many, draw: Draw, cover: Cover };
const all = (selector) => document.querySelectorAll(selector);

class BoxEditor {
  way = "clicks";

  constructor(setup, image) {
    Object.assign(this, { setup, entry: { shows: setup.shows } });
    this.root = one("[data-drawing]");
    this.stage = new Stage(this.root, () => this.step, { moved: () => this.#showZoom() });
    this.step = new STEPS[setup.mode](this);
    this.stage.load(image, setup.shows);
    this.step.enter(setup.value, this.#kept());
    for (const place of all("[data-editor], [data-boxes]")) {
      place.addEventListener("click", (event) => this.#click(event));
    }
    for (const button of all("[data-verdict]")) {
      button.addEventListener("click", (event) => this.#send(event, button.dataset.verdict));
    }
    document.addEventListener("keydown", (event) => this.#key(event), { capture: true });
    addEventListener("keyup", (event) => event.key === " " && (this.stage.spaceHeld = false));
    this.show();
  }

  get name() {
    return `assay:${this.setup.keep}`;
  }

  #kept() {
    try {
      return this.setup.fresh ? null : JSON.parse(sessionStorage.getItem(this.name));
    } catch {
      return null;
    }
  }

  changed() {
    try {
      sessionStorage.setItem(this.name, JSON.stringify(this.step.history.kept));
    } catch {
      // No room in this browser: what was drawn is still on the page.
    }
    this.show();
  }

  wordsOf(reason) {
    return this.setup.reasons[reason] ?? reason;
  }

  flagWords(flag) {
    return flag;
  }

  show() {
    const { step } = this;
    this.stage.show(step.scene());
    const { words, tone = "" } = step.hint();
    one("[data-hint]").textContent = words;
    one("[data-hint]").dataset.tone = tone;
    for (const button of all("[data-flag]")) press(button, step.moment.flags?.includes(button.dataset.flag));
    for (const way of ["clicks", "drag"]) press(one(`[data-do="way-${way}"]`), this.way === way);
    for (const [action, can] of [["undo", step.history.canUndo], ["redo", step.history.canRedo]]) {
      one(`[data-do="${action}"]`).setAttribute("aria-disabled", String(!can));
    }
    if (this.setup.mode === "review") this.#list();
  }

  /* The boxes as a list, from which each can be taken in hand. */
  #list() {
    const { done, box, flags, place } = this.step.history.now;
    const rows = box ? done.toSpliced(place ?? done.length, 0, { box, flags }) : done;
    one("[data-boxes]").replaceChildren(...rows.map((row, number) => this.#item(row, number)));
    one("[data-count]").textContent = `${rows.length} ${rows.length === 1 ? "box" : "boxes"}`;
  }

  #item({ box: [x0, y0, x1, y1], flags }, number) {
    const item = document.createElement("li");
    const choose = document.createElement("button");
    Object.assign(choose, { type: "button", className: "box-choose" });
    choose.dataset.choose = number;
    press(choose, number === this.step.inHand);
    const size = `${Math.round(x1 - x0)} × ${Math.round(y1 - y0)} at ${Math.round(x0)}, ${Math.round(y0)}`;
    choose.textContent = [`${number + 1}. ${size}`, ...flags].join(" · ");
    const remove = document.createElement("button");
    Object.assign(remove, { type: "button", className: "tool", ariaLabel: `Remove box ${number + 1}`, textContent: "×" });
    remove.dataset.remove = number;
    item.append(choose, remove);
    return item;
  }

  #showZoom() {
    one("[data-zoom-level]").textContent = `${Math.round(this.stage.view.scale * 100)} %`;
    press(one('[data-do="look"]'), Boolean(this.stage.size) && !this.stage.isWhole);
  }

  #click(event) {
    const button = event.target.closest("button");
    if (!button) return;
    const { do: action, flag, choose, remove } = button.dataset;
    if (action) this.#act(action);
    else if (flag) this.step.toggle?.(flag);
    else if (choose) this.step.choosePlace(Number(choose));
    else if (remove) this.step.removePlace(Number(remove));
    if (event.detail) this.root.focus({ preventScroll: true });
  }

  #act(action) {
    const { stage, step } = this;
    ({
      "way-clicks": () => this.#use("clicks"),
      "way-drag": () => this.#use("drag"),
      undo: () => step.undo() || announce("Nothing to undo."),
      redo: () => step.redo() || announce("Nothing to redo."),
      "zoom-in": () => stage.zoomIn(),
      "zoom-out": () => stage.zoomOut(),
      look: () => this.#look(),
      others: () => press(one('[data-do="others"]'), this.root.classList.toggle("others-hidden")),
    })[action]?.();
  }

  #use(way) {
    this.way = way;
    this.step.changeWay?.();
    this.show();
  }

  #look() {
    const { box } = this.step.moment;
    if (this.stage.isWhole && box) this.stage.look(box);
    else this.stage.fit();
  }

  #send(event, state) {
    event.preventDefault();
    const drawn = this.step.answer();
    if (drawn === null) return;
    if (state && (state === "absent") === drawn.length > 0) {
      announce(drawn.length ? "Take the boxes away first, or say that every one has one." : "Draw a box first, or say that there is none.");
      return;
    }
    const form = one("[data-verdicts]");
    one("[data-value]").disabled = false;
    one("[data-value]").value = JSON.stringify(state ? { boxes: drawn, state } : drawn);
    form.requestSubmit();
  }

  /* Before the page's own keys (keys.js): what means something here goes no further. */
  #key(event) {
    if (event.isComposing || document.querySelector("dialog[open]") || event.target.closest?.(TYPING)) return;
    if (event.target.closest?.("a, button, summary") && ["Enter", " "].includes(event.key)) return;
    if (!this.#means(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #means(event) {
    const { key } = event;
    if (event.ctrlKey || event.metaKey) return this.#withControl(event);
    if (event.altKey && !(key in ARROWS)) return false;
    if (key === "Enter") return event.repeat || this.step.enters();
    if (this.step.key(event)) return true;
    if (key === " ") return (this.stage.spaceHeld = true);
    const action = { c: "way-clicks", r: "way-drag", z: "look", v: "others", "+": "zoom-in", "=": "zoom-in", "-": "zoom-out" }[key];
    if (action) return (this.#act(action), true);
    if (key === "0") return (this.stage.fit(), true);
    if (FLAG_KEYS[key] && this.step.toggle) return (this.step.toggle(FLAG_KEYS[key]), true);
    return false;
  }

  #withControl(event) {
    const key = event.key.toLowerCase();
    if (key === "z") this.#act(event.shiftKey ? "redo" : "undo");
    else if (key === "y") this.#act("redo");
    else return this.stage.panByKey(event.key);
    return true;
  }
}

async function begin() {
  const setup = JSON.parse(one("#setup").textContent);
  const image = new Image();
  image.draggable = false;
  image.src = one("[data-editor]").dataset.image;
  await image.decode();
  one("[data-editor]").hidden = false;
  one("[data-picture]")?.remove();
  // The whole of it is in sight, with what is asked above.
  one("[data-editor-top]").scrollIntoView({ block: "start" });
  new BoxEditor(setup, image);
}

begin();
