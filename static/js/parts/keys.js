/* Which key goes where on the page of a drawing: the page's own, the drawing's, or neither. */
import { gettext } from "../language.js";
import { TYPING, one } from "../screen.js";

export const PAGE_KEYS = [
  [gettext("Shift + Enter"), gettext("Submit")],
  ["1 2 3", gettext("Selected part: draw or correct it, not visible, occluded")],
  [gettext("j, Shift + J"), gettext("Next or previous missing part")],
  ["y n", gettext("At least half of the missing parts can be drawn: yes, no")],
  ["q", gettext("Cannot be drawn, with a reason")],
  ["s", gettext("Skip: another annotator gets the image")],
  [gettext("u, Shift + U"), gettext("Earlier answer, later answer")],
  ["z", gettext("Show the drawing of the other device")],
  [gettext("Shift + V"), gettext("Brightness and contrast of the photograph, strength of the colours")],
  ["w", gettext("Show the list of parts")],
  ["i", gettext("Instructions")],
  ["?", gettext("Show this list")],
];

/* Of campaigns with a model. */
export const ASKING_KEYS = [
  ["4", gettext("Ask the model for the selected part; Enter accepts its proposal, Escape rejects it")],
  ["Alt + click", gettext("Not this (also: right button, long press, Ctrl + Enter)")],
];

/* Keys reach the page wherever the focus is, but for fields, dialogs and what a button does itself.
   Single letters may be switched off; inside the drawing they always count. */
export function attachRouting(page) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.(TYPING)) return;
    const inside = event.target.closest?.("[data-drawing]");
    const single = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (single && !inside && !one("[data-use-keys]").checked) return;
    if (!page.key(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
}

function row([keys, what]) {
  const place = document.createElement("div");
  const term = document.createElement("dt");
  const kbd = document.createElement("kbd");
  kbd.textContent = keys;
  term.append(kbd);
  const words = document.createElement("dd");
  words.textContent = what[0].toUpperCase() + what.slice(1);
  place.append(term, words);
  return place;
}

export function showKeys(ours, drawings = []) {
  one("[data-page-keys]").replaceChildren(...ours.map(row));
  one("[data-drawing-keys]").replaceChildren(...drawings.map(row));
}
