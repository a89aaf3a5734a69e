/* The page of questions taken along: takes a set, keeps it in this browser, and hands it to the labeling
   page's own scripts, which know no difference. HTML: templates/annotator/along.html.

   [data-offer] what may be taken: [data-form] with questions and hours, [data-here] a set that this
   browser does not have, [data-fetching] a progress bar, [data-trouble] what is wrong. [data-strip-words]
   say how the set stands; the dialog #along gives it back; [data-why] what is said once it is over. */
import { gettext, locale, ngettext, sentences } from "../language.js";
import { newId, post } from "../outbox.js";
import { announce, one } from "../screen.js";
import { pageSetup } from "../session.js";
import { Lost, fetchSet, keepPage } from "./fetching.js";
import { canKeep, erase, keptSet, lockOf, nameOf, note, recordOf, sweep, unskip, waitingOf } from "./store.js";

const setup = pageSetup();
const { here, script, urls } = setup.along;
const { user, campaign } = setup;
// What an image may need; how much is there, browsers say only about.
const BYTES_OF_IMAGE = 300_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const FLUSHES = 20;
const words = {
  unable: gettext("This browser cannot keep questions: it needs a secure address (https), a window that is not private, and room for this site. Nothing was taken."),
  offline: gettext("No connection. Nothing was taken; try again when it is back."),
  otherTab: gettext("Another tab of this browser is taking questions along just now."),
  tooLittle: gettext("Too little is left of this campaign to take any of it along. Label it with a connection."),
  full: gettext("This browser had no room for all of the images."),
  lost: gettext("The connection was lost while images came."),
  returned: gettext("Nothing is kept here, and the questions went back."),
  over: gettext("These questions are no longer with you. What you answered is kept, and sent when there is a connection."),
  timeOver: gettext("The time is over: what was not answered went back. What you answered is kept, and sent when there is a connection."),
  loggedOut: gettext("You are logged out, so the images are erased. What you answered is kept in this browser; log in again and it is sent."),
  otherUser: gettext("Somebody else is logged in now, so the images are erased. What you answered is kept in this browser until you are."),
  givenBack: gettext("Given back. What you answered is received."),
  allReceived: gettext("All of it is received. Thank you."),
  room: (megabytes) =>
    gettext("This browser has room for %(megabytes)s MB only. Take fewer questions, or free some room on this device. Nothing was taken.", { megabytes }),
  lapse: (until) => gettext("Without a connection they cannot be given back; they go back by themselves at %(until)s.", { until }),
};

document.addEventListener("click", ({ target }) => target.closest("[data-say-back]") && giveBackUnheld());
one("[data-form]").addEventListener("submit", (event) => {
  event.preventDefault();
  const { questions, hours } = event.target.elements;
  take(offered, Number(questions.value), Number(hours.value));
});
one("[data-fetch-here]").addEventListener("click", () => take(offered, 1, 1));
for (const element of document.querySelectorAll(".no-script")) element.remove();
let offered = null; // the id of the set that is about to be taken, or is with the person
let busy = false;

begin();

async function begin() {
  await sweep(user);
  const set = await keptSet(setup);
  if (set) await work(set);
  else await offer();
}

/* ---- before there is a set ---- */

async function offer() {
  const place = one("[data-offer]");
  place.hidden = false;
  if (!navigator.serviceWorker || !globalThis.caches || !navigator.locks || !canKeep()) return trouble(words.unable);
  const state = await ask();
  if (!state) return;
  one("[data-checking]").hidden = true;
  if (state.set) {
    offered = state.set.id;
    const values = { count: state.set.open, until: timeOf(Date.now() + state.set.seconds * 1000) };
    one("[data-here-words]").textContent = gettext("Questions that you took along: %(count)s, until %(until)s. They are not in this browser but in another one, or their images were erased here when you logged out.", values);
    one("[data-here]").hidden = false;
  } else if (!state.most) trouble(words.tooLittle);
  else {
    offered = newId();
    const field = one("[data-form]").elements.questions;
    field.max = state.most;
    field.value = Math.min(state.most, 100);
    one("[data-most]").textContent = gettext("At most %(count)s", { count: state.most });
    one("[data-form]").hidden = false;
    field.focus({ preventScroll: true });
  }
}

/* What the server says of the person's set; null where it says nothing, which is shown. */
async function ask() {
  const reply = await look();
  if (reply.status === 200 && reply.body.user !== user) return void location.reload();
  if (reply.status === 200) return reply.body;
  if (reply.status === 401) return void (location.href = setup.urls.login);
  trouble(reply.body?.message || words.offline);
  return null;
}

