/* Draws the parts of an object over its photograph: the engine's door. docs/explanation/drawing.md tells the rest.

   new Drawing(root, {width, height, image, photo, address, view, crop, pad, parts, announce, asks}) fills the element
   `root`, whose size it takes. photo: its <img>, for the loupe beside a finger and the scissors. Shapes
   are {key: polygons}, polygons [[[[x, y], …], hole, …], …] in pixels of the image, exact to a tenth.
   Events: change {reason}, select {key}, overlap {overlaps}, tool {tool, cutting}, history {canUndo,
   canRedo}, view {scale, whole}, opacity {opacity}, edges {ready}; where a model may be asked (`asks`):
   ask {key, prompts}, proposal {waits}, taken {key, proposal}, refused {proposal}. */
import { gettext } from "../language.js";
import { Board, plain } from "./board.js";
import { Keyboard, KEYS } from "./keyboard.js";
import { Picture } from "./picture.js";
import { Pointers } from "./pointers.js";
import { Details } from "../details.js";
import { Loupe } from "../loupe.js";
import { boxOf, meet } from "./rings.js";
import { View } from "./view.js";
import { AskTool } from "./tools/ask.js";
import { BoxTool } from "./tools/box.js";
import { EditTool } from "./tools/edit.js";
import { EraserTool } from "./tools/eraser.js";
import { LassoTool } from "./tools/lasso.js";
import { flipped, PolygonTool } from "./tools/polygon.js";
import { Edges } from "./scissors/edges.js";
import { ScissorsTool } from "./tools/scissors.js";

const ZOOM_STEP = 1.4;
const VERSION = 1;
const STEPS_ROOM = 150_000;
const NAMES = {
  polygon: gettext("Polygon"), scissors: gettext("Scissors"), edit: gettext("Edit corners"), lasso: gettext("Lasso"), box: gettext("Box"), eraser: gettext("Eraser"), pan: gettext("Move the view"),
  ask: gettext("Ask the model"),
};
// What is proposed waits while one looks around; any other tool mends it.
const WAITS = ["ask", "pan"];
const still = { begin() {}, drag() {}, end() {}, hover() {}, cancel() {} };

export class Drawing extends EventTarget {
  opacity = 0.3;
  #tools;
  #name = "polygon";
  #frame = 0;
  #watch;

  constructor(root, { width, height, image, photo = null, address = null, view, crop = null, pad = null, parts = [], announce = null, asks = false }) {
    super();
    this.asks = asks;
    this.root = root;
    this.whole = [0, 0, width, height];
    this.crop = crop ?? this.whole;
    this.first = view ?? this.crop;
    root.classList.add("drawing-room");
    this.picture = new Picture(root, { width, height, image, crop });
    this.view = new View({ width, height }, pad);
    this.photo = photo;
    this.loupe = photo && new Loupe(root);
    const place = (url, box) => this.picture.placeDetail(url, box);
    this.details = address && new Details({ address, photo, width, height, place });
    const say = announce ?? this.#voice();
    this.board = new Board({
      parts, width, height, picture: this.picture,
      say: (text) => text && say(text, { quiet: false }),
      whisper: (text) => text && say(text, { quiet: true }),
      tell: (name, detail) => this.dispatchEvent(new CustomEvent(name, { detail })),
    });
    this.edges = new Edges(photo, { width, height });
    this.keyboard = new Keyboard(this, this.board, this.view);
    this.#tools = {
      polygon: new PolygonTool(this.board), scissors: new ScissorsTool(this.board, this.edges), edit: new EditTool(this.board), lasso: new LassoTool(this.board),
      box: new BoxTool(this.board), eraser: new EraserTool(this.board), pan: still, ask: new AskTool(this.board),
    };
    this.pointers = new Pointers(this.picture.surface, this.#hands());
    this.#watch = new ResizeObserver(([entry]) => this.#resize(entry.contentRect));
    this.#watch.observe(root);
    this.#resize(root.getBoundingClientRect());
    this.setOpacity(this.opacity);
    this.use("polygon");
  }

