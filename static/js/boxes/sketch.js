/* A box in the making, as moments that are replaced and never changed. Pure.

   A moment is {points: clicked so far, four of a clicked box; box: the box, null until it has one;
   how: "clicks" or "drag"; flags}. */
import { around, equal, followed, hasArea, isSame, moveSides, round } from "./geometry.js";

const EXTREMES = 4;
const FLAGS = ["group", "truncated", "occluded", "difficult"];

export const EMPTY = { points: [], box: null, how: null, flags: [] };

/* The moment that an answer came from. */
export function fromValue(value) {
  if (!value?.box) return EMPTY;
  const { box, how = "drag", points = [], flags = [] } = value;
  return { points, box, how, flags };
}

/* What the moment answers; null while there is no box. */
export function valueOf({ points, box, how, flags }) {
  if (!box) return null;
  return how === "clicks" ? { box, how, points, flags } : { box, how, flags };
}

/* With one more of the four points. With the last one the box is there. */
export function withPoint(moment, point) {
  if (moment.box) return moment;
  const points = [...moment.points, point];
  if (points.length < EXTREMES) return { ...moment, points };
  return { ...moment, points, box: around(points), how: "clicks" };
}

/* The box so far, and as it would be with that point. */
export const growing = ({ points }, point = null) => around(point ? [...points, point] : points);

/* A box from corner to corner. */
export function withCorners(moment, from, to) {
  return { ...moment, points: [], box: round(around([from, to])), how: "drag" };
}

/* With sides (places in the box) moved by so much; see moveSides. */
export function withSides(moment, places, by, size, reach) {
  const box = moveSides(moment.box, places, by, size, reach);
  if (equal(box, moment.box)) return moment;
  return { ...moment, box, points: followed(moment.points, moment.box, box) };
}

export function withFlag(moment, flag) {
  const has = moment.flags.includes(flag);
  return { ...moment, flags: FLAGS.filter((each) => (each === flag ? !has : moment.flags.includes(each))) };
}

/* Without the last point, or without the box. */
export function shorter(moment) {
  if (moment.box) return { ...moment, points: [], box: null, how: null };
  return { ...moment, points: moment.points.slice(0, -1) };
}

/* Why the box cannot be sent; "" where it can. standing: boxes that are there. */
export function faultOf({ box }, standing) {
  if (box && !hasArea(box)) return "This box has no area. Draw it around what you see.";
  if (box && standing.some((other) => isSame(box, other))) {
    return "There is a box here already. Draw one around another, or say that nothing is left (n).";
  }
  return "";
}
