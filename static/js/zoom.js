/* Lets an image be looked at closely: wheel, pinch, double click or tap, drag, buttons and keys.

   <div data-stage><img> … <div data-zoom><button data-do="zoom-in"> … [data-zoom-level]</div></div>
   The image fits its stage at scale 1; everything here is in stage pixels. */

import { TYPING } from "./screen.js";

const MOST = 12;
const STEP = 1.4;
const NEAR = 2.5;
const TAP_MS = 320;
const TAP_PX = 24;
const PAN = 0.2;
// What an arrow moves the view by, as shares of the stage to the right and down.
export const MOVES = { ArrowLeft: [-PAN, 0], ArrowRight: [PAN, 0], ArrowUp: [0, -PAN], ArrowDown: [0, PAN] };

export class Zoom {
  #image = null;
  #scale = 1;
  #x = 0;
  #y = 0;
  #pointers = new Map();
  #tap = { at: 0, x: 0, y: 0 };
  #moved = false;

  constructor(stage) {
    this.stage = stage;
    this.level = stage.querySelector("[data-zoom-level]");
    stage.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.#down(event));
    stage.addEventListener("pointermove", (event) => this.#move(event));
    for (const name of ["pointerup", "pointercancel"]) {
      stage.addEventListener(name, (event) => this.#up(event));
    }
  }

  /* Another image: whole again. */
  attach(image) {
    this.#image = image;
    this.#pointers.clear();
    this.reset();
  }

  get zoomed() {
    return this.#scale > 1;
  }

  reset() {
    this.#scale = 1;
    this.#x = this.#y = 0;
    this.#draw();
  }

  in() {
    this.#at(this.#scale * STEP, this.#center());
  }

  out() {
    this.#at(this.#scale / STEP, this.#center());
  }

  /* Moves the view by a share of the stage. */
  pan(right, down) {
    this.#x -= right * this.stage.clientWidth;
    this.#y -= down * this.stage.clientHeight;
    this.#draw();
  }

  #center() {
    return { x: this.stage.clientWidth / 2, y: this.stage.clientHeight / 2 };
  }

  /* The point of the image under `point` stays under it. */
  #at(scale, point) {
    const next = Math.min(MOST, Math.max(1, scale));
    const ratio = next / this.#scale;
    this.#x = point.x - (point.x - this.#x) * ratio;
    this.#y = point.y - (point.y - this.#y) * ratio;
    this.#scale = next;
    this.#draw();
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    this.#x = Math.min(0, Math.max(width * (1 - this.#scale), this.#x));
    this.#y = Math.min(0, Math.max(height * (1 - this.#scale), this.#y));
    if (this.#image) {
      this.#image.style.transform =
        this.#scale === 1 ? "" : `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})`;
    }
    this.stage.classList.toggle("zoomed", this.zoomed);
    if (this.level) this.level.textContent = `${Math.round(this.#scale * 100)} %`;
  }

  #point(event) {
    const box = this.stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #wheel(event) {
    if (event.target.closest("[data-zoom]")) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    this.#at(this.#scale * Math.exp(-event.deltaY * lines * 0.002), this.#point(event));
  }

  #down(event) {
    if (event.button !== 0 || event.target.closest("[data-zoom]")) return;
    this.#pointers.set(event.pointerId, this.#point(event));
    this.#moved = false;
    this.stage.setPointerCapture(event.pointerId);
  }

  #move(event) {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const now = this.#point(event);
    if (Math.hypot(now.x - before.x, now.y - before.y) > 3) this.#moved = true;
    if (this.#pointers.size === 2) this.#pinch(event.pointerId, before, now);
    else if (this.zoomed) {
      this.#x += now.x - before.x;
      this.#y += now.y - before.y;
      this.#draw();
    }
    this.#pointers.set(event.pointerId, now);
  }

  #pinch(moving, before, now) {
    const other = [...this.#pointers].find(([id]) => id !== moving)[1];
    const apart = (point) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
    this.#at((this.#scale * apart(now)) / apart(before), middle);
  }

  #up(event) {
    const point = this.#pointers.get(event.pointerId);
    this.#pointers.delete(event.pointerId);
    if (!point || this.#moved || event.type === "pointercancel") return;
    const last = this.#tap;
    this.#tap = { at: event.timeStamp, ...point };
    const near = Math.hypot(point.x - last.x, point.y - last.y) < TAP_PX;
    if (near && event.timeStamp - last.at < TAP_MS) {
      this.#tap.at = 0;
      if (this.zoomed) this.reset();
      else this.#at(NEAR, point);
    }
  }
}

/* A stage that shows one image of a form: its buttons, the keys + − 0 and Shift with an arrow. */
export function attachZoom(stage) {
  const zoom = new Zoom(stage);
  const actions = { "zoom-in": () => zoom.in(), "zoom-out": () => zoom.out(), "zoom-reset": () => zoom.reset() };
  const keys = { "+": "zoom-in", "=": "zoom-in", "-": "zoom-out", "−": "zoom-out", 0: "zoom-reset" };
  zoom.attach(stage.querySelector("img"));
  stage.querySelector("[data-zoom]").hidden = false;
  for (const button of stage.querySelectorAll("[data-do]")) button.addEventListener("click", actions[button.dataset.do]);
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || target.closest(TYPING)) return;
    if (event.shiftKey && zoom.zoomed && MOVES[key]) zoom.pan(...MOVES[key]);
    else if (keys[key]) actions[keys[key]]();
    else return;
    event.preventDefault();
  });
}
