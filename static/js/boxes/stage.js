/* The photograph with boxes over it. It is told what to show and decides nothing.

   Photograph and boxes are layers whose CSS transform is all that a pan changes: three hundred boxes
   then move at the pace of the screen. Boxes are drawn in pixels of the screen from the image's corner
   on, and anew where the scale changes.

   <div data-drawing></div>; a scene is {standing, faint, rejected: {box, sides, words}, at, box: {box,
   look, wrong, grips, active}, growing, points, pins, cursor}, all but standing where there are any. */
import { gettext } from "../language.js";
import { Details } from "../details.js";
import { Pointers } from "../drawing/pointers.js";
import { View } from "../drawing/view.js";
import { middleOf, surroundings } from "./geometry.js";
import { Loupe } from "../loupe.js";

const SVG = "http://www.w3.org/2000/svg";
// The photograph touches two sides of its place but for this, so that its border can be pointed at.
const PAD_PX = 6;
const STEP = 1.4;
const PAN = 0.2;
export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
// From this scale on single pixels are seen.
const PIXELS = 4;
const TAG_PX = 30;
const TAG_GAP_PX = 6;
const BACK = ["standing-casing", "standing", "rejected-casing", "rejected", "rejected-sides"];
const FRONT = ["growing-casing", "growing", "box-casing", "box", "wrong-casing", "wrong", "grips-casing",
  "grips", "active-casing", "active", "points-casing", "points", "at-casing", "at"];

const digits = (value) => +value.toFixed(1);

function element(name, classes, parent) {
  const made = document.createElement(name);
  made.className = classes;
  parent.append(made);
  return made;
}

export class Stage {
  #paths = new Map();
  #drawn = new Map(); // path → its d: what does not change costs nothing
  #tags = new Map();
  #widths = new Map(); // tag with words → its width
  #seen = ""; // the zoom that was told of last

