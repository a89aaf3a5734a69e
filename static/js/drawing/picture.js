/* The SVG: photograph, parts, overlaps, the stroke, handles and cursor. It is told what to show and
   decides nothing.

   Photograph, shapes, numbers and marks are layers. Their CSS transform is all that a pan or a zoom
   changes: two thousand shapes then move at the pace of the screen. Once a zoom has come to rest its
   scale goes into each layer's group, [data-world], numbers and hatching, so that lines are sharp again.
   Outlines keep their width by vector-effect; handles are the round ends of lines without length, one
   path for all of them. */
import { middleOf } from "./rings.js";

const SVG = "http://www.w3.org/2000/svg";
const SETTLE_MS = 120;
// As many as css/drawing.css has.
export const COLOURS = 32;
// A pan that went further is drawn anew once it rests: browsers keep no more beyond the edges.
const FAR_PX = 1200;
// From so many parts on numbers wait until the view rests: browsers need longer for them than for all outlines.
const CROWD = 300;
let serial = 0;

const digits = (value) => String(+value.toFixed(2));
const spot = ([x, y]) => `${digits(x)} ${digits(y)}`;
const line = (points) => (points.length ? `M${points.map(spot).join("L")}` : "");
const outline = (polygons) => polygons.flatMap((piece) => piece.map((ring) => `${line(ring)}Z`)).join("");
const dots = (points) => points.map((point) => `M${spot(point)}h0`).join("");
const frame = ([x0, y0, x1, y1]) => `M${x0} ${y0}H${x1}V${y1}H${x0}Z`;

function make(name, attributes = {}, parent = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
}

export class Picture {
  #groups = new Map();
  #drawn = new Map(); // layer → its d: what does not change costs nothing
  #settling = 0;
  #crowd = () => ""; // the outlines of all parts but the chosen one
  // What a pan moves. Numbers are no SVG: each text of one would cost at every step.
  moving = [];
  #drawnAt = null; // the view that the layers were drawn for

  constructor(root, { width, height, image, crop }) {
    this.name = `drawing-${(serial += 1)}`;
    this.size = { width, height };
    this.surface = document.createElement("div");
    this.surface.className = "drawing";
    this.surface.tabIndex = 0;
    this.surface.setAttribute("role", "application");
    const [below, middle] = ["photograph", "shapes"].map((name) => this.#world(name));
    this.numbers = this.#layer("numbers");
    const above = this.#world("marks");
    this.worlds = [below, middle, above];
    this.photograph = make("image", { href: image, width, height }, below);
    this.details = make("g", {}, below);
    if (crop) {
      const rest = `${frame([0, 0, width, height])}${frame(crop)}`;
      make("path", { class: "drawing-dim", d: rest }, below);
    }
    const crowd = make("path", { class: "drawing-crowd" }, middle);
    this.parts = make("g", { class: "drawing-parts" }, middle);
    this.layers = { crowd, overlap: make("path", { class: "drawing-overlap" }, middle) };
    this.#pattern(middle);
    for (const name of ["proposal-casing", "proposal", "shown-casing", "shown", "waiting-casing", "waiting", "preview-casing", "preview", "stroke-casing", "stroke", "fault",
      "brush", "cursor-casing", "cursor", "handles-casing", "handles", "active-casing", "active", "prompts-casing", "prompts-on", "prompts-beside", "prompts-beside-core"]) {
      this.layers[name] = make("path", { class: `drawing-${name}` }, above);
    }
    this.layers.overlap.style.fill = `url(#${this.name}-hatch)`;
    root.append(this.surface);
  }

  /* A tile of the photograph over it: details.js. */
  placeDetail(href, [x, y, width, height]) {
    const tile = make("image", { href, x, y, width, height, preserveAspectRatio: "none" });
    tile.classList.toggle("pixels", this.photograph.classList.contains("pixels"));
    this.details.append(tile);
    return tile;
  }

  #layer(name) {
    const layer = document.createElement("div");
    layer.className = `drawing-layer drawing-${name}`;
    layer.setAttribute("aria-hidden", "true");
    this.surface.append(layer);
    this.moving.push(layer);
    return layer;
  }

