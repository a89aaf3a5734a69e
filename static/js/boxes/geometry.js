/* Boxes [x0, y0, x1, y1] and points [x, y] in pixels of the upright image, on tenths. Pure. */
import { gettext, listed } from "../language.js";
import { rounded, tenth } from "../drawing/rings.js";

// Their places in a box.
export const SIDES = ["left", "top", "right", "bottom"];
// Boxes that differ by less on every side are one box said twice: labeling/boxes/cleaning.py.
export const APART_PX = 5;
const LEAST_PX = 1;

export const round = (box) => box.map(tenth);
export const equal = (a, b) => a.every((side, place) => side === b[place]);
export const isSame = (a, b) => a.every((side, place) => Math.abs(side - b[place]) < APART_PX);
export const hasArea = ([x0, y0, x1, y1]) => tenth(x1 - x0) >= LEAST_PX && tenth(y1 - y0) >= LEAST_PX;
export const middleOf = ([x0, y0, x1, y1]) => [(x0 + x1) / 2, (y0 + y1) / 2];

/* The smallest box around these points; null of none. */
export function around(points) {
  if (!points.length) return null;
  const [columns, rows] = [points.map(([x]) => x), points.map(([, y]) => y)];
  return [Math.min(...columns), Math.min(...rows), Math.max(...columns), Math.max(...rows)];
}

/* The point on tenths, in the image; at its border where it is within `reach` of that. */
export function inside([x, y], { width, height }, reach = 0) {
  const into = (value, most) => (value <= reach ? 0 : value >= most - reach ? most : value);
  return rounded([into(x, width), into(y, height)]);
}

/* What lies within `reach` of a point of a box: the places in the box of one or two of its sides, or
   null. In a small box the sides reach less far inwards, so that there is an inside. */
export function gripAt(box, [x, y], reach) {
  const [x0, y0, x1, y1] = box;
  const near = (value, low, high) => {
    const inwards = Math.min(reach, (high - low) / 3);
    const [lower, upper] = [Math.abs(value - low), Math.abs(value - high)];
    const nearLower = lower <= (value < low ? reach : inwards);
    const nearUpper = upper <= (value > high ? reach : inwards);
    if (nearLower && (!nearUpper || lower <= upper)) return 0;
    return nearUpper ? 1 : null;
  };
  const beside = (value, low, high) => value >= low - reach && value <= high + reach;
  const across = beside(y, y0, y1) ? near(x, x0, x1) : null;
  const along = beside(x, x0, x1) ? near(y, y0, y1) : null;
  const places = [];
  if (across !== null) places.push(across * 2);
  if (along !== null) places.push(along * 2 + 1);
  return places.length ? places : null;
}

/* The box with these sides moved, none past its opposite or out of the image, at its border where
   within `reach` of that. */
export function moveSides(box, places, [dx, dy], { width, height }, reach = 0) {
  const next = [...box];
  for (const place of places) {
    const upright = place % 2;
    const most = upright ? height : width;
    const value = box[place] + (upright ? dy : dx);
    const other = box[(place + 2) % 4];
    if (place < 2) {
      const free = Math.min(value, other - LEAST_PX);
      next[place] = tenth(free <= reach ? 0 : free);
    } else {
      const free = Math.max(value, other + LEAST_PX);
      next[place] = tenth(free >= most - reach ? most : free);
    }
  }
  return next;
}

/* Clicked points once their box became another: those on a side stay on it, and all lie within. */
export function followed(points, before, after) {
  const follow = (value, low, high, lower, upper) => {
    if (value === low) return lower;
    if (value === high) return upper;
    return Math.min(upper, Math.max(lower, value));
  };
  return points.map(([x, y]) => [
    follow(x, before[0], before[2], after[0], after[2]),
    follow(y, before[1], before[3], after[1], after[3]),
  ]);
}

/* The part of the image around a box that shows it with its surroundings. */
export function surroundings([x0, y0, x1, y1], { width, height }, share = 0.35) {
  const room = Math.max(x1 - x0, y1 - y0, 8) * share;
  return [Math.max(0, x0 - room), Math.max(0, y0 - room), Math.min(width, x1 + room), Math.min(height, y1 + room)];
}

/* "on the left and the top"; "" of none. */
export function sidesInWords(sides) {
  const names = {
    left: gettext("the left"), top: gettext("the top"), right: gettext("the right"), bottom: gettext("the bottom"),
  };
  const words = sides.map((side) => names[side] ?? side);
  return words.length ? gettext("on %(sides)s", { sides: listed(words) }) : "";
}
