/* The labeling page: what is shown, what was answered, what comes next.

   A kind's module calls start((label) => ({ show(topic, again), mark(value), key(event) })) and
   gives answers to label.answer(value); kinds/contains.js is the example. One that shows more than an
   image has paint(entry, slot) and leave() too, and slim(entry) for what a reload needs of an entry;
   kinds/parts.js is the example. HTML: templates/annotator/label.html.
   Events on [data-stage]: "painted" when an image has reached the screen, detail {seat}. */
import { Outbox, post } from "./outbox.js";
import { Images } from "./images.js";
import { Progress } from "./progress.js";
import { Zoom } from "./zoom.js";
import { Clock, announce, countLeft, loginLink, one, showAbout, showCounts, showEnd, words } from "./screen.js";
import { attachKeys, attachPanels } from "./panels.js";
import { attachStatus } from "./status.js";

const AHEAD = 4;
const REFILL_AT = 5;
// A second press this soon after an image appeared was meant for the one before.
const TOO_SOON_MS = 150;
const REFILL_RETRY_MS = 3000;

class Label {
  constructor(setup) {
    Object.assign(this, { setup, topics: setup.topics, done: setup.done, left: setup.left });
    this.reported = setup.left;
    this.outbox = new Outbox({ ...setup, url: setup.urls.answers });
    this.progress = new Progress(setup);
    this.images = new Images();
    this.stage = one("[data-stage]");
    this.zoom = one("[data-zoom]") && new Zoom(this.stage);
    this.clock = new Clock();
    this.queue = [];
    this.cursor = null; // the place in the past that is looked at; null at the front
    this.shown = null; // the seat whose image is on the screen
    this.painting = null; // the entry that the kind is about to show
    this.exhausted = false;
    this.elsewhere = false; // whether all that is left is open in another tab
    this.refilling = null;
  }

  async begin() {
    this.progress.claim();
    const elsewhere = await this.progress.heldElsewhere();
    this.#accept(this.setup.seats, elsewhere);
    this.exhausted = !this.setup.seats.length;
    this.unsentBefore = this.outbox.pending().length;
    this.outbox.retry();
    this.#render();
    if (this.queue.length <= REFILL_AT) this.refill();
  }

  get past() {
    return this.progress.past;
  }

  current() {
    return this.cursor === null ? this.queue[0] : this.past[this.cursor];
  }

  /* Takes an answer to what is on the screen; false when there is nothing to answer yet. */
  answer(value) {
    const entry = this.current();
    if (!entry) return false;
    if (this.shown !== entry.seat) return (announce(words.notShown), false);
    if (this.clock.sincePaint() < TOO_SOON_MS) return (announce(words.tooSoon), false);
    if (this.outbox.full) {
      this.outbox.retry();
      announce("This browser has no room left. Wait until the answers shown as unsent are sent.");
      return false;
    }
    const changed = JSON.stringify(entry.value) !== JSON.stringify(value);
    if (this.cursor === null || changed) {
      this.outbox.add({ seat: entry.seat, value, duration_ms: this.clock.elapsed() });
    }
    if (this.cursor === null) this.#pass(entry, value);
    else this.#amend(entry, value);
    return true;
  }

