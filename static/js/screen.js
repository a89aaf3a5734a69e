/* Small pieces of the labeling screen: finding elements, saying things, the clock, the words. */
import { gettext, ngettext } from "./language.js";

export const one = (selector) => document.querySelector(selector);

const SPACE_PX = 8;

/* Tells css/label.css where a phone has room for a toast: above the answers, or beside Undo in their first row. */
function placeToast({ style }) {
  const answers = one(".work:not([hidden]) > .answers");
  const undo = answers?.querySelector("[data-do='back']:not([hidden])");
  const row = answers?.querySelector(".moves");
  const pixels = (value = 0) => `${value + SPACE_PX}px`;
  style.setProperty("--above-answers", pixels(answers && innerHeight - answers.getBoundingClientRect().top));
  style.setProperty("--above-choices", pixels(row && innerHeight - row.getBoundingClientRect().bottom - SPACE_PX));
  style.setProperty("--beside-undo", pixels(undo?.getBoundingClientRect().right));
}

/* Says something to everybody: shown for a moment, and read aloud. */
export function announce(text) {
  const place = one("[data-announce]");
  place.textContent = text;
  place.classList.add("toast");
  // Once the page shows what it is about: Undo may have come with it.
  requestAnimationFrame(() => placeToast(place));
  clearTimeout(announce.timer);
  announce.timer = setTimeout(retract, 5000);
}

/* Clears the announcement: after its five seconds, or once what it is about is answered. */
export function retract() {
  const place = one("[data-announce]");
  clearTimeout(announce.timer);
  place.textContent = "";
  place.classList.remove("toast");
}

/* Says something to those who listen, without showing what the page shows already. */
export function murmur(text) {
  const place = one("[data-announce]");
  if (!place.classList.contains("toast")) place.textContent = text;
}

/* In a workspace announcements are part of the form; beside the card at the end while that is hidden. */
export function moveAnnouncements(atEnd) {
  const home = one(".work-say");
  const place = one("[data-announce]");
  if (!home) return;
  if (atEnd && home.contains(place)) one("[data-finished]").after(place);
  else if (!atEnd && !home.contains(place)) home.append(place);
}

/* Milliseconds spent looking: from the paint on, without the time in which the page was hidden. */
export class Clock {
  #spent = 0;
  #since = null;
  #painted = 0;