  /* tool(): {begin, drag, end, hover, cancel}, as pointers.js calls them. */
  constructor(root, tool, { moved = () => {}, left = () => {} } = {}) {
    Object.assign(this, { root, moved, scene: { standing: [] }, spaceHeld: false });
    this.photo = element("div", "boxes-photo", root);
    this.back = this.#layer("boxes-layer", BACK);
    this.guides = ["x", "y"].map((axis) => element("div", `boxes-guide boxes-guide-${axis}`, root));
    this.front = this.#layer("boxes-layer", FRONT);
    this.tags = element("div", "boxes-tags", root);
    this.loupe = new Loupe(root);
    this.view = new View({ width: 1, height: 1 }, PAD_PX);
    this.pointers = new Pointers(root, {
      tool,
      spaceHeld: () => this.spaceHeld,
      panTool: () => false,
      pan: (dx, dy) => this.pan(dx, dy),
      zoom: (factor, at) => this.zoomTo(this.view.scale * factor, at),
      toImage: (at) => this.view.toImage(at),
      scale: () => this.view.scale,
      hovered: () => {},
      left: () => (this.point(null), left()),
    });
    new ResizeObserver(() => this.#resize()).observe(root);
  }

  #layer(classes, names) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", classes);
    svg.setAttribute("aria-hidden", "true");
    for (const name of names) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("class", `boxes-${name}`);
      svg.append(path);
      this.#paths.set(name, path);
    }
    this.root.append(svg);
    return svg;
  }

  /* Another photograph, whole. size: in upright pixels, whatever size its file has. address: where
     its tiles are. */
  load(image, { width, height }, address) {
    this.image = image;
    this.size = { width, height };
    image.alt = "";
    Object.assign(image.style, { width: `${width}px`, height: `${height}px` });
    this.photo.replaceChildren(image);
    this.view = new View(this.size, PAD_PX);
    this.view.resize(this.root.clientWidth, this.root.clientHeight);
    this.details?.stop();
    this.details = address && new Details({ address, photo: image, width, height, place: (...tile) => this.#placeDetail(...tile) });
    this.point(null);
    this.fit();
  }

  #placeDetail(src, [left, top, width, height]) {
    const tile = element("img", "", this.photo);
    Object.assign(tile, { src, alt: "" });
    const box = { left, top, width, height };
    for (const [side, pixels] of Object.entries(box)) tile.style[side] = `${pixels}px`;
    tile.style.position = "absolute";
    return tile;
  }

  clear() {
    this.details?.stop();
    this.details = null;
    this.photo.replaceChildren();
    this.show({ standing: [] });
  }

  #resize() {
    this.view.resize(this.root.clientWidth, this.root.clientHeight);
    this.#move();
  }

  get whole() {
    return [0, 0, this.size.width, this.size.height];
  }

  get isWhole() {
    const { fitted } = this.view;
    return Boolean(fitted && this.size && fitted[2] - fitted[0] === this.size.width && fitted[3] - fitted[1] === this.size.height);
  }

  fit(box = this.whole) {
    this.view.fit(box);
    this.#move();
  }

  /* Shows a box with its surroundings. */
  look(box) {
    this.fit(surroundings(box, this.size));
  }

  pan(dx, dy) {
    this.view.pan(dx, dy);
    this.#move();
  }

  /* Whether that key moves the view, by a fifth of it. */
  panByKey(key) {
    if (!(key in ARROWS)) return false;
    const [x, y] = ARROWS[key];
    this.pan(-x * PAN * this.view.screen.width, -y * PAN * this.view.screen.height);
    return true;
  }

  zoomTo(scale, at) {
    const { width, height } = this.view.screen;
    const least = Math.min((width - 2 * PAD_PX) / this.size.width, (height - 2 * PAD_PX) / this.size.height);
    if (scale <= least * 1.001) return void this.fit();
    this.view.zoomTo(scale, at);
    this.#move();
  }

  zoomIn() {
    this.zoomTo(this.view.scale * STEP);
  }

  zoomOut() {
    this.zoomTo(this.view.scale / STEP);
  }

  reveal(point) {
    if (this.view.reveal(point)) this.#move();
  }

  #move() {
    const { scale, x, y } = this.view;
    this.photo.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    const shift = `translate(${x}px, ${y}px)`;
    for (const layer of [this.back, this.front, this.tags]) layer.style.transform = shift;
    this.details?.follow(this.view);
    if (scale !== this.scale) {
      this.scale = scale;
      this.photo.classList.toggle("pixels", scale >= PIXELS);
      this.#paint();
    }
    this.#guide();
    // Of a pan nobody needs to be told but once.
    const seen = `${scale} ${this.isWhole}`;
    if (seen !== this.#seen) {
      this.#seen = seen;
      this.moved();
    }
  }

  /* The lines through a point of the image, in both directions; null for none. */
  point(at) {
    this.pointed = at;
    this.#guide();
  }

  #guide() {
    const at = this.scene.cursor ?? this.pointed;
    if (!at && this.guides[0].hidden) return;
    for (const guide of this.guides) guide.hidden = !at;
    if (!at) return;
    const [x, y] = this.view.toScreen(at);
    this.guides[0].style.transform = `translateX(${x}px)`;
    this.guides[1].style.transform = `translateY(${y}px)`;
    for (const guide of this.guides) guide.classList.toggle("by-key", Boolean(this.scene.cursor));
  }

  /* The loupe beside a finger at that point of the image; null takes it away. */
  magnify(focus, finger = focus, box = null) {
    if (!focus) return void this.loupe.hide();
    const { details, image, size, view } = this;
    const lines = box ? [ringOf(box)] : [];
    this.loupe.show({ image, details, size, view, focus, finger: view.toScreen(finger), lines });
  }

  show(scene) {
    this.scene = scene;
    this.#paint();
    this.#guide();
  }

  #draw(name, d) {
    if (this.#drawn.get(name) === d) return;
    this.#drawn.set(name, d);
    this.#paths.get(name).setAttribute("d", d);
  }

  #both(name, d) {
    this.#draw(`${name}-casing`, d);
    this.#draw(name, d);
  }

  #paint() {
    const { scale, scene } = this;
    if (!scale) return;
    const at = (value) => digits(value * scale);
    const frame = ([x0, y0, x1, y1]) => `M${at(x0)} ${at(y0)}H${at(x1)}V${at(y1)}H${at(x0)}Z`;
    const lines = ([x0, y0, x1, y1]) => [
      `M${at(x0)} ${at(y0)}V${at(y1)}`, `M${at(x0)} ${at(y0)}H${at(x1)}`,
      `M${at(x1)} ${at(y0)}V${at(y1)}`, `M${at(x0)} ${at(y1)}H${at(x1)}`,
    ];
    const dots = (points) => points.map(([x, y]) => `M${at(x)} ${at(y)}h0`).join("");
    const { standing, rejected, box } = scene;
    this.#both("standing", standing.map(frame).join(""));
    this.#both("rejected", rejected ? frame(rejected.box) : "");
    this.#draw("rejected-sides", rejected ? lines(rejected.box).filter((_, side) => rejected.sides.includes(side)).join("") : "");
    this.#both("growing", scene.growing ? frame(scene.growing) : "");
    this.#both("box", box ? frame(box.box) : "");
    this.#both("wrong", box ? lines(box.box).filter((_, side) => box.wrong?.includes(side)).join("") : "");
    this.#both("grips", box?.grips ? dots(gripsOf(box.box)) : "");
    this.#both("active", box && box.active != null ? dots([middlesOf(box.box)[box.active]]) : "");
    this.#both("points", dots(scene.points ?? []));
    this.#both("at", scene.at ? dots([scene.at]) : "");
    this.back.classList.toggle("faint", Boolean(scene.faint));
    this.front.dataset.look = box?.look ?? "";
    this.#tag("rejected", rejected && { at: [rejected.box[0], rejected.box[1]], words: rejected.words });
    this.#tag("at", scene.at && { at: scene.at, words: gettext("Reported here") });
    this.#tag("box", box?.words && { at: [box.box[0], box.box[1]], words: box.words });
    this.#pins(scene.pins ?? []);
  }

  /* Words beside a place of the image. */
  #tag(name, said) {
    let tag = this.#tags.get(name);
    if (!said) {
      tag?.remove();
      this.#widths.delete(tag);
      this.#tags.delete(name);
      return;
    }
    if (!tag) {
      tag = element("span", `boxes-tag boxes-tag-${name}`, this.tags);
      this.#tags.set(name, tag);
    }
    if (tag.textContent !== said.words) {
      tag.textContent = said.words;
      this.#widths.set(tag, tag.offsetWidth);
    }
    this.#put(tag, said.at);
  }

  #pins(pins) {
    for (const [name, tag] of this.#tags) {
      if (Number.isInteger(name) && name >= pins.length) {
        tag.remove();
        this.#tags.delete(name);
      }
    }
    pins.forEach((pin, number) => {
      if (!this.#tags.has(number)) this.#tags.set(number, element("span", "boxes-pin", this.tags));
      const tag = this.#tags.get(number);
      tag.textContent = number + 1;
      tag.style.transform = `translate(${digits(pin[0] * this.scale)}px, ${digits(pin[1] * this.scale)}px)`;
    });
  }

  #put(tag, [x, y]) {
    // What would stand out of sight above stands within.
    tag.classList.toggle("within", y * this.scale + this.view.y < TAG_PX);
    // Words that would reach out of the stage begin further left.
    const end = this.view.screen.width - this.view.x - (this.#widths.get(tag) ?? 0) - TAG_GAP_PX;
    const left = Math.max(-this.view.x, Math.min(x * this.scale, end));
    tag.style.transform = `translate(${digits(left)}px, ${digits(y * this.scale)}px)`;
  }
}

const ringOf = ([x0, y0, x1, y1]) => [[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]];

const middlesOf = (box) => {
  const [x0, y0, x1, y1] = box;
  const [x, y] = middleOf(box);
  return [[x0, y], [x, y0], [x1, y], [x, y1]];
};

const gripsOf = (box) => {
  const [x0, y0, x1, y1] = box;
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1], ...middlesOf(box)];
};