async function look() {
  try {
    const response = await fetch(urls.set, { headers: { Accept: "application/json" }, cache: "reload" });
    return { status: response.status, body: await response.json().catch(() => null) };
  } catch {
    return { status: 0, body: null };
  }
}

function trouble(sentence) {
  one("[data-checking]").hidden = true;
  one("[data-fetching]").hidden = true;
  const place = one("[data-trouble]");
  place.textContent = sentence;
  place.hidden = false;
}

/* Takes a set, or with the id of one that is with the person already, fetches that one. */
async function take(id, questions, hours) {
  if (busy) return;
  busy = true;
  for (const button of document.querySelectorAll("[data-offer] button")) button.disabled = true;
  one("[data-trouble]").hidden = true;
  await navigator.locks.request(lockOf(campaign), { ifAvailable: true }, async (lock) => {
    if (!lock) return trouble(words.otherTab);
    const sentence = await taken(id, questions, hours);
    if (sentence) trouble(sentence);
    else location.reload();
  });
  busy = false;
  for (const button of document.querySelectorAll("[data-offer] button")) button.disabled = false;
}

/* "" once all of the set is in this browser; else what is wrong, and nothing is kept. */
async function taken(id, questions, hours) {
  try {
    await ready(await navigator.serviceWorker.register(urls.worker, { scope: here }));
  } catch {
    return words.unable;
  }
  const room = await freeBytes();
  if (room < questions * BYTES_OF_IMAGE) return words.room(Math.floor(room / 1e6));
  const reply = await post(urls.take, { user, id, questions, hours });
  if (reply.status === 401) return void (location.href = setup.urls.login);
  if (reply.status !== 200) return reply.body?.message || words.offline;
  if (!reply.body.seats.length) return words.over;
  const set = { ...reply.body, user, campaign, until: Date.now() + reply.body.seconds * 1000 };
  const name = nameOf(set);
  showFetching(0, set.seats.length);
  try {
    navigator.storage.persist?.();
    const cache = await caches.open(name);
    await fetchSet(cache, set, [script], (share) => showFetching(share, set.seats.length));
    return "";
  } catch (error) {
    await erase({ ...set, name });
    const returned = (await post(urls.back, { user, id })).status === 200;
    const why = error instanceof Lost ? words.lost : words.full;
    return sentences(why, returned ? words.returned : words.lapse(timeOf(set.until)));
  }
}

/* Once the worker answers for the page. */
async function ready({ installing, waiting, active }) {
  const worker = installing || waiting || active;
  if (worker.state === "activated") return;
  await new Promise((resolve, reject) => {
    worker.addEventListener("statechange", () => {
      if (worker.state === "activated") resolve();
      if (worker.state === "redundant") reject(new Error("the worker could not start"));
    });
  });
}

async function freeBytes() {
  const { quota, usage } = (await navigator.storage?.estimate?.()) ?? {};
  return quota === undefined ? Infinity : quota - usage;
}

function showFetching(share, count) {
  for (const place of ["form", "here"]) one(`[data-${place}]`).hidden = true;
  one("[data-fetching]").hidden = false;
  one("[data-fetching] progress").value = share;
  const values = { done: Math.round(share * count), total: count };
  one("[data-fetched]").textContent = gettext("Fetching images: %(done)s of %(total)s", values);
}

async function giveBackUnheld() {
  const reply = await post(urls.back, { user, id: offered });
  if (reply.status === 200) location.reload();
  else trouble(reply.body?.message || words.offline);
}

const timeOf = (ms) => new Date(ms).toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit", hour12: false });

/* ---- with a set ---- */

async function work(set) {
  const mine = { ...set, user, campaign };
  // Whoever was stopped between two writes finds the answer in the outbox.
  const { answered, skipped } = note(mine, "answered", waitingOf(mine));
  const handled = new Set([...answered, ...skipped]);
  const left = set.seats.filter(({ seat }) => !handled.has(seat));
  Object.assign(setup, { seats: left, topics: set.topics, done: answered.length, left: left.length });
  setup.along.id = set.id;
  // The labeling scripts read it where every page has it.
  document.getElementById("setup").textContent = JSON.stringify(setup);
  document.addEventListener("labeling", ({ detail: label }) => new Held(mine, label), { once: true });
  await import(script);
}

/* A set under the labeling page: what is answered, until when, and its end. */
class Held {
  #over = false;
  #ending = false;

