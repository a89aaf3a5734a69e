/* Every action by key, and a cursor for drawing without a pointer. The page hands keys over by
   handle(event); what it keeps for itself never comes here. */
import { gettext } from "../language.js";
const REACH_PX = 12;
const STEP_PX = 10;
const FAST = 5;
const FINE_PX = 1;
const IDLE_MS = 500;
const ARROWS = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

export const KEYS = [
  ["p d l b e x m", gettext("polygon, scissors, lasso, box, edit corners, eraser, move the view")],
  [gettext("Page up, Page down"), gettext("previous part, next part")],
  [gettext("Arrows"), gettext("move the cursor; Shift faster, Alt finer")],
  [gettext("Enter"), gettext("place a corner; start or end a stroke; pick up or drop a corner")],
  [gettext("Ctrl + Enter"), gettext("the same as Enter, without snapping")],
  ["c", gettext("close the outline")],
  [gettext("Backspace"), gettext("remove the last corner; when editing, remove this corner")],
  [gettext("Escape"), gettext("cancel the stroke; drop what you hold")],
  [gettext("Ctrl + Z, Ctrl + Y"), gettext("undo, redo")],
  ["h", gettext("cut a hole: the next outline is subtracted")],
  ["t", gettext("trace along neighbours, on or off")],
  ["f", gettext("trace in the other direction")],
  ["g", gettext("snap to neighbours, on or off")],
  [gettext("n, Shift + N"), gettext("when editing: next or previous corner")],
  ["a", gettext("when editing: add a corner after this one")],
  [gettext("Shift + Delete"), gettext("delete the piece or hole under the cursor")],
  ["o", gettext("minimize overlap: the selected part keeps the shared area")],
  ["r", gettext("copy from the mirrored part")],
  [gettext("k, Shift + K"), gettext("hide or show this part; hide or show all others")],
  ["[ ]", gettext("smaller, larger eraser")],
  [", .", gettext("fainter, stronger colours")],
  ["+ −", gettext("zoom in, zoom out")],
  ["0", gettext("whole photograph or close-up of the object")],
  [gettext("Space + drag"), gettext("move the view; also the middle button or two fingers")],
];

export class Keyboard {
  point = null; // the cursor, in image pixels; null while a pointer draws
  under = null; // where a pointer was last
  spaceHeld = false;
  #begun = false;
  #saying = 0;

  constructor(drawing, board, view) {
    Object.assign(this, { drawing, board, view });
    this.actions = this.#actions();
    this.lifted = (event) => event.key === " " && this.#space(false);
    addEventListener("keyup", this.lifted);
    this.blurred = () => this.#space(false);
    addEventListener("blur", this.blurred);
  }

  remove() {
    clearTimeout(this.#saying);
    removeEventListener("keyup", this.lifted);
    removeEventListener("blur", this.blurred);
  }

  #actions() {
    const { drawing, board } = this;
    const use = (tool) => () => drawing.use(tool);
    return {
      p: use("polygon"), d: use("scissors"), l: use("lasso"), b: use("box"), e: use("edit"), x: use("eraser"), m: use("pan"),
      c: () => (board.tool.close ? board.tool.close() : board.finishStroke()),
      h: () => drawing.setCutting(!board.cutting),
      t: () => drawing.toggle("tracing", gettext("Tracing along neighbours")),
      g: () => drawing.toggle("gluing", gettext("Snapping")),
      f: () => drawing.flip(),
      o: () => board.minimizeOverlap(),
      r: () => drawing.mirror(),
      k: () => this.#hide(),
      K: () => drawing.hideOthers(),
      n: () => this.#step(1),
      N: () => this.#step(-1),
      a: () => this.#add(),
      "[": () => drawing.resizeEraser(false),
      "]": () => drawing.resizeEraser(true),
      ",": () => drawing.setOpacity(drawing.opacity - 0.1),
      ".": () => drawing.setOpacity(drawing.opacity + 0.1),
      "+": () => drawing.zoomIn(),
      "=": () => drawing.zoomIn(),
      "-": () => drawing.zoomOut(),
      "−": () => drawing.zoomOut(),
      0: () => drawing.look(),
      PageUp: () => drawing.selectNext(-1),
      PageDown: () => drawing.selectNext(1),
    };
  }

  /* Whether the key meant something here. */
  handle(event) {
    if (event.isComposing) return false;
    const { key } = event;
    if (key in ARROWS) return this.#arrow(event);
    if (event.ctrlKey || event.metaKey) return this.#withControl(event);
    if (event.altKey) return false;
    if (key === " ") return event.target.closest?.("button, a, summary") ? false : this.#space(true);
    if (key === "Enter") return this.#enter(event);
    if (key === "Backspace" || key === "Delete") return this.#delete(event);
    if (key === "Escape") return event.repeat || this.#escape();
    if (!Object.hasOwn(this.actions, key)) return false;
    if (event.repeat && !/^[-+=−,.[\]nN]$/.test(key)) return true;
    this.actions[key]();
    return true;
  }

