/* A round magnifier beside a finger: what lies under it, and the lines that are being drawn. */

const SIZE = 128;
const POWER = 2.5;
const AWAY = 104;

export class Loupe {
  constructor(root) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "loupe";
    this.canvas.hidden = true;
    this.canvas.setAttribute("aria-hidden", "true");
    const density = Math.min(3, devicePixelRatio || 1);
    this.canvas.width = this.canvas.height = SIZE * density;
    this.density = density;
    root.append(this.canvas);
  }

  /* image, size: what is looked at, and its size in upright pixels; details: its tiles. focus: the point of it that is
     magnified; finger: where the finger is on the screen; view: the stage's; lines: of points. */
  show({ image, details, size, focus, finger, view, lines = [] }) {
    const scale = Math.max(view.scale * POWER, 1);
    const half = SIZE / 2 / scale;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.density, 0, 0, this.density, 0, 0);
    pen.clearRect(0, 0, SIZE, SIZE);
    pen.save();
    pen.scale(scale, scale);
    pen.translate(half - focus[0], half - focus[1]);
    pen.drawImage(image, 0, 0, size.width, size.height);
    details?.paint(pen);
    pen.beginPath();
    for (const [first, ...others] of lines) {
      pen.moveTo(...first);
      for (const point of others) pen.lineTo(...point);
    }
    for (const [colour, width] of [["rgb(10 12 16 / 80%)", 4], ["#ffd43b", 2]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width / scale;
      pen.stroke();
    }
    pen.restore();
    for (const [colour, width] of [["rgb(10 12 16 / 70%)", 3], ["#ffffff", 1]]) {
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      for (const [dx, dy] of [[1, 0], [0, 1]]) {
        pen.moveTo(SIZE / 2 - dx * 18, SIZE / 2 - dy * 18);
        pen.lineTo(SIZE / 2 - dx * 4, SIZE / 2 - dy * 4);
        pen.moveTo(SIZE / 2 + dx * 4, SIZE / 2 + dy * 4);
        pen.lineTo(SIZE / 2 + dx * 18, SIZE / 2 + dy * 18);
      }
      pen.stroke();
    }
    const [x, y] = place(finger, view.screen);
    this.canvas.style.transform = `translate(${x}px, ${y}px)`;
    this.canvas.hidden = false;
  }

  hide() {
    this.canvas.hidden = true;
  }

  remove() {
    this.canvas.remove();
  }
}

/* The upper left corner of the loupe: above the finger, and beside it where there is no room above. */
export function place([x, y], { width, height }) {
  const within = (value, most) => Math.min(Math.max(0, most - SIZE), Math.max(0, value));
  if (y - AWAY - SIZE / 2 >= 0) return [within(x - SIZE / 2, width), y - AWAY - SIZE / 2];
  const beside = x > width / 2 ? x - AWAY - SIZE / 2 : x + AWAY - SIZE / 2;
  return [within(beside, width), within(y - SIZE / 2, height)];
}
