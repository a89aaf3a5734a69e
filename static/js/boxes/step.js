/* What the steps have in common: moments that can be undone, a cursor for the keyboard, edges that
   arrows move. draw.js, check.js and cover.js derive from it; page.js asks

     enter(value, kept), leave(), scene(), hint(), answer(): the value to send or null, after saying
     why not; key(event): whether it meant something; begin, drag, end, hover, cancel: pointers.js. */
import { gettext } from "../language.js";
import { History } from "../drawing/history.js";
import { murmur } from "../screen.js";
import { SIDES, inside } from "./geometry.js";
import { withSides } from "./sketch.js";
import { ARROWS } from "./stage.js";

const REACH_PX = 12;
const BORDER_PX = 6;
const STEP_PX = 10;
const FAST = 5;
const IDLE_MS = 500;
// Presses that follow one another so soon are one step to undo.
const SAME_MS = 900;
// What is said of a box, by its key.
export const FLAG_KEYS = { t: "truncated", o: "occluded", d: "difficult", m: "group" };
export const SIDE_OF = { ArrowLeft: 0, ArrowUp: 1, ArrowRight: 2, ArrowDown: 3 };

export class Step {
  history = null;
  live = null; // the moment while a pointer is down
  cursor = null; // where the keyboard is, in image pixels
  active = null; // the side that arrows move, by its place in the box
  #nudged = { side: null, at: 0 };
  #saying = 0;

  constructor(page) {
    this.page = page;
    this.stage = page.stage;
  }

  get shows() {
    return this.page.entry.shows;
  }

  get size() {
    return this.stage.size;
  }

  get moment() {
    return this.live ?? this.history.now;
  }

  /* The moment that an answer came from, or the first one. */
  first() {
    return {};
  }

  enter(value, kept) {
    this.history = kept ? History.of(kept) : new History(this.first(value));
    this.rest();
  }

  /* Nothing is begun or chosen. */
  rest() {
    clearTimeout(this.#saying);
    this.live = this.cursor = this.active = null;
    this.stage.magnify(null);
  }

  commit(moment) {
    this.live = null;
    if (moment === this.history.now) return void this.page.show();
    this.history.add(moment);
    this.page.changed();
  }

  undo() {
    this.live = null;
    if (!this.history.undo()) return false;
    this.page.changed();
    return true;
  }

  redo() {
    if (!this.history.redo()) return false;
    this.page.changed();
    return true;
  }

  /* Image pixels of so many pixels of the screen. */
  px(screen) {
    return screen / this.stage.view.scale;
  }

  get reach() {
    return this.px(REACH_PX);
  }

  /* How near to the image's border a point is taken for one on it. */
  get border() {
    return this.px(BORDER_PX);
  }

  inside(point) {
    return inside(point, this.size, this.border);
  }

  /* The cursor goes one step; at first it is in the middle of what is seen. */
  moveCursor(event) {
    const { width, height } = this.stage.view.screen;
    const [dx, dy] = ARROWS[event.key];
    const step = Math.max(0.1, this.px(event.altKey ? 1 : event.shiftKey ? STEP_PX * FAST : STEP_PX));
    const [x, y] = this.cursor ?? this.stage.pointed ?? this.stage.view.toImage([width / 2, height / 2]);
    this.cursor = inside([x + dx * step, y + dy * step], this.size);
    this.stage.reveal(this.cursor);
    this.page.show();
    this.say(() => this.cursor?.join(", ") ?? "");
    return true;
  }

  /* Tells those who listen once the keys rest. */
  say(words) {
    clearTimeout(this.#saying);
    this.#saying = setTimeout(() => murmur(words()), IDLE_MS);
  }

  /* An arrow along the chosen side's way moves it, by a pixel of the image or by ten; across it
     chooses the side there. */
  nudge(event) {
    const [dx, dy] = ARROWS[event.key];
    const moves = this.active !== null && (this.active % 2 ? dy : dx) !== 0;
    if (!moves) this.choose(SIDE_OF[event.key]);
    else {
      const by = event.shiftKey ? 10 : 1;
      const moment = withSides(this.history.now, [this.active], [dx * by, dy * by], this.size);
      const now = performance.now();
      const again = this.#nudged.side === this.active && now - this.#nudged.at < SAME_MS;
      this.#nudged = { side: this.active, at: now };
      if (moment !== this.history.now) {
        if (again) this.history.replace(moment);
        else this.history.add(moment);
      }
      this.page.changed();
    }
    this.say(() => this.#sideInWords());
    return true;
  }

  choose(side) {
    this.active = side;
    this.#nudged.side = null;
    this.page.show();
  }

  nextSide() {
    this.choose(this.active === null ? 0 : (this.active + 1) % 4);
    this.say(() => this.#sideInWords());
    return true;
  }

  #sideInWords() {
    const { box } = this.moment;
    if (!box || this.active === null) return "";
    const at = { at: box[this.active] };
    const words = {
      left: gettext("left edge at %(at)s", at),
      top: gettext("top edge at %(at)s", at),
      right: gettext("right edge at %(at)s", at),
      bottom: gettext("bottom edge at %(at)s", at),
    };
    return words[SIDES[this.active]];
  }

  leave() {
    this.rest();
  }

  begin() {}
  drag() {}
  end() {}
  hover() {}

  cancel() {
    this.live = null;
    this.stage.magnify(null);
    this.page.show();
  }
}