  #space(held) {
    this.spaceHeld = held;
    this.drawing.picture.surface.classList.toggle("may-pan", held);
    return true;
  }

  #withControl(event) {
    const key = event.key.toLowerCase();
    if (key === "enter") return this.#enter(event);
    if (key === "z") event.shiftKey ? this.drawing.redo() : this.drawing.undo();
    else if (key === "y") this.drawing.redo();
    else return false;
    return true;
  }

  how(event = {}) {
    const radius = REACH_PX / this.view.scale;
    return {
      radius, radiusPx: REACH_PX, keyboard: true, alt: false, time: event.timeStamp ?? 0,
      free: Boolean(event.ctrlKey || event.metaKey),
    };
  }

  /* The cursor goes; a pointer has taken over. */
  rest() {
    if (!this.point) return;
    if (this.#begun) this.board.tool.cancel(this.how());
    this.#begun = false;
    this.point = null;
    this.drawing.picture.showCursor(null);
  }

  /* Another tool: nothing is begun any more. */
  release() {
    this.#begun = false;
  }

  #arrow(event) {
    if (event.ctrlKey || event.metaKey) return false;
    const px = event.altKey ? FINE_PX : event.shiftKey ? STEP_PX * FAST : STEP_PX;
    // A tenth at least, however near one looks.
    const step = Math.max(0.1, px / this.view.scale);
    const [dx, dy] = ARROWS[event.key];
    const [x, y] = this.#here();
    this.#go(this.board.clamped([x + dx * step, y + dy * step]), event);
    return true;
  }

  /* The cursor, at first where a pointer was, or in the middle of the view. */
  #here() {
    const { width, height } = this.view.screen;
    const [x, y] = this.under ? this.view.toScreen(this.under) : [-1, -1];
    const seen = x >= 0 && y >= 0 && x <= width && y <= height;
    const first = () => (seen ? this.under : this.view.toImage([width / 2, height / 2]));
    return (this.point ??= this.board.clamped(first()));
  }

  #go(point, event) {
    this.point = point;
    this.drawing.picture.showCursor(point);
    if (this.view.reveal(point)) this.drawing.moved();
    const how = { ...this.how(event), free: Boolean(event?.altKey) };
    if (this.#begun) this.board.tool.drag(point, how);
    else this.board.tool?.hover(point, how);
    clearTimeout(this.#saying);
    this.#saying = setTimeout(() => this.#tell(), IDLE_MS);
  }

  #tell() {
    if (!this.point) return;
    const key = this.board.partAt(this.point);
    const on = key === undefined ? "" : `, ${this.board.nameOf(key)}`;
    this.board.whisper(`${this.point.join(", ")}${on}`);
  }

  #enter(event) {
    const { tool } = this.board;
    if (!tool || event.target.closest?.("button, a, summary")) return false;
    if (event.repeat) return true;
    const point = this.#here();
    this.drawing.picture.showCursor(point);
    const how = this.how(event);
    if (tool.enter?.(point, how)) return true;
    if (tool.instant) tool.end(point, how);
    else if (this.#begun) {
      this.#begun = false;
      tool.end(point, how);
    } else {
      tool.begin(point, how);
      this.#begun = tool.holding ?? true;
      if (this.#begun) this.board.whisper(gettext("Started; move, then press Enter."));
    }
    return true;
  }

  #delete(event) {
    if (event.shiftKey) {
      this.board.removeAt(this.#here());
      return true;
    }
    if (this.board.tool?.remove?.()) return true;
    if (this.board.shorten()) return true;
    return event.key === "Delete";
  }

  #escape() {
    if (!this.#begun && this.board.tool?.escape?.()) return true;
    if (this.#begun) {
      this.#begun = false;
      this.board.tool.cancel();
      this.board.whisper(gettext("Put back."));
      return true;
    }
    return this.board.shorten(true);
  }

  #step(by) {
    const { tool } = this.board;
    if (!tool?.step) this.drawing.use("edit");
    const corner = this.board.tool.step(by, this.#here());
    if (!corner) return;
    this.#go(corner);
    this.board.whisper(gettext("Corner at %(place)s.", { place: corner.join(", ") }));
  }

  #add() {
    const corner = this.board.tool?.add?.();
    if (corner) this.#go(corner);
    else this.board.say(gettext("Choose a corner with n in the edit tool; a adds one after it."));
  }

  #hide() {
    const { selected, hidden } = this.board;
    if (selected !== null) this.drawing.hide(selected, !hidden.has(selected));
  }
}
