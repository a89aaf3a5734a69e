/* Fewer corners for a line drawn freehand: Visvalingam's smallest triangles, and a stream of them.

   Source: Visvalingam and Whyatt, "Line generalisation by repeated elimination of points", 1993.
   Here a corner goes when its triangle is smaller than tolerance², in image pixels. */

export const MOST_CORNERS = 1000;
const BATCH = 256;

const triangle = (a, b, c) =>
  Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2;

/* The line without corners whose triangle is below tolerance², smallest first; ends stay. Ties go to
   the earlier corner. At most `most` corners remain, whatever the tolerance. */
export function simplify(line, tolerance, most = MOST_CORNERS) {
  const n = line.length;
  if (n < 3) return [...line];
  const before = Int32Array.from({ length: n }, (_, i) => i - 1);
  const after = Int32Array.from({ length: n }, (_, i) => i + 1);
  const weight = new Float64Array(n).fill(Infinity);
  const heap = new Heap(weight);
  for (let i = 1; i < n - 1; i += 1) {
    weight[i] = triangle(line[i - 1], line[i], line[i + 1]);
    heap.push(i);
  }
  let left = n;
  while (heap.size && (weight[heap.top] < tolerance ** 2 || left > most)) {
    const gone = heap.pop();
    left -= 1;
    const [a, b] = [before[gone], after[gone]];
    after[a] = b;
    before[b] = a;
    for (const i of [a, b]) {
      if (i === 0 || i === n - 1) continue;
      // Never below the one that went: else a long smooth curve would melt away.
      weight[i] = Math.max(weight[gone], triangle(line[before[i]], line[i], line[after[i]]));
      heap.update(i);
    }
  }
  const kept = [];
  for (let i = 0; i < n; i = after[i]) kept.push(line[i]);
  return kept;
}

/* A binary heap of indices by weight, the lower index first among equals. */
class Heap {
  #items = [];
  #at = new Map();

  constructor(weight) {
    this.weight = weight;
  }

  get size() {
    return this.#items.length;
  }

  get top() {
    return this.#items[0];
  }

  push(index) {
    this.#at.set(index, this.#items.push(index) - 1);
    this.#up(this.#items.length - 1);
  }

  pop() {
    const top = this.#items[0];
    const last = this.#items.pop();
    this.#at.delete(top);
    if (this.#items.length) {
      this.#put(0, last);
      this.#down(0);
    }
    return top;
  }

  update(index) {
    this.#up(this.#at.get(index));
    this.#down(this.#at.get(index));
  }

  #less(a, b) {
    return this.weight[a] - this.weight[b] || a - b;
  }

  #put(place, index) {
    this.#items[place] = index;
    this.#at.set(index, place);
  }

  #swap(a, b) {
    const held = this.#items[a];
    this.#put(a, this.#items[b]);
    this.#put(b, held);
  }

  #up(place) {
    for (let i = place; i > 0; ) {
      const parent = (i - 1) >> 1;
      if (this.#less(this.#items[i], this.#items[parent]) >= 0) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  #down(place) {
    for (let i = place; ; ) {
      const [left, right] = [2 * i + 1, 2 * i + 2];
      let least = i;
      for (const child of [left, right]) {
        if (child < this.size && this.#less(this.#items[child], this.#items[least]) < 0) least = child;
      }
      if (least === i) return;
      this.#swap(i, least);
      i = least;
    }
  }
}

/* A line as it is drawn: simplified as it grows, so that it stays short however long one draws. */
export class Trail {
  #done = [];
  #tail = [];

  /* tolerance: image pixels; a point nearer than half of it to the one before is passed over. */
  constructor(tolerance) {
    this.tolerance = tolerance;
  }

  add(point) {
    const last = this.#tail.at(-1) ?? this.#done.at(-1);
    if (last && Math.hypot(point[0] - last[0], point[1] - last[1]) < this.tolerance / 2) return;
    this.#tail.push(point);
    if (this.#tail.length < BATCH) return;
    const short = simplify(this.#tail, this.tolerance);
    this.#tail = short.splice(-2);
    this.#done.push(...short);
    if (this.#done.length > MOST_CORNERS) {
      this.tolerance *= 1.5;
      this.#done = simplify(this.#done, this.tolerance, MOST_CORNERS / 2);
    }
  }

  get line() {
    return [...this.#done, ...this.#tail];
  }

  simplified() {
    return simplify(this.line, this.tolerance);
  }
}