  constructor(set, label) {
    Object.assign(this, { set, label });
    label.actions = { ...label.actions, "give-back": () => this.#giveBack() };
    const giveBack = label.giveBack.bind(label);
    label.giveBack = (seat) => {
      note(set, "skipped", [seat]);
      giveBack(seat);
      this.#tell();
    };
    const undoSkip = label.undoSkip.bind(label);
    label.undoSkip = (entry) => {
      unskip(set, entry.seat);
      undoSkip(entry);
      this.#tell();
    };
    label.outbox.addEventListener("kept", ({ detail }) => {
      note(set, "answered", detail.map((entry) => entry.seat));
    });
    label.outbox.addEventListener("change", () => this.#changed());
    for (const [target, name] of [[window, "online"], [window, "focus"], [document, "visibilitychange"]]) {
      target.addEventListener(name, () => this.#check());
    }
    one("[data-strip]").hidden = false;
    this.#tell();
    this.#time();
    setTimeout(() => this.#check());
  }

  get #counts() {
    const { answered, skipped } = recordOf(this.set);
    const total = this.set.seats.length;
    return { total, answered: answered.length, left: total - answered.length - skipped.length };
  }

  #tell() {
    const values = { ...this.#counts, until: timeOf(this.set.until) };
    const said = ngettext("%(answered)s of %(count)s question answered, until %(until)s", "%(answered)s of %(count)s answered, until %(until)s", values.total, values);
    for (const place of document.querySelectorAll("[data-strip-words]")) place.textContent = said;
  }

  #changed() {
    if (this.#over) return;
    this.#tell();
    const { state } = this.label.outbox;
    if (state === "logged-out") this.#end(words.loggedOut);
    else if (state === "other-user") this.#end(words.otherUser);
    else if (!this.#counts.left && !this.label.outbox.pending().length) this.#finish();
  }

  /* Erased as soon as its time is over; a closed laptop is looked at when it opens. */
  #time() {
    const rest = this.set.until - Date.now();
    if (rest <= 0) return void this.#end(words.timeOver);
    setTimeout(() => !this.#over && this.#time(), Math.min(rest, LONGEST_TIMER_MS));
  }

  /* Whether the server still knows the set, and this page is the latest. Without a connection nothing. */
  async #check() {
    if (this.#over || document.visibilityState === "hidden") return;
    if (this.set.until <= Date.now()) return void this.#end(words.timeOver);
    const { status, body } = await look();
    if (this.#over) return;
    if (status === 401) this.#end(words.loggedOut);
    else if (status === 404) this.#end(words.over);
    else if (status === 200 && body.user !== user) this.#end(words.otherUser);
    else if (status === 200 && body.set?.id !== this.set.id && this.#counts.left) this.#end(words.over);
    else if (status === 200) {
      this.#changed();
      this.#renew();
    }
  }

  /* After an update of the site the next visit has its scripts. */
  async #renew() {
    if (this.renewed) return;
    this.renewed = true;
    try {
      const cache = await caches.open(this.set.name);
      await keepPage(cache, campaign, [script]);
      // The set may have ended meanwhile, and opening it made it anew.
      if (this.#over) await caches.delete(this.set.name);
    } catch {
      this.renewed = false;
    }
  }

  async #giveBack() {
    one("#along").close();
    const { outbox } = this.label;
    for (let turn = 0; turn < FLUSHES && outbox.pending().length; turn += 1) await outbox.flush();
    const reply = outbox.pending().length ? { status: 0 } : await post(urls.back, { user, id: this.set.id });
    if (reply.status === 200) this.#end(words.givenBack);
    else announce(reply.body?.message || words.lapse(timeOf(this.set.until)));
  }

  /* All is answered and received: what was skipped goes back now. */
  async #finish() {
    if (this.#ending) return;
    this.#ending = true;
    const reply = await post(urls.back, { user, id: this.set.id });
    this.#ending = false;
    if (reply.status === 200) this.#end(words.allReceived);
  }

  /* Erases the set from this browser and says why. Answers that were not sent stay and are sent. */
  async #end(sentence) {
    if (this.#over) return;
    this.#over = true;
    const { label } = this;
    one("[data-strip]").hidden = true;
    one("[data-why]").textContent = sentence;
    Object.assign(label, { queue: [], cursor: null, exhausted: true, elsewhere: false, left: 0 });
    label.progress.past = [];
    label.images.keep(new Set());
    label.render();
    one("[data-stage] img")?.remove();
    await erase(this.set);
    await sweep(user);
  }
}
