/* The edges of one photograph, and lines along them between two points of it, in pixels of the upright
   image. The costs come from a worker; until they are there lines are straight. */
import { simplify } from "../simplify.js";
import { rounded, same } from "../rings.js";
import { reachFor, spread, strongestNear, wayTo } from "./wire.js";

// A larger photograph is looked at smaller: edges stay, and so does the memory.
const MOST_PIXELS = 4_000_000;
// Of the pixels of the costs: what a line may leave the way by.
const TOLERANCE = 2.2;

export class Edges {
  ready = false;
  #costs = null;
  #scale = 1;
  #worker = null;
  #tree = null; // {seed, reach, box, from} of the last seed

  /* photo: an <img>; size: of the upright image. */
  constructor(photo, size) {
    Object.assign(this, { photo, size });
  }

  /* Begins to compute, once; resolves when lines follow edges. */
  start() {
    return (this.started ??= this.#compute());
  }

  async #compute() {
    if (!this.photo) throw new Error("No photograph to find edges in.");
    await this.photo.decode();
    const { width, height } = this.size;
    this.#scale = Math.min(1, Math.sqrt(MOST_PIXELS / (width * height)));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width * this.#scale));
    canvas.height = Math.max(1, Math.round(height * this.#scale));
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(this.photo, 0, 0, canvas.width, canvas.height);
    const pixels = pen.getImageData(0, 0, canvas.width, canvas.height);
    const { data } = pixels;
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.#costs = await new Promise((resolve, reject) => {
      this.#worker.onmessage = (event) => resolve(event.data);
      this.#worker.onerror = (event) => reject(new Error(event.message || "No worker for the edges."));
      this.#worker.postMessage({ data, width: canvas.width, height: canvas.height }, [data.buffer]);
    });
    this.stop();
    this.ready = true;
  }

  stop() {
    this.#worker?.terminate();
    this.#worker = null;
  }

  #pixel([x, y]) {
    const { width, height } = this.#costs;
    const within = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value * this.#scale)));
    return [within(x, width), within(y, height)];
  }

  #point([x, y]) {
    return rounded([(x + 0.5) / this.#scale, (y + 0.5) / this.#scale]);
  }

  /* The nearest strong edge within the radius. */
  near(point, radius) {
    if (!this.ready) return point;
    return this.#point(strongestNear(this.#costs, this.#pixel(point), radius * this.#scale));
  }

  /* The corners strictly between two points, along the edges; none where they are not known. */
  between(from, to) {
    if (!this.ready || same(from, to)) return [];
    const [seed, goal] = [this.#pixel(from), this.#pixel(to)];
    const reach = reachFor(seed, goal);
    if (reach === null) return [];
    if (!this.#tree || !same(this.#tree.seed, seed) || this.#tree.reach < reach) {
      this.#tree = { seed, reach, ...spread(this.#costs, seed, reach) };
    }
    const way = wayTo(this.#tree, goal) ?? [];
    return simplify(way, TOLERANCE).slice(1, -1).map((pixel) => this.#point(pixel));
  }
}
