/* A page of images to mark: yes by a click, tap, space or Enter, and again for no; too hard by h,
   its tick or a long press.

   <ul data-tiles> of <li class="tile" data-seat> with .tile-yes, .tile-hard input, [data-tile-do]
   (templates/annotator/_tile.html). One tile is in the tab order; arrows move to the others.
   Events on the list: "mark" when a mark changed, "closer" and "skip", all with {tile}. */

const LONG_PRESS_MS = 500;
const STILL_PX = 10;
// As much of a tile as must have been on the screen for its image to count as seen.
const SEEN = 0.6;

export const boxes = (tile) => [tile.querySelector(".tile-yes"), tile.querySelector(".tile-hard input")];

export function markOf(tile) {
  const [yes, hard] = boxes(tile);
  return hard.checked ? "hard" : yes.checked ? "yes" : "no";
}

export class Tiles {
  #press = null;
  #swallow = false;
  #seen = new WeakSet();

  constructor(list) {
    this.list = list;
    this.active = null;
    list.addEventListener("change", (event) => this.#ticked(event.target));
    list.addEventListener("click", (event) => this.#clicked(event));
    list.addEventListener("keydown", (event) => this.#pressed(event));
    list.addEventListener("focusin", (event) => this.#activate(event.target.closest(".tile")));
    list.addEventListener("pointerdown", (event) => this.#hold(event));
    list.addEventListener("pointermove", (event) => this.#moved(event));
    for (const name of ["pointerup", "pointercancel"]) list.addEventListener(name, () => this.#let());
    list.addEventListener("contextmenu", (event) => this.#press && event.preventDefault());
    this.observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) this.#seen.add(target);
    }, { threshold: SEEN });
    this.adopt();
  }

  get all() {
    return [...this.list.children];
  }

  /* Other tiles stand in the list now. */
  adopt() {
    this.observer.disconnect();
    for (const tile of this.all) this.observer.observe(tile);
    this.#activate(this.all[0]);
  }

  /* The first tile whose image was not on the screen yet. */
  unseen() {
    return this.all.filter((tile) => !this.#seen.has(tile));
  }

  /* The tile with the focus, or that had it last. */
  focused() {
    const tile = document.activeElement?.closest?.(".tile") || this.active;
    return tile?.isConnected ? tile : null;
  }

  focus(tile, options) {
    if (!tile) return;
    this.#activate(tile);
    boxes(tile)[0].focus(options);
  }

  mark(tile, value) {
    const [yes, hard] = boxes(tile);
    yes.checked = value === "yes";
    hard.checked = value === "hard";
    this.#tell("mark", tile);
  }

  toggle(tile, value) {
    this.mark(tile, markOf(tile) === value ? "no" : value);
  }

  counts() {
    const counts = { yes: 0, no: 0, hard: 0 };
    for (const tile of this.all) counts[markOf(tile)] += 1;
    return counts;
  }

  remove(tile) {
    const index = this.all.indexOf(tile);
    const hadFocus = tile.contains(document.activeElement);
    tile.remove();
    const next = this.all[Math.min(index, this.all.length - 1)];
    if (hadFocus) this.focus(next);
    else if (this.active === tile) this.#activate(next);
  }

  #tell(name, tile) {
    this.list.dispatchEvent(new CustomEvent(name, { detail: { tile } }));
  }

  #activate(tile) {
    if (!tile) return;
    this.active = tile;
    for (const other of this.all) {
      for (const control of other.querySelectorAll("input:not([type=hidden]), button")) {
        control.tabIndex = other === tile ? 0 : -1;
      }
    }
  }

  #ticked(box) {
    const tile = box.closest(".tile");
    const [yes, hard] = boxes(tile);
    // The later tick stands alone.
    if (box.checked) (box === yes ? hard : yes).checked = false;
    this.#tell("mark", tile);
  }

  #clicked(event) {
    if (this.#swallow) {
      // The finger that held the tile has let it go: no click was meant.
      this.#swallow = false;
      event.preventDefault();
      return;
    }
    const button = event.target.closest("[data-tile-do]");
    if (!button) return;
    event.preventDefault();
    this.#tell(button.dataset.tileDo, button.closest(".tile"));
  }

  #pressed(event) {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const tile = event.target.closest(".tile");
    if (event.key === "Enter" && event.target.matches("input") && !event.repeat) {
      event.preventDefault();
      this.toggle(tile, event.target.matches(".tile-yes") ? "yes" : "hard");
      return;
    }
    const goal = this.#toward(tile, event.key);
    if (!goal) return;
    event.preventDefault();
    this.focus(goal);
    goal.scrollIntoView({ block: "nearest" });
  }

  #toward(tile, key) {
    const { all } = this;
    const top = all[0].offsetTop;
    const columns = all.filter((other) => other.offsetTop === top).length;
    const steps = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -columns,
      ArrowDown: columns,
      Home: -all.length,
      End: all.length,
    };
    if (!(key in steps)) return null;
    const place = all.indexOf(tile) + steps[key];
    if (key === "Home" || key === "End") return all.at(key === "Home" ? 0 : -1);
    return all[place] || tile;
  }

  #hold(event) {
    this.#let();
    this.#swallow = false;
    const face = event.target.closest(".tile-face");
    if (!face || event.pointerType === "mouse") return;
    const { clientX: x, clientY: y } = event;
    const timer = setTimeout(() => {
      this.#swallow = true;
      this.toggle(face.closest(".tile"), "hard");
      navigator.vibrate?.(15);
    }, LONG_PRESS_MS);
    this.#press = { timer, x, y };
  }

  #moved({ clientX, clientY }) {
    if (!this.#press) return;
    const { x, y } = this.#press;
    if (Math.hypot(clientX - x, clientY - y) > STILL_PX) this.#let();
  }

  #let() {
    clearTimeout(this.#press?.timer);
    this.#press = null;
  }
}
