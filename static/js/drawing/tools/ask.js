/* Shows a model what is meant: a click on the part or beside it, a box around it, a stroke along it.
   The page asks ("ask" {key, prompts}) and answers by propose(); what it proposes waits on the drawing
   until it is taken ("taken" {key, proposal}), mended by another tool, or refused ("refused"). */
import { gettext } from "../../language.js";
import { boxOf, lengthOf, rounded, same } from "../rings.js";

// Screen pixels: what moves less is a click.
const CLICK_PX = 6;
// A press that rests so long is a point beside the part, for hands without a second button.
const LONG_MS = 500;
// A line so much longer than the way between its ends is a stroke; so is a box so thin.
const WINDING = 1.3;
const THIN = 1 / 6;
const MOST_POINTS = 32;
const MOST_STROKE = 500;
const nothing = () => ({ points: [], box: null, stroke: [] });

export class AskTool {
  #prompts = nothing();
  #answered = nothing(); // what the proposal was made of
  #line = null;
  #pressed = null;
  #timer = 0;
  #asked = false; // an answer is under way
  #proposal = null;
  #told = false; // whether it was told that a proposal waits
  #at = null; // where the keyboard's cursor was when it came

  constructor(board) {
    this.board = board;
  }

  /* {key, proposal, polygons} that waits to be taken, or null. */
  get proposal() {
    return this.#proposal;
  }

  begin(point, how) {
    if (!this.board.mayDraw()) return;
    this.#line = [this.board.clamped(point)];
    this.#pressed = { how, beside: Boolean(how.alt || how.secondary || how.free) };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#rested(), LONG_MS);
  }

  #rested() {
    if (!this.#line || this.#isGesture()) return;
    this.#pressed.beside = true;
    this.#click();
  }

  #isGesture() {
    const { radius, radiusPx } = this.#pressed.how;
    return lengthOf(this.#line) > (CLICK_PX * radius) / radiusPx;
  }

  drag(point) {
    if (!this.#line) return this.hover();
    if (this.#line.length < MOST_STROKE) this.#line.push(this.board.clamped(point));
    return this.#paint();
  }

  end(point) {
    if (!this.#line) return;
    this.drag(point);
    if (!this.#isGesture()) return void this.#click();
    const { box, stroke } = this.#shape();
    this.#take(box ? { ...this.#prompts, box } : { ...this.#prompts, stroke });
  }

  #click() {
    const [[x, y]] = this.#line;
    const { points } = this.#prompts;
    if (points.length >= MOST_POINTS) return void this.#drop(gettext("More points do not help. Correct it by hand."));
    const { box, stroke } = this.#prompts;
    if (this.#pressed.beside && !points.length && !box && !stroke.length) {
      return void this.#drop(gettext("First point at the part itself."));
    }
    this.#take({ ...this.#prompts, points: [...points, [x, y, this.#pressed.beside ? 0 : 1]] });
  }

  #drop(text) {
    this.board.say(text);
    this.cancel();
  }

  /* What was drawn: a stroke where it winds or is thin, else the box around it. */
  #shape() {
    const line = this.#line;
    const [[x0, y0], [x1, y1]] = [line[0], line.at(-1)];
    const [left, top, right, bottom] = boxOf([[[...line]]]);
    const [short, long] = [right - left, bottom - top].sort((a, b) => a - b);
    const straight = Math.hypot(x1 - x0, y1 - y0);
    if (lengthOf(line) > WINDING * straight || short < THIN * long) return { stroke: line.map(rounded) };
    const box = [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
    return { box: rounded(box.slice(0, 2)).concat(rounded(box.slice(2))) };
  }

  #take(prompts) {
    this.cancel();
    this.#prompts = prompts;
    this.#ask();
  }

  #ask() {
    this.#asked = true;
    this.#paint();
    this.board.tell("ask", { key: this.board.selected, prompts: this.#prompts });
  }

  /* The answer: {proposal, polygons} for that part, or null where there is none. */
  propose(key, found, cursor = null) {
    if (key !== this.board.selected || !this.#asked) return;
    this.#asked = false;
    if (found) {
      this.#proposal = { key, ...found };
      this.#at = cursor;
      this.board.whisper(gettext("Proposed: %(part)s. Enter accepts it, Escape rejects it.", { part: this.board.nameOf(key) }));
      this.#answered = this.#prompts;
    } else this.#prompts = this.#answered;
    this.#paint();
  }

  /* Puts what is proposed into the part. */
  take() {
    const taken = this.#proposal;
    if (!taken) return false;
    this.#clear();
    if (!this.board.takeRegion(taken.polygons)) return false;
    this.board.tell("taken", { key: taken.key, proposal: taken.proposal });
    return true;
  }

  refuse(silent = false) {
    const { points, box, stroke } = this.#prompts;
    const begun = this.#proposal || this.#asked || points.length || box || stroke.length;
    if (!begun) return false;
    const { proposal } = this.#proposal ?? {};
    this.#clear();
    this.board.tell("refused", { proposal });
    if (!silent) this.board.whisper(gettext("Rejected."));
    return true;
  }

  #clear() {
    this.#prompts = this.#answered = nothing();
    this.#proposal = null;
    this.#asked = false;
    this.#paint();
  }

  /* Escape. */
  escape() {
    return this.refuse();
  }

  /* Enter: takes what is proposed; where the cursor has moved since, and with Ctrl, another point. */
  enter(point, how) {
    const stays = same(this.#at ?? point, point);
    if (this.#proposal && stays && !how.free) this.take();
    else if (this.board.mayDraw()) {
      this.#line = [this.board.clamped(point)];
      this.#pressed = { how, beside: how.free };
      this.#click();
    }
    return true;
  }

  /* Backspace: without the last point, stroke or box. */
  remove() {
    const { points, box, stroke } = this.#prompts;
    if (!points.length && !box && !stroke.length) return false;
    const rest = { points: points.slice(0, -1), box, stroke };
    if (!points.length) rest[stroke.length ? "stroke" : "box"] = stroke.length ? [] : null;
    const left = rest.points.some(([, , on]) => on) || rest.box || rest.stroke.length;
    if (!left) return this.refuse();
    this.#prompts = rest;
    this.#ask();
    return true;
  }

  hover() {
    this.board.showStroke();
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#line = this.#pressed = null;
    this.#paint();
  }

  get pending() {
    return null;
  }

  #paint() {
    const gesture = this.#line && this.#isGesture() ? this.#shape() : {};
    const { points, box, stroke } = this.#prompts;
    const of = (on) => points.filter((point) => point[2] === on).map(([x, y]) => [x, y]);
    this.board.picture.showProposal({
      polygons: this.#proposal?.polygons ?? [],
      on: of(1),
      beside: of(0),
      box: gesture.box ?? box,
      line: gesture.stroke ?? stroke,
      asked: this.#asked,
    });
    const waits = Boolean(this.#proposal);
    if (waits !== this.#told) this.board.tell("proposal", { waits: (this.#told = waits) });
  }
}
