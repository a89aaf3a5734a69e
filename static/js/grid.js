/* One question about a page of images: which page is shown, what was sent, what comes next.

   A kind's module calls startGrid({ ask(topic, again) }); kinds/hierarchy.js is the one. HTML:
   templates/annotator/label_grid.html. What is not marked is a no, so a page is sent only once
   every image of it has arrived and been on the screen. Events on [data-tiles]: "painted" when
   all images of a page have reached the screen, detail {seats}. Of what came, a page has as many images
   as fit on the stage (fit.js); those of one sent before scroll where they do not. */
import { countsInWords, gettext, ngettext } from "./language.js";
import { PageProgress } from "./progress.js";
import { Drafts } from "./drafts.js";
import { Tiles, markOf } from "./tiles.js";
import { Closer } from "./closer.js";
import { announce, loginLink, murmur, one, retract, showAbout, showEnd, words } from "./screen.js";
import { Session, attach, pageSetup } from "./session.js";
import { arrange, best, pageSize } from "./fit.js";

// How wide images are where a page is too large for the window.
const SCROLLED_PX = 160;
// A page cannot have been looked at in less: so long, and so much longer with each image.
const LEAST_MS = 500;
const LEAST_MS_OF_IMAGE = 50;
const BATCH = 100;

class Grid extends Session {
  constructor(setup, kind) {
    super(setup, new PageProgress(setup), { batch: BATCH });
    this.kind = kind;
    this.drafts = new Drafts(setup);
    this.tiles = new Tiles(one("[data-tiles]"));
    const keysOn = () => one("[data-use-keys]").checked;
    this.closer = new Closer(this.tiles, (tile) => this.#large(tile), keysOn);
    this.zoom = this.closer.zoom;
    this.page = null; // the page to answer: {topic, seats}
    this.halfway = null; // the page whose second half has had the pointer or the focus
    this.loggedOut = false; // some image could not be had for that
    this.actions = { done: () => this.finish() };
    new ResizeObserver(() => this.#resized()).observe(this.tiles.list);
    this.#listen();
  }

  get front() {
    return this.page;
  }

  get inHand() {
    return [...(this.page?.seats || []), ...this.queue];
  }

  get flaggable() {
    return this.tiles.focused()?.dataset.seat;
  }

  backWords(limits) {
    return gettext("Earlier pages can no longer be changed: %(limits)s", { limits });
  }

  /* Keeps a page ahead, from the middle of this one on. */
  stock() {
    if (!this.queue.length && !this.exhausted && (!this.page || this.halfway === this.page)) this.refill();
  }

  /* Takes the page as it is marked, unless something of it was not seen yet. */
  finish() {
    const page = this.current();
    if (!page || this.shown !== page) return;
    if (this.clock.sincePaint() < leastMs(page)) return announce(words.tooSoon);
    const waiting = page.seats.filter((entry) => this.#slot(entry).state !== "ready").length;
    if (waiting) {
      announce(
        ngettext(
          "%(count)s image still loading. Wait, or skip it.",
          "%(count)s images still loading. Wait, or skip them.",
          waiting,
        ),
      );
      return;
    }
    if (this.cursor === null && this.#showUnseen()) return;
    if (!this.hasRoom()) return;
    retract();
    this.#send(page);
    if (this.cursor === null) this.#pass(page);
    else this.forward();
  }

  #showUnseen() {
    const unseen = this.tiles.unseen();
    if (!unseen.length) return false;
    this.tiles.focus(unseen[0], { preventScroll: true });
    unseen[0].scrollIntoView({ block: "start" });
    announce(
      ngettext(
        "%(count)s image below had not been visible yet.",
        "%(count)s images below had not been visible yet.",
        unseen.length,
      ),
    );
    return true;
  }

  /* Every image gets its share of the page's time. A page sent before sends what changed. */
  #send(page) {
    const duration_ms = Math.round(this.clock.elapsed() / page.seats.length);
    const changed = page.seats.filter((entry) => entry.value !== entry.mark);
    this.outbox.addAll(changed.map(({ seat, mark }) => ({ seat, value: mark, duration_ms, input_method: "done" })));
    for (const entry of page.seats) {
      entry.value = entry.mark;
      this.drafts.forget(entry.seat);
    }
  }

  #pass(page) {
    this.past.push({ ...page, at: Date.now() });
    this.progress.trim();
    this.count(page.seats);
    this.page = null;
    this.render();
    this.stock();
  }

  pastOf(seats) {
    return { topic: seats[0].topic, seats };
  }

  /* A page that is looked at again keeps its images: nothing moves under the hand. */
  forgetAnswer(seat) {
    for (const page of this.past) {
      if (page !== this.shown) page.seats = page.seats.filter((entry) => entry.seat !== seat);
    }
    if (this.cursor === null) this.progress.past = this.past.filter((page) => page.seats.length);
  }

  /* Gives an image to somebody else. */
  skip(tile = this.tiles.focused()) {
    if (this.cursor !== null || !this.page || !tile) return;
    const { topic, seats } = this.page;
    const entry = seats.find(({ seat }) => seat === tile.dataset.seat);
    this.skipEntry({ topic, seats: [entry] }, entry.seat);
    this.#drop(tile);
    this.render();
  }

  /* Before what is on the page; the last of that waits for the next page if there is no room. */
  putFirst({ seats: [entry] }) {
    this.queue = [entry, ...this.inHand.filter(({ seat }) => seat !== entry.seat)];
    this.page = null;
  }

  #drop(tile) {
    const page = this.current();
    this.drafts.forget(tile.dataset.seat);
    page.seats = page.seats.filter((entry) => entry.seat !== tile.dataset.seat);
    this.tiles.remove(tile);
    if (page.seats.length) return this.#number();
    if (this.cursor === null) this.page = null;
    else {
      this.progress.past = this.past.filter((other) => other !== page);
      this.cursor = null;
    }
    this.render();
    this.stock();
  }

