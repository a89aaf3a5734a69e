/* What it costs a line to go over each pixel of a photograph: little on strong edges, much where there are
   none. Pure; runs once for each photograph, in a worker.

   Intelligent scissors (Mortensen and Barrett 1995) with the size and the direction of the gradient;
   their zero crossings of the Laplacian are here as the ridge of the gradient. */

// Edges weaker than the strongest hundredth count by their share of it.
const STRONGEST = 0.99;
const BINS = 1024;
// What the gradient's ridge counts beside its size.
const RIDGE = 0.35;

/* Three channels of RGBA smoothed by the binomial filter 1 4 6 4 1 in both directions: float, in planes. */
function smoothed(rgba, width, height) {
  const size = width * height;
  const planes = [0, 1, 2].map((channel) => {
    const plane = new Float32Array(size);
    for (let i = 0; i < size; i += 1) plane[i] = rgba[4 * i + channel];
    return plane;
  });
  const pass = (from, step, count, lines, stride) => {
    const to = new Float32Array(size);
    for (let line = 0; line < lines; line += 1) {
      const at = (i) => from[line * stride + Math.min(count - 1, Math.max(0, i)) * step];
      for (let i = 0; i < count; i += 1) {
        const sum = at(i - 2) + 4 * at(i - 1) + 6 * at(i) + 4 * at(i + 1) + at(i + 2);
        to[line * stride + i * step] = sum / 16;
      }
    }
    return to;
  };
  return planes.map((plane) => pass(pass(plane, 1, width, height, width), width, height, width, 1));
}

/* {width, height, cost, gx, gy}: cost from 0 to 1 of each pixel, and the unit vector across its edge
   (0, 0 where there is none). rgba: bytes, four to a pixel, row by row. */
export function costsOf({ data: rgba, width, height }) {
  const planes = smoothed(rgba, width, height);
  const size = width * height;
  const [gx, gy, strength] = [new Float32Array(size), new Float32Array(size), new Float32Array(size)];
  for (let y = 0; y < height; y += 1) {
    const [up, down] = [Math.max(0, y - 1) * width, Math.min(height - 1, y + 1) * width];
    for (let x = 0; x < width; x += 1) {
      const [left, right] = [Math.max(0, x - 1), Math.min(width - 1, x + 1)];
      const i = y * width + x;
      // Of the three channels the one that changes most speaks.
      for (const plane of planes) {
        const dx = plane[y * width + right] - plane[y * width + left];
        const dy = plane[down + x] - plane[up + x];
        const size2 = dx * dx + dy * dy;
        if (size2 > strength[i]) [strength[i], gx[i], gy[i]] = [size2, dx, dy];
      }
    }
  }
  for (let i = 0; i < size; i += 1) {
    strength[i] = Math.sqrt(strength[i]);
    if (strength[i] > 0) {
      gx[i] /= strength[i];
      gy[i] /= strength[i];
    }
  }
  const most = strongest(strength) || 1;
  const cost = new Float32Array(size);
  for (let i = 0; i < size; i += 1) {
    const share = Math.min(1, strength[i] / most);
    cost[i] = (1 - RIDGE) * (1 - share) + RIDGE * (onRidge(strength, gx, gy, i, width, height) ? 1 - Math.sqrt(share) : 1);
  }
  return { width, height, cost, gx, gy };
}

function strongest(strength) {
  let most = 0;
  for (const value of strength) if (value > most) most = value;
  if (!most) return 0;
  const counts = new Uint32Array(BINS);
  for (const value of strength) counts[Math.min(BINS - 1, Math.floor((value / most) * BINS))] += 1;
  let left = strength.length * (1 - STRONGEST);
  for (let bin = BINS - 1; bin > 0; bin -= 1) {
    left -= counts[bin];
    if (left <= 0) return ((bin + 1) / BINS) * most;
  }
  return most / BINS;
}

/* Whether no neighbour across the edge has a stronger gradient. */
function onRidge(strength, gx, gy, i, width, height) {
  if (!strength[i]) return false;
  const [x, y] = [i % width, Math.floor(i / width)];
  const [dx, dy] = [Math.round(gx[i]), Math.round(gy[i])];
  for (const way of [1, -1]) {
    const [nx, ny] = [x + way * dx, y + way * dy];
    if (nx >= 0 && ny >= 0 && nx < width && ny < height && strength[ny * width + nx] > strength[i]) return false;
  }
  return true;
}
