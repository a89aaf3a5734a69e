/* Undo that survives a reload: a history as JSON, each moment as what it changed. Pure.

   A step is {shapes: {key: polygons}, strokes: {key: corners, or null where the stroke ended}}. */
import { History } from "./history.js";

const EMPTY = { shapes: new Map(), strokes: new Map() };

/* What a moment has otherwise than the one before it. */
function changed(before, moment) {
  const shapes = {};
  for (const [key, polygons] of moment.shapes) if (polygons !== before.shapes.get(key)) shapes[key] = polygons;
  for (const key of before.shapes.keys()) if (!moment.shapes.has(key)) shapes[key] = [];
  const strokes = {};
  for (const [key, stroke] of moment.strokes) if (stroke !== before.strokes.get(key)) strokes[key] = stroke.corners;
  for (const key of before.strokes.keys()) if (!moment.strokes.has(key)) strokes[key] = null;
  return { shapes, strokes };
}

function applied(before, { shapes, strokes }) {
  const next = { shapes: new Map(before.shapes), strokes: new Map(before.strokes) };
  for (const [key, polygons] of Object.entries(shapes)) next.shapes.set(key, polygons);
  for (const [key, corners] of Object.entries(strokes)) {
    if (corners) next.strokes.set(key, { corners, leg: null });
    else next.strokes.delete(key);
  }
  return next;
}

/* What is seen of a moment, as one text. */
function textOf(moment) {
  const { shapes, strokes } = changed(EMPTY, moment);
  const rows = (map) => Object.entries(map).filter(([, value]) => value.length).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([rows(shapes), rows(strokes)]);
}

/* {moments, now} of a history: the last steps that take no more than `room` characters, and what they
   began from; null where that alone takes more, or the present moment lies further back. */
export function stepsOf({ moments, now }, room) {
  const size = (step) => JSON.stringify(step).length;
  const steps = [];
  let left = room;
  let first = moments.length - 1;
  for (; first > 0; first -= 1) {
    const step = changed(moments[first - 1], moments[first]);
    left -= size(step);
    if (left < 0) break;
    steps.unshift(step);
  }
  const begin = changed(EMPTY, moments[first]);
  if (first > now || size(begin) > room) return null;
  return { moments: [begin, ...steps], now: now - first };
}

/* The history of these steps; null where they do not lead to this moment. */
export function historyOf({ moments: steps, now }, moment) {
  let last = EMPTY;
  const moments = steps.map((step) => (last = applied(last, step)));
  return textOf(moments[now]) === textOf(moment) ? History.of({ moments, now }) : null;
}