  async fetchSeats() {
    // While seats are open the server gives more of their topic only: another comes after these.
    if (!this.page && !this.queue.length && !(await this.sendAll())) return;
    await super.fetchSeats();
  }

  /* With a page in hand an empty reply is not the end: its answers may open more questions. */
  isEnd(mine) {
    return !mine.length;
  }

  accept(seats, elsewhere) {
    const fresh = this.fresh(seats, elsewhere);
    this.queue.push(...fresh.map((entry) => ({ ...entry, mark: this.drafts.get(entry.seat) ?? "no" })));
  }

  /* The next page: seats of one topic, in their order, as many as fit on the stage. */
  #next() {
    if (!this.queue.length) return null;
    const { topic } = this.queue[0];
    const same = this.queue.filter((entry) => entry.topic === topic).slice(0, this.setup.page_size);
    // The stage is what the question leaves of the window.
    this.#ask(topic);
    one("[data-work]").hidden = false;
    const seats = same.slice(0, pageSize(same.map(ratioOf), this.#stage()));
    this.queue = this.queue.filter((entry) => !seats.includes(entry));
    return { topic, seats };
  }

  /* The room for images, in CSS pixels. */
  #stage() {
    const { list } = this.tiles;
    const style = getComputedStyle(list);
    const room = (name) => parseFloat(style.getPropertyValue(name));
    return {
      width: list.clientWidth - 2 * room("padding-left"),
      height: list.clientHeight - 2 * room("padding-top"),
      gap: room("column-gap"),
      bar: room("--bar-height"),
    };
  }

  /* Columns and cells for what is shown. */
  #arrange() {
    const { list } = this.tiles;
    const [ratios, stage] = [this.shown.seats.map(ratioOf), this.#stage()];
    // A page from a larger window: columns of a width that can be looked at, and scrolling.
    const columns = Math.max(1, Math.floor((stage.width + stage.gap) / (SCROLLED_PX + stage.gap)));
    const cells = best(ratios, stage) ?? arrange(ratios, columns, { ...stage, height: Infinity });
    list.classList.add("fitted");
    list.style.setProperty("--columns", cells.columns);
    list.style.setProperty("--cell", `${cells.width}px`);
    list.style.setProperty("--face", `${cells.face}px`);
  }

