/* Keeps answers until the server has them.

   Every answer is one key of localStorage, named by person, campaign and the answer's own id, so
   two tabs never overwrite each other and another person's answers are never sent. Batches leave
   after a moment, one tab at a time, and again until the server has answered for each answer by
   its id; the server takes the same id once. What it refuses is kept apart until it was read, but
   for answers to questions that closed meanwhile: nobody can do anything about those.

   Events: "change" whenever counts or state may differ, "accepted", "refused" and "closed" (its
   question) with the entry as detail, the last two with the server's message.
   state: saved | sending | waiting | logged-out | other-user | stopped. */
import { gettext } from "./language.js";
import { forget, keep, keysOf, read } from "./storage.js";

export const BATCH = 8;
const AT_ONCE_ON_LEAVING = 100;
const WAIT_MS = 300;
const TIMEOUT_MS = 15_000;
const LONGEST_WAIT_MS = 30_000;
// Answers that only this page holds because localStorage is full: few, so that few can be lost.
export const MEMORY_BOUND = 5;
// The question's answer followed from others before this one came.
const CLOSED = "question_closed";

/* A UUID of version 7: 48 bits of the clock in milliseconds, the rest random. Answers of one hour lie
   side by side in the server's index, where random ones touch a page of it each. */
export function newId(now = Date.now()) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  new DataView(bytes.buffer).setUint16(0, Math.floor(now / 2 ** 32));
  new DataView(bytes.buffer).setUint32(2, now % 2 ** 32);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export function cookie(name) {
  const found = document.cookie.split("; ").find((part) => part.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

/* Doubling waits with chance in them, so that a server that comes back is not stormed. */
export function pauseAfter(failures, longest) {
  return Math.min(longest, 500 * 2 ** failures) * (0.5 + Math.random() / 2);
}

/* A POST of JSON: {status, body}; status 0 without a connection, 401 when logged out. The CSRF
   cookie is read again each time, because logging in elsewhere renews it. */
export async function post(url, data, { keepalive = false } = {}) {
  let response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json",
        "X-CSRFToken": cookie("csrftoken"),
      },
      body: JSON.stringify(data),
      credentials: "same-origin",
      redirect: "manual",
      keepalive,
      signal: keepalive ? undefined : AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    return { status: 0, body: null };
  }
  if (response.type === "opaqueredirect") return { status: 401, body: null };
  try {
    return { status: response.status, body: await response.json() };
  } catch {
    // Not our server's words (a proxy, a broken connection): as good as no answer.
    return { status: response.ok ? 0 : response.status, body: null };
  }
}

export class Outbox extends EventTarget {
  #memory = new Map();
  #last = 0;
  #timer = null;
  #busy = false;
  #failures = 0;