  #world(name) {
    return make("g", { "data-world": "" }, make("svg", {}, this.#layer(name)));
  }

  #pattern(world) {
    const defs = make("defs", {}, world);
    this.hatch = make(
      "pattern",
      { id: `${this.name}-hatch`, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      defs,
    );
    make("rect", { class: "drawing-hatch-ground", width: 8, height: 8 }, this.hatch);
    make("path", { class: "drawing-hatch-line", d: "M-2 2L2 -2M0 8L8 0M6 10L10 6" }, this.hatch);
  }

  remove() {
    clearTimeout(this.#settling);
    this.surface.remove();
  }

  /* The one change of a pan or a zoom. */
  move(view) {
    const { scale, x, y } = view;
    this.view = { scale, x, y };
    if (!this.#drawnAt) return void this.settle();
    const at = this.#drawnAt;
    const ratio = scale / at.scale;
    const shift = [x - ratio * at.x, y - ratio * at.y];
    const by = ratio === 1 ? "" : ` scale(${ratio})`;
    for (const layer of this.moving) layer.style.transform = `translate(${shift[0]}px, ${shift[1]}px)${by}`;
    clearTimeout(this.#settling);
    this.surface.classList.add("moving");
    const stays = ratio === 1 && Math.max(...shift.map(Math.abs)) < FAR_PX;
    this.#settling = setTimeout(() => (stays ? this.#rest() : this.settle()), SETTLE_MS);
  }

  /* Draws for the view as it is. */
  settle() {
    clearTimeout(this.#settling);
    if (!this.view) return;
    const { scale, x, y } = (this.#drawnAt = this.view);
    for (const world of this.worlds) world.setAttribute("transform", `matrix(${scale} 0 0 ${scale} ${x} ${y})`);
    for (const layer of this.moving) layer.style.transform = "";
    for (const [name, value] of [["--scale", scale], ["--left", `${x}px`], ["--top", `${y}px`]]) {
      this.numbers.style.setProperty(name, value);
    }
    this.hatch.setAttribute("patternTransform", `scale(${1 / scale})`);
    for (const image of this.worlds[0].querySelectorAll("image")) image.classList.toggle("pixels", scale >= 4);
    this.#rest();
  }

  #rest() {
    this.surface.classList.remove("moving");
    this.surface.classList.toggle("crowded", this.#groups.size > CROWD);
    this.#drawCrowd();
  }

  /* One part's outline and number; {name, number, colour, fixed}. */
  showPart(key, polygons, about) {
    const held = this.#groups.get(key) ?? this.#addPart(key, about);
    if (held.polygons === polygons) return;
    held.polygons = polygons;
    const d = outline(polygons);
    held.d = d;
    held.casing.setAttribute("d", d);
    held.body.setAttribute("d", d);
    held.numbers.replaceChildren(
      ...polygons.map((piece) => {
        const [x, y] = middleOf(piece).map(digits);
        const place = document.createElement("span");
        place.textContent = about.number;
        place.style.setProperty("--x", `${x}px`);
        place.style.setProperty("--y", `${y}px`);
        return place;
      }),
    );
  }

  #addPart(key, { colour, fixed, name }) {
    const tone = `tone-${colour % COLOURS}${fixed ? " fixed" : ""}`;
    const group = make("g", { class: `drawing-part ${tone}`, "data-part": key }, this.parts);
    make("title", {}, group).textContent = name;
    const held = {
      group,
      casing: make("path", { class: "casing" }, group),
      body: make("path", { class: "body" }, group),
      numbers: document.createElement("div"),
    };
    held.numbers.className = tone;
    this.numbers.append(held.numbers);
    this.#groups.set(key, held);
    return held;
  }

  dropPart(key) {
    const held = this.#groups.get(key);
    held?.group.remove();
    held?.numbers.remove();
    this.#groups.delete(key);
  }

  get partKeys() {
    return [...this.#groups.keys()];
  }

  /* hidden: a set of keys. The selected part lies on top. */
  mark(selected, hidden) {
    for (const [key, { group, numbers }] of this.#groups) {
      group.classList.toggle("selected", key === selected);
      group.classList.toggle("hidden", hidden.has(key));
      numbers.classList.toggle("hidden", hidden.has(key));
    }
    this.#crowd = () => {
      const others = [...this.#groups].filter(([key]) => key !== selected && !hidden.has(key));
      return others.map(([, { d }]) => d).join("");
    };
    this.#drawCrowd();
    const top = this.#groups.get(selected)?.group;
    if (top && top !== this.parts.lastChild) this.parts.append(top);
  }

  /* Of a crowd all casings but the chosen part's are one path. */
  #drawCrowd() {
    this.#draw("crowd", this.surface.classList.contains("crowded") ? this.#crowd() : "");
  }

  setOpacity(share) {
    this.parts.style.setProperty("--fill", share);
  }

  #draw(name, d) {
    if (this.#drawn.get(name) === d) return;
    this.#drawn.set(name, d);
    this.layers[name].setAttribute("d", d);
  }

  showOverlaps(regions) {
    this.#draw("overlap", outline(regions.flat()));
  }

  /* The unfinished stroke: its corners, what the next one would add, where it crosses itself. */
  showStroke({ corners = [], preview = [], fault = null, wide = 0 } = {}) {
    for (const name of ["stroke", "stroke-casing"]) {
      this.#draw(name, line(corners));
      this.layers[name].classList.toggle("faulty", Boolean(fault));
    }
    for (const name of ["preview", "preview-casing"]) {
      this.#draw(name, line(preview));
      this.layers[name].classList.toggle("swept", wide > 0);
      this.layers[name].style.strokeWidth = wide || "";
    }
    this.#draw("fault", fault ? dots([fault]) : "");
  }

  /* Unfinished strokes of parts that are not chosen. */
  showWaiting(strokes) {
    for (const name of ["waiting", "waiting-casing"]) this.#draw(name, strokes.map(line).join(""));
  }

  /* What a model proposes, and what it was shown: points on the part and beside it, a box, a line. */
  showProposal({ polygons, on, beside, box, line: stroke, asked }) {
    for (const name of ["proposal-casing", "proposal"]) this.#draw(name, outline(polygons));
    for (const name of ["shown-casing", "shown"]) this.#draw(name, (box ? frame(box) : "") + line(stroke));
    this.#draw("prompts-casing", dots([...on, ...beside]));
    this.#draw("prompts-on", dots(on));
    for (const name of ["prompts-beside", "prompts-beside-core"]) this.#draw(name, dots(beside));
    this.surface.classList.toggle("asked", asked);
  }

  showBrush(point, radius) {
    if (!point) return this.#draw("brush", "");
    const [x, y] = point;
    const arc = `a${radius} ${radius} 0 1 0 `;
    return this.#draw("brush", `M${x - radius} ${y}${arc}${2 * radius} 0${arc}${-2 * radius} 0Z`);
  }

  showHandles(points, active = null) {
    for (const name of ["handles", "handles-casing"]) this.#draw(name, dots(points));
    for (const name of ["active", "active-casing"]) this.#draw(name, active ? dots([active]) : "");
  }

  /* Two lines across the whole image that meet where the keyboard is. */
  showCursor(point) {
    const { width, height } = this.size;
    const d = point ? `M${digits(point[0])} 0V${height}M0 ${digits(point[1])}H${width}` : "";
    for (const name of ["cursor", "cursor-casing"]) this.#draw(name, d);
  }

  /* Red where a part that is being changed crosses itself. */
  markFault(key, point) {
    for (const [other, { group }] of this.#groups) group.classList.toggle("faulty", other === key);
    this.#draw("fault", point ? dots([point]) : "");
  }
}
