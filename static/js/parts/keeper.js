/* Keeps an unsent drawing: on this device at every stroke, and on the server within a second, again
   and again until it is there. On opening, the newer of the two is taken.

   Events: "state" when `state` changed, "conflict" when another device saved meanwhile; then choose()
   says how to go on. state: none | saving | saved | waiting | conflict | logged-out | other-user | gone |
   refused, with `message`. */
import { gettext } from "../language.js";
import { newId, pauseAfter, post } from "../outbox.js";
import { keep, recall } from "../storage.js";
import { forget, forgetOld, get, put } from "./store.js";

const WAIT_MS = 600;
const LONGEST_WAIT_MS = 20_000;
// What a browser still sends while the page goes away.
const KEEPALIVE = 60_000;
const MONTH_MS = 31 * 86_400_000;
const DEVICE = "assay:device";

function device() {
  const word = recall(DEVICE) || newId().slice(-12);
  keep(DEVICE, word);
  return word;
}

export class Keeper extends EventTarget {
  #seat = null;
  #record = null;
  #timer = null;
  #busy = false;
  #failures = 0;
  #conflict = null;

  constructor({ user, campaign, draft_url: url }) {
    super();
    Object.assign(this, { user, url, device: device(), state: "none", message: "" });
    this.prefix = `assay:drawing:${user}:${campaign}:`;
    addEventListener("online", () => this.retry());
    addEventListener("focus", () => this.retry());
    addEventListener("pagehide", () => this.#leave());
    document.addEventListener("visibilitychange", () => this.#leave());
    forgetOld(this.prefix, Date.now() - MONTH_MS);
  }

  /* The drawing where it was left, {content, aside, steps}, or null; `draft` is the server's. Asks by a
     "conflict" event where both were changed. isUnanswered: the seat was skipped, so that its last draft may have
     been saved after the seat came with an older one or none. */
  async open(seat, draft, isUnanswered = false) {
    this.close();
    const local = await get(this.prefix + seat);
    this.#seat = seat;
    this.#conflict = null;
    this.#failures = 0;
    const record = this.#newer(local, draft, isUnanswered);
    this.#record = record || { base: draft?.version ?? 0, dirty: false, content: null, aside: null };
    this.#set(record?.dirty ? "saving" : record ? "saved" : "none");
    if (this.#differ(local, draft)) this.#ask(draft);
    else if (record?.dirty) this.#soon(0);
    return record && { content: record.content, aside: record.aside, steps: record.steps ?? null };
  }

  #newer(local, draft, isUnanswered) {
    const theirs = draft && { base: draft.version, dirty: false, content: draft.content, aside: null };
    // Saved once and gone from the server: its answer was accepted.
    if (!local || (!isUnanswered && !draft && local.base && !local.dirty)) return theirs;
    if (!draft) return { ...local, base: 0 };
    if (draft.version === local.base) return local;
    // The answer to our own last saving was lost on its way.
    if (draft.device === this.device) return { ...local, base: draft.version, dirty: true };
    return local.dirty ? local : { ...theirs, aside: local.aside };
  }

  #differ(local, draft) {
    if (!local?.dirty || !draft || draft.device === this.device) return false;
    return draft.version !== local.base;
  }

  /* Takes a stroke. `steps` are kept on this device only. */
  async change(content, steps = null) {
    if (this.#seat === null) return;
    const record = { ...this.#record, content, steps, dirty: true, at: Date.now() };
    this.#record = record;
    if (this.state === "saved" || this.state === "none") this.#set("saving");
    this.#soon(WAIT_MS);
    const kept = await put(this.prefix + this.#seat, record);
    if (!kept && this.#record === record) {
      this.#set("refused", gettext("This browser has no room for drafts: stay on the page until the draft is saved."));
    }
  }

  /* Goes on with "mine" or "theirs"; gives the content to show, with the other one kept beside. */
  choose(which) {
    const theirs = this.#conflict;
    const mine = this.#record.content;
    this.#conflict = null;
    const [content, aside] = which === "mine" ? [mine, theirs.content] : [theirs.content, mine];
    this.#record = { ...this.#record, base: theirs.version, aside };
    this.change(content);
    return content;
  }

  /* The other drawing takes the place of this one. */
  swap(content) {
    const { aside } = this.#record;
    this.#record = { ...this.#record, aside: content };
    this.change(aside);
    return aside;
  }

  get aside() {
    return this.#record?.aside ?? null;
  }

  get unsent() {
    return Boolean(this.#record?.dirty);
  }

  /* Sends what is not there yet, and keeps nothing of this seat in mind any more. */
  close() {
    this.#leave();
    this.stop();
  }

  /* Saves no more of this seat, as when its answer is on the way; gives the way back. */
  stop() {
    const [seat, record] = [this.#seat, this.#record];
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#seat = this.#record = null;
    this.#set("none");
    return () => {
      [this.#seat, this.#record] = [seat, record];
      this.#set(record?.dirty ? "saving" : record ? "saved" : "none");
      this.#soon(WAIT_MS);
    };
  }

  /* An answer was accepted, and the server has forgotten its draft. What was drawn after it is saved again. */
  async forget({ seat, at }) {
    const [key, isOpen] = [this.prefix + seat, seat === this.#seat];
    const record = isOpen ? this.#record : await get(key);
    const isNewer = record?.at > at;
    const left = { ...record, base: 0, dirty: isNewer || Boolean(record?.dirty) };
    if (isOpen) this.#record = left;
    if (isOpen && isNewer) {
      this.#set("saving");
      this.#soon(0);
    }
    await (isNewer ? put(key, left) : forget(key));
  }

  #soon(delay) {
    if (this.#timer !== null || this.#busy || this.#conflict || !this.#record?.dirty) return;
    const wait = this.#failures ? pauseAfter(this.#failures, LONGEST_WAIT_MS) : delay;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#send();
    }, wait);
  }

  /* Something has changed, as a connection or who is logged in: no longer pause. */
  retry() {
    if (!this.#failures || this.#busy) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#send();
  }

  #body() {
    const { content, base } = this.#record;
    return { user: this.user, seat: this.#seat, content, base, device: this.device };
  }

  async #send() {
    const [seat, sent] = [this.#seat, this.#record];
    if (!sent?.dirty || this.#conflict) return;
    this.#busy = true;
    const reply = await post(this.url, this.#body());
    this.#busy = false;
    if (this.#seat !== seat) this.#soon(WAIT_MS);
    else if (reply.status === 200) this.#saved(sent, reply.body.version);
    else if (reply.body?.code === "draft_conflict") this.#overtaken(reply.body);
    else if (reply.status === 404) this.#set("gone", reply.body?.message);
    else if ([400, 413].includes(reply.status)) this.#set("refused", reply.body?.message);
    else {
      this.#failures += 1;
      const other = reply.body?.code === "other_user" && "other-user";
      this.#set(reply.status === 401 ? "logged-out" : other || "waiting", reply.body?.message);
      this.#soon(WAIT_MS);
    }
  }

  #saved(sent, version) {
    this.#failures = 0;
    const current = this.#record === sent;
    this.#record = { ...this.#record, base: version, dirty: !current };
    put(this.prefix + this.#seat, this.#record);
    const draft = { version, content: sent.content, device: this.device };
    this.dispatchEvent(new CustomEvent("saved", { detail: { seat: this.#seat, draft } }));
    if (current) this.#set("saved");
    else this.#soon(WAIT_MS);
  }

  #overtaken(draft) {
    if (draft.content === null) {
      // The draft is gone: begun again from here.
      this.#record = { ...this.#record, base: 0 };
      this.#soon(WAIT_MS);
    } else if (draft.device === this.device) {
      // Our own, from another tab or a reply that was lost: this one is newer.
      this.#record = { ...this.#record, base: draft.version };
      this.#soon(0);
    } else this.#ask(draft);
  }

  #ask(draft) {
    this.#conflict = draft;
    this.#set("conflict");
    const mine = { content: this.#record.content, at: this.#record.at };
    this.dispatchEvent(new CustomEvent("conflict", { detail: { mine, theirs: draft } }));
  }

  /* The page goes away or out of sight, perhaps for good. */
  #leave() {
    if (!this.#record?.dirty || this.#conflict || this.#busy) return;
    const body = this.#body();
    if (JSON.stringify(body).length < KEEPALIVE) {
      clearTimeout(this.#timer);
      this.#timer = null;
      this.#sendLast(body);
    }
  }

  async #sendLast(body) {
    const [seat, sent] = [this.#seat, this.#record];
    this.#busy = true;
    const reply = await post(this.url, body, { keepalive: true });
    this.#busy = false;
    const { version } = reply.body || {};
    if (this.#seat === seat && reply.status === 200) return this.#saved(sent, version);
    if (reply.status === 200) {
      const kept = await get(this.prefix + seat);
      // Newer, or to be sent again since an answer was accepted meanwhile.
      const isOvertaken = kept?.at > sent.at || (sent.base && kept?.dirty && !kept.base);
      if (!isOvertaken) put(this.prefix + seat, { ...sent, base: version, dirty: false });
    }
    return this.#soon(WAIT_MS);
  }

  #set(state, message = "") {
    this.state = state;
    this.message = message;
    this.dispatchEvent(new Event("state"));
  }
}
