/* What a reload must not forget: the answers one may go back to, and the order of what is next.

   Kept by person and campaign. Seats that other open tabs show are told apart by a lock that each
   tab holds while it lives; where a page has no locks (plain http), tabs may show the same image,
   and the second answer counts as a change of mind. */

import { forget, keep, keysOf, read } from "./storage.js";

const MOST = 20;
const MOST_PAGES = 3;

export class Progress {
  constructor({ user, campaign, revise_minutes: minutes, revise_answers: answers }) {
    this.key = `assay:history:${user}:${campaign}`;
    this.tabPrefix = `assay:tab:${user}:${campaign}:`;
    this.leaseKey = `assay:lease:${user}:${campaign}`;
    this.tab = this.tabPrefix + Math.random().toString(36).slice(2);
    this.window_ms = minutes * 60_000;
    this.answers = answers;
    // What a reload needs of an entry.
    this.slim = (entry) => entry;
    const saved = read(this.key);
    this.order = Array.isArray(saved?.order) ? saved.order : [];
    this.past = Array.isArray(saved?.past) ? saved.past : [];
    this.trim();
  }

  /* Only answers that may still be changed can be gone back to. */
  trim(most = MOST) {
    const since = Date.now() - this.window_ms;
    let [answers, entries] = [0, 0];
    const open = [];
    for (const entry of this.past.toReversed()) {
      if (!entry.skipped) {
        // The first answer of a page is the first that stands: with it the whole page does.
        answers += entry.seats?.length ?? 1;
        entries += 1;
      }
      const recent = entry.at > since || answers <= this.answers;
      if (recent && entries <= most && entry.seats?.length !== 0) open.unshift(entry);
    }
    this.past = open.slice(-MOST);
  }

  save(queue) {
    this.order = queue.map((entry) => entry.seat);
    const [past, order] = [this.past.map(this.slim), this.order];
    const kept = keep(this.key, JSON.stringify({ past, order })) && keep(this.tab, JSON.stringify(order));
    // Answers need the room more than this does.
    if (!kept) forget(this.key);
  }

  /* Seats in the order in which they were to come before the reload, new ones after. */
  sort(seats) {
    const place = new Map(this.order.map((seat, index) => [seat, index]));
    const rank = (entry) => place.get(entry.seat) ?? Infinity;
    return seats
      .map((entry, index) => [entry, index])
      .sort(([a, i], [b, j]) => (rank(a) === rank(b) ? i - j : rank(a) - rank(b)))
      .map(([entry]) => entry);
  }

  /* Holds this tab's lock while the page lives. */
  claim() {
    navigator.locks?.request(this.tab, { mode: "exclusive" }, () => new Promise(() => {}));
    addEventListener("pagehide", () => forget(this.tab));
  }

  /* When the server last renewed the leases of this browser's tabs, by its clock. */
  get renewedAt() {
    return read(this.leaseKey);
  }

  renewed(at) {
    keep(this.leaseKey, JSON.stringify(Math.max(at, this.renewedAt ?? 0)));
  }

  /* Whether another tab shows the seat or localStorage has unsent work on it. Dead tabs count: it may not wait. */
  isWanted(seat) {
    const others = keysOf(this.tabPrefix).filter((key) => key !== this.tab);
    return others.some((key) => read(key)?.includes(seat)) || keysOf("assay:").some((key) => key.endsWith(`:${seat}`));
  }

  /* Seats that other living tabs show. What a dead tab left is cleared away. */
  async heldElsewhere() {
    if (!navigator.locks?.query) return new Set();
    const { held } = await navigator.locks.query();
    const alive = new Set(held.map((lock) => lock.name));
    const seats = new Set();
    for (const key of keysOf(this.tabPrefix)) {
      if (key === this.tab) continue;
      if (alive.has(key)) for (const seat of read(key) || []) seats.add(seat);
      else forget(key);
    }
    return seats;
  }
}

/* The same for pages of images: what one may go back to are pages {topic, seats, at}. */
export class PageProgress extends Progress {
  trim() {
    super.trim(MOST_PAGES);
  }
}