  /* The window is another size: as many images as fit now, each marked as it was. */
  #resized() {
    if (!this.shown) return;
    if (this.cursor === null && this.page) {
      const { topic, seats } = this.page;
      const room = this.setup.page_size;
      const others = this.queue.filter((entry) => entry.topic === topic).slice(0, room - seats.length);
      const all = [...seats, ...others];
      const fitting = pageSize(all.map(ratioOf), this.#stage());
      if (fitting !== seats.length) {
        this.queue = [...seats, ...this.queue];
        this.page = null;
        return void this.render();
      }
    }
    this.#arrange();
  }

  render() {
    this.page ??= this.#next();
    const page = this.current();
    this.renderFrame(page, words.pageBack);
    // Until the next page is there, the last one stays.
    this.tiles.list.inert = this.isWaiting;
    if (page) this.#show(page);
    else if (!this.isWaiting) this.#finish();
    this.#preload();
  }

  #finish() {
    this.shown = null;
    this.tiles.list.replaceChildren();
    showEnd(this);
  }

  #show(page) {
    if (this.shown === page) return;
    this.#ask(page.topic);
    const again = this.shown !== null;
    this.shown = page;
    for (const entry of page.seats) entry.mark ??= this.drafts.get(entry.seat) ?? entry.value;
    const template = one("template[data-tile]").content.firstElementChild;
    this.tiles.list.replaceChildren(...page.seats.map((entry) => this.#tile(template, entry)));
    this.tiles.list.classList.toggle("past", this.cursor !== null);
    this.tiles.adopt();
    this.tiles.list.scrollTop = 0;
    this.#number();
    this.#arrange();
    this.clock.start();
    if (again) this.tiles.focus(this.tiles.all[0], { preventScroll: true });
    this.#told(page);
  }

  /* Looking begins with the first image. "Done" is there once the page can have been looked at. */
  async #told(page) {
    const done = one('[data-do="done"]');
    done.setAttribute("aria-disabled", "true");
    const slots = page.seats.map((entry) => this.#slot(entry));
    await Promise.race(slots.map((slot) => slot.done));
    if (this.shown !== page) return;
    this.clock.start();
    await Promise.all(slots.map((slot) => slot.done));
    if (this.shown !== page) return;
    setTimeout(() => {
      if (this.shown === page) done.removeAttribute("aria-disabled");
    }, leastMs(page) - this.clock.sincePaint());
    requestAnimationFrame(() => {
      const seats = page.seats.map((entry) => entry.seat);
      this.tiles.list.dispatchEvent(new CustomEvent("painted", { bubbles: true, detail: { seats } }));
    });
  }

  #ask(key) {
    if (this.asked === key) return;
    const topic = this.topics[key] || { name: key, article: "" };
    this.kind.ask(topic, this.asked !== undefined);
    showAbout(topic);
    if (this.asked !== undefined) announce(gettext("Another question: %(name)s", { name: topic.name }));
    this.asked = key;
  }

  #tile(template, entry) {
    const tile = template.cloneNode(true);
    tile.dataset.seat = entry.seat;
    const note = tile.querySelector("[data-tile-note]");
    const slot = this.#slot(entry);
    const fill = () => {
      note.textContent = "";
      if (slot.state === "ready") tile.querySelector(".tile-face").prepend(slot.image);
      else if (slot.state === "logged-out") {
        this.loggedOut = true;
        note.replaceChildren(loginLink());
      } else if (slot.state === "gone" && this.shown?.seats.includes(entry)) this.#gone(tile);
    };
    const [yes, hard] = [tile.querySelector(".tile-yes"), tile.querySelector(".tile-hard input")];
    yes.checked = entry.mark === "yes";
    hard.checked = entry.mark === "hard";
    if (slot.state === "ready") fill();
    else {
      note.textContent = slot.offline ? gettext("No connection") : gettext("Loading …");
      slot.onoffline = () => (note.textContent = gettext("No connection"));
      slot.done.then(fill);
    }
    return tile;
  }

  /* The image cannot be had any more: it is with somebody else, or its file is broken. */
  #gone(tile) {
    announce(gettext("An image is no longer assigned to you and was removed from the page."));
    this.#drop(tile);
  }

  #slot({ seat, image }) {
    const slot = this.images.load({ seat, image: `${image}&tile=1` });
    if (slot.image) slot.image.alt = "";
    return slot;
  }

  #large(tile) {
    const entry = this.current().seats.find(({ seat }) => seat === tile.dataset.seat);
    return this.images.load({ seat: `large:${entry.seat}`, image: entry.image });
  }

  #preload() {
    const [page, past] = [this.current(), this.past.at(-1)];
    const ahead = this.queue.slice(0, this.setup.page_size);
    for (const entry of [...(page?.seats || []), ...ahead]) this.#slot(entry);
    const kept = [...(this.page?.seats || []), ...(page?.seats || []), ...(past?.seats || []), ...ahead];
    this.images.keep(new Set(kept.map((entry) => entry.seat)));
  }

  #number() {
    this.tiles.all.forEach((tile, index) => {
      for (const place of tile.querySelectorAll("[data-number]")) place.textContent = index + 1;
    });
    this.#words();
  }

  #words() {
    const { yes, no, hard } = this.tiles.counts();
    const counts = countsInWords(yes, no, hard);
    one("[data-done-words]").textContent =
      this.cursor === null ? gettext("Done: %(counts)s", { counts }) : gettext("Change to: %(counts)s", { counts });
  }

  #listen() {
    const { list } = this.tiles;
    list.addEventListener("mark", ({ detail: { tile } }) => {
      const entry = this.current()?.seats.find(({ seat }) => seat === tile.dataset.seat);
      if (!entry) return;
      entry.mark = markOf(tile);
      this.drafts.set(entry.seat, entry.mark);
      this.#words();
    });
    for (const name of ["pointerover", "focusin"]) {
      list.addEventListener(name, ({ target }) => this.#reach(target.closest(".tile")));
    }
    list.addEventListener("closer", ({ detail }) => this.closer.open(detail.tile));
    list.addEventListener("skip", ({ detail }) => this.skip(detail.tile));
    // Ctrl+Enter is not a single key: it works with those switched off too.
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
      if (document.querySelector("dialog[open]")) return;
      event.preventDefault();
      this.finish();
    });
  }

  #reach(tile) {
    const place = this.tiles.all.indexOf(tile);
    if (this.cursor !== null || this.halfway === this.page || 2 * (place + 1) < this.tiles.all.length) return;
    this.halfway = this.page;
    this.stock();
  }

  /* A single key: whether it meant something. */
  key({ key }) {
    if (this.isWaiting && !["u", "Backspace", "f"].includes(key)) return false;
    const tile = this.tiles.focused();
    const marks = { h: "hard", y: "yes", n: "no" };
    if (marks[key] && tile) {
      this.tiles[key === "h" ? "toggle" : "mark"](tile, marks[key]);
      murmur({ yes: gettext("Yes"), no: gettext("No"), hard: gettext("Too hard") }[markOf(tile)]);
    } else if (key === "z") this.closer.open(tile);
    else if (key === "s") this.skip(tile);
    else if (key === "u" || key === "Backspace") this.back();
    else if (key === "f") this.forward();
    else if (key.startsWith("Arrow") && !document.activeElement.closest(".tile, .about")) {
      this.tiles.focus(tile);
    } else return false;
    return true;
  }

  /* Logged in again, or back on line. */
  wake() {
    if (this.loggedOut) {
      this.loggedOut = false;
      this.shown = null;
      this.render();
    }
    this.stock();
  }
}

/* Width over height, as the server said it; of entries that an older page kept it is not known. */
const ratioOf = ({ size: [width, height] = [4, 3] }) => width / height;

const leastMs = ({ seats }) => LEAST_MS + LEAST_MS_OF_IMAGE * seats.length;

/* Takes the page over for a kind of question. */
export function startGrid(kind) {
  return attach(new Grid(pageSetup(), kind));
}