  constructor({ user, campaign, url, batch = BATCH }) {
    super();
    Object.assign(this, { user, campaign, url, batch, state: "saved", message: "" });
    this.prefix = `assay:answer:${user}:${campaign}:`;
    this.refusedPrefix = `assay:refused:${user}:${campaign}:`;
    addEventListener("storage", (event) => {
      if (event.key === null || event.key.startsWith("assay:")) this.#changed();
    });
    addEventListener("online", () => this.retry());
    addEventListener("focus", () => this.retry());
    addEventListener("pagehide", () => this.#leave());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.retry();
      else this.#leave();
    });
  }

  /* Keeps an answer and sends it soon; returns its entry. Look at `full` first. */
  add(answer) {
    return this.addAll([answer])[0];
  }

  /* Keeps the answers of a page, all before anything is sent. */
  addAll(answers) {
    const entries = answers.map(({ seat, value, duration_ms, input_method }) => {
      this.#last = Math.max(Date.now(), this.#last + 1);
      const language = document.documentElement.lang;
      const given = { seat, value, duration_ms, input_method, language };
      const entry = { id: newId(), at: this.#last, ...given };
      if (!this.#store(this.prefix + entry.id, entry)) this.#memory.set(entry.id, entry);
      return entry;
    });
    if (!entries.length) return entries;
    if (this.pending().length >= BATCH) this.flush();
    else this.#schedule(WAIT_MS);
    this.#changed();
    return entries;
  }

  /* Answers that the server does not have yet, oldest first. */
  pending() {
    const entries = [...this.#read(this.prefix), ...this.#memory.values()];
    return entries.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  }

  refused() {
    return this.#read(this.refusedPrefix).sort((a, b) => a.at - b.at);
  }

  dismissRefused() {
    for (const entry of this.refused()) forget(this.refusedPrefix + entry.id);
    this.#changed();
  }

  /* A refused answer is in the person's hands again: there is nothing to tell of it. */
  takeBack(id) {
    forget(this.refusedPrefix + id);
    this.#changed();
  }

  /* Answers held by this page alone: closing it would lose them. */
  get atRisk() {
    return this.#memory.size;
  }

  get full() {
    return this.#memory.size >= MEMORY_BOUND;
  }

  retry() {
    if (this.pending().length) this.flush();
  }

  async flush() {
    if (this.#busy) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    this.#timer = null;
    try {
      await this.#alone(() => this.#drain());
    } finally {
      this.#busy = false;
    }
    if (this.pending().length && this.#timer === null) this.#schedule(this.#pause());
    this.#changed();
  }

  /* One tab sends at a time, where the browser can tell; elsewhere the ids keep it harmless. */
  async #alone(action) {
    if (!navigator.locks) return action();
    return navigator.locks.request(this.prefix, { ifAvailable: true }, (lock) =>
      lock ? action() : null,
    );
  }

  async #drain() {
    let size = this.batch;
    for (;;) {
      this.#settleMemory();
      const batch = this.pending().slice(0, size);
      if (!batch.length) {
        this.#set("saved");
        return;
      }
      this.#set("sending");
      const reply = await post(this.url, this.#body(batch));
      if (reply.status === 200 && this.#take(batch, reply.body)) {
        this.#failures = 0;
        size = this.batch;
      } else if (this.#isFaulty(reply.status)) {
        // One malformed answer must not hold up the others: find it by sending one at a time.
        if (batch.length === 1) this.#refuse(batch[0], reply.body || {});
        size = 1;
      } else {
        this.#stumble(reply);
        if (reply.body?.code === "csrf_failed" && this.#failures === 1) continue;
        return;
      }
    }
  }

  #isFaulty(status) {
    return status === 400 || status === 413 || status === 422;
  }

  #body(batch) {
    const answers = batch.map(({ id, seat, value, duration_ms, input_method, language }) => ({
      id,
      seat,
      value,
      duration_ms,
      input_method,
      language,
    }));
    return { user: this.user, answers };
  }

  /* Deals with what the server said of each answer; false when it said nothing of any. */
  #take(batch, body) {
    const results = new Map((body?.results || []).map((result) => [result.id, result]));
    let dealt = 0;
    for (const entry of batch) {
      const result = results.get(entry.id);
      if (!result) continue;
      dealt += 1;
      if (result.status === "accepted") {
        this.#remove(entry);
        this.dispatchEvent(new CustomEvent("accepted", { detail: entry }));
      } else this.#refuse(entry, result);
    }
    return dealt > 0;
  }

  #refuse(entry, { code = "refused", message = gettext("The server rejected this answer.") }) {
    if (code === CLOSED) {
      this.#remove(entry);
      this.dispatchEvent(new CustomEvent("closed", { detail: { ...entry, message } }));
      return;
    }
    const refused = { ...entry, code, message };
    if (!this.#store(this.refusedPrefix + entry.id, refused)) {
      this.#remove(entry);
      this.#store(this.refusedPrefix + entry.id, refused);
    }
    this.#remove(entry);
    this.dispatchEvent(new CustomEvent("refused", { detail: refused }));
  }

  #stumble({ status, body }) {
    this.#failures += 1;
    this.message = body?.message || "";
    if (status === 401) this.#set("logged-out");
    else if (body?.code === "other_user") this.#set("other-user");
    else if (status === 404 || (status === 403 && body?.code !== "csrf_failed")) {
      this.#set("stopped");
    } else this.#set("waiting");
  }

  #pause() {
    return this.#failures ? pauseAfter(this.#failures, LONGEST_WAIT_MS) : WAIT_MS * 3;
  }

  #schedule(delay) {
    // A pause after failures stands; another answer does not shorten it.
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.flush();
    }, delay);
  }

  /* The page goes away, perhaps for good: a request that outlives it. Ids make repeats harmless. */
  #leave() {
    const batch = this.pending().slice(0, AT_ONCE_ON_LEAVING);
    if (batch.length && this.state !== "other-user") {
      post(this.url, this.#body(batch), { keepalive: true }).then((reply) => {
        if (reply.status === 200) this.#take(batch, reply.body);
        this.#changed();
      });
    }
  }

  /* Room may have come back: what was held in memory moves to where a reload finds it. */
  #settleMemory() {
    for (const [id, entry] of this.#memory) {
      if (this.#store(this.prefix + id, entry)) this.#memory.delete(id);
    }
  }

  #store(key, entry) {
    return keep(key, JSON.stringify(entry));
  }

  #remove(entry) {
    this.#memory.delete(entry.id);
    forget(this.prefix + entry.id);
  }

  #read(prefix) {
    return keysOf(prefix).map(read).filter(Boolean);
  }

  #set(state) {
    this.state = state;
    if (state === "saved" || state === "sending") this.message = "";
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}
