/* Mouse, pen and fingers. One of them draws at a time; the middle button, space, two fingers, and a
   finger while a pen is down move the view instead. */

const REACH_PX = { mouse: 12, pen: 12, touch: 24 };
const STALE_MS = 1000;

export class Pointers {
  #down = new Map(); // pointerId → {type, at: where on the page}
  #drawing = null; // the pointer that draws
  #rect = null;
  #rests = [];
  #seen = -Infinity;

  /* does: {tool(), spaceHeld(), panTool(), secondary(): whether the tool takes the second button, pan(dx, dy), zoom(factor, at), toImage(at),
     scale(), hovered(at), left()}. */
  constructor(svg, does) {
    this.svg = svg;
    this.does = does;
    const on = (name, action, options) => svg.addEventListener(name, action, options);
    on("pointerdown", (event) => this.#press(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#lift(event));
    on("pointercancel", (event) => this.#lift(event));
    on("pointerleave", () => this.#drawing === null && does.left());
    on("wheel", (event) => this.#wheel(event), { passive: false });
    // Neither the menu of a long press nor the middle button's scrolling.
    on("contextmenu", (event) => event.preventDefault());
    on("mousedown", (event) => event.button === 1 && event.preventDefault());
    this.stale = () => (this.#rect = null);
    addEventListener("scroll", this.stale, { capture: true, passive: true });
    addEventListener("resize", this.stale);
  }

  remove() {
    removeEventListener("scroll", this.stale, { capture: true });
    removeEventListener("resize", this.stale);
  }

  /* Screen point of an event. Where the drawing lies is asked again after a pause: asking makes the
     browser lay the page out, too dear for every move of a hand. */
  #at(event) {
    if (event.timeStamp - this.#seen > STALE_MS) this.stale();
    this.#seen = event.timeStamp;
    const { left, top } = this.#place();
    return [event.clientX - left, event.clientY - top];
  }

  #place() {
    return (this.#rect ??= this.svg.getBoundingClientRect());
  }

  #how(event) {
    const radiusPx = REACH_PX[event.pointerType] ?? REACH_PX.mouse;
    const { altKey: alt, timeStamp: time } = event;
    const free = event.ctrlKey || event.metaKey;
    const touch = event.pointerType === "touch";
    return { radius: radiusPx / this.does.scale(), radiusPx, free, alt, time, touch };
  }

  #press(event) {
    const secondary = event.button === 2 && this.does.secondary();
    if (event.button > 1 && !secondary) return;
    this.stale();
    const at = this.#at(event);
    const pen = [...this.#down.values()].some(({ type }) => type === "pen");
    const held = { type: event.pointerType, at: [event.clientX, event.clientY] };
    this.#down.set(event.pointerId, held);
    this.svg.setPointerCapture(event.pointerId);
    this.svg.focus({ preventScroll: true });
    if (event.pointerType === "pen") this.#stop(event);
    const moves = event.button === 1 || this.does.spaceHeld() || this.does.panTool();
    const palm = pen && event.pointerType === "touch";
    const second = !pen && this.#down.size > 1 && event.pointerType === "touch";
    if (second) this.#stop(event);
    if (moves || palm || second) this.svg.classList.add("panning");
    else if (this.#drawing === null) {
      this.#drawing = event.pointerId;
      this.does.tool().begin(this.does.toImage(at), { ...this.#how(event), secondary });
    }
  }

  /* Another hand takes over: what was begun ends here. */
  #stop(event) {
    if (this.#drawing === null) return;
    this.does.tool().cancel(this.#how(event));
    this.#drawing = null;
  }

  #move(event) {
    const held = this.#down.get(event.pointerId);
    if (!held) return this.#hover(event);
    if (event.pointerId === this.#drawing) {
      // What the browser put together into one event is all there: a fast hand stays round.
      const all = event.getCoalescedEvents?.() ?? [];
      for (const each of all.length ? all : [event]) this.#drag(each);
      return null;
    }
    const before = held.at;
    held.at = [event.clientX, event.clientY];
    const fingers = this.#free();
    if (fingers.length === 2 && fingers.includes(held)) this.#pinch(held, before, fingers);
    else if (fingers.length < 2 || held.type !== "touch") {
      this.does.pan(held.at[0] - before[0], held.at[1] - before[1]);
    }
    return null;
  }

  #drag(event) {
    this.does.tool().drag(this.does.toImage(this.#at(event)), this.#how(event));
  }

  /* The fingers that do not draw. */
  #free() {
    return [...this.#down]
      .filter(([id, { type }]) => id !== this.#drawing && type === "touch")
      .map(([, held]) => held);
  }

  #pinch(held, before, fingers) {
    const other = fingers.find((finger) => finger !== held).at;
    const apart = ([x, y]) => Math.hypot(x - other[0], y - other[1]) || 1;
    const middle = ([x, y]) => [(x + other[0]) / 2, (y + other[1]) / 2];
    const [from, to] = [middle(before), middle(held.at)];
    this.does.pan(to[0] - from[0], to[1] - from[1]);
    const { left, top } = this.#place();
    this.does.zoom(apart(held.at) / apart(before), [to[0] - left, to[1] - top]);
  }

  #hover(event) {
    if (event.pointerType === "touch" || this.does.panTool()) return;
    // Browsers also tell of a pointer that rests when the page moves under it.
    const [x, y] = this.#rests;
    if (event.clientX === x && event.clientY === y) return;
    this.#rests = [event.clientX, event.clientY];
    const at = this.#at(event);
    this.does.hovered(at);
    this.does.tool().hover(this.does.toImage(at), this.#how(event));
  }

  #lift(event) {
    if (!this.#down.delete(event.pointerId)) return;
    if (!this.#down.size) this.svg.classList.remove("panning");
    if (event.pointerId !== this.#drawing) return;
    this.#drawing = null;
    const tool = this.does.tool();
    if (event.type === "pointercancel") tool.cancel(this.#how(event));
    else tool.end(this.does.toImage(this.#at(event)), this.#how(event));
  }

  #wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    this.does.zoom(Math.exp(-event.deltaY * lines * 0.002), this.#at(event));
  }
}
