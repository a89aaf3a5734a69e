/* The cheapest ways from a seed to every pixel of a window around it, and the way to one of them. Pure. */

// Pixels of the costs to each side of the seed, the least and the most.
const LEAST = 96;
const MOST = 420;
// What a step costs by its length alone, so that the way stays short where there is no edge.
const LENGTH = 0.06;
// What crossing an edge counts beside what lies there.
const TURN = 0.35;
const SCALE = 64;

/* How far the window of a seed reaches so that the ways to a pixel have room; null for one too far away.
   In steps, so that a hand that moves on rarely needs another window. */
export function reachFor([x, y], [gx, gy]) {
  const away = Math.max(Math.abs(gx - x), Math.abs(gy - y));
  if (away > MOST) return null;
  return Math.min(MOST, LEAST * Math.max(1, Math.ceil((away * 1.25 + 16) / LEAST)));
}

/* {box: [x0, y0, x1, y1], from}: for each pixel of the window the place in it that its way comes from, -1
   for the seed. costs: as costsOf gives them. Dial's buckets in place of a heap: costs are small
   integers. */
export function spread({ width, height, cost, gx, gy }, [sx, sy], reach) {
  const [x0, y0] = [Math.max(0, sx - reach), Math.max(0, sy - reach)];
  const [x1, y1] = [Math.min(width, sx + reach + 1), Math.min(height, sy + reach + 1)];
  const columns = x1 - x0;
  const size = columns * (y1 - y0);
  const from = new Int32Array(size).fill(-1);
  const far = new Int32Array(size).fill(2 ** 31 - 1);
  const done = new Uint8Array(size);
  const seed = (sy - y0) * columns + (sx - x0);
  const buckets = [[seed]];
  far[seed] = 0;
  for (let at = 0; at < buckets.length; at += 1) {
    const bucket = buckets[at];
    if (!bucket) continue;
    while (bucket.length) {
      const place = bucket.pop();
      if (done[place]) continue;
      done[place] = 1;
      const [x, y] = [x0 + (place % columns), y0 + Math.floor(place / columns)];
      const here = y * width + x;
      for (let dy = -1; dy <= 1; dy += 1) {
        for (let dx = -1; dx <= 1; dx += 1) {
          const [nx, ny] = [x + dx, y + dy];
          if ((!dx && !dy) || nx < x0 || ny < y0 || nx >= x1 || ny >= y1) continue;
          const next = (ny - y0) * columns + (nx - x0);
          if (done[next]) continue;
          const there = ny * width + nx;
          const length = dx && dy ? Math.SQRT2 : 1;
          // How much the step runs across the edges at both of its ends instead of along them.
          const across = (Math.abs(gx[here] * dx + gy[here] * dy) + Math.abs(gx[there] * dx + gy[there] * dy)) / (2 * length);
          const step = Math.max(1, Math.round(SCALE * length * (LENGTH + cost[there] + TURN * across)));
          if (at + step >= far[next]) continue;
          far[next] = at + step;
          from[next] = place;
          (buckets[at + step] ??= []).push(next);
        }
      }
    }
    buckets[at] = null;
  }
  return { box: [x0, y0, x1, y1], from };
}

/* The way from the seed to a pixel, both with it, as [x, y]; null outside the window. */
export function wayTo({ box: [x0, y0, x1, y1], from }, [x, y]) {
  if (x < x0 || y < y0 || x >= x1 || y >= y1) return null;
  const columns = x1 - x0;
  const way = [];
  for (let place = (y - y0) * columns + (x - x0); place >= 0; place = from[place]) {
    way.push([x0 + (place % columns), y0 + Math.floor(place / columns)]);
  }
  return way.reverse();
}

/* The pixel of the strongest edge within the radius: where a hand meant to point. */
export function strongestNear({ width, height, cost }, [x, y], radius) {
  let best = [x, y];
  let least = Infinity;
  const reach = Math.ceil(radius);
  for (let ny = Math.max(0, y - reach); ny <= Math.min(height - 1, y + reach); ny += 1) {
    for (let nx = Math.max(0, x - reach); nx <= Math.min(width - 1, x + reach); nx += 1) {
      const away = Math.hypot(nx - x, ny - y);
      if (away > radius) continue;
      const price = cost[ny * width + nx] + (0.3 * away) / (radius || 1);
      if (price < least) [least, best] = [price, [nx, ny]];
    }
  }
  return best;
}
