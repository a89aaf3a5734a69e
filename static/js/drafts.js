/* What was marked on a page and not sent yet: one key of localStorage for each image, named by
   person, campaign and seat, so that tabs never overwrite each other. */

const DAY_MS = 86_400_000;

export class Drafts {
  constructor({ user, campaign }) {
    this.prefix = `assay:draft:${user}:${campaign}:`;
    this.#forgetOld();
  }

  /* "yes", "hard", "no", or null where nothing was marked. */
  get(seat) {
    return this.#read(this.prefix + seat)?.mark ?? null;
  }

  set(seat, mark) {
    try {
      localStorage.setItem(this.prefix + seat, JSON.stringify({ mark, at: Date.now() }));
    } catch {
      // No room: answers need it more. The page itself still knows the mark.
    }
  }

  forget(seat) {
    this.#remove(this.prefix + seat);
  }

  #forgetOld() {
    try {
      for (const key of Object.keys(localStorage)) {
        if (!key.startsWith(this.prefix)) continue;
        if (!(this.#read(key)?.at > Date.now() - DAY_MS)) this.#remove(key);
      }
    } catch {
      // Storage is switched off.
    }
  }

  #read(key) {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  }

  #remove(key) {
    try {
      localStorage.removeItem(key);
    } catch {
      // Storage is switched off.
    }
  }
}
