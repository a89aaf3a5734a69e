/* One question about a page of images: which page is shown, what was sent, what comes next.

   A kind's module calls startGrid({ ask(topic, again) }); kinds/hierarchy.js is the one. HTML:
   templates/annotator/label_grid.html. What is not marked is a no, so a page is sent only once
   every image of it has arrived and been on the screen. Events on [data-tiles]: "painted" when
   all images of a page have reached the screen, detail {seats}. */
import { Outbox, post } from "./outbox.js";
import { Images } from "./images.js";
import { PageProgress } from "./progress.js";
import { Drafts } from "./drafts.js";
import { Tiles, markOf } from "./tiles.js";
import { Closer } from "./closer.js";
import {
  Clock,
  announce,
  countLeft,
  loginLink,
  murmur,
  one,
  showAbout,
  showCounts,
  showEnd,
  words,
} from "./screen.js";
import { attachKeys, attachPanels } from "./panels.js";
import { attachStatus } from "./status.js";
import { attachSizes } from "./sizes.js";

const PAGES_AHEAD = 1;
// A press this soon after a page appeared was meant for the one before.
const TOO_SOON_MS = 500;
const REFILL_RETRY_MS = 3000;
const BATCH = 100;
const SEND_TURNS = 20;
const SEND_TURN_MS = 150;

class Grid {
  constructor(setup, kind) {
    Object.assign(this, { setup, kind, topics: setup.topics, done: setup.done, left: setup.left });
    this.reported = setup.left;
    this.outbox = new Outbox({ ...setup, url: setup.urls.answers, batch: BATCH });
    this.progress = new PageProgress(setup);
    this.drafts = new Drafts(setup);
    this.images = new Images();
    this.clock = new Clock();
    this.tiles = new Tiles(one("[data-tiles]"));
    const keysOn = () => one("[data-use-keys]").checked;
    this.closer = new Closer(this.tiles, (tile) => this.#large(tile), keysOn);
    this.zoom = this.closer.zoom;
    this.queue = []; // seats of the pages to come
    this.page = null; // the page to answer: {topic, seats}
    this.cursor = null; // the place in the past that is looked at; null at the front
    this.shown = null; // the page whose tiles are on the screen
    this.exhausted = false;
    this.elsewhere = false; // whether all that is left is open in another tab
    this.loggedOut = false; // some image could not be had for that
    this.refilling = null;
    this.deeds = { done: () => this.finish(), ...attachSizes(this.tiles.list) };
    this.#listen();
  }

  async begin() {
    this.progress.claim();
    const elsewhere = await this.progress.heldElsewhere();
    this.#accept(this.setup.seats, elsewhere);
    this.exhausted = !this.setup.seats.length;
    this.unsentBefore = this.outbox.pending().length;
    this.outbox.retry();
    this.#render();
    this.#stock();
  }

  get past() {
    return this.progress.past;
  }

  current() {
    return this.cursor === null ? this.page : this.past[this.cursor];
  }

  /* Takes the page as it is marked, unless something of it was not seen yet. */
  finish() {
    const page = this.current();
    if (!page || this.shown !== page) return;
    if (this.clock.sincePaint() < TOO_SOON_MS) return announce(words.tooSoon);
    const waiting = page.seats.filter((entry) => this.#slot(entry).state !== "ready").length;
    if (waiting) {
      announce(`${images(waiting)} still loading. Wait, or skip ${waiting === 1 ? "it" : "them"}.`);
      return;
    }
    if (this.cursor === null && this.#showUnseen()) return;
    if (this.outbox.full) {
      this.outbox.retry();
      announce("This browser has no room left. Wait until the answers shown as unsent are sent.");
      return;
    }
    this.#send(page);
    if (this.cursor === null) this.#pass(page);
    else this.forward();
  }

  #showUnseen() {
    const unseen = this.tiles.unseen();
    if (!unseen.length) return false;
    this.tiles.focus(unseen[0], { preventScroll: true });
    unseen[0].scrollIntoView({ block: "start" });
    announce(`${images(unseen.length)} below had not been on the screen yet.`);
    return true;
  }

  /* Every image gets its share of the page's time. A page sent before sends what changed. */
  #send(page) {
    const duration_ms = Math.round(this.clock.elapsed() / page.seats.length);
    const changed = page.seats.filter((entry) => entry.value !== entry.mark);
    this.outbox.addAll(changed.map(({ seat, mark }) => ({ seat, value: mark, duration_ms })));
    for (const entry of page.seats) {
      entry.value = entry.mark;
      this.drafts.forget(entry.seat);
    }
  }

  #pass(page) {
    this.past.push({ ...page, at: Date.now() });
    this.progress.trim();
    this.done += page.seats.length;
    if (this.left !== null) this.left = Math.max(0, this.left - page.seats.length);
    this.page = null;
    this.#render();
    this.#stock();
  }