  constructor() {
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#since = performance.now();
      else this.#stop();
    });
  }

  start() {
    this.#spent = 0;
    this.#painted = this.#since = performance.now();
  }

  sincePaint() {
    return performance.now() - this.#painted;
  }

  elapsed() {
    const running = this.#since === null ? 0 : performance.now() - this.#since;
    return Math.min(3_600_000, Math.round(this.#spent + running));
  }

  #stop() {
    if (this.#since !== null) this.#spent += performance.now() - this.#since;
    this.#since = null;
  }
}

export const words = {
  loading: gettext("Loading the image…"),
  toolsWait: gettext("The image is still loading."),
  offline: gettext("No connection. The image loads when it is back; your answers are kept."),
  notOpened: gettext("This image could not be opened. Go forward, or reload the page."),
  loggedOut: gettext("You are logged out. Log in again to continue; your answers are kept."),
  tooSoon: gettext("Too fast: the image had just appeared, so this was not counted. Press again."),
  notShown: gettext("The image is not on the screen yet, so this was not counted."),
  skipped: gettext("Skipped; somebody else gets it. Go back to undo this."),
  reopened: gettext("Your earlier answer. Change it, or go forward."),
  goneBack: (steps) =>
    ngettext(
      "Your last answer. Change it, or go forward.",
      "Your answer %(count)s images ago. Change it, or go forward.",
      steps,
    ),
  pageBack: (steps) =>
    ngettext(
      "Your last page. Change what you like, or go forward.",
      "Your page %(count)s pages ago. Change what you like, or go forward.",
      steps,
    ),
  trouble({ status, body }) {
    if (status === 0 || status >= 500) {
      return { title: gettext("No connection"), text: gettext("More images load when it is back. Your answers are kept in this browser.") };
    }
    if (status === 401) return { title: gettext("You are logged out"), text: this.loggedOut };
    return { title: gettext("No more images for now"), text: body?.message || gettext("Please check again later.") };
  },
};

/* Fills the instructions panel with what is known of a class. */
export function showAbout(topic) {
  const known = topic.definition || topic.synonyms?.length || topic.url || topic.guidance || topic.siblings?.length || topic.examples?.length;
  const panel = one("[data-topic]");
  panel.hidden = !known;
  if (!known) return;
  one("[data-topic-name]").textContent = topic.name;
  one("[data-topic-definition]").textContent = topic.definition || "";
  const synonyms = one("[data-topic-synonyms]");
  synonyms.textContent = (topic.synonyms || []).join(", ");
  synonyms.parentElement.hidden = !topic.synonyms?.length;
  const link = one("[data-topic-url]");
  link.parentElement.hidden = !topic.url;
  if (topic.url) link.href = topic.url;
  one("[data-topic-site]").hidden = !topic.url?.includes("wikipedia.org");
  const guidance = one("[data-topic-guidance]");
  guidance.textContent = topic.guidance || "";
  guidance.hidden = !topic.guidance;
  const siblings = one("[data-topic-siblings]");
  siblings.hidden = !topic.siblings?.length;
  siblings.querySelector("dl").replaceChildren(...(topic.siblings || []).flatMap(terms));
  one("[data-topic-examples]").replaceChildren(...(topic.examples || []).map(figure));
}

function terms({ name, definition }) {
  const [term, meaning] = [document.createElement("dt"), document.createElement("dd")];
  [term.textContent, meaning.textContent] = [name, definition];
  return [term, meaning];
}

function figure({ image: url, answer, caption, word = answer === "yes" ? gettext("Yes") : gettext("No") }) {
  const element = document.createElement("figure");
  element.className = `example ${answer === "yes" ? "yes" : "no"}`;
  const image = document.createElement("img");
  image.src = url;
  image.alt = `${gettext("Example:")} ${word.toLowerCase()}${caption ? `, ${caption}` : ""}`;
  image.loading = "lazy";
  const text = document.createElement("figcaption");
  const strong = document.createElement("b");
  strong.textContent = word;
  text.append(strong, caption ? `: ${caption}` : "");
  element.append(image, text);
  return element;
}

/* How much is done and left; left may be null, which is not known. */
export function showCounts(done, left) {
  for (const place of document.querySelectorAll("[data-done]")) place.textContent = done;
  const shown = one("[data-left]");
  if (shown && left !== null) shown.textContent = left;
  const bar = one("[data-progress]");
  bar.max = done + (left || 0) || 1;
  bar.value = done;
}

/* What is left once the server has told of it: `left`, worked out when it had `done` answers of this
   person's. Answers that it had not got by then are taken off, wherever they are by now. A figure
   that it repeats is one that it has not counted again: what was taken off since stays so. */
export function countLeft(label, { left, done }) {
  // What other tabs sent counts here, too.
  const known = label.done + label.unsentBefore;
  if (done > label.done) [label.done, label.unsentBefore] = [done, Math.max(0, known - done)];
  if (left === null || left === label.reported) return;
  label.reported = left;
  label.left = Math.max(0, left - Math.max(0, known - done));
}

/* Why there is no image: nothing is left (and how many were answered), the rest is open in another
   tab, or trouble {status, body} keeps more from coming. */
export function showEnd({ done, elsewhere, trouble }) {
  // A training comes first: the page leads there.
  if (trouble?.body?.code === "in_training") return void location.reload();
  const title = one("[data-finished-title]");
  const said = trouble && words.trouble(trouble);
  title.textContent = said?.title ?? (elsewhere ? title.dataset.elsewhere : title.dataset.title);
  one("[data-finished-words]").hidden = Boolean(trouble || elsewhere);
  one("[data-finished-thanks]").hidden = !done;
  one("[data-finished-elsewhere]").hidden = Boolean(trouble) || !elsewhere;
  one("[data-finished-trouble]").hidden = !trouble;
  one("[data-finished-trouble]").textContent = said?.text ?? "";
  one("[data-finished-login]").hidden = trouble?.status !== 401;
}

/* Shows whether an action can be taken now; the button keeps the focus. */
export function able(button, possible) {
  button.setAttribute("aria-disabled", String(!possible));
}

/* Tools that work on the image wait for it; panels.js says so. */
export function holdTools(waits) {
  for (const tool of document.querySelectorAll(".work-rail .tools:not(.tools-end) .tool")) {
    tool.toggleAttribute("data-waits", waits);
    able(tool, !waits);
  }
}

/* Where somebody types, no letter is a key. */
export const TYPING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

/* The class that is asked about, in [data-article] and [data-class]; `again` after another one. */
export function showClass({ article, name }, again) {
  // English alone asks with one.
  const before = one("[data-article]");
  if (before) before.textContent = article;
  const place = one("[data-class]");
  place.textContent = name;
  // Another class than a moment ago must not go unnoticed.
  place.classList.remove("changed");
  if (again) requestAnimationFrame(() => place.classList.add("changed"));
}

/* Shows a button that is on or off as that. */
export function press(button, pressed) {
  button?.setAttribute("aria-pressed", String(Boolean(pressed)));
}

/* A link to the login, for where an image cannot be had without one. */
export function loginLink() {
  const link = document.createElement("a");
  link.href = one("[data-finished-login]").href;
  link.textContent = gettext("Log in again");
  return link;
}
