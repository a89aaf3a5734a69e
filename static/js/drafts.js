/* What was marked on a page and not sent yet: one key of localStorage for each image, named by
   person, campaign and seat, so that tabs never overwrite each other. */

import { forget, keep, keysOf, read } from "./storage.js";

const DAY_MS = 86_400_000;

export class Drafts {
  constructor({ user, campaign }) {
    this.prefix = `assay:draft:${user}:${campaign}:`;
    for (const key of keysOf(this.prefix)) {
      if (!(read(key)?.at > Date.now() - DAY_MS)) forget(key);
    }
  }

  /* "yes", "hard", "no", or null where nothing was marked. */
  get(seat) {
    return read(this.prefix + seat)?.mark ?? null;
  }

  set(seat, mark) {
    // Where there is no room answers need it more; the page itself still knows the mark.
    keep(this.prefix + seat, JSON.stringify({ mark, at: Date.now() }));
  }

  forget(seat) {
    forget(this.prefix + seat);
  }
}
