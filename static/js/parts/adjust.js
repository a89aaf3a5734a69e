/* How bright the photograph is, its contrast, and how strong the colours over it: remembered in this
   browser. HTML: templates/annotator/_parts_adjust.html. */
import { one, press } from "../screen.js";
import { keep, read } from "../storage.js";

const SETTING = "assay:look";
const PLAIN = { brightness: 1, contrast: 1, opacity: 0.3 };

export class Adjust {
  constructor(page) {
    this.page = page;
    this.place = one("[data-adjust]");
    this.inputs = [...this.place.querySelectorAll("[data-adjusts]")];
    this.values = { ...PLAIN, ...read(SETTING) };
    this.place.addEventListener("input", ({ target }) => this.#set({ [target.dataset.adjusts]: Number(target.value) }));
    this.place.querySelector("[data-adjust-reset]").addEventListener("click", () => this.#set(PLAIN));
    this.place.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && event.key !== "v") return;
      event.preventDefault();
      event.stopPropagation();
      this.toggle();
    });
  }

  toggle() {
    const { place } = this;
    place.hidden = !place.hidden;
    this.#show();
    if (place.hidden) this.page.focus();
    else this.inputs[0].focus();
  }

  #set(values) {
    Object.assign(this.values, values);
    keep(SETTING, JSON.stringify(this.values));
    this.apply();
  }

  /* To the drawing that is there now. */
  apply() {
    const { drawing } = this.page;
    if (drawing) {
      drawing.adjust(this.values);
      drawing.setOpacity(this.values.opacity);
    }
    this.#show();
  }

  /* The drawing's own keys change the colours, too. */
  follow() {
    const { opacity } = this.page.drawing;
    if (opacity !== this.values.opacity) this.#set({ opacity });
  }

  #show() {
    for (const input of this.inputs) input.value = this.values[input.dataset.adjusts];
    const changed = Object.keys(PLAIN).some((name) => this.values[name] !== PLAIN[name]);
    press(one('[data-do="adjust"].tool'), changed || !this.place.hidden);
  }
}
