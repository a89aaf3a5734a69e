/* The labeling page: what is shown, what was answered, what comes next.

   A kind's module calls start((label) => ({ show(topic, again), mark(value), key(event) })) and
   gives answers to label.answer(value); kinds/contains.js is the example. One that shows more than an
   image has paint(entry, slot) and leave() too, and slim(entry) for what a reload needs of an entry;
   kinds/parts.js is the example. HTML: templates/annotator/label.html.
   Events on [data-stage]: "painted" when an image has reached the screen, detail {seat}. */
import { gettext } from "./language.js";
import { Progress } from "./progress.js";
import { Zoom } from "./zoom.js";
import { announce, holdTools, loginLink, one, retract, showAbout, showEnd, words } from "./screen.js";
import { Session, attach, pageSetup } from "./session.js";

const AHEAD = 4;
// Where an image takes so long, more of them are fetched ahead.
const SLOW_MS = 1500;
const AHEAD_WHEN_SLOW = 8;
// A second press this soon after an image appeared was meant for the one before.
const TOO_SOON_MS = 150;

class Label extends Session {
  constructor(setup) {
    super(setup, new Progress(setup));
    this.stage = one("[data-stage]");
    this.zoom = one("[data-zoom]") && new Zoom(this.stage);
    this.painting = null; // the entry that the kind is about to show
  }

  get front() {
    return this.queue[0];
  }

  get inHand() {
    return this.queue;
  }

  backWords(limits) {
    return gettext("Earlier answers can no longer be changed: %(limits)s", { limits });
  }

  stock() {
    // In half a page's time both the seats and their images come, on a slow connection too.
    const page = Math.min(this.setup.page_size, this.stocked);
    if (this.queue.length <= Math.ceil(page / 2)) this.refill();
  }

  /* Takes an answer to what is on the screen; false when there is nothing to answer yet. */
  answer(value, inputMethod = this.inputMethod) {
    const entry = this.current();
    if (!entry) return false;
    if (this.shown !== entry.seat) return (announce(words.notShown), false);
    if (this.clock.sincePaint() < TOO_SOON_MS) return (announce(words.tooSoon), false);
    if (!this.hasRoom()) return false;
    retract();
    const changed = JSON.stringify(entry.value) !== JSON.stringify(value);
    if (this.cursor === null || changed) {
      this.outbox.add({ seat: entry.seat, value, duration_ms: this.clock.elapsed(), input_method: inputMethod });
    }
    if (this.cursor === null) this.#pass(entry, value);
    else this.#amend(entry, value);
    return true;
  }

