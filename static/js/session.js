/* A labeling page at work: which seats are to come, which were answered, what comes next.

   label.js (one image at a time) and grid.js (a page of them) derive from it. They have
   front: what is answered next; inHand: entries with a seat, in their order, the front's first;
   accept(seats, elsewhere): new seats into the queue; render(); stock(): asks for more in time;
   forgetAnswer(seat): takes an answer out of the past; pastOf(rows): rows of answered seats as one entry of the past;
   putFirst(entry): shows an entry of the past that was skipped again, to be answered;
   backWords(limits): what to say where nothing further back can be changed. */
import { gettext } from "./language.js";
import { Outbox, post } from "./outbox.js";
import { Images } from "./images.js";
import { Clock, announce, countLeft, moveAnnouncements, one, showCounts, words } from "./screen.js";
import { attachFlag } from "./flag.js";
import { attachKeys, attachPanels } from "./panels.js";
import { attachStatus } from "./status.js";

const REFILL_RETRY_MS = 3000;
const SEND_TURNS = 20;
const SEND_TURN_MS = 150;

export class Session {
  constructor(setup, progress, options = {}) {
    Object.assign(this, { setup, progress, topics: setup.topics, done: setup.done, left: setup.left });
    this.reported = setup.left;
    this.outbox = new Outbox({ ...setup, url: setup.urls.answers, ...options });
    this.images = new Images();
    this.clock = new Clock();
    this.queue = []; // entries to come
    this.cursor = null; // the place in the past that is looked at; null at the front
    this.shown = null; // what is on the screen
    this.counted = new Set(); // seats answered since the page was loaded, which `done` has
    this.stocked = 0; // how many seats were in hand when the last ones came
    this.exhausted = false;
    this.unsentBefore = 0; // of the answers that waited when the page was loaded, those the server has not counted
    this.elsewhere = false; // whether all that is left is open in another tab
    this.refilling = null;
    this.inputMethod = null; // how the person did the last thing
    for (const [name, method] of [["keydown", "key"], ["pointerdown", "tap"]]) {
      addEventListener(name, () => (this.inputMethod = method), { capture: true });
    }
    addEventListener("pagehide", () => this.#leave());
    // A page from the back/forward cache has old leases. Reload it: what it shows survives.
    addEventListener("pageshow", ({ persisted }) => persisted && navigator.onLine && !this.outbox.atRisk && location.reload());
  }

  async begin() {
    this.progress.claim();
    const elsewhere = await this.progress.heldElsewhere();
    const reopened = this.setup.seats.filter(({ seat }) => (this.setup.given?.[seat] ?? null) !== null);
    this.accept(this.setup.seats.filter((entry) => !reopened.includes(entry)), elsewhere);
    if (reopened.length) this.#reopen(reopened);
    this.#stocked(this.setup);
    this.exhausted = !this.setup.seats.length;
    this.elsewhere = !this.exhausted && !reopened.length && !this.inHand.length;
    // First answers that the server had not got when it counted: done here, and not left.
    const unsent = new Set(this.outbox.pending().map(({ seat }) => seat));
    this.unsentBefore = this.setup.seats.filter(({ seat }) => unsent.has(seat)).length;
    if (this.left !== null) this.left = Math.max(0, this.left - this.unsentBefore);
    this.outbox.retry();
    this.render();
    this.stock();
  }

  /* Goes back to answers that the address asked for, which this browser need not know of. */
  #reopen(rows) {
    for (const { seat } of rows) this.forgetAnswer(seat);
    // row.answer: a drawing, in the form in which its page draws it. What waits to be sent is later.
    const unsent = new Map(this.outbox.pending().map(({ seat, value }) => [seat, value]));
    const answered = rows.map((row) => ({ ...row, value: unsent.get(row.seat) ?? row.answer ?? this.setup.given[row.seat] }));
    this.past.push({ ...this.pastOf(answered), at: Date.now(), reopened: true });
    this.cursor = this.past.length - 1;
    // A reload goes on with what is next.
    history.replaceState(null, "", location.pathname);
  }

