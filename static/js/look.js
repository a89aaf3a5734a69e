/* How bright photographs are and their contrast, and in drawings how strong the colours are: remembered in
   this browser. --look on the root is the filter that css/assay.css gives to every photograph.

   HTML: templates/annotator/_look.html; [data-do="adjust"] and Shift + V open it. Event on `look`: "change". */
import { TYPING, one, press } from "./screen.js";
import { altLetter } from "./search_field.js";
import { keep, read } from "./storage.js";

const SETTING = "assay:look";
const PLAIN = { brightness: 1, contrast: 1, opacity: 0.3 };

class Look extends EventTarget {
  values = { ...PLAIN, ...read(SETTING) };
  panel = one("[data-adjust]");
  inputs = [...document.querySelectorAll("[data-adjusts]")];
  #before = null; // what had the focus

  constructor() {
    super();
    this.#apply();
    if (this.panel) this.#attach();
  }

  #attach() {
    this.panel.addEventListener("input", ({ target }) => this.set({ [target.dataset.adjusts]: Number(target.value) }));
    this.panel.querySelector("[data-adjust-reset]").addEventListener("click", () => {
      this.set(Object.fromEntries(this.inputs.map(({ dataset: { adjusts } }) => [adjusts, PLAIN[adjusts]])));
    });
    document.addEventListener("click", ({ target }) => target.closest('[data-do="adjust"]') && this.toggle());
    // Before the page's own keys.
    document.addEventListener("keydown", (event) => this.#key(event), { capture: true });
  }

  /* Whether the focus is in the panel: then a drawing must not take it. */
  get hasFocus() {
    return this.panel.contains(document.activeElement);
  }

  set(values) {
    Object.assign(this.values, values);
    keep(SETTING, JSON.stringify(this.values));
    this.#apply();
    this.dispatchEvent(new Event("change"));
  }

  toggle() {
    const { panel } = this;
    const opens = panel.hidden || !panel.getClientRects().length;
    if (opens) this.#place();
    panel.hidden = !opens;
    this.#apply();
    if (opens) {
      this.#before = document.activeElement;
      this.inputs[0].focus();
    } else {
      document.activeElement.blur();
      this.#before?.focus({ preventScroll: true });
    }
  }

  /* A page of images has two places for it: over the page, and over the image from near. */
  #place() {
    const page = one(".grid-work");
    if (page) (one("dialog.closer[open] [data-zoom]") ?? page).append(this.panel);
  }

  #key(event) {
    const { key, target, altKey, ctrlKey, metaKey, shiftKey } = event;
    const inside = this.panel.contains(target);
    const isTyping = !inside && target.closest?.(TYPING);
    const letter = altLetter(event) ?? (altKey || isTyping ? "" : key.toLowerCase());
    const opens = letter === "v" && shiftKey && !ctrlKey && !metaKey && !event.repeat && this.#takesKeys();
    // Enter in a slider would press the first button of the form.
    if (!opens && !(inside && (key === "Escape" || (key === "Enter" && target.matches("input"))))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.toggle();
  }

  #takesKeys() {
    const isOff = one("[data-use-keys]:not(:checked), dialog[open]:not(.closer), [data-work][hidden]");
    return !isOff && !this.panel.closest("[data-editor][hidden]");
  }

  #apply() {
    const { brightness, contrast } = this.values;
    const isPlain = brightness === 1 && contrast === 1;
    document.documentElement.style.setProperty("--look", isPlain ? "none" : `brightness(${brightness}) contrast(${contrast})`);
    for (const input of this.inputs) input.value = this.values[input.dataset.adjusts];
    const isChanged = this.inputs.some(({ dataset: { adjusts } }) => this.values[adjusts] !== PLAIN[adjusts]);
    for (const button of document.querySelectorAll('[data-do="adjust"][aria-pressed]')) press(button, isChanged || !this.panel.hidden);
  }
}

export const look = new Look();
