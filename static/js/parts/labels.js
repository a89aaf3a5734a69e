/* A person's labels of an object's parts. Pure: the shapes are the drawing's, {key: polygons}.

   A part is drawn where the drawing has polygons of it, whatever state it has; so undoing a stroke
   brings back the state that it had. What the import holds stands, and is no shape of the drawing,
   until a drawing or a state replaces it. */
import { gettext, listed } from "../language.js";

/* The key of the object's own outline among the shapes. */
export const OUTLINE = "object";
export const STATES = ["not_visible", "occluded"];

export const isDrawn = (polygons) => Boolean(polygons?.length);

export class PartLabels {
  /* parts: of the category. object: as annotator/kinds/parts.py sends it. */
  constructor(parts, object, { half: askHalf, outline: askOutline }) {
    const outline = { key: OUTLINE, name: gettext("whole object"), several: true, holes: true, mirror: "" };
    this.parts = askOutline && !object.outline ? [...parts, outline] : parts;
    this.missing = object.missing;
    this.given = object.given;
    this.askHalf = askHalf;
    this.states = {};
    this.half = null;
    // Of parts that came of what a model proposed: {proposal, edits} by their keys.
    this.came = {};
  }

  /* Whether the question comes first: can at least half of the missing parts be drawn? */
  get asksHalf() {
    return this.askHalf && this.missing.length > 0 && this.half !== true;
  }

  part(key) {
    return this.parts.find((part) => part.key === key);
  }

  /* The polygons of an answer. */
  shapes(value) {
    const shapes = {};
    for (const [key, { polygons }] of Object.entries(value?.parts || {})) {
      if (polygons && this.part(key)) shapes[key] = polygons;
    }
    if (value?.outline && this.part(OUTLINE)) shapes[OUTLINE] = value.outline;
    return shapes;
  }

  /* What the import holds and nobody has replaced here. */
  importedShapes(shapes) {
    const keys = Object.keys(this.given).filter((key) => this.of(key, shapes) === "given");
    return Object.fromEntries(keys.map((key) => [key, this.given[key].polygons]));
  }

  /* Takes over what an earlier answer says beside its polygons. */
  load(value) {
    this.half = value?.half ?? null;
    this.states = {};
    this.came = {};
    for (const [key, { state, came }] of Object.entries(value?.parts || {})) {
      if (STATES.includes(state)) this.states[key] = state;
      if (came) this.came[key] = { ...came };
    }
  }

  content() {
    const came = Object.keys(this.came).length ? { came: structuredClone(this.came) } : {};
    return { states: { ...this.states }, half: this.half, ...came };
  }

  restore({ states = {}, half = null, came = {} } = {}) {
    this.states = { ...states };
    this.half = half;
    this.came = structuredClone(came);
  }

  /* The outline of a part is what a model proposed. */
  take(key, proposal) {
    this.came[key] = { proposal, edits: 0 };
  }

  /* The outline was changed by hand. */
  edited(key) {
    if (this.came[key]) this.came[key].edits += 1;
  }

  /* drawn | not_visible | occluded | given | given-not_visible | given-occluded | "". */
  of(key, shapes) {
    if (isDrawn(shapes[key])) return "drawn";
    if (this.states[key]) return this.states[key];
    const given = this.given[key];
    if (!given) return "";
    return given.state === "drawn" ? "given" : `given-${given.state}`;
  }

  /* Missing parts without a drawing or a state. */
  unlabeled(shapes) {
    return this.missing.filter((key) => !this.of(key, shapes)).map((key) => this.part(key));
  }

  /* That the outline of a part is to be closed or given up first. */
  unfinished(key) {
    return gettext(
      "The outline of the %(part)s is not finished: close it on its first corner (c), or remove it (Undo, Escape).",
      { part: this.part(key).name },
    );
  }

  /* "head and eye; torso and leg". */
  pairs(overlaps) {
    return overlaps.map(({ a, b }) => listed([this.part(a).name, this.part(b).name])).join("; ");
  }

  /* The answer, which holds only what this person says. */
  value(shapes) {
    const parts = {};
    for (const { key } of this.parts) {
      const state = this.of(key, shapes);
      if (key === OUTLINE) continue;
      if (state === "drawn") {
        const came = this.came[key];
        parts[key] = { state, polygons: shapes[key], ...(came && { came: { ...came } }) };
      } else if (STATES.includes(state)) parts[key] = { state };
    }
    const outline = this.part(OUTLINE) && isDrawn(shapes[OUTLINE]) ? shapes[OUTLINE] : null;
    return { parts, half: this.half, outline };
  }
}

export const isEmpty = ({ parts, outline }) => !Object.keys(parts).length && !outline;
