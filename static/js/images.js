/* Fetches and decodes the images of seats ahead of time, so that showing one takes a frame.

   Images come as blobs, which need no cache: what is looked at stays in this page's memory and leaves
   with it. The image that the page came with is taken from there. */
import { gettext } from "./language.js";

const RETRY_MS = 1500;
// Fewer than the connections that browsers open to one server: answers must not queue behind images.
const AT_ONCE = 4;

/* Whether the page shows the image without scripts: browsers take it from there for another <img>. */
function isOnPage(url) {
  const images = document.querySelectorAll("[data-stage] img, [data-stage] image");
  return [...images].some((image) => (image.getAttribute("src") ?? image.getAttribute("href")) === url);
}

export class Images {
  #held = new Map();
  #running = 0;
  #waiting = [];
  // How long the image took that came last.
  latest_ms = 0;

  /* Starts loading a seat's image; {state, image} with state loading | ready | gone | logged-out. */
  load({ seat, image: url }) {
    let slot = this.#held.get(seat);
    if (!slot || slot.state === "logged-out") {
      slot = { state: "loading", image: null, url: null, offline: false };
      this.#held.set(seat, slot);
      slot.done = this.#fetch(slot, url);
    }
    return slot;
  }

  /* Forgets all images but these seats'. */
  keep(seats) {
    for (const [seat, slot] of this.#held) {
      if (seats.has(seat)) continue;
      slot.dropped = true;
      if (slot.url) URL.revokeObjectURL(slot.url);
      this.#held.delete(seat);
    }
  }

  async #fetch(slot, url) {
    if (isOnPage(url) && (await this.#decode(slot, url))) return;
    while (!slot.dropped) {
      const response = await this.#inTurn(slot, url);
      if (slot.dropped) return;
      if (response?.ok) {
        const blob = await response.blob().catch(() => null);
        if (!blob || !(await this.#decode(slot, URL.createObjectURL(blob)))) slot.state = "gone";
        return;
      }
      if (response?.type === "opaqueredirect" || response?.status === 401) {
        slot.state = "logged-out";
        return;
      }
      if (response && response.status < 500 && response.status !== 429) {
        slot.state = "gone";
        return;
      }
      slot.offline = true;
      slot.onoffline?.();
      await this.#pause();
    }
  }

  /* First asked, first fetched, a few at once; null without a connection or a need. */
  async #inTurn(slot, url) {
    if (this.#running >= AT_ONCE) await new Promise((go) => this.#waiting.push(go));
    else this.#running += 1;
    try {
      if (slot.dropped) return null;
      const begun = performance.now();
      const response = await fetch(url, { credentials: "same-origin", redirect: "manual" });
      this.latest_ms = performance.now() - begun;
      return response;
    } catch {
      return null;
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }

  /* Whether the image is there now. */
  async #decode(slot, url) {
    const image = new Image();
    image.alt = gettext("The image in question");
    image.draggable = false;
    image.src = slot.url = url;
    try {
      await image.decode();
    } catch {
      return false;
    }
    Object.assign(slot, { state: "ready", image });
    return true;
  }

  #pause() {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_MS * (0.75 + Math.random() / 2));
      addEventListener("online", () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}
