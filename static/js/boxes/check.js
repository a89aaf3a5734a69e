/* Is this box good? One key; sides that are wrong are named before it, or not at all. The edges of a
   proposed box can be moved. */
import { gettext } from "../language.js";
import { announce } from "../screen.js";
import { SIDES, equal, gripAt } from "./geometry.js";
import { withFlag, withSides } from "./sketch.js";
import { ARROWS } from "./stage.js";
import { SIDE_OF, Step } from "./step.js";
import { cursorOf } from "./draw.js";

// Reasons of which one may say on which sides.
const SIDED = ["loose", "cropping", "shifted"];
const STILL_PX = 4;

export class Check extends Step {
  #grip = null;
  #press = null; // {at, moved}: a pointer that is down beside the edges

  first(value) {
    const { box, flags = [] } = this.shows;
    const sides = (value?.sides ?? []).map((side) => SIDES.indexOf(side));
    return { box: value?.box ?? box, flags: value?.box ? value.flags : flags, sides, points: [] };
  }

  /* Only what a program proposed is mended. */
  get mends() {
    return this.shows.came === "proposed";
  }

  rest() {
    super.rest();
    this.#grip = this.#press = null;
  }

  leave() {
    this.stage.root.dataset.grip = "";
    super.leave();
  }

  scene() {
    const { box, sides } = this.moment;
    const words = this.shows.flags?.length && !this.mends ? this.shows.flags.map((flag) => this.page.flagWords(flag)).join(", ") : "";
    return {
      standing: this.shows.boxes,
      faint: true,
      box: { box, look: "checked", wrong: sides, grips: this.mends, active: this.active, words },
    };
  }

  hint() {
    if (this.mends) return { words: gettext("A program proposed it: correct its edges, then choose Good.") };
    const { sides } = this.moment;
    if (sides.length) return { words: gettext("Now say what is wrong there (1, 2, 3).") };
    return { words: gettext("Wrong edges? Mark them before you say why.") };
  }

  /* Good, as it is or as it was mended. */
  good() {
    const { box, flags, sides } = this.history.now;
    if (sides.length) {
      announce(gettext("You marked an edge as wrong: say what is wrong there, or remove the mark."));
      return null;
    }
    const { box: shown, flags: known = [] } = this.shows;
    const same = equal(box, shown) && flags.length === known.length && flags.every((flag) => known.includes(flag));
    return same || !this.mends ? "good" : { box, flags };
  }

  bad(reason) {
    const { sides } = this.history.now;
    const named = this.mends && this.active !== null ? [this.active] : sides;
    if (!named.length || !SIDED.includes(reason)) return reason;
    return { reason, sides: SIDES.filter((_, place) => named.includes(place)) };
  }

  toggle(flag) {
    if (this.mends) this.commit(withFlag(this.history.now, flag));
  }

  /* Marks a side as wrong, or takes the mark away. */
  mark(side) {
    if (this.mends) return void this.choose(this.active === side ? null : side);
    const now = this.history.now;
    const has = now.sides.includes(side);
    const sides = has ? now.sides.filter((other) => other !== side) : [...now.sides, side].sort();
    return void this.commit({ ...now, sides });
  }

  begin(point, how) {
    const places = gripAt(this.moment.box, point, how.radius);
    this.#press = { at: point, moved: false, places };
    if (places && this.mends) {
      this.#grip = { places, from: point };
      this.active = places.length === 1 ? places[0] : null;
    }
  }

  drag(point, how) {
    const press = this.#press;
    if (!press) return;
    const by = [point[0] - press.at[0], point[1] - press.at[1]];
    if (Math.hypot(...by) > this.px(STILL_PX)) press.moved = true;
    if (!press.moved) return;
    if (this.#grip) {
      const { places } = this.#grip;
      this.live = withSides(this.history.now, places, by, this.size, this.border);
      if (how.touch) this.stage.magnify(point, point, this.live.box);
      this.page.show();
    } else if (!this.stage.isWhole) {
      const { scale } = this.stage.view;
      this.stage.pan(by[0] * scale, by[1] * scale);
    }
  }

  end(point, how) {
    this.drag(point, how);
    this.stage.magnify(null);
    const [press, live] = [this.#press, this.live];
    this.#press = this.#grip = null;
    if (live) this.commit(live);
    else if (press && !press.moved && press.places) this.#pointedAt(press.places);
    else this.page.show();
  }

  #pointedAt(places) {
    if (this.mends) return void this.page.show();
    for (const place of places) this.mark(place);
  }

  cancel() {
    this.#grip = this.#press = null;
    super.cancel();
  }

  hover(point, how) {
    const places = gripAt(this.moment.box, point, how.radius);
    this.stage.root.dataset.grip = places ? (this.mends ? cursorOf(places) : "mark") : "";
  }

  key(event) {
    const { key } = event;
    if (key in ARROWS) {
      if (this.mends) return this.nudge(event);
      if (!event.repeat) this.mark(SIDE_OF[key]);
      return true;
    }
    if (key === "e" && this.mends) return this.nextSide();
    if (key === "Escape") return (this.choose(null), true);
    if (key === "Backspace") return event.repeat || (this.commit(this.first(null)), true);
    return false;
  }

  enters() {
    return false;
  }
}
