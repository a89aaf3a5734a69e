/* What is drawn, and what tools may do with it: moments, snapping, strokes, painting.

   The board knows parts and shapes, not the screen; `picture` shows what it is told. Events leave by
   `tell(name, detail)`, words by `say(text)` and, where only a listener needs them, `whisper(text)`. */
import { gettext, ngettext, sentences } from "../language.js";
import { area, boxOf, cornersOf, lineCrossing, pieceAt, rounded, same, tidy } from "./rings.js";
import {
  applyRegion, applyRing, checked, mirrored, overlapsIn, removeAt, ringFault, withoutOverlap,
} from "./changes.js";
import { History } from "./history.js";
import { historyOf, stepsOf } from "./steps.js";
import { snap, ways } from "./snapping.js";

const number = new Intl.NumberFormat("en");

export class Board {
  tool = null;
  selected = null;
  hidden = new Set();
  fixed = new Map();
  tracing = true;
  gluing = true;
  cutting = false;
  #history = new History({ shapes: new Map(), strokes: new Map() });
  #shown = null; // shapes in the middle of a drag
  #hover = {};
  #sources = null;
  #overlaps = { of: null, found: [] };

  constructor({ parts, width, height, picture, say, whisper, tell }) {
    Object.assign(this, { parts, size: { width, height }, picture, say, whisper, tell });
  }

  get shapes() {
    return this.#history.now.shapes;
  }

  /* Of each part that has one, its unfinished stroke: {corners, leg}. */
  get strokes() {
    return this.#history.now.strokes;
  }

  /* The chosen part's. */
  get stroke() {
    return this.strokes.get(this.selected) ?? null;
  }

  get canUndo() {
    return this.#history.canUndo;
  }

  get canRedo() {
    return this.#history.canRedo;
  }

  part(key) {
    return this.parts.find((part) => part.key === key) ?? { key, name: key };
  }

  nameOf = (key) => this.part(key).name;

  /* Whether there is a part to draw for; says what to do where there is none. */
  mayDraw() {
    if (this.selected === null) {
      this.say(gettext("Choose a part first; then draw it."));
      return false;
    }
    if (this.hidden.has(this.selected)) this.hide(this.selected, false);
    return true;
  }

  select(key) {
    if (key === this.selected) return;
    this.selected = key;
    this.paint();
    const polygons = this.shapes.get(key) ?? [];
    if (key !== null) this.whisper(`${this.nameOf(key)}: ${describe(polygons)}`);
    this.tell("select", { key });
  }

  hide(key, hidden) {
    if (hidden) this.hidden.add(key);
    else this.hidden.delete(key);
    this.#sources = null;
    this.paint();
    this.#showOverlaps();
  }

  setFixed(fixed) {
    this.fixed = fixed;
    this.#sources = null;
    this.paint();
  }

  /* The topmost part under a point: the selected one, else the last in the list. */
  partAt(point) {
    const keys = [this.selected, ...[...this.shapes.keys()].reverse()];
    return keys.find(
      (key) => !this.hidden.has(key) && pieceAt(this.shapes.get(key) ?? [], point) >= 0,
    );
  }

  /* What can be snapped to: every visible part. */
  neighbours() {
    if (this.#sources) return this.#sources;
    const rows = (map, fixed) => [...map].map(([key, polygons]) => ({ key, polygons, fixed }));
    const all = [...rows(this.shapes, false), ...rows(this.fixed, true)];
    this.#sources = all.filter(({ key, polygons }) => polygons.length && !this.hidden.has(key));
    return this.#sources;
  }

  /* Those of them that may be changed. */
  editable() {
    return this.neighbours().filter(({ fixed }) => !fixed);
  }

  clamped([x, y]) {
    const { width, height } = this.size;
    return rounded([Math.min(width, Math.max(0, x)), Math.min(height, Math.max(0, y))]);
  }

  /* {point, on}: the point on tenths, at the neighbour `on` that is within reach. */
  snapped(point, how, skip = null) {
    const inside = this.clamped(point);
    if (!this.gluing || how.free) return { point: inside, on: null };
    const sources = skip ? this.neighbours().filter((n) => n.fixed || !skip.has(n.key)) : this.neighbours();
    const place = snap(point, how.radius, sources);
    return place ? { point: place.point, on: place.key } : { point: inside, on: null };
  }

  /* Moments */

  #add(shapes, stroke, reason) {
    this.#history.add({ shapes, strokes: this.#strokesWith(stroke) });
    this.#moved(reason);
  }

