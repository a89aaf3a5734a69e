/* One box around one that has none yet: from corner to corner, or by its four outermost points
   (extreme clicking, Papadopoulos et al. 2017). Its edges can then be moved. */
import { gettext, sentences } from "../language.js";
import { announce } from "../screen.js";
import { gripAt, hasArea, moveSides, sidesInWords } from "./geometry.js";
import { faultOf, fromValue, growing, shorter, valueOf, withCorners, withFlag, withPoint, withSides } from "./sketch.js";
import { ARROWS } from "./stage.js";
import { Step } from "./step.js";

const CURSORS = { 0: "ew", 2: "ew", 1: "ns", 3: "ns", "0,1": "nwse", "2,3": "nwse", "2,1": "nesw", "0,3": "nesw" };
const LEFT = [
  gettext("Four points left."), gettext("Three points left."), gettext("Two points left."), gettext("One point left."),
];
const DRAGGED_PX = 4;
const HELD_PX = 2;

export const cursorOf = (places) => (places ? CURSORS[places.join()] : "");

export class Draw extends Step {
  #grip = null; // {places, box, from}: sides that are held
  #from = null; // the first corner
  #aim = null; // the point that is about to be placed

  first(value) {
    return fromValue(value);
  }

  get way() {
    return this.page.way;
  }

  rest() {
    super.rest();
    this.#grip = this.#from = this.#aim = null;
  }

  leave() {
    this.stage.root.dataset.grip = "";
    super.leave();
  }

  /* Boxes that are there already. */
  get standing() {
    return this.shows.boxes;
  }

  get fault() {
    return faultOf(this.moment, this.standing);
  }