  #stocked({ at }) {
    this.stocked = this.inHand.length;
    if (at) this.progress.renewed(at);
  }

  /* Shortens the leases of idle seats when the page closes. The outbox, whose listener runs first, has sent its
     answers by now. */
  #leave() {
    const unsent = new Set(this.outbox.pending().map((entry) => entry.seat));
    if (this.keeper?.unsent) unsent.add(this.front?.seat);
    const held = this.inHand.map((entry) => entry.seat).filter((seat) => !unsent.has(seat) && !this.progress.isWanted(seat));
    const { user, urls } = this.setup;
    if (held.length) post(urls.leave, { user, held, at: this.progress.renewedAt ?? 0 }, { keepalive: true });
  }

  get past() {
    return this.progress.past;
  }

  current() {
    return this.cursor === null ? this.front : this.past[this.cursor];
  }

  /* The seat of the image that a flag is about. */
  get flaggable() {
    return this.current()?.seat;
  }

  /* Whether one more answer can be kept until it is sent; says so where it cannot. */
  hasRoom() {
    if (!this.outbox.full) return true;
    this.outbox.retry();
    announce(gettext("This browser has no room left. Wait until the answers shown as unsent are sent."));
    return false;
  }

  back() {
    const before = this.past.length;
    this.progress.trim();
    if (this.cursor !== null) this.cursor -= before - this.past.length;
    const place = (this.cursor ?? this.past.length) - 1;
    if (place < 0) {
      const { revise_minutes: minutes, revise_answers: answers } = this.setup;
      this.cursor = this.past.length ? 0 : null;
      announce(this.backWords(gettext("answers are final after %(minutes)s minutes or %(answers)s more answers.", { minutes, answers })));
    } else if (this.past[place].skipped) return void this.undoSkip(this.past[place]);
    else this.cursor = place;
    this.render();
  }

  forward() {
    if (this.cursor === null) return;
    const next = this.past.findIndex((entry, place) => place > this.cursor && !entry.skipped);
    this.cursor = next < 0 ? null : next;
    this.render();
  }

  /* Counts entries as answered. */
  count(entries) {
    for (const { seat } of entries) this.counted.add(seat);
    // What was skipped may have come again.
    this.progress.past = this.past.filter((entry) => !entry.skipped || !this.counted.has(seatOf(entry)));
    this.done += entries.length;
    if (this.left !== null) this.left = Math.max(0, this.left - entries.length);
  }

  /* Takes the seat's answer off the count. Returns whether it had been counted here. */
  uncount(seat) {
    const counted = this.counted.delete(seat);
    if (counted) this.done -= 1;
    return counted;
  }

  /* The seat's question closed before its answer arrived: it is neither counted nor open to change. */
  dropAnswer(seat) {
    if (!this.uncount(seat)) return;
    this.forgetAnswer(seat);
    this.render();
  }

  /* Gives the seat of an entry to somebody else; the past leads back to it. */
  skipEntry(entry, seat) {
    this.giveBack(seat);
    if (this.left) this.left -= 1;
    this.past.push({ ...entry, skipped: true, at: Date.now() });
    this.progress.trim();
    announce(words.skipped);
  }

  /* Should the request not arrive, the lease ends by itself. */
  giveBack(seat) {
    post(this.setup.urls.skip, { user: this.setup.user, seat }, { keepalive: true });
  }

  /* Shows a skipped image again. The server is not asked whether its question still has a free seat: gold always
     has one, so the reply would tell it from the rest. The answer takes the seat, or is kept as late. */
  undoSkip(entry) {
    const seat = seatOf(entry);
    if (this.left !== null && !this.inHand.some((waiting) => waiting.seat === seat)) this.left += 1;
    this.cursor = null;
    this.progress.past = this.past.filter((past) => past !== entry);
    delete entry.skipped;
    entry.unanswered = true;
    this.putFirst(entry);
    this.render();
  }

  /* Asks for more seats, one request at a time; seats held in any tab are not sent again. */
  refill() {
    this.refilling ??= this.fetchSeats().finally(() => {
      this.refilling = null;
      this.render();
      // The last seat in hand may have been answered meanwhile.
      if (!this.front && !this.exhausted && !this.trouble) this.refill();
    });
    return this.refilling;
  }

  async fetchSeats() {
    const elsewhere = await this.progress.heldElsewhere();
    const mine = this.#mine();
    const held = new Set([...mine, ...elsewhere]);
    const waits = this.outbox.pending().length > 0;
    const reply = await post(this.setup.urls.page, {
      user: this.setup.user,
      held: [...held].slice(0, 500),
      known: Object.keys(this.topics),
    });
    if (reply.status === 200) {
      Object.assign(this.topics, reply.body.topics);
      const { seats } = reply.body;
      if (seats.length) this.exhausted = false;
      else if (!waits) this.exhausted = this.isEnd(mine, reply.body.left <= held.size);
      countLeft(this, reply.body);
      this.elsewhere = elsewhere.size > 0 && this.left > 0;
      this.accept(seats, elsewhere);
      this.#stocked(reply.body);
      this.trouble = null;
      // Near the end the server gives new seats only once it has the pending answers.
      if (waits && !seats.length && !this.exhausted && (await this.sendAll())) await this.fetchSeats();
    } else {
      this.trouble = reply;
      // Nothing to do but wait: try again while the page is empty or soon will be.
      if (![403, 404, 409].includes(reply.status)) {
        setTimeout(() => this.refill(), REFILL_RETRY_MS * (0.75 + Math.random() / 2));
      }
    }
  }

  /* Whether everything given has reached the server; asks again later if not. */
  async sendAll() {
    // Slow is not lost: while a request is under way, it is waited for.
    const waits = (turn) => turn < SEND_TURNS || this.outbox.state === "sending";
    for (let turn = 0; waits(turn) && this.outbox.pending().length; turn += 1) {
      await this.outbox.flush();
      if (!this.outbox.pending().length) break;
      await new Promise((resolve) => setTimeout(resolve, SEND_TURN_MS));
    }
    if (!this.outbox.pending().length) return true;
    this.trouble = { status: this.outbox.state === "logged-out" ? 401 : 0, body: null };
    setTimeout(() => this.refill(), REFILL_RETRY_MS);
    return false;
  }

  /* Whether these seats are the last ones, after a reply without seats. mine: those in hand when it was asked for;
     isAll: the server counts no others. */
  isEnd(mine, isAll) {
    return isAll || !mine.length;
  }

  /* Whether more may come, and nothing is there to answer until then. */
  get isWaiting() {
    return !this.current() && !this.exhausted && !this.trouble;
  }

  /* Seats in hand and seats whose answer is still on its way. */
  #mine() {
    return [...this.inHand, ...this.outbox.pending()].map((entry) => entry.seat);
  }

  /* Those that are neither in hand here nor in another tab, in their order. */
  fresh(seats, elsewhere) {
    const mine = new Set([...this.#mine(), ...elsewhere]);
    return this.progress.sort(seats.filter((entry) => !mine.has(entry.seat)));
  }

  /* Counts, buttons and notices around what is answered. */
  renderFrame(entry, backNotice) {
    this.progress.save(this.inHand);
    // The card and the bar say the same: at the end nothing is left.
    if (!entry && this.exhausted && !this.elsewhere && this.left) this.left = 0;
    showCounts(this.done + this.unsentBefore, this.left);
    const isOver = !entry && !this.isWaiting;
    one("[data-work]").hidden = isOver;
    one("[data-finished]").hidden = !isOver;
    moveAnnouncements(isOver);
    for (const button of document.querySelectorAll('[data-do="back"]')) {
      button.hidden = !(this.cursor === null ? this.past.length : this.cursor > 0);
    }
    one('[data-do="forward"]').hidden = this.cursor === null;
    const notice = one("[data-notice]");
    notice.hidden = this.cursor === null;
    notice.textContent = entry?.reopened ? words.reopened : backNotice(this.past.length - (this.cursor ?? 0));
  }
}

/* The seat of an entry that was skipped. */
const seatOf = ({ seats, seat }) => seats?.[0].seat ?? seat;

/* The setup that the page brought. */
export function pageSetup() {
  return JSON.parse(document.getElementById("setup").textContent);
}

/* Takes the page over. */
export function attach(session) {
  document.documentElement.classList.add("scripted");
  for (const element of document.querySelectorAll(".no-script")) element.remove();
  attachFlag(session);
  attachPanels(session);
  attachKeys(session);
  attachStatus(session);
  session.begin();
  return session;
}