  back() {
    const before = this.past.length;
    this.progress.trim();
    if (this.cursor !== null) this.cursor -= before - this.past.length;
    const place = (this.cursor ?? this.past.length) - 1;
    if (place < 0) {
      const { revise_minutes: minutes, revise_answers: answers } = this.setup;
      this.cursor = this.past.length ? 0 : null;
      announce(`No page further back can be changed: answers stand after ${minutes} minutes or ${answers} more answers.`);
    } else this.cursor = place;
    this.#render();
  }

  forward() {
    if (this.cursor === null) return;
    this.cursor = this.cursor + 1 < this.past.length ? this.cursor + 1 : null;
    this.#render();
  }

  /* Gives an image to somebody else. Should the word not arrive, the lease ends by itself. */
  skip(tile = this.tiles.focused()) {
    if (this.cursor !== null || !this.page || !tile) return;
    post(this.setup.urls.skip, { user: this.setup.user, seat: tile.dataset.seat }, { keepalive: true });
    if (this.left) this.left -= 1;
    this.#drop(tile);
    announce("Skipped; somebody else gets it.");
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
    this.#render();
    this.#stock();
  }

  refill() {
    this.refilling ??= this.#fetchPage().finally(() => {
      this.refilling = null;
      this.#render();
    });
    return this.refilling;
  }

  /* Keeps a page ahead. */
  #stock() {
    if (this.queue.length < PAGES_AHEAD && !this.exhausted) this.refill();
  }

  async #fetchPage() {
    // While seats are open the server gives more of their topic only: another comes after these.
    if (!this.page && !this.queue.length && !(await this.#sendAll())) return;
    const elsewhere = await this.progress.heldElsewhere();
    const held = new Set([...this.#mine(), ...elsewhere]);
    const reply = await post(this.setup.urls.page, {
      user: this.setup.user,
      held: [...held].slice(0, 500),
      known: Object.keys(this.topics),
    });
    if (reply.status === 200) {
      Object.assign(this.topics, reply.body.topics);
      // With a page in hand, none ahead says little: the server gives only so many at once.
      this.exhausted = !reply.body.seats.length && !this.page;
      countLeft(this, reply.body);
      this.elsewhere = elsewhere.size > 0 && this.left > 0;
      this.#accept(reply.body.seats, elsewhere);
      this.trouble = null;
    } else {
      this.trouble = reply;
      if (![403, 404, 409].includes(reply.status)) {
        setTimeout(() => this.refill(), REFILL_RETRY_MS * (0.75 + Math.random() / 2));
      }
    }
  }

  /* Whether everything given has reached the server; asks again later if not. */
  async #sendAll() {
    for (let turn = 0; turn < SEND_TURNS && this.outbox.pending().length; turn += 1) {
      await this.outbox.flush();
      if (!this.outbox.pending().length) break;
      await new Promise((resolve) => setTimeout(resolve, SEND_TURN_MS));
    }
    if (!this.outbox.pending().length) return true;
    this.trouble = { status: this.outbox.state === "logged-out" ? 401 : 0, body: null };
    setTimeout(() => this.refill(), REFILL_RETRY_MS);
    return false;
  }

  /* Seats in hand and seats whose answer is still on its way. */
  #mine() {
    return [...(this.page?.seats || []), ...this.queue, ...this.outbox.pending()].map(
      (entry) => entry.seat,
    );
  }

  #accept(seats, elsewhere) {
    const mine = new Set([...this.#mine(), ...elsewhere]);
    const fresh = this.progress.sort(seats.filter((entry) => !mine.has(entry.seat)));
    this.queue.push(...fresh.map((entry) => ({ ...entry, mark: this.drafts.get(entry.seat) ?? "no" })));
  }

  /* The next page: seats of one topic, in their order. */
  #next() {
    if (!this.queue.length) return null;
    const { topic } = this.queue[0];
    const same = this.queue.filter((entry) => entry.topic === topic);
    const seats = same.slice(0, this.setup.page_size);
    this.queue = this.queue.filter((entry) => !seats.includes(entry));
    return { topic, seats };
  }

  #render() {
    this.page ??= this.#next();
    const page = this.current();
    this.progress.save([...(this.page?.seats || []), ...this.queue]);
    // The card and the bar say the same: at the end nothing is left.
    if (!page && this.exhausted && !this.elsewhere && this.left) this.left = 0;
    showCounts(this.done, this.left);
    one("[data-work]").hidden = !page;
    one("[data-finished]").hidden = Boolean(page) || (!this.exhausted && !this.trouble);
    for (const button of document.querySelectorAll('[data-do="back"]')) {
      button.hidden = !(this.cursor === null ? this.past.length : this.cursor > 0);
    }
    one('[data-do="forward"]').hidden = this.cursor === null;
    if (page) this.#show(page);
    else this.#finish();
    this.#preload();
  }

  #finish() {
    this.shown = null;
    this.tiles.list.replaceChildren();
    showEnd(this);
  }

  #show(page) {
    const notice = one("[data-notice]");
    notice.hidden = this.cursor === null;
    notice.textContent = words.pageBack(this.past.length - (this.cursor ?? 0));
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
    this.clock.start();
    if (again) this.tiles.focus(this.tiles.all[0], { preventScroll: true });
    this.#told(page);
  }

  /* Looking begins with the first image. Tells when the whole page is there. */
  async #told(page) {
    const slots = page.seats.map((entry) => this.#slot(entry));
    await Promise.race(slots.map((slot) => slot.done));
    if (this.shown !== page) return;
    this.clock.start();
    await Promise.all(slots.map((slot) => slot.done));
    if (this.shown !== page) return;
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
    if (this.asked !== undefined) announce(`Another question: ${topic.name}`);
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
      note.textContent = slot.offline ? "No connection" : "Loading …";
      slot.onoffline = () => (note.textContent = "No connection");
      slot.done.then(fill);
    }
    return tile;
  }

  /* The image cannot be had any more: it is with somebody else, or its file is broken. */
  #gone(tile) {
    announce("An image is no longer with you: it left the page.");
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
    const counts = `${yes} yes, ${no} no${hard ? `, ${hard} too hard` : ""}`;
    one("[data-done-words]").textContent = `${this.cursor === null ? "Done" : "Change to"}: ${counts}`;
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
    list.addEventListener("closer", ({ detail }) => this.closer.open(detail.tile));
    list.addEventListener("skip", ({ detail }) => this.skip(detail.tile));
    // Ctrl+Enter is no single key: it works with those switched off too.
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
      if (document.querySelector("dialog[open]")) return;
      event.preventDefault();
      this.finish();
    });
  }

  /* A single key: whether it meant something. */
  key({ key }) {
    const tile = this.tiles.focused();
    const marks = { h: "hard", y: "yes", n: "no" };
    if (marks[key] && tile) {
      this.tiles[key === "h" ? "toggle" : "mark"](tile, marks[key]);
      murmur({ yes: "Yes", no: "No", hard: "Too hard" }[markOf(tile)]);
    } else if (key === "z") this.closer.open(tile);
    else if (key === "s") this.skip(tile);
    else if (key === "u" || key === "Backspace") this.back();
    else if (key === "f") this.forward();
    else if (key === "+" || key === "=") this.deeds.larger();
    else if (key === "-" || key === "−") this.deeds.smaller();
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
      this.#render();
    }
    this.#stock();
  }
}

const images = (count) => (count === 1 ? "1 image" : `${count} images`);

/* Takes the page over for a kind of question. */
export function startGrid(kind) {
  const grid = new Grid(JSON.parse(document.getElementById("setup").textContent), kind);
  document.documentElement.classList.add("scripted");
  for (const element of document.querySelectorAll(".no-script")) element.remove();
  attachPanels(grid);
  attachKeys(grid);
  attachStatus(grid);
  grid.begin();
  return grid;
}
