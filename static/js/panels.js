/* Buttons, keys, dialogs and the instructions panel of the labeling page.

   data-do="back|forward|skip|about|zoom-in|zoom-out|zoom-reset|send|dismiss|refill" and what else
   label.actions names; label.key(event), where there is one, takes the place of the keys here,
   data-open="id of a dialog", data-close, [data-use-keys] a switch, [data-about] the panel. */
import "./look.js";
import { TYPING, announce, one, words } from "./screen.js";
import { altLetter } from "./search_field.js";
import { MOVES } from "./zoom.js";
import { keep, recall } from "./storage.js";

const KEYS_SETTING = "assay:keys";
const ABOUT_SETTING = "assay:about";
const wide = matchMedia("(min-width: 64rem)");

export function attachPanels(label) {
  const actions = actionsOf(label);
  // Messages cover a part of the image; the first press removes them.
  for (const press of ["pointerdown", "keydown"]) {
    document.addEventListener(press, () => one(".messages")?.remove(), { once: true });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do], [data-open], [data-close]");
    if (!button) return;
    if (button.dataset.do && actions[button.dataset.do]) {
      event.preventDefault();
      if ("waits" in button.dataset) announce(words.toolsWait);
      else actions[button.dataset.do]();
    }
    if (button.dataset.open) document.getElementById(button.dataset.open).showModal();
    if ("close" in button.dataset) button.closest("dialog").close();
  });
  for (const dialog of document.querySelectorAll("dialog.sheet")) {
    // A click beside the sheet closes it.
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  for (const button of document.querySelectorAll("[data-open], [data-do='about']")) {
    button.hidden = false;
  }
  setAbout(opensAbout());
  wide.addEventListener("change", () => setAbout(opensAbout()));
  // No answer leaves by the form while scripts run.
  one("[data-work]").addEventListener("submit", (event) => event.preventDefault());
}

function actionsOf(label) {
  return {
    back: () => label.back(),
    forward: () => label.forward(),
    skip: () => label.skip(),
    refill: () => label.refill(),
    send: () => (label.outbox.flush(), label.keeper?.retry()),
    dismiss: () => label.outbox.dismissRefused(),
    about: () => toggleAbout(),
    "zoom-in": () => label.zoom.in(),
    "zoom-out": () => label.zoom.out(),
    "zoom-reset": () => label.zoom.reset(),
    ...label.actions,
  };
}

/* Instructions stand open beside the image until somebody closes them; [data-about="asked"] ones come up
   once they are asked for. Either way they are found as they were left. */
function opensAbout() {
  const left = recall(ABOUT_SETTING);
  return wide.matches && (one("[data-about]").dataset.about === "asked" ? left === "open" : left !== "closed");
}

function setAbout(open) {
  document.body.classList.toggle("about-open", open);
  one("[data-about]").inert = !open;
  one(".label-bar [data-do='about']").setAttribute("aria-expanded", String(open));
}

function toggleAbout() {
  const open = !document.body.classList.contains("about-open");
  setAbout(open);
  if (wide.matches) keep(ABOUT_SETTING, open ? "open" : "closed");
  if (open) one("[data-about]").focus({ preventScroll: true });
  else one(".label-bar [data-do='about']").focus();
}

export function attachKeys(label) {
  const setting = one("[data-use-keys]");
  setting.checked = recall(KEYS_SETTING) !== "off";
  setting.addEventListener("change", () => {
    keep(KEYS_SETTING, setting.checked ? "on" : "off");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !wide.matches && document.body.classList.contains("about-open")) {
      toggleAbout();
    }
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    const letter = altLetter(event);
    if (!letter && (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(TYPING))) return;
    if (event.key === "?") one("#keys").showModal();
    else if (event.key === "!" && label.actions?.flag) label.actions.flag();
    else if (!setting.checked || !act(label, letter ? { key: letter, repeat: event.repeat, target: event.target } : event)) return;
    event.preventDefault();
  });
}

/* Whether the key meant something. A key held down counts once, except for zoom and moves. */
function act(label, event) {
  const { key } = event;
  if (label.key) {
    if (event.repeat && !/^[+=−-]$/.test(key)) return false;
    return key === "i" ? (toggleAbout(), true) : label.key(event);
  }
  // The kinds that draw have a view of their own, and none on their finished page.
  if (event.shiftKey && key.startsWith("Arrow")) {
    label.zoom?.pan(...MOVES[key]);
    return Boolean(label.zoom);
  }
  if (label.zoom) {
    if (key === "+" || key === "=") return (label.zoom.in(), true);
    if (key === "-" || key === "−") return (label.zoom.out(), true);
    if (key === "0") return (label.zoom.reset(), true);
  }
  if (event.repeat) return true;
  if (key === "ArrowLeft" || key === "Backspace" || key === "u") return (label.back(), true);
  if (key === "ArrowRight") return (label.forward(), true);
  if (key === "s") return (label.skip(), true);
  if (key === "i") return (toggleAbout(), true);
  return label.kind.key(event);
}

