/* What part of the image is seen: one scale and one shift. The only file that knows the screen.

   Screen points are CSS pixels from the upper left corner of the drawing; screen = image × scale +
   shift. */

const MOST = 40;
// However small the image is made, this much of it stays in sight.
const KEPT_PX = 40;
const MARGIN = 0.04;

export class View {
  scale = 1;
  x = 0;
  y = 0;

  /* size: {width, height} of the image. pad: pixels of the screen around a box that is fitted; by
     default a share of the drawing. */
  constructor(size, pad = null) {
    this.size = size;
    this.pad = pad;
    this.screen = { width: 0, height: 0 };
    this.least = 0.02;
    this.fitted = null; // the box that is shown, until somebody pans or zooms
  }

  /* The drawing has another size: what was fitted is fitted again, else the middle stays. */
  resize(width, height) {
    this.x += (width - this.screen.width) / 2;
    this.y += (height - this.screen.height) / 2;
    this.screen = { width, height };
    const whole = Math.min(width / this.size.width, height / this.size.height);
    this.least = Math.min(1, whole) / 4;
    if (this.fitted) this.fit(this.fitted);
  }

  toImage([x, y]) {
    return [(x - this.x) / this.scale, (y - this.y) / this.scale];
  }

  toScreen([x, y]) {
    return [x * this.scale + this.x, y * this.scale + this.y];
  }

  /* Shows a box of the image, x0, y0, x1, y1, with a small margin, in the middle. */
  fit(box) {
    const [x0, y0, x1, y1] = box;
    this.fitted = box;
    const { width, height } = this.screen;
    const room = (extent) => (this.pad === null ? extent * (1 - 2 * MARGIN) : extent - 2 * this.pad);
    const scale = Math.min(room(width) / (x1 - x0), room(height) / (y1 - y0));
    this.scale = Math.min(MOST, Math.max(this.least, scale));
    this.x = width / 2 - ((x0 + x1) / 2) * this.scale;
    this.y = height / 2 - ((y0 + y1) / 2) * this.scale;
  }

  /* The point of the image under a screen point stays under it. */
  zoomTo(scale, [x, y] = [this.screen.width / 2, this.screen.height / 2]) {
    this.fitted = null;
    const next = Math.min(MOST, Math.max(this.least, scale));
    const ratio = next / this.scale;
    this.x = x - (x - this.x) * ratio;
    this.y = y - (y - this.y) * ratio;
    this.scale = next;
    this.#keep();
  }

  pan(dx, dy) {
    this.fitted = null;
    this.x += dx;
    this.y += dy;
    this.#keep();
  }

  /* Moves the view so that a point of the image is seen, with some room around it. */
  reveal(point, room = 24) {
    const [x, y] = this.toScreen(point);
    const { width, height } = this.screen;
    const into = (value, most) => Math.min(Math.max(value, room), Math.max(room, most - room)) - value;
    const [dx, dy] = [into(x, width), into(y, height)];
    if (dx || dy) this.pan(dx, dy);
    return Boolean(dx || dy);
  }

  #keep() {
    const { width, height } = this.screen;
    const keep = (value, extent, most) => Math.min(most - KEPT_PX, Math.max(KEPT_PX - extent, value));
    this.x = keep(this.x, this.size.width * this.scale, width);
    this.y = keep(this.y, this.size.height * this.scale, height);
  }
}
