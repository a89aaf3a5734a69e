/* Does every instance have its box? Yes, or a point in each that has none. */
import { gettext } from "../language.js";
import { announce } from "../screen.js";
import { ARROWS } from "./stage.js";
import { Step } from "./step.js";

const STILL_PX = 6;
const MOST = 100;

export class Cover extends Step {
  #press = null;

  first(value) {
    return { pins: value?.missing ?? [] };
  }

  rest() {
    super.rest();
    this.#press = null;
  }

  scene() {
    return { standing: this.shows.boxes, pins: this.moment.pins, cursor: this.cursor };
  }

  hint() {
    const { length } = this.moment.pins;
    if (length) return { words: gettext("%(count)s without a box. Click a point to remove it.", { count: length }) };
    return { words: gettext("Yes; or click on each that has no box.") };
  }

  complete() {
    if (!this.history.now.pins.length) return "complete";
    announce(gettext("You marked objects without a box: send them, or remove the points first."));
    return null;
  }

  answer() {
    const { pins } = this.history.now;
    if (!pins.length) return (announce(gettext("Click on each that has no box, or answer yes (y).")), null);
    return { missing: pins };
  }

  /* The pin within reach of a point; -1 without one. */
  #pinAt(point, reach) {
    return this.history.now.pins.findIndex(([x, y]) => Math.hypot(x - point[0], y - point[1]) <= reach);
  }

  /* Points at one, or takes the point that is there away. */
  place(point, reach) {
    const { pins } = this.history.now;
    const there = this.#pinAt(point, reach);
    if (there >= 0) return void this.commit({ pins: pins.filter((_, place) => place !== there) });
    if (pins.length >= MOST) return void announce(gettext("%(count)s points can be sent at once. Send these first.", { count: MOST }));
    return void this.commit({ pins: [...pins, this.inside(point)] });
  }

  begin(point, how) {
    this.cursor = null;
    this.#press = { at: point, moved: false };
    if (how.touch) this.stage.magnify(point);
  }

  drag(point, how) {
    const press = this.#press;
    if (!press) return;
    if (how.touch) return void this.stage.magnify(point);
    const by = [point[0] - press.at[0], point[1] - press.at[1]];
    if (Math.hypot(...by) > this.px(STILL_PX)) press.moved = true;
    const { scale } = this.stage.view;
    if (press.moved && !this.stage.isWhole) this.stage.pan(by[0] * scale, by[1] * scale);
  }

  end(point, how) {
    const press = this.#press;
    this.#press = null;
    this.stage.magnify(null);
    if (press && !press.moved) this.place(point, how.radius);
    else this.page.show();
  }

  cancel() {
    this.#press = null;
    super.cancel();
  }

  hover(point, how) {
    this.cursor = null;
    this.stage.root.dataset.grip = this.#pinAt(point, how.radius) >= 0 ? "mark" : "";
  }

  key(event) {
    const { key } = event;
    if (key in ARROWS) return this.moveCursor(event);
    if (key === " " && this.cursor) return event.repeat || (this.place(this.cursor, this.reach), true);
    if (key === "Backspace" || key === "Delete") return event.repeat || this.#shorten();
    if (key === "Escape") {
      this.cursor = null;
      this.page.show();
      return true;
    }
    return false;
  }

  enters() {
    if (this.history.now.pins.length || !this.cursor) return false;
    this.place(this.cursor, this.reach);
    return true;
  }

  #shorten() {
    const { pins } = this.history.now;
    if (pins.length) this.commit({ pins: pins.slice(0, -1) });
    return true;
  }
}