  #pass(entry, value) {
    this.queue.shift();
    this.past.push({ ...entry, value, at: Date.now() });
    this.progress.trim();
    this.count([entry]);
    this.render();
    this.stock();
  }

  #amend(entry, value) {
    entry.value = value;
    this.forward();
  }

  /* Gives the image to somebody else. */
  skip() {
    if (this.cursor !== null || !this.queue.length) return;
    const entry = this.queue.shift();
    this.skipEntry(entry, entry.seat);
    this.render();
    this.stock();
  }

  putFirst(entry) {
    this.queue = [entry, ...this.queue.filter(({ seat }) => seat !== entry.seat)];
  }

  accept(seats, elsewhere) {
    const fresh = this.fresh(seats, elsewhere);
    // What was sent back comes first, but nothing is taken from under the hand.
    this.queue.splice(this.shown ? 1 : 0, 0, ...fresh.filter((entry) => entry.sent_back));
    this.queue.push(...fresh.filter((entry) => !entry.sent_back));
  }

  /* An answer was not taken: its image comes again, before the others. */
  takeBack(seat) {
    const entry = this.past.find((other) => other.seat === seat);
    if (!entry) return void this.refill();
    if (entry.reopened) {
      // Answered before, and counted then: it stays where it was, to be changed again.
      this.cursor = this.past.indexOf(entry);
      this.shown = null;
      return void this.render();
    }
    this.progress.past = this.past.filter((other) => other !== entry);
    this.queue.unshift(entry);
    if (this.uncount(seat) && this.left !== null) this.left += 1;
    this.cursor = null;
    this.shown = null;
    this.render();
  }

  pastOf([entry]) {
    return entry;
  }

  forgetAnswer(seat) {
    const place = this.past.findIndex((entry) => entry.seat === seat);
    if (place < 0) return;
    this.past.splice(place, 1);
    if (this.cursor === place) this.cursor = null;
    else if (this.cursor > place) this.cursor -= 1;
  }

  render() {
    this.#preload();
    const entry = this.current();
    this.renderFrame(entry, words.goneBack);
    for (const button of document.querySelectorAll('[data-do="skip"]')) button.hidden = this.cursor !== null || !entry;
    this.#sayUndo();
    if (entry) this.#show(entry);
    else this.#finish();
  }

  /* The undo bar: what was answered last, the same for every question. */
  #sayUndo() {
    const what = one("[data-back-what]");
    if (!what) return;
    const last = this.cursor === null ? this.past.at(-1) : undefined;
    what.textContent = last?.skipped ? gettext("Skip") : (last && this.kind.wordOf?.(last.value)) || "";
    one("[data-back-words]").textContent = what.textContent ? gettext("Undo") : gettext("Back");
  }

  #finish() {
    this.#clear(words.loading);
    showEnd(this);
  }

  /* Takes the image off the stage; the note in its place. */
  #clear(text) {
    this.shown = this.painting = null;
    this.kind.leave?.();
    holdTools(true);
    this.stage.querySelector("img")?.remove();
    const note = one("[data-stage-note]");
    note.hidden = false;
    note.textContent = text;
    return note;
  }

  #preload() {
    const ahead = this.images.latest_ms > SLOW_MS ? AHEAD_WHEN_SLOW : AHEAD;
    const around = this.cursor === null ? [] : this.past.slice(Math.max(0, this.cursor - 2));
    const needed = [this.current(), ...around, ...this.queue.slice(0, ahead)].filter(Boolean);
    for (const entry of needed) this.images.load(entry);
    this.images.keep(new Set([...needed, ...this.past].map((entry) => entry.seat)));
  }

  #show(entry) {
    const slot = this.images.load(entry);
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
      const ask = one(".ask");
      // A long definition scrolls, by keys too.
      if (ask) ask.tabIndex = ask.scrollHeight > ask.clientHeight ? 0 : -1;
    }
    this.kind.mark(this.cursor === null ? undefined : entry.value);
  }

  async #paint(entry, slot) {
    one("[data-stage-note]").hidden = true;
    holdTools(false);
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
    const note = this.#clear(slot.offline ? words.offline : words.loading);
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
    announce(gettext("An image was assigned to somebody else. Here is the next one."));
    this.render();
    this.stock();
  }

  /* Logged in again, or back on line: images that were refused are asked for again. */
  wake() {
    const entry = this.current();
    if (entry && this.shown !== entry.seat) this.render();
    if (!this.exhausted) this.stock();
  }
}

/* The buttons of fixed answers, <button data-answer data-key>: marks the given one, and takes keys, by
   `numbered` those of their numbers too. valueOf(word): the answer that a button's word is sent as. */
export function answerButtons(label, numbered = false, valueOf = (word) => word) {
  const buttons = [...document.querySelectorAll("[data-answer]")];
  const answer = (button) => label.answer(valueOf(button.dataset.answer));
  for (const button of buttons) button.addEventListener("click", () => answer(button));
  return {
    /* What the button of an answer says. */
    wordOf(value) {
      const given = buttons.find((button) => button.dataset.answer === value);
      return given?.querySelector("span")?.textContent ?? "";
    },
    mark(value) {
      for (const button of buttons) {
        button.setAttribute("aria-pressed", String(button.dataset.answer === value));
      }
    },
    key({ key }) {
      const button =
        buttons.find((candidate) => candidate.dataset.key === key.toLowerCase()) ||
        (numbered && /^[1-9]$/.test(key) && buttons[Number(key) - 1]);
      if (!button) return false;
      answer(button);
      return true;
    },
  };
}

/* Takes the page over for a kind of question. */
export function start(kind) {
  const label = new Label(pageSetup());
  label.kind = kind(label);
  if (label.kind.slim) label.progress.slim = label.kind.slim;
  if (label.zoom) one("[data-zoom]").hidden = false;
  return attach(label);
}
