/* One image of the page, large, to look at closely and to mark: templates/annotator/_closer.html.

   imageOf(tile) gives a slot of images.js; singleKeys() says whether letters mean anything. */
import { gettext } from "./language.js";
import { MOVES, Zoom } from "./zoom.js";
import { markOf } from "./tiles.js";
import { TYPING, one, words } from "./screen.js";

const MARKS = { y: "yes", " ": "yes", Enter: "yes", n: "no", h: "hard" };

export class Closer {
  constructor(tiles, imageOf, singleKeys = () => true) {
    Object.assign(this, { tiles, imageOf, singleKeys, tile: null });
    this.dialog = one("#closer");
    this.stage = this.dialog.querySelector("[data-stage]");
    this.note = this.dialog.querySelector("[data-stage-note]");
    this.zoom = new Zoom(this.stage);
    this.dialog.addEventListener("keydown", (event) => this.#key(event));
    this.dialog.addEventListener("close", () => this.#closed());
    this.dialog.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-closer]");
      if (button) this.#do(button.dataset.closer);
    });
    tiles.list.addEventListener("mark", ({ detail }) => detail.tile === this.tile && this.#draw());
  }

  open(tile) {
    if (!tile) return;
    this.#turn(tile);
    this.dialog.showModal();
    this.dialog.querySelector("[data-closer=yes]").focus();
  }

  #turn(tile) {
    this.tile = tile;
    const all = this.tiles.all;
    const place = all.indexOf(tile);
    this.dialog.querySelector("[data-closer-title]").textContent = gettext("Image %(number)s of %(count)s", { number: place + 1, count: all.length });
    for (const [name, step] of [["previous", -1], ["next", 1]]) {
      this.dialog.querySelector(`[data-closer=${name}]`).disabled = !all[place + step];
    }
    this.stage.querySelector("img")?.remove();
    this.#draw();
    this.#load(tile);
  }

  async #load(tile) {
    const slot = this.imageOf(tile);
    this.note.hidden = slot.state === "ready";
    this.note.textContent = words.loading;
    await slot.done;
    if (this.tile !== tile) return;
    if (slot.state !== "ready") {
      this.note.textContent = gettext("This image is no longer assigned to you.");
      return;
    }
    this.note.hidden = true;
    this.stage.querySelector("img")?.remove();
    this.stage.prepend(slot.image);
    this.zoom.attach(slot.image);
  }

  #draw() {
    const mark = markOf(this.tile);
    for (const value of ["yes", "no", "hard"]) {
      const button = this.dialog.querySelector(`[data-closer=${value}]`);
      button.setAttribute("aria-pressed", String(mark === value));
    }
  }

  #do(action) {
    const place = this.tiles.all.indexOf(this.tile);
    if (action === "previous" || action === "next") {
      const tile = this.tiles.all[place + (action === "next" ? 1 : -1)];
      if (tile) this.#turn(tile);
    } else if (action === "no") this.tiles.mark(this.tile, "no");
    else this.tiles.toggle(this.tile, action);
  }

  #key(event) {
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(TYPING)) return;
    if (event.shiftKey && key in MOVES) this.zoom.pan(...MOVES[key]);
    else if (key === "ArrowLeft" || key === "ArrowUp") this.#do("previous");
    else if (key === "ArrowRight" || key === "ArrowDown") this.#do("next");
    else if ((key === " " || key === "Enter") && event.target.closest("button")) return;
    else if (!this.singleKeys()) return;
    else if (event.repeat) return;
    else if (key === "z") this.dialog.close();
    else if (key === "+" || key === "=") this.zoom.in();
    else if (key === "-") this.zoom.out();
    else if (key === "0") this.zoom.reset();
    else if (MARKS[key]) this.#do(MARKS[key]);
    else return;
    event.preventDefault();
    // Whatever the page does with the key is not meant any more, though the dialog may be closed.
    event.stopPropagation();
  }

  #closed() {
    this.stage.querySelector("img")?.remove();
    this.tiles.focus(this.tile);
    this.tile = null;
  }
}
