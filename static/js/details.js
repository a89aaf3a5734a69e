/* Draws tiles with every pixel of a large photograph over its preview, once somebody zooms in.

   new Details({address, photo, width, height, place}): address of the photograph as the server signed it;
   photo: the <img> with its preview; width, height: of the photograph. place(url, [x, y, width, height])
   puts a tile there and returns the element, which tells "load" and "error". */

// As labeling/image_files.py has them.
const DISPLAY_PX = 4096;
const DETAIL_PX = 1024;
const REST_MS = 120;
// Retry tiles that are still being made, with growing pauses.
const RETRY_MS = 3000;

export class Details {
  #tiles = new Map(); // name → {element, box, ready}
  #timer = 0;
  #failed = new Set(); // names to ask for again after a pause
  #retry = 0;
  #failures = 0; // pauses since a tile came

  constructor(options) {
    Object.assign(this, options);
    this.coarsest = Math.ceil(Math.log2(Math.max(this.width, this.height) / DISPLAY_PX));
  }

  /* Follows a view (drawing/view.js) once it rests. */
  follow(view) {
    if (this.coarsest < 1) return;
    this.view = view;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#show(), REST_MS);
  }

  /* For a canvas in pixels of the photograph. */
  paint(pen) {
    for (const { element, box, ready } of this.#tiles.values()) if (ready) pen.drawImage(element, ...box);
  }

  stop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    this.#drop(() => true);
  }

  #show() {
    const visible = new Map(this.#visible());
    for (const [name, [url, box]] of visible) {
      if (!this.#tiles.has(name) && !this.#failed.has(name)) this.#add(name, url, box);
    }
    this.visible = visible;
    this.#tidy();
  }

  /* Yields [name, [url, box]] of each visible tile, at the coarsest level with a pixel for each screen pixel. */
  *#visible() {
    const { width, height, address, view: { scale, x, y, screen } } = this;
    const needed = scale * devicePixelRatio;
    if (needed * width <= this.photo.naturalWidth) return;
    const level = Math.min(this.coarsest, Math.max(0, Math.floor(-Math.log2(needed))));
    const side = DETAIL_PX * 2 ** level;
    const range = (shift, extent, whole) => [
      Math.max(0, Math.floor(-shift / scale / side)), Math.min(Math.ceil((extent - shift) / scale / side), Math.ceil(whole / side)),
    ];
    const [left, right] = range(x, screen.width, width);
    const [top, bottom] = range(y, screen.height, height);
    for (let row = top; row < bottom; row += 1) {
      for (let column = left; column < right; column += 1) {
        const name = `${level},${column},${row}`;
        // Halving rounds up: the last pixel of a level may reach over the edge.
        const reach = (at, whole) => Math.min(side, Math.ceil(whole / 2 ** level) * 2 ** level - at);
        const [x0, y0] = [column * side, row * side];
        yield [name, [`${address}&detail=${name}`, [x0, y0, reach(x0, width), reach(y0, height)]]];
      }
    }
  }

  #add(name, url, box) {
    const tile = { element: this.place(url, box), box, ready: false };
    this.#tiles.set(name, tile);
    tile.element.addEventListener("load", () => {
      if (this.#tiles.get(name) !== tile) return;
      tile.ready = true;
      this.#failures = 0;
      this.#tidy();
    });
    tile.element.addEventListener("error", () => {
      // One that was dropped may belong to a photograph that is gone.
      if (this.#tiles.get(name) !== tile) return;
      tile.element.remove();
      this.#tiles.delete(name);
      this.#failed.add(name);
      if (this.#failed.size === 1) this.#pause();
    });
  }

  #pause() {
    this.#failures += 1;
    this.#retry = setTimeout(() => {
      this.#failed.clear();
      this.#show();
    }, RETRY_MS * Math.min(this.#failures, 20));
  }

  /* Tiles of another view stay until those of this one are there. */
  #tidy() {
    if (![...this.visible.keys()].every((name) => this.#tiles.get(name)?.ready)) return;
    this.#drop((name) => !this.visible.has(name));
  }

  #drop(isStale) {
    for (const [name, { element }] of this.#tiles) {
      if (!isStale(name)) continue;
      element.remove();
      this.#tiles.delete(name);
    }
  }
}