  /* The page has no place for words: one of our own. */
  #voice() {
    const place = document.createElement("div");
    place.className = "visually-hidden";
    place.setAttribute("role", "status");
    this.root.append(place);
    return (text) => (place.textContent = text);
  }

  #hands() {
    const { board, view, keyboard } = this;
    return {
      tool: () => (keyboard.rest(), this.loupe ? this.#magnified(board.tool) : board.tool),
      spaceHeld: () => keyboard.spaceHeld,
      panTool: () => this.#name === "pan",
      secondary: () => this.#name === "ask",
      hovered: (at) => (keyboard.rest(), (keyboard.under = view.toImage(at))),
      left: () => keyboard.point || this.picture.showBrush(null),
      scale: () => view.scale,
      toImage: (at) => view.toImage(at),
      pan: (dx, dy) => (view.pan(dx, dy), this.moved()),
      zoom: (factor, at) => (view.zoomTo(view.scale * factor, at), this.moved()),
    };
  }

  /* The tool with the loupe beside a finger. */
  #magnified(tool) {
    const look = (name, ends) => (point, how) => {
      tool[name](point, how);
      if (ends || !how?.touch || this.#name === "pan") this.loupe.hide();
      else this.#magnify(point);
    };
    return {
      begin: look("begin"), drag: look("drag"), hover: look("hover", true), end: look("end", true),
      cancel: (how) => (this.loupe.hide(), tool.cancel(how)),
    };
  }

  #magnify(point) {
    const { photo: image, details, view, board } = this;
    const reach = 64 / view.scale;
    const around = [point[0] - reach, point[1] - reach, point[0] + reach, point[1] + reach];
    const near = board.neighbours().filter(({ polygons }) => meet(boxOf(polygons), around));
    const lines = [...near.flatMap(({ polygons }) => polygons.flat().map((ring) => [...ring, ring[0]])), ...board.lines];
    this.loupe.show({ image, details, size: view.size, focus: point, finger: view.toScreen(point), view, lines });
  }

  destroy() {
    this.details?.stop();
    this.loupe?.remove();
    this.edges.stop();
    this.#watch.disconnect();
    cancelAnimationFrame(this.#frame);
    this.pointers.remove();
    this.keyboard.remove();
    this.picture.remove();
  }

  /* Shapes */

  /* Shows these shapes. A new beginning, unless the history is kept: then undo goes back behind it. */
  load(shapes, { keepHistory = false } = {}) {
    const strokes = keepHistory ? this.board.strokes : new Map();
    this.board.reset(new Map(Object.entries(shapes)), strokes, keepHistory);
  }

  /* Parts that have an outline. */
  shapes() {
    return Object.fromEntries([...this.board.shapes].filter(([, polygons]) => polygons.length));
  }

  setFixed(shapes) {
    this.board.setFixed(new Map(Object.entries(shapes)));
  }

  /* All that a draft needs, as JSON. */
  state() {
    const { stroke, strokes: all, selected, cutting, tool } = this.board;
    const corners = [...(stroke?.corners ?? []), ...(tool.pending ?? [])];
    const others = [...all].filter(([key]) => key !== selected).map(([key, each]) => [key, each.corners]);
    const strokes = Object.fromEntries(others);
    const begun = { stroke: corners, strokes, selected, cutting, tool: this.#name };
    return { version: VERSION, shapes: this.shapes(), ...begun };
  }

  /* Keys of the parts that have an unfinished stroke. */
  unfinished() {
    const { strokes, tool, selected } = this.board;
    const begun = tool.pending?.length && !strokes.has(selected) ? [selected] : [];
    return [...strokes.keys(), ...begun];
  }

  /* Takes outline and unfinished stroke of a part away, by one step. */
  clear(key) {
    this.board.clear(key);
  }

  /* The steps up to now and those undone, as JSON: the last of them, as many as have room. */
  steps(room = STEPS_ROOM) {
    return this.board.steps(room);
  }

  /* Goes on from a draft, and with its steps where they lead to it; false, and nothing changed, where it is none. */
  restore(state, { keepHistory = false, steps = null } = {}) {
    if (!isState(state)) return false;
    const begun = { ...state.strokes, [state.selected]: state.stroke };
    const known = new Set(this.board.parts.map(({ key }) => key));
    const strokes = Object.entries(begun)
      .filter(([key, corners]) => corners.length && known.has(key))
      .map(([key, corners]) => [key, { corners: corners.map((corner) => this.board.clamped(corner)), leg: null }]);
    this.board.reset(new Map(Object.entries(state.shapes)), new Map(strokes), keepHistory);
    if (isSteps(steps)) this.board.takeSteps(steps);
    this.select(state.selected ?? null);
    this.setCutting(Boolean(state.cutting));
    if (state.tool in NAMES) this.use(state.tool);
    return true;
  }

  overlaps() {
    return this.board.overlaps().map(plain);
  }

  minimizeOverlap() {
    return Boolean(this.board.minimizeOverlap());
  }

  /* Turns a part over about the middle of the object; the copy is then to be dragged into place. */
  copyMirrored(from, to) {
    if (this.board.copyMirrored(from, to)) this.use("edit");
  }

  /* A copy of the chosen part's mirrored part. */
  mirror() {
    const { selected } = this.board;
    const from = this.board.part(selected).mirror;
    if (from) this.copyMirrored(from, selected);
    else this.board.say(gettext("The chosen part has no mirrored part."));
  }

  undo() {
    this.board.undo();
  }

  redo() {
    this.board.redo();
  }

  get canUndo() {
    return this.board.canUndo;
  }

  get canRedo() {
    return this.board.canRedo;
  }

  /* Parts */

  get selected() {
    return this.board.selected;
  }

  /* What was begun stays with the part that it was begun for. */
  select(key) {
    if (key !== this.board.selected) {
      this.#tools.ask.refuse(true);
      this.board.tool.cancel(this.keyboard.how());
      this.keyboard.release();
    }
    this.board.select(key);
    this.#label();
  }

  selectNext(by) {
    const keys = this.board.parts.map((part) => part.key);
    if (!keys.length) return;
    const now = keys.indexOf(this.board.selected);
    this.select(keys[now < 0 ? (by > 0 ? 0 : keys.length - 1) : (now + by + keys.length) % keys.length]);
  }

  hide(key, hidden) {
    this.board.hide(key, hidden);
    this.board.whisper(hidden ? gettext("%(part)s hidden.", { part: this.board.nameOf(key) }) : gettext("%(part)s shown.", { part: this.board.nameOf(key) }));
  }

  isHidden(key) {
    return this.board.hidden.has(key);
  }

  /* Hides every part but the chosen one, or shows all again. */
  hideOthers() {
    const { board } = this;
    const others = [...board.shapes.keys(), ...board.fixed.keys()].filter((key) => key !== board.selected);
    const hidden = others.some((key) => !board.hidden.has(key));
    for (const key of others) board.hide(key, hidden);
    board.whisper(hidden ? gettext("The other parts are hidden.") : gettext("All parts are shown."));
  }

  get snapping() {
    return this.board.gluing;
  }

  setOpacity(share) {
    this.opacity = Math.round(Math.min(1, Math.max(0, share)) * 100) / 100;
    this.picture.setOpacity(this.opacity);
    this.dispatchEvent(new CustomEvent("opacity", { detail: { opacity: this.opacity } }));
  }

  /* Tools */

  get tool() {
    return this.#name;
  }

  get cutting() {
    return this.board.cutting;
  }

  use(wanted) {
    const name = wanted === "ask" && !this.asks ? "polygon" : wanted;
    this.board.tool?.cancel(this.keyboard.how());
    if (!WAITS.includes(name)) this.#tools.ask.take();
    this.keyboard.release();
    this.#name = name;
    this.board.tool = this.#tools[name];
    this.picture.showBrush(null);
    this.picture.surface.dataset.tool = name;
    this.board.paint();
    this.board.whisper(`${NAMES[name]}.`);
    if (name === "scissors") this.#findEdges();
    this.#toolTold();
  }

  /* Of a model: {proposal, polygons} for a part, or null where it has none. */
  propose(key, found) {
    this.#tools.ask.propose(key, found, this.keyboard.point);
  }

  /* What a model proposes and nobody took yet, or null. */
  get proposal() {
    return this.#tools.ask.proposal;
  }

  takeProposal() {
    return this.#tools.ask.take();
  }

  refuseProposal() {
    return this.#tools.ask.refuse();
  }

  /* For the scissors, once for each photograph. */
  async #findEdges() {
    try {
      await this.edges.start();
    } catch {
      this.board.say(gettext("The edges of this photograph cannot be found: lines stay straight."));
    }
    this.dispatchEvent(new CustomEvent("edges", { detail: { ready: this.edges.ready } }));
  }

  /* Whether outlines are taken away from the part instead of added. */
  setCutting(cutting) {
    this.board.cutting = cutting;
    this.board.whisper(cutting ? gettext("Cutting: the next outline is subtracted.") : gettext("Adding."));
    this.#toolTold();
  }

  #toolTold() {
    const detail = { tool: this.#name, cutting: this.board.cutting };
    this.dispatchEvent(new CustomEvent("tool", { detail }));
    this.#label();
  }

  #label() {
    const { selected } = this.board;
    const part = selected === null ? gettext("no part chosen") : this.board.nameOf(selected);
    const cutting = this.board.cutting ? gettext(", cutting") : "";
    this.picture.surface.setAttribute("aria-label", gettext("Drawing: %(part)s, %(tool)s", { part, tool: NAMES[this.#name].toLowerCase() }) + cutting);
  }

  /* "tracing" or "gluing" (snapping). */
  toggle(what, name) {
    this.board[what] = !this.board[what];
    this.#toolTold();
    this.board.say(this.board[what] ? gettext("%(name)s is on.", { name }) : gettext("%(name)s is off.", { name }));
  }

  /* The last traced way goes round the other side. */
  flip() {
    const stroke = this.board.stroke && flipped(this.board.stroke);
    if (stroke) this.board.setStroke(stroke);
    else this.board.say(gettext("The last line was not traced along a neighbour."));
  }

  resizeEraser(larger) {
    const radius = this.#tools.eraser.resize(larger, this.keyboard.how());
    this.board.say(gettext("Eraser size: %(count)s pixels.", { count: Math.round(2 * radius * 10) / 10 }));
    if (this.keyboard.point && this.#name === "eraser") this.picture.showBrush(this.keyboard.point, radius);
  }

  handleKey(event) {
    return this.keyboard.handle(event);
  }

  keys() {
    return KEYS;
  }

  /* View */

  zoomIn() {
    this.#zoom(ZOOM_STEP);
  }

  zoomOut() {
    this.#zoom(1 / ZOOM_STEP);
  }

  /* On the keyboard's cursor where there is one, else on the middle. */
  #zoom(factor) {
    const at = this.keyboard.point ? this.view.toScreen(this.keyboard.point) : undefined;
    this.view.zoomTo(this.view.scale * factor, at);
    this.moved();
  }

  get isWhole() {
    return String(this.view.fitted) === String(this.whole);
  }

  /* The whole photograph, or the object from near. */
  look() {
    this.fit(this.isWhole ? this.crop : this.whole);
  }

  /* Shows a box of the image, or what was shown first. */
  fit(box = this.first) {
    this.view.fit(box);
    this.moved();
  }

  /* The view has changed: one transform, in the next frame. */
  moved() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.picture.move(this.view);
      this.details?.follow(this.view);
      this.#viewTold();
    });
  }

  #viewTold() {
    const { view: { scale }, isWhole: whole } = this;
    this.dispatchEvent(new CustomEvent("view", { detail: { scale, whole } }));
  }

  #resize({ width, height }) {
    if (!width || !height) return;
    const begun = this.view.screen.width > 0;
    this.pointers.stale();
    this.view.resize(width, height);
    if (!begun) this.view.fit(this.first);
    this.picture.move(this.view);
    this.picture.settle();
    this.details?.follow(this.view);
    this.#viewTold();
  }
}

const isPoint = (value) => Array.isArray(value) && value.length === 2 && value.every(Number.isFinite);
const isLine = (value) => Array.isArray(value) && value.every(isPoint);
const isRing = (value) => Array.isArray(value) && value.length > 2 && value.every(isPoint);
const isPolygons = (value) =>
  Array.isArray(value) && value.every((piece) => Array.isArray(piece) && piece.length && piece.every(isRing));

function isState(state) {
  return Boolean(
    state && state.version === VERSION && state.shapes && Object.values(state.shapes).every(isPolygons) &&
      isLine(state.stroke) && Object.values(state.strokes ?? {}).every(isLine),
  );
}

/* As Board.steps gives them. */
function isSteps(steps) {
  const isMoment = ({ shapes, strokes }) =>
    Object.values(shapes).every(isPolygons) && Object.values(strokes).every((line) => line === null || isLine(line));
  const moments = steps?.moments;
  return Array.isArray(moments) && moments.length > 0 && moments.every(isMoment) && steps.now in moments;
}