  scene() {
    const { rejected, at } = this.shows;
    const { box, points } = this.moment;
    const look = this.fault ? "faulty" : "mine";
    const aim = this.#aim ?? this.cursor;
    return {
      standing: this.standing,
      rejected: rejected && { ...rejected, words: this.#rejection(rejected) },
      at: box ? null : at,
      box: box && { box, look, grips: !this.#from, active: this.active },
      growing: box ? null : growing(this.moment, this.way === "clicks" && points.length ? (aim ?? this.stage.pointed) : null),
      points: this.#aim ? [...points, this.#aim] : points,
      cursor: this.cursor,
    };
  }

  #rejection({ reason, sides }) {
    return [gettext("Sent back:"), this.page.wordsOf(reason).toLowerCase(), sidesInWords(sides)].filter(Boolean).join(" ");
  }

  hint() {
    const { box, points } = this.moment;
    if (this.fault) return { words: this.fault, tone: "bad" };
    if (box && this.#from === null) return { words: gettext("Move the edges that do not fit, then send it.") };
    if (this.way === "drag") {
      return { words: this.#from ? gettext("To the opposite corner.") : gettext("Drag from one corner to the opposite one.") };
    }
    if (!points.length) return { words: gettext("Click its outermost points: left, top, right, bottom.") };
    return { words: LEFT[points.length] };
  }

  answer() {
    const value = valueOf(this.history.now);
    const { words } = this.hint();
    if (!value || this.fault) return (announce(value ? words : sentences(gettext("No box yet."), words)), null);
    return value;
  }

  /* Nothing is left to draw, unless something was drawn. */
  none() {
    if (this.history.now.box || this.history.now.points.length) {
      announce(gettext("You have started a box: send it, or remove it first (Backspace)."));
      return null;
    }
    return "none";
  }

  toggle(flag) {
    this.commit(withFlag(this.history.now, flag));
  }

  /* Another way to draw: points of an unfinished box go. */
  changeWay() {
    this.#from = this.#aim = null;
    const { now } = this.history;
    if (now.points.length && !now.box) this.commit({ ...now, points: [] });
  }

  /* By pointer */

  begin(point, how) {
    this.cursor = null;
    const { box } = this.history.now;
    const places = box && gripAt(box, point, how.radius);
    if (places) {
      this.#grip = { places, box, from: point };
      this.active = places.length === 1 ? places[0] : null;
    } else if (this.way === "drag") this.#from = this.inside(point);
    else if (!box) this.#aim = this.inside(point);
    this.drag(point, how);
  }

  drag(point, how) {
    this.stage.point(null);
    if (this.#grip) this.#hold(point, how);
    else if (this.#from) {
      const to = this.inside(point);
      const drawn = withCorners(this.history.now, this.#from, to);
      // A press that hardly moves draws nothing: what was drawn before stays.
      const far = Math.hypot(to[0] - this.#from[0], to[1] - this.#from[1]) > this.px(DRAGGED_PX);
      this.live = far && hasArea(drawn.box) ? drawn : null;
      this.#magnify(to, point, how, drawn.box);
    } else if (this.#aim) {
      this.#aim = this.inside(point);
      this.stage.point(this.#aim);
      this.#magnify(this.#aim, point, how, growing(this.history.now, this.#aim));
    }
    this.page.show();
  }

  #hold(point, how) {
    const { places, from, box } = this.#grip;
    const by = [point[0] - from[0], point[1] - from[1]];
    // A press alone moves nothing, not even to the border of the image.
    if (!this.live && Math.hypot(...by) <= this.px(HELD_PX)) return;
    this.live = withSides(this.history.now, places, by, this.size, this.border);
    const moved = moveSides(box, places, by, this.size, this.border);
    const held = [0, 1].map((axis) => {
      const place = places.find((side) => side % 2 === axis);
      return place === undefined ? point[axis] : moved[place];
    });
    this.#magnify(held, point, how, moved);
  }

  #magnify(focus, finger, how, box) {
    if (how.touch) this.stage.magnify(focus, finger, box);
  }

  end(point, how) {
    this.drag(point, how);
    this.stage.magnify(null);
    const [live, aim] = [this.live, this.#aim];
    this.#grip = this.#from = this.#aim = null;
    if (how.touch || live) this.stage.point(null);
    if (live) this.commit(live);
    else if (aim) this.place(aim);
    else this.page.show();
  }

  cancel() {
    this.#grip = this.#from = this.#aim = null;
    super.cancel();
  }

  hover(point, how) {
    this.cursor = null;
    const { box, points } = this.history.now;
    const places = box && gripAt(box, point, how.radius);
    this.stage.root.dataset.grip = cursorOf(places);
    this.stage.point(box ? null : this.inside(point));
    if (points.length && !box) this.page.show();
  }

  /* Places one of the four points. */
  place(point) {
    const next = withPoint(this.history.now, point);
    if (next.box && !hasArea(next.box)) {
      announce(gettext("These four points do not make a box. Click its outermost points."));
      return;
    }
    if (next.box) {
      this.cursor = null;
      this.stage.point(null);
    }
    this.commit(next);
  }

  /* By key */

  key(event) {
    const { key } = event;
    const { box } = this.history.now;
    if (key in ARROWS) return box && !this.#from ? this.nudge(event) : this.#moveCursor(event);
    if (key === " " && this.cursor) return event.repeat || (this.#press(), true);
    if (key === "e" && box) return this.nextSide();
    if (key === "Backspace" || key === "Delete") return event.repeat || this.#shorten();
    if (key === "Escape") return this.#escape();
    return false;
  }

  #moveCursor(event) {
    this.moveCursor(event);
    if (this.#from) {
      const drawn = withCorners(this.history.now, this.#from, this.cursor);
      this.live = hasArea(drawn.box) ? drawn : null;
      this.page.show();
    }
    return true;
  }

  /* What a click would do where the cursor is. */
  #press() {
    if (this.way === "clicks") return void this.place(this.cursor);
    if (!this.#from) {
      this.#from = this.cursor;
      return void this.page.show();
    }
    this.#from = null;
    if (!this.live) return void this.page.show();
    this.cursor = null;
    return void this.commit(this.live);
  }

  /* Whether Enter places a point: while there is no box to send. */
  enters() {
    if (this.history.now.box || !this.cursor) return false;
    this.#press();
    return true;
  }

  #shorten() {
    const { box, points } = this.history.now;
    if (!box && !points.length) return true;
    this.active = null;
    this.commit(shorter(this.history.now));
    return true;
  }

  #escape() {
    this.#from = this.#aim = this.live = this.active = this.cursor = null;
    this.page.show();
    return true;
  }
}