  #pass(entry, value) {
    this.queue.shift();
    this.past.push({ ...entry, value, at: Date.now() });
    this.progress.trim();
    this.done += 1;
    if (this.left) this.left -= 1;
    this.#render();
    if (this.queue.length <= REFILL_AT) this.refill();
  }

  #amend(entry, value) {
    entry.value = value;
    this.forward();
  }

  back() {
    const before = this.past.length;
    this.progress.trim();
    if (this.cursor !== null) this.cursor -= before - this.past.length;
    const place = (this.cursor ?? this.past.length) - 1;
    if (place < 0) {
      const { revise_minutes: minutes, revise_answers: answers } = this.setup;
      this.cursor = this.past.length ? 0 : null;
      announce(`Nothing further back can be changed: answers stand after ${minutes} minutes or ${answers} more answers.`);
    } else this.cursor = place;
    this.#render();
  }

  forward() {
    if (this.cursor === null) return;
    this.cursor = this.cursor + 1 < this.past.length ? this.cursor + 1 : null;
    this.#render();
  }

  /* Gives the image to somebody else. Should the word not arrive, the lease ends by itself. */
  skip() {
    if (this.cursor !== null || !this.queue.length) return;
    const { seat } = this.queue.shift();
    post(this.setup.urls.skip, { user: this.setup.user, seat }, { keepalive: true });
    if (this.left) this.left -= 1;
    announce("Skipped; somebody else gets it.");
    this.#render();
    if (this.queue.length <= REFILL_AT) this.refill();
  }

  /* Asks for more seats, one request at a time; seats held in any tab are not sent again. */
  refill() {
    this.refilling ??= this.#fetchPage().finally(() => {
      this.refilling = null;
      this.#render();
    });
    return this.refilling;
  }

  async #fetchPage() {
    const elsewhere = await this.progress.heldElsewhere();
    const held = new Set([...this.#mine(), ...elsewhere]);
    const reply = await post(this.setup.urls.page, {
      user: this.setup.user,
      held: [...held].slice(0, 500),
      known: Object.keys(this.topics),
    });
    if (reply.status === 200) {
      Object.assign(this.topics, reply.body.topics);
      this.exhausted = !reply.body.seats.length;
      countLeft(this, reply.body);
      this.elsewhere = elsewhere.size > 0 && this.left > 0;
      this.#accept(reply.body.seats, elsewhere);
      this.trouble = null;
    } else {
      this.trouble = reply;
      // Nothing to do but wait: try again while the page is empty or soon will be.
      if (![403, 404, 409].includes(reply.status)) {
        setTimeout(() => this.refill(), REFILL_RETRY_MS * (0.75 + Math.random() / 2));
      }
    }
  }

  /* Seats in the queue and seats whose answer is still on its way. */
  #mine() {
    return [...this.queue, ...this.outbox.pending()].map((entry) => entry.seat);
  }

  #accept(seats, elsewhere) {
    const mine = new Set([...this.#mine(), ...elsewhere]);
    const fresh = this.progress.sort(seats.filter((entry) => !mine.has(entry.seat)));
    // What was sent back comes first, but nothing is taken from under the hand.
    this.queue.splice(this.shown ? 1 : 0, 0, ...fresh.filter((entry) => entry.sent_back));
    this.queue.push(...fresh.filter((entry) => !entry.sent_back));
  }

  /* An answer was not taken: its image comes again, before the others. */
  takeBack(seat) {
    const entry = this.past.find((other) => other.seat === seat);
    if (!entry) return void this.refill();
    this.progress.past = this.past.filter((other) => other !== entry);
    this.queue.unshift(entry);
    this.done -= 1;
    if (this.left !== null) this.left += 1;
    this.cursor = null;
    this.shown = null;
    this.#render();
  }

  #render() {
    this.progress.save(this.queue);
    this.#preload();
    const entry = this.current();
    // The card and the bar say the same: at the end nothing is left.
    if (!entry && this.exhausted && !this.elsewhere && this.left) this.left = 0;
    showCounts(this.done, this.left);
    one("[data-work]").hidden = !entry;
    one("[data-finished]").hidden = Boolean(entry) || (!this.exhausted && !this.trouble);
    for (const button of document.querySelectorAll('[data-do="back"]')) {
      button.hidden = !(this.cursor === null ? this.past.length : this.cursor > 0);
    }
    one('[data-do="forward"]').hidden = this.cursor === null;
    one('[data-do="skip"]').hidden = this.cursor !== null;
    if (entry) this.#show(entry);
    else this.#finish();
  }

  #finish() {
    this.shown = this.painting = null;
    this.kind.leave?.();
    showEnd(this);
  }

  #preload() {
    const around = this.cursor === null ? [] : this.past.slice(Math.max(0, this.cursor - 2));
    const needed = [this.current(), ...around, ...this.queue.slice(0, AHEAD)].filter(Boolean);
    for (const entry of needed) this.images.load(entry);
    this.images.keep(new Set([...needed, ...this.past].map((entry) => entry.seat)));
  }

  #show(entry) {
    const slot = this.images.load(entry);
    const notice = one("[data-notice]");
    notice.hidden = this.cursor === null;
    notice.textContent = words.goneBack(this.past.length - (this.cursor ?? 0));
    this.#ask(entry);
    if (this.shown === entry.seat || this.painting === entry) return;
    if (slot.state === "ready") return void this.#paint(entry, slot);
    this.#wait(entry, slot);
  }

  #ask(entry) {
    const topic = this.topics[entry.topic] || { name: entry.topic, article: "a" };
    if (this.asked !== entry.topic) {
      this.kind.show(topic, this.asked !== undefined);
      showAbout(topic);
      this.asked = entry.topic;
    }
    this.kind.mark(this.cursor === null ? undefined : entry.value);
  }

  async #paint(entry, slot) {
    one("[data-stage-note]").hidden = true;
    if (this.kind.paint) {
      if (!(await this.#paintByKind(entry, slot))) return;
    } else {
      this.stage.querySelector("img")?.remove();
      this.stage.prepend(slot.image);
      this.zoom.attach(slot.image);
    }
    this.shown = entry.seat;
    this.clock.start();
    requestAnimationFrame(() => {
      this.stage.dispatchEvent(new CustomEvent("painted", { detail: { seat: entry.seat } }));
    });
  }

  /* Whether the kind has put the entry on the screen. */
  async #paintByKind(entry, slot) {
    this.shown = null;
    this.painting = entry;
    const painted = await this.kind.paint(entry, slot);
    if (this.painting !== entry) return false;
    this.painting = null;
    if (this.current() !== entry) return false;
    if (!painted) {
      const note = one("[data-stage-note]");
      note.hidden = false;
      note.textContent = words.notOpened;
    }
    return painted;
  }

  #wait(entry, slot) {
    this.shown = this.painting = null;
    this.kind.leave?.();
    this.stage.querySelector("img")?.remove();
    const note = one("[data-stage-note]");
    note.hidden = false;
    note.textContent = slot.offline ? words.offline : words.loading;
    slot.onoffline = () => (note.textContent = words.offline);
    slot.done.then(() => {
      if (this.current() !== entry || this.shown === entry.seat || this.painting === entry) return;
      if (slot.state === "ready") this.#paint(entry, slot);
      else if (slot.state === "logged-out") note.replaceChildren(words.loggedOut, " ", loginLink());
      else this.#gone(entry);
    });
  }

  /* The image cannot be had any more: the lease ran out, or the file is broken. */
  #gone(entry) {
    if (this.cursor === null) this.queue.shift();
    else {
      this.progress.past = this.past.filter((other) => other !== entry);
      this.cursor = null;
    }
    announce("An image is no longer with you: it went to somebody else. Here is the next one.");
    this.#render();
    if (this.queue.length <= REFILL_AT) this.refill();
  }

  /* Logged in again, or back on line: images that were refused are asked for anew. */
  wake() {
    const entry = this.current();
    if (entry && this.shown !== entry.seat) this.#render();
    if (this.queue.length <= REFILL_AT && !this.exhausted) this.refill();
  }
}

/* Takes the page over for a kind of question. */
export function start(kind) {
  const setup = JSON.parse(document.getElementById("setup").textContent);
  const label = new Label(setup);
  label.kind = kind(label);
  document.documentElement.classList.add("scripted");
  for (const element of document.querySelectorAll(".no-script")) element.remove();
  if (label.kind.slim) label.progress.slim = label.kind.slim;
  if (label.zoom) one("[data-zoom]").hidden = false;
  attachPanels(label);
  attachKeys(label);
  attachStatus(label);
  label.begin();
  return label;
}