  /* The strokes with another one of the chosen part, or none. */
  #strokesWith(stroke) {
    if (stroke === this.stroke) return this.strokes;
    const strokes = new Map(this.strokes);
    if (stroke) strokes.set(this.selected, stroke);
    else strokes.delete(this.selected);
    return strokes;
  }

  #moved(reason) {
    this.#shown = null;
    this.#sources = null;
    this.#hover = {};
    this.paint();
    this.tell("change", { reason });
    this.tell("history", { canUndo: this.canUndo, canRedo: this.canRedo });
  }

  reset(shapes, strokes, keepHistory) {
    if (keepHistory) this.#history.add({ shapes, strokes });
    else this.#history = new History({ shapes, strokes });
    this.#moved("load");
  }

  /* As stepsOf gives them. */
  steps(room) {
    return stepsOf(this.#history.kept, room);
  }

  /* Goes on with these steps, if they lead to what is there now. */
  takeSteps(steps) {
    const history = historyOf(steps, this.#history.now);
    if (!history) return;
    this.#history = history;
    this.#moved("load");
  }

  undo() {
    const before = this.strokes;
    if (!this.#history.undo()) return void this.say(gettext("Nothing to undo."));
    this.#follow(before);
    this.whisper(sentences(gettext("Undone."), this.#standing()));
    return this.#moved("undo");
  }

  redo() {
    const before = this.strokes;
    if (!this.#history.redo()) return void this.say(gettext("Nothing to redo."));
    this.#follow(before);
    this.whisper(sentences(gettext("Redone."), this.#standing()));
    return this.#moved("redo");
  }

  /* Chooses the part whose stroke was undone or redone, or that would happen out of sight. */
  #follow(before) {
    if (before === this.strokes) return;
    const changed = (key) => before.get(key) !== this.strokes.get(key);
    const keys = [...new Set([...before.keys(), ...this.strokes.keys()])].filter(changed);
    if (keys.length && !keys.includes(this.selected)) this.select(keys[0]);
  }

  /* Without outline and unfinished stroke of a part, by one step. */
  clear(key) {
    if (!this.shapes.get(key)?.length && !this.strokes.has(key)) return;
    const strokes = new Map(this.strokes);
    strokes.delete(key);
    this.reset(new Map(this.shapes).set(key, []), strokes, true);
  }

  #standing() {
    if (this.stroke) return gettext("Unfinished, %(corners)s.", { corners: cornersInWords(this.stroke.corners.length) });
    const key = this.selected;
    return key === null ? "" : `${this.nameOf(key)}: ${describe(this.shapes.get(key) ?? [])}`;
  }

  /* Strokes */

  setStroke(stroke, at = null) {
    const kept = stroke?.corners.length ? stroke : null;
    if (at) {
      const on = this.neighbours().find(({ polygons }) =>
        polygons.flat(2).some((corner) => same(corner, at)),
      );
      const values = { part: this.nameOf(this.selected), number: kept.corners.length, x: at[0], y: at[1] };
      this.whisper(
        on
          ? gettext("%(part)s, corner %(number)s at %(x)s, %(y)s, on the %(other)s.", { ...values, other: this.nameOf(on.key) })
          : gettext("%(part)s, corner %(number)s at %(x)s, %(y)s.", values),
      );
    }
    this.#add(this.shapes, kept, "corner");
  }

  /* Closes the unfinished stroke, or a line drawn freehand. What cannot be closed stays, with why. */
  finishStroke(line = null) {
    const corners = line ?? this.stroke?.corners ?? [];
    const [first, last] = [corners[0], corners.at(-1)];
    const closing = this.tracing && corners.length > 1 && ways(last, first, this.neighbours());
    if (this.finishRing(tidy([...corners, ...((closing && closing.short) || [])]))) return true;
    if (line) this.#add(this.shapes, { corners: line, leg: null }, "corner");
    this.showStroke();
    return false;
  }

  finishRing(ring) {
    if (!this.mayDraw()) return false;
    const { cutting: cut, fixed } = this;
    return this.#apply((part) => applyRing(this.shapes, part, ring, { cut, fixed }), ring.length);
  }

  cutRegion(region) {
    const { fixed } = this;
    return this.#apply((part) => applyRegion(this.shapes, part, region, { cut: true, fixed }), 0);
  }

  /* Adds a region to the chosen part, or takes it away where cutting is on. */
  takeRegion(region) {
    const { cutting: cut, fixed } = this;
    return this.#apply((part) => applyRegion(this.shapes, part, region, { cut, fixed }), 0);
  }

  #apply(change, corners) {
    const part = this.part(this.selected);
    const done = attempt(() => change(part));
    if (done.refused) {
      this.say(done.refused);
      this.showStroke();
      return false;
    }
    const stroke = corners ? null : this.stroke;
    this.#add(done.shapes, stroke, "stroke");
    if (done.note) this.say(done.note);
    const ring = corners ? gettext("closed with %(corners)s;", { corners: cornersInWords(corners) }) : "";
    this.whisper([part.name, ring, describe(done.shapes.get(part.key))].filter(Boolean).join(" "));
    return true;
  }

  /* Takes back the last corner of the stroke, or all of it. Both can be undone. */
  shorten(all = false) {
    if (!this.stroke) return false;
    const { corners: before, marks } = this.stroke;
    const rest = marks?.slice(0, -1);
    const corners = all ? [] : before.slice(0, rest ? (rest.at(-1) ?? -1) + 1 : -1);
    this.setStroke({ corners, leg: null, ...(rest?.length && { marks: rest }) });
    this.whisper(all ? gettext("Stroke cancelled.") : gettext("Corner removed, %(count)s left.", { count: corners.length }));
    return true;
  }

  /* Changes of what is there */

  preview(shapes) {
    this.#shown = shapes;
    this.paint();
    for (const [key, polygons] of shapes ?? []) {
      if (polygons === this.shapes.get(key)) continue;
      const wrong = ringFault(polygons);
      if (wrong) return this.picture.markFault(key, wrong.point);
    }
    return null;
  }

  /* Takes shapes that were changed by hand, or says why not. */
  commitChecked(shapes, note = "") {
    const done = attempt(() => checked(this.shapes, shapes, this.fixed, this.nameOf));
    if (done.refused) {
      this.preview(null);
      this.say(done.refused);
      return false;
    }
    this.commit(done.shapes, note);
    return true;
  }

  commit(shapes, note = "") {
    this.#add(shapes, this.stroke, "stroke");
    const polygons = shapes.get(this.selected) ?? [];
    const said = this.selected === null ? "" : `${this.nameOf(this.selected)}: ${describe(polygons)}`;
    this.whisper(`${note} ${said}`.trim());
  }

  removeAt(point) {
    const shapes = this.selected !== null && removeAt(this.shapes, this.selected, point);
    if (!shapes) return void this.say(gettext("No piece of the chosen part lies there."));
    return this.commit(shapes, "Piece deleted.");
  }

  /* Without what is `whole`: the object's own outline overlaps none of its parts. */
  #parted(shapes) {
    return new Map([...shapes].filter(([key]) => !this.part(key).whole));
  }

  /* Whether one of two parts may lie on the other, by the vocabulary. */
  mayOverlap = (a, b) => Boolean(this.part(a).holds?.includes(b) || this.part(b).holds?.includes(a));

  minimizeOverlap() {
    const allowed = { mayOverlap: this.mayOverlap, takesHoles: (key) => this.part(key).holes !== false };
    const parted = this.#parted(this.shapes);
    const done = attempt(() => withoutOverlap(parted, this.fixed, this.selected, allowed));
    if (done.refused) return void this.say(done.refused);
    const changed = [...done.shapes].some(([key, polygons]) => polygons !== this.shapes.get(key));
    if (changed) this.commit(new Map([...this.shapes, ...done.shapes]), "Overlap removed.");
    const { vanish, pierced } = done.kept;
    const names = (keys) => keys.map(this.nameOf).join(", ");
    if (vanish.length) this.say(gettext("%(parts)s would be covered completely by other parts, so it was not changed.", { parts: names(vanish) }));
    else if (pierced.length) {
      this.say(gettext("%(parts)s would get a hole but may have none, so it was not changed: move one of the two.", { parts: names(pierced) }));
    } else if (!changed) this.say(gettext("No forbidden overlaps."));
    return changed;
  }

  copyMirrored(from, to) {
    const polygons = this.shapes.get(from) ?? this.fixed.get(from) ?? [];
    if (!polygons.length) return void this.say(gettext("There is no %(part)s yet to copy.", { part: this.nameOf(from) }));
    const all = [...this.shapes.values(), ...this.fixed.values()].filter((each) => each.length);
    const turned = mirrored(polygons, boxOf(all.flat()), this.size.width);
    const { fixed } = this;
    const done = attempt(() => applyRegion(this.shapes, this.part(to), turned, { fixed }));
    if (done.refused) return void this.say(done.refused);
    this.select(to);
    this.commit(done.shapes, gettext("Copied from the %(part)s; drag it into place.", { part: this.nameOf(from) }));
    return true;
  }

  overlaps() {
    const shapes = this.#shown ?? this.shapes;
    const { of, fixed, found: before } = this.#overlaps;
    if (of === shapes && fixed === this.fixed) return before;
    const keys = new Set([...shapes.keys(), ...(of?.keys() ?? [])]);
    const changed = new Set([...keys].filter((key) => shapes.get(key) !== of?.get(key)));
    const some = of && fixed === this.fixed ? changed : null;
    const parted = this.#parted(shapes);
    const found = attempt(() => ({ found: overlapsIn(parted, this.fixed, this.mayOverlap, some, before) })).found ?? [];
    this.#overlaps = { of: shapes, fixed: this.fixed, found };
    return found;
  }

  /* Painting */

  /* Corners of the unfinished stroke, and what the next one would add. */
  get lines() {
    return [this.stroke?.corners ?? [], this.#hover.preview ?? []].filter((line) => line.length > 1);
  }

  showStroke(hover = {}) {
    this.#hover = hover;
    this.#paintStroke();
  }

  showBrush(point, radius) {
    this.picture.showBrush(point, radius);
  }

  paint() {
    const { picture } = this;
    const shapes = this.#shown ?? this.shapes;
    const wanted = new Set();
    const places = new Map(this.parts.map((part, index) => [part.key, index]));
    const show = (map, prefix, fixed) => {
      for (const [key, polygons] of map) {
        const index = places.get(key) ?? -1;
        const about = { number: index < 0 ? "·" : index + 1, fixed, colour: index < 0 ? 7 : index };
        const name = index < 0 ? key : this.parts[index].name;
        picture.showPart(prefix + key, polygons, { ...about, name });
        wanted.add(prefix + key);
      }
    };
    show(this.fixed, "fixed ", true);
    show(shapes, "", false);
    for (const key of picture.partKeys) if (!wanted.has(key)) picture.dropPart(key);
    const hidden = [...this.hidden].flatMap((key) => [key, `fixed ${key}`]);
    picture.mark(this.selected, new Set(hidden));
    picture.markFault(null, null);
    this.#paintOverlaps();
    this.#paintStroke();
  }

  #paintOverlaps() {
    const before = this.#overlaps.found;
    const found = this.overlaps();
    if (found === before) return;
    this.#showOverlaps();
    const bare = (list) => JSON.stringify(list.map(({ a, b, area: size }) => [a, b, size]));
    if (bare(before) !== bare(found)) this.tell("overlap", { overlaps: found.map(plain) });
  }

  #showOverlaps() {
    const found = this.overlaps();
    const seen = found.filter(({ a, b }) => !this.hidden.has(a) && !this.hidden.has(b));
    this.picture.showOverlaps(seen.map(({ polygons }) => polygons));
  }

  #paintStroke() {
    const corners = this.stroke?.corners ?? [];
    const { preview = [], fault: place = null, wide = 0, target = null } = this.#hover;
    const crossed = place ?? (corners.length > 1 ? lineCrossing(corners)?.point : null);
    const waiting = [...this.strokes].filter(([key]) => key !== this.selected && !this.hidden.has(key));
    this.picture.showWaiting(waiting.map(([, stroke]) => stroke.corners));
    this.picture.showStroke({ corners, preview, fault: crossed, wide });
    const editing = this.tool?.step;
    const { marks } = this.stroke ?? {};
    const own = editing ? ((this.#shown ?? this.shapes).get(this.selected) ?? []).flat(2) : [];
    const placed = marks ? marks.map((index) => corners[index]) : corners;
    this.picture.showHandles([...own, ...placed], editing ? this.tool.active : target);
  }
}

const cornersInWords = (value) => ngettext("%(count)s corner", "%(count)s corners", value, { count: number.format(value) });

/* "2 pieces, 31 corners, 1,240 square pixels". */
export function describe(polygons) {
  if (!polygons.length) return gettext("nothing drawn.");
  const corners = cornersInWords(cornersOf(polygons));
  const size = number.format(Math.round(area(polygons)));
  return polygons.length > 1
    ? gettext("%(count)s pieces, %(corners)s, %(size)s square pixels.", { count: polygons.length, corners, size })
    : gettext("%(corners)s, %(size)s square pixels.", { corners, size });
}

export const plain = ({ a, b, area: size }) => ({ a, b, area: size });

/* What comes of a change; a fault of the geometry becomes a sentence, and nothing is lost. */
function attempt(change) {
  try {
    return change();
  } catch (error) {
    console.warn(error);
    return { refused: gettext("These outlines could not be joined. Move a corner slightly and try again.") };
  }
}

