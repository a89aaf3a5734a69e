/* All boxes of a class in an image, one of which is in hand: for whoever reviews them.

   A moment is that of the box in hand (sketch.js), with done: the others as rows {box, flags, came}, and
   place: where among them the one in hand belongs, null at the end. */
import { gettext } from "../language.js";
import { announce } from "../screen.js";
import { Draw } from "./draw.js";
import { gripAt } from "./geometry.js";
import { EMPTY, shorter } from "./sketch.js";

const CAME = { clicks: "clicked", drag: "drawn" };

/* The moment with the box in hand put back among the others. */
export function stowed(moment) {
  const { box, flags, how, done, place } = moment;
  if (!box) return moment;
  const row = { box, flags, came: CAME[how] ?? how };
  return { ...EMPTY, done: done.toSpliced(place ?? done.length, 0, row), place: null };
}

/* The moment with another of the boxes in hand. */
export function chosen(moment, place) {
  const { done } = stowed(moment);
  const { box, flags, came } = done[place];
  return { points: [], box, flags, how: came, done: done.toSpliced(place, 1), place };
}

/* All boxes, as an answer has them. */
export const rowsOf = (moment) => stowed(moment).done;

export class Many extends Draw {
  first(rows) {
    return { ...EMPTY, done: rows ?? [], place: null };
  }

  get standing() {
    return this.history.now.done.map(({ box }) => box);
  }

  hint() {
    const { box, points, done } = this.moment;
    if (this.fault) return { words: this.fault, tone: "bad" };
    if (box) return { words: gettext("Move its edges, draw the next box, or click an edge of another box to change it.") };
    if (points.length || !done.length) return super.hint();
    return { words: gettext("Draw what has no box, or click an edge of a box to change it.") };
  }

  begin(point, how) {
    const { box, done } = this.history.now;
    if (!(box && gripAt(box, point, how.radius))) {
      const place = done.findIndex((row) => gripAt(row.box, point, how.radius));
      if (place >= 0) this.choosePlace(place + (box && this.#before(place) ? 1 : 0));
      else if (box && !this.fault) this.history.add(stowed(this.history.now));
      else if (box) return void announce(this.fault);
    }
    super.begin(point, how);
  }

  /* Whether the box in hand belongs before that one of the others. */
  #before(place) {
    const { place: own } = this.history.now;
    return own !== null && own <= place;
  }

  /* Takes the box at that place of the list in hand. */
  choosePlace(place) {
    if (this.fault) return void announce(this.fault);
    this.active = null;
    return void this.commit(chosen(this.history.now, place));
  }

  removePlace(place) {
    this.active = null;
    const done = rowsOf(this.history.now).toSpliced(place, 1);
    this.commit({ ...EMPTY, done, place: null });
  }

  /* Which of the rows is in hand; -1 for none. */
  get inHand() {
    const { box, place, done } = this.history.now;
    return box ? (place ?? done.length) : -1;
  }

  key(event) {
    const { now } = this.history;
    if (event.key === "Escape" && now.box && !this.fault) return (this.commit(stowed(now)), true);
    if ((event.key === "Backspace" || event.key === "Delete") && now.box && !event.repeat) {
      this.active = null;
      this.commit({ ...shorter(now), flags: [], place: null });
      return true;
    }
    return super.key(event);
  }

  /* All boxes, or null after saying why not. */
  answer() {
    const { points, box } = this.history.now;
    if (this.fault) return (announce(this.fault), null);
    if (points.length && !box) return (announce(gettext("A box is not finished: place its last points, or remove them.")), null);
    return rowsOf(this.history.now);
  }
}

